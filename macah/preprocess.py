"""The system's C preprocessor, run on a program."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from macah.diagnostic import MacahError, Place
from sim.simulator import failure_of

_PATIENCE = 120
"""Seconds that a preprocessor may take."""


def preprocess(path: Path, cpp_flags: Sequence[str] = (), cc: str = "cc") -> tuple[str, str]:
    """The output of `cc -E` and its warnings."""
    _check_readable(path)
    # A path that looks like an option would be taken for one.
    name = f"./{path}" if str(path).startswith("-") else str(path)
    try:
        command = [*shlex.split(cc), "-E", "-D__MACAH__", *cpp_flags, "-x", "c", name]
        stdin = None if name == "/dev/stdin" else subprocess.DEVNULL
        done = subprocess.run(command, stdin=stdin, capture_output=True, check=False, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        problem = f"the C compiler '{cc}' has not preprocessed the program in {_PATIENCE} s"
        raise MacahError(problem, code="preprocessor") from None
    except FileNotFoundError:
        hint = "install a C compiler, for example the Debian package 'gcc'"
        raise MacahError(f"cannot find the C compiler '{cc}'", hint=hint, code="c-compiler") from None
    except (OSError, ValueError) as error:
        raise MacahError(f"cannot run the C compiler '{cc}': {error}", code="c-compiler") from None
    messages = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        said = messages or failure_of(done.returncode, "", cc) + "\n"
        raise MacahError("the preprocessor failed", code="preprocessor", output=said)
    if not done.stdout.startswith(b"#"):
        said = f"'{cc}' does not preprocess C: its output begins with no line of a file"
        raise MacahError(said, hint="name a C compiler in CC", code="preprocessor")
    try:
        return done.stdout.decode(), messages
    except UnicodeDecodeError:
        raise MacahError("the program is not encoded in UTF-8", _not_utf8(path), code="encoding") from None


def _check_readable(path: Path) -> None:
    try:
        # What is read here could not be read again from a pipe, and the preprocessor is not the only reader.
        if not (path.is_file() or path.is_dir()) and path.stat():
            raise MacahError(f"cannot read '{path}': not a file", code="cannot-read")
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise MacahError(
            f"cannot read '{path}': {(error.strerror or str(error)).lower()}", code="cannot-read"
        ) from None
    except ValueError as error:
        raise MacahError(f"cannot read {str(path)!r}: {error}", code="cannot-read") from None


def _not_utf8(path: Path) -> Place | None:
    """The first place in the file itself that is not UTF-8; None if that is in another file."""
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        return Place(str(path), before.count("\n") + 1, len(before) - before.rfind("\n"))
    return None
