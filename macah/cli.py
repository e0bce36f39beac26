"""The command `macahc`: what becomes of signals and errors."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sim.guardian import WORKSPACE, end_workers

from .cli_parse import parse
from .diagnostic import MacahError
from .messages import MessageOptions, Messages, Stopped, format_in

_LONG = 400
"""Characters of an internal error that are shown."""


def main() -> NoReturn:
    """Entry point: exits with 0, 1 (an error was printed), 2 (wrong usage), 130 (interrupted)."""
    _open_standard_files()
    # A reader that goes away, as `| head` does, ends us quietly, as it ends any C program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for end in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(end) == signal.SIG_DFL:
            signal.signal(end, _terminate)
    sys.exit(_perform(sys.argv[1:]))


def _perform(words: Sequence[str]) -> int:
    """Does what `words` ask; the exit status."""
    messages = Messages(MessageOptions(format_in(words)))
    try:
        # Here, so that Ctrl-C is met while the modules are loaded too.
        if words[:1] == ["map"]:
            from .map_command import map_command

            return map_command(words[1:], messages)
        from .driver import perform

        options = parse(words)
        messages = Messages(options.messages)
        return perform(options, messages)
    except Stopped:
        return 1
    except MacahError as error:
        messages.fail(error)
        return 2 if all(d.code == "usage" for d in error.diagnostics) else 1
    except KeyboardInterrupt:
        sys.stderr.write("\nmacahc: interrupted\n")
        return 130
    except RecursionError:
        messages.fail(MacahError("the program is nested too deeply", code="too-deep"))
        return 1
    except OSError as error:
        name = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        messages.fail(MacahError(f"{name}{error.strerror or error}", code="system"))
        # What standard output did not take must not fail again, with a status of its own, at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        if {"-v", "--verbose"} & set(words):
            traceback.print_exc()
        hint = "this is a mistake in macahc, not in your program; -v shows where"
        what = f"{type(error).__name__}: {error}"
        if len(what) > _LONG:
            # What an assertion names may hold the whole program.
            what = f"{what[:_LONG]} ..."
        messages.fail(MacahError(f"internal error: {what}", hint=hint, code="internal"))
        return 1
    finally:
        messages.close()


def _open_standard_files() -> None:
    """Gives closed standard files something to be, for us alone: the program of `run` gets them closed.

    What is written to standard output then fails, as it does in other programs.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _terminate(signum: int, _: object) -> NoReturn:
    """SIGTERM and SIGHUP unwind the stack, so that temporary files go; tools that still work are ended."""
    folder = os.environ.get("TMPDIR", "")
    if Path(folder).name.startswith(WORKSPACE):
        threading.Thread(target=_end_workers, args=(folder,), daemon=True).start()
    sys.exit(128 + signum)


def _end_workers(folder: str) -> NoReturn:
    """Until we have ended: a thread that has not noticed yet may start another tool."""
    while True:
        end_workers(folder)
        time.sleep(0.02)
