"""The command's entry point: until the modules are loaded, signals end it as they end any program."""

from __future__ import annotations

import gc
import signal


def collect_rarely() -> None:
    """Looks for garbage in cycles once in a million objects: a compiler keeps what it makes, and ends soon.

    With the usual threshold, a third of the time of large kernels goes there.
    """
    gc.set_threshold(1_000_000, 50, 1000)


def main() -> None:
    """Load the command and run it, without an end; see `macah.cli.main` for the exit status."""
    collect_rarely()
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as perform

    signal.signal(signal.SIGINT, interrupt)
    perform()
