"""Which plain loops get how many copies of their body: what `--unroll` and `#pragma macah unroll` say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.diagnostic import MacahError, Place
from macah.program import Program, place_of, walk
from macah.syntax import UnrolledFor
from macah.walk import statements

NONE = "none"
"""What `--unroll` says where only the loops that are named get copies."""

Factors = tuple[tuple[Place, int], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One option `--unroll FILE:LINE=K`: 0 stands for all copies."""

    text: str
    file: str
    line: int
    factor: int

    def names(self, place: Place) -> bool:
        """Whether it is about the loop there; the path may lack directories at its beginning."""
        return self.line == place.line and self.is_in(place.file)

    def is_in(self, file: str) -> bool:
        parts = PurePath(self.file).parts
        return PurePath(file).parts[-len(parts) :] == parts


@dataclass(frozen=True, slots=True)
class Unrolling:
    """What the program and the command line ask for; the latter wins."""

    pragmas: Factors
    requests: tuple[Request, ...]

    def of(self, kernel: ir.Kernel) -> Factors:
        """The factors of the loops of one kernel."""
        places = loops_of(kernel)
        found = {place: factor for place, factor in self.pragmas if place in places}
        for request in self.requests:
            found |= {place: request.factor for place in places if request.names(place)}
        return tuple(found.items())

    def check(self, kernels: Sequence[ir.Kernel]) -> None:
        """Refuse options about loops that there are not."""
        places = sorted({place for kernel in kernels for place in loops_of(kernel)}, key=_order)
        for request in self.requests:
            if not any(map(request.names, places)):
                lines = ", ".join(dict.fromkeys(str(p.line) for p in places if request.is_in(p.file)))
                none = f"no kernel has a loop in '{request.file}'"
                hint = f"lines where loops begin: {lines}" if lines else none
                message = f"--unroll {request.text}: no loop of a kernel begins there"
                raise MacahError(message, hint=hint, code="usage")


def read_unrolling(program: Program, options: Sequence[str]) -> Unrolling:
    """What `#pragma macah unroll` and `--unroll` ask for."""
    return Unrolling(tuple(_of_pragmas(program)), tuple(_parsed(text) for text in options if text != NONE))


def loops_of(kernel: ir.Kernel) -> list[Place]:
    """The places of a kernel's plain loops, and those of the functions that it calls, each once."""
    found: dict[Place, None] = {}
    called: dict[ir.Function, None] = {}
    pending = [kernel.body]
    while pending:
        for stmt in statements(pending.pop()):
            match stmt:
                case ir.While() | ir.DoWhile() if stmt.where is not None:
                    found[stmt.where] = None
                case ir.Call(function) if function not in called:
                    called[function] = None
                    pending.append(function.body)
                case _:
                    pass
    return sorted(found, key=_order)


def _order(place: Place) -> tuple[str, int, int]:
    return place.file, place.line, place.column


def unroll_factor(node: Any) -> int | None:
    """What a node says if it is `#pragma macah unroll N`, 0 for `all`; None if it is something else."""
    match (node.string or "").split() if isinstance(node, c_ast.Pragma) else ():
        case ["macah", "unroll", "all"]:
            return 0
        case ["macah", "unroll", number] if number.isdecimal() and int(number):
            return int(number)
        case _:
            return None


def is_plain_loop(node: Any) -> bool:
    """Whether a node is a loop, but not a FOR loop."""
    return isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile) and not isinstance(node, UnrolledFor)


def _of_pragmas(program: Program) -> Iterator[tuple[Place, int]]:
    if "macah" not in program.text or "pragma" not in program.text:
        return
    for block in walk(program.unit):
        items = (block.block_items or ()) if isinstance(block, c_ast.Compound) else ()
        for pragma, loop in zip(items, items[1:], strict=False):
            factor = unroll_factor(pragma)
            if factor is not None and is_plain_loop(loop):
                yield place_of(loop), factor


def _parsed(text: str) -> Request:
    match = re.fullmatch(r"(.+):(\d+)=(\d+|all)", text)
    if match is None or match[3].strip("0") == "":
        hint = "K is how many copies of the loop's body there shall be: a number from 1 on, or 'all'"
        raise MacahError(f"--unroll {text}: not of the form FILE:LINE=K", hint=hint, code="usage")
    return Request(text, match[1], int(match[2]), 0 if match[3] == "all" else int(match[3]))
