"""The system's C compiler, and files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.guardian import WORKSPACE
from sim.simulator import failure_of, want_of_room
from sim.workspace import guarded

from .diagnostic import MacahError


def compiler() -> str:
    """The C compiler: `$CC`, or `cc`."""
    return os.environ.get("CC") or "cc"


def check_outputs(paths: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuses, before the work, outputs that cannot be written, or would be an input or each other."""
    for number, path in enumerate(paths):
        for source in inputs:
            if path.exists() and source.exists() and path.samefile(source):
                raise MacahError(
                    f"the output '{path}' is the input itself",
                    hint="name another file",
                    code="cannot-write",
                )
        _check_writable(path)
        if any(_one_file(path, other) for other in paths[:number]):
            problem = f"two outputs are the same file, '{path}'"
            raise MacahError(problem, hint="name another for one of them", code="cannot-write")


def _one_file(one: Path, other: Path) -> bool:
    """Whether what is written to one would replace the other; a terminal or `/dev/null` takes any number."""
    if one.exists() and not one.is_file():
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise MacahError(f"cannot write '{path}': is a directory", code="cannot-write")
    folder = Path(os.path.realpath(path)).parent
    if path.is_symlink() and Path(os.path.realpath(path)).is_symlink():
        raise MacahError(f"cannot write '{path}': too many levels of symbolic links", code="cannot-write")
    if not folder.is_dir():
        raise MacahError(f"cannot write '{path}': there is no directory '{folder}'", code="cannot-write")
    writable = path if path.exists() and not path.is_file() else folder
    if not os.access(writable, os.W_OK):
        raise MacahError(f"cannot write '{path}': permission denied", code="cannot-write")


def compiler_command() -> list[str]:
    """The words that call the C compiler."""
    return shlex.split(compiler())


def run_compiler(
    arguments: Sequence[str],
    problem: str,
    verbose: bool = False,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Runs the C compiler, with more in its environment, and gives its messages.

    Errors: MacahError(`problem`), which has them too.
    """
    command = [*compiler_command(), *arguments]
    if verbose:
        sys.stderr.write(shlex.join(command) + "\n")
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
        )
    except FileNotFoundError:
        raise MacahError(
            f"the C compiler '{command[0]}' was not found",
            hint="install one (on Debian: apt-get install gcc libc6-dev) or name it in CC",
            code="c-compiler",
        ) from None
    if done.returncode:
        if full := want_of_room():
            raise MacahError(full, code="system")
        output = failure_of(done.returncode, done.stderr, command[0]) + "\n"
        raise MacahError(problem, code="c-compiler", output=output)
    return done.stderr


def preprocessed(text: str, command: Sequence[str]) -> str | None:
    """What a preprocessor, given as a command with flags, makes of a text; None if it does not take it."""
    try:
        done = subprocess.run(
            [*command, "-x", "c", "-"], input=text.encode(), capture_output=True, check=False
        )
    except OSError:
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


@contextmanager
def workspace() -> Iterator[Path]:
    """A directory that goes with all that is in it, whatever tools leave there, and if we are killed."""
    before = os.environ.get("TMPDIR")
    with guarded(WORKSPACE) as directory:
        os.environ["TMPDIR"] = directory
        try:
            yield Path(directory)
        except OSError as error:
            if error.errno != errno.ENOSPC or error.filename is not None:
                raise
            raise MacahError(failure_of(0, "", "macahc"), code="system") from None
        finally:
            os.environ.pop("TMPDIR")
            if before is not None:
                os.environ["TMPDIR"] = before
