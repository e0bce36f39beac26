"""The command's entry point: until the modules are loaded, signals end it as they end any program."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Load the command and run it; see `macah.cli.main` for the exit status."""
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as perform

    signal.signal(signal.SIGINT, interrupt)
    perform()
