"""The command's entry point: until the modules are loaded, signals end it as they end any program."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

SOON = 0.001
"""After so many seconds a signal that was lost comes again."""


def hear_again() -> None:
    """Lets no signal be lost whose exception Python can only print and ignore.

    That is so in callbacks of weak references, as there are some behind every import.
    """
    sys.unraisablehook = _ignored


def _ignored(lost: sys.UnraisableHookArgs) -> None:
    number = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}.get(lost.exc_type)
    if number is None:
        sys.__unraisablehook__(lost)
    else:
        threading.Timer(SOON, os.kill, (os.getpid(), number)).start()


def collect_rarely() -> None:
    """Looks for garbage in cycles once in a million objects: a compiler keeps what it makes, and ends soon.

    With the usual threshold, a third of the time of large kernels goes there.
    """
    gc.set_threshold(1_000_000, 50, 1000)


def main() -> None:
    """Load the command and run it, without an end; see `macah.cli.main` for the exit status."""
    collect_rarely()
    hear_again()
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as perform

    signal.signal(signal.SIGINT, interrupt)
    perform()
