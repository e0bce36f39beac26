"""`python -m macah` is `macahc`."""

from .start import main

main()
