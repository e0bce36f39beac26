"""`macahc diff-modes`: one program in two modes with the same input, and where they first differ."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .diagnostic import Diagnostic, MacahError, Note, Place, source_line
from .messages import Stopped
from .options import Options
from .render import render
from .toolchain import workspace
from .traces import Divergence, divergences

# Gives an open file of the program's executable in a mode, with warnings or without.
Build = Callable[[str, bool], int]

_GRACE = 2.0
"""Seconds that a program has to end when it is told to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did. `status` is negative for a signal and None if it had to be stopped."""

    mode: str
    status: int | None
    output: Path
    errors: Path
    trace: Path


def diff_modes(options: Options, build: Build) -> int:
    """Compares two modes of a program; if they differ, writes the first difference and gives 1, else 0."""
    programs = [_built(mode, not at, build) for at, mode in enumerate(options.modes)]
    with workspace() as directory:
        given = directory / "input"
        _keep_input(given)
        one, other = [
            _run(mode, program, options, given, directory / str(number))
            for number, (mode, program) in enumerate(zip(options.modes, programs, strict=True))
        ]
        found = _difference(options, one, other)
        if found is None:
            return 0
        sys.stdout.write(found)
        sys.stdout.flush()
    return 1


def _built(mode: str, warnings: bool, build: Build) -> int:
    try:
        return build(mode, warnings)
    except Stopped:
        message, hint = f"the program cannot be built in mode '{mode}'", "its errors are above"
        raise MacahError(message, hint=hint, code="modes-differ") from None
    except MacahError as error:
        last = Diagnostic(f"the program cannot be built in mode '{mode}'", code="modes-differ")
        raise MacahError.of((*error.diagnostics, last)) from None


def _keep_input(path: Path) -> None:
    """Standard input, for both runs."""
    if os.isatty(0):
        sys.stderr.write("macahc: reading standard input, for both modes\n")
    with path.open("wb") as kept, os.fdopen(0, "rb", closefd=False) as given:
        shutil.copyfileobj(given, kept)


def _run(mode: str, program: int, options: Options, given: Path, place: Path) -> Outcome:
    outcome = Outcome(mode, None, place / "output", place / "errors", place / "trace")
    outcome.trace.mkdir(parents=True)
    environment = {**os.environ, "MACAH_TRACE": str(outcome.trace), "MACAH_TRACE_PLACES": "1"}
    with given.open("rb") as stdin, outcome.output.open("wb") as output, outcome.errors.open("wb") as errors:
        status = _finish(program, environment, options, stdin, output, errors)
    os.close(program)
    return Outcome(mode, status, outcome.output, outcome.errors, outcome.trace)


def _finish(
    program: int,
    environment: dict[str, str],
    options: Options,
    stdin: IO[bytes],
    output: IO[bytes],
    errors: IO[bytes],
) -> int | None:
    """Runs a program to its end, which is forced if it takes too long or if we are told to end."""
    child = subprocess.Popen(
        [str(options.source.with_suffix("")), *options.arguments],
        executable=f"/proc/self/fd/{program}",
        pass_fds=(program,),
        env=environment,
        stdin=stdin,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )
    try:
        return child.wait(options.timeout or None)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_group(child)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Ends a program and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE)


def _difference(options: Options, one: Outcome, other: Outcome) -> str | None:
    """The first difference as text."""
    streams = divergences(one.trace, other.trace)
    lines = _stream_difference(streams, one, other) if streams else []
    if one.status != other.status:
        ends = [f"in mode '{run.mode}' it {_end(run, options)}" for run in (one, other)]
        lines.append(_head(f"the program ends differently: {ends[0]}; {ends[1]}"))
        lines += [line for run in (one, other) for line in _last_words(run)]
    elif one.status is None:
        lines.append(_head(f"the program {_end(one, options)} in either mode"))
        lines += _last_words(one)
    if (text := _output_difference(one, other)) is not None:
        lines += text
    return "".join(lines) if lines else None


def _head(message: str, where: Place | None = None, notes: Iterable[Note] = ()) -> str:
    return render(Diagnostic(message, where, tuple(notes), code="modes-differ"))


def _end(run: Outcome, options: Options) -> str:
    if run.status is None:
        return f"does not end within {options.timeout:g} s"
    if run.status < 0:
        return f"is ended by {signal.Signals(-run.status).name}"
    return f"ends with status {run.status}"


def _last_words(run: Outcome) -> list[str]:
    """The end of what a run wrote to standard error."""
    lines = run.errors.read_text(errors="replace").splitlines()[-8:]
    return [f"{run.mode:>8} | {line}\n" for line in lines]


def _stream_difference(found: list[Divergence], one: Outcome, other: Outcome) -> list[str]:
    first = found[0]
    values = [
        f"'{value}' in mode '{run.mode}'" if value is not None else f"not sent in mode '{run.mode}'"
        for value, run in zip(first.values, (one, other), strict=True)
    ]
    message = f"element {first.index} of stream '{first.stream}' is {values[0]} and {values[1]}"
    where = _with_column(first.sent[0] or first.sent[1])
    notes = []
    if first.sent[1] is not None and first.sent[0] not in (None, first.sent[1]):
        notes.append(Note(f"in mode '{other.mode}' it was sent here", _with_column(first.sent[1])))
    if first.created is not None:
        notes.append(Note("the stream is created here", first.created))
    if len(found) > 1:
        others = ", ".join(f"'{d.stream}' at element {d.index}" for d in found[1:4])
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        notes.append(Note(f"other streams differ too: {others}{more}"))
    return [_head(message, where, notes), *_table(("element", one.mode, other.mode), first)]


def _table(heads: tuple[str, str, str], found: Divergence) -> list[str]:
    rows = [(str(i), _shown(a), _shown(b)) for i, a, b in found.rows]
    widths = [max(len(head), *(len(row[k]) for row in rows)) for k, head in enumerate(heads)]
    marks = [">" if i == found.index else " " for i, *_ in found.rows]
    lines = [f"   {heads[0]:>{widths[0]}}  {heads[1]:<{widths[1]}}  {heads[2]}"]
    lines += [
        f" {mark} {i:>{widths[0]}}  {a:<{widths[1]}}  {b}"
        for mark, (i, a, b) in zip(marks, rows, strict=True)
    ]
    return [line.rstrip() + "\n" for line in lines]


def _shown(value: str | None) -> str:
    return "(none)" if value is None else value


def _with_column(where: Place | None) -> Place | None:
    """A place with the column of the send in its line, if there is just one."""
    text = source_line(where) if where is not None else None
    found = list(re.finditer(r"[\w.\]\[>()-]*\s*<!", text or ""))
    if where is None or len(found) != 1:
        return where
    return Place(where.file, where.line, found[0].start() + 1)


def _output_difference(one: Outcome, other: Outcome) -> list[str] | None:
    """The first line of standard output that differs."""
    with one.output.open("rb") as a, other.output.open("rb") as b:
        number = 0
        while True:
            number += 1
            lines = (a.readline(), b.readline())
            if lines[0] != lines[1]:
                break
            if not lines[0]:
                return None
    shown = [
        f"{run.mode:>8} | {line.decode(errors='backslashreplace').rstrip(chr(10))}\n"
        if line
        else f"{run.mode:>8} : (end of output)\n"
        for run, line in zip((one, other), lines, strict=True)
    ]
    return [_head(f"line {number} of the output differs"), *shown]
