"""The command's entry point: until the modules are loaded, signals end it as they end any program."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import time

SOON = 0.001
"""After so many seconds a signal that was lost comes again, or a few of them on a busy machine."""


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
        _thread.start_new_thread(_send_again, (number,))  # one that nobody waits for here


def _send_again(number: int) -> None:
    time.sleep(SOON)
    while _is_ignored():  # else it would be lost in there
        time.sleep(SOON)
    os.kill(os.getpid(), number)


def _is_ignored() -> bool:
    """Whether some thread is in `_ignored` still."""
    frames = [*sys._current_frames().values()]
    while frames:
        frame = frames.pop()
        if frame.f_code is _ignored.__code__:
            return True
        frames += [frame.f_back] if frame.f_back else []
    return False


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
