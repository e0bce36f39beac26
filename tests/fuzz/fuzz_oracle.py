"""What must hold for any text: each stage takes it, or refuses it with errors at places of the text."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn
from zlib import crc32

from macah.codes import CODES
from macah.diagnostic import Diagnostic, MacahError
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.render import render
from macah.todfg import build_dfg
from macah.translate import to_c

NAME = "fuzz.macah"
SECONDS = 5.0
MEMORY = 6 << 30

OFTEN = 8
"""One in so many programs gets its recurrences shortened, which takes longer than all else together."""


class Hang(BaseException):
    """An input takes longer than it may; not an `Exception`, so that nothing handles it on the way."""


class Wrong(AssertionError):
    """A refusal that does not tell the user what and where."""


def check(text: str) -> str:
    """How far a program gets: `refused`, `parsed`, `translated`, `lowered`, `graph`. Raises what is wrong."""
    reached = "refused"
    try:
        program = parse_program(text, Path(NAME))
        reached = "parsed"
        with suppress(RecursionError):  # which is "nested too deeply" to the driver
            to_c(program)
        reached = "translated"
    except MacahError as error:
        _check_error(error, text)
        if reached == "refused":
            return reached
    for site in program.kernels:
        try:
            kernel = lower(program, site)
            reached = max(reached, "lowered", key=_STAGES.index)
            if crc32(text.encode()) % OFTEN:
                kernel = replace(kernel, without=frozenset({"shorten"}))
            build_dfg(optimize(kernel))
            reached = "graph"
        except MacahError as error:
            _check_error(error, text)
    return reached


_STAGES = ("refused", "parsed", "translated", "lowered", "graph")


def _check_error(error: MacahError, text: str) -> None:
    lines = text.split("\n")
    if not error.diagnostics:
        raise Wrong("an error without a diagnostic")
    for diagnostic in error.diagnostics:
        _check_diagnostic(diagnostic, lines)
        render(diagnostic, lambda place: lines[place.line - 1] if 0 < place.line <= len(lines) else None)


def _check_diagnostic(diagnostic: Diagnostic, lines: list[str]) -> None:
    if not diagnostic.message.strip() or "\n" in diagnostic.message or "c_ast" in diagnostic.message:
        raise Wrong(f"message: {diagnostic.message!r}")
    if diagnostic.code not in CODES:
        raise Wrong(f"no such code: {diagnostic.code!r} ({diagnostic.message})")
    where = diagnostic.where
    if where is None:
        if lines != [""] and diagnostic.code != "too-deep":
            raise Wrong(f"no place: {diagnostic.message}")
        return
    # Line markers in the text give lines names and numbers of their own.
    if not any(line.lstrip().startswith("#") for line in lines):
        behind = len(lines[where.line - 1]) + 1 if 0 < where.line <= len(lines) else -1
        if where.file != NAME or not 0 <= where.column <= behind:
            raise Wrong(f"{where} is outside of the text: {diagnostic.message}")


@contextmanager
def limits(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Ends what takes more processor time, with `Hang`, or more memory, with `MemoryError`."""

    def stop(signum: int, frame: FrameType | None) -> NoReturn:
        raise Hang(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def failure(text: str, seconds: float = SECONDS) -> BaseException | None:
    """What is wrong with the handling of `text`; None if nothing is."""
    try:
        with limits(seconds):
            check(text)
    except (Exception, Hang) as problem:
        return problem
    return None


def signature(problem: BaseException) -> str:
    """What failures with the same cause share: the kind and where it was raised."""
    place, at = "", problem.__traceback__
    while at is not None:
        file = Path(at.tb_frame.f_code.co_filename)
        if file.parent.name in {"macah", "passes", "backend"} or file.name == "fuzz_oracle.py":
            place = f"{file.name}:{at.tb_lineno}"
        at = at.tb_next
    # A hang is caught anywhere in its loop.
    return (
        type(problem).__name__
        if isinstance(problem, Hang | MemoryError)
        else f"{type(problem).__name__} at {place}"
    )
