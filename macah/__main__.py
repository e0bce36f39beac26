"""`python -m macah` is `macahc`."""

from .cli import main

main()
