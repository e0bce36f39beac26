"""How often the bodies of a program's loops run, told beside a design that has long forgotten them.

The kernel is compiled once more with a mark in the body of each loop: an assertion that fails there, whose
guard in the graph says that the body runs. The design at work is the one without; backend/shadow.py finds
the guards again in it, or has them computed beside it, from a graph with marks that nothing has improved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arch.fabric import Fabric
from backend.dfg import DFG, Operand, Place
from backend.shadow import Shadow, plain_shadow, shadow_of
from backend.watch import Loop

from . import ir
from .optional import OPTIONAL
from .passes.pipeline import optimize
from .todfg import build_dfg, graph_of
from .walk import bodies, map_bodies, statements

MOST = 63
"""Loops that are counted: one less than in sim/runtime/profile.h, as a shadow may count its end."""

_LOOPS = ir.While | ir.DoWhile


@dataclass(frozen=True)
class Counted:
    """Loops, and for each of them operands of the shadow, as many of which are not 0 as bodies run.

    Where there are none, `reason` says why.
    """

    loops: tuple[Loop, ...] = ()
    shadow: Shadow | None = None
    reason: str = ""


def count_loops(lowered: ir.Kernel, final: ir.Kernel, dfg: DFG, fabric: Fabric) -> Counted:
    """For a lowered kernel, its final form, and its graph: all loops, else the innermost ones, else none.

    Marks in outer loops more often keep passes from what they did without.
    """
    reason = f"there are more than {MOST}"
    for inner_only in (False, True):
        marked = _Marker(inner_only)
        kernel = marked.kernel(lowered)
        loops = tuple(marked.loops)
        if len(loops) > MOST:
            continue
        kernel = optimize(kernel)
        other = build_dfg(kernel, fabric)
        shadow = shadow_of(dfg, other, _wanted(other, len(loops)))
        if shadow is None:
            other = _plain(kernel)
            shadow = plain_shadow(dfg, _plain(final), other, _wanted(other, len(loops)))
        if shadow is not None:
            return Counted(loops, shadow)
        reason = "the compiler makes something else of the kernel where its loops are marked"
    return Counted(reason=reason)


def _plain(final: ir.Kernel) -> DFG:
    """The graph of a kernel in its final form as it stands there."""
    return graph_of(replace(final, without=frozenset(OPTIONAL)))


def _wanted(marked: DFG, loops: int) -> list[list[Operand]]:
    """For each loop, the guards of its marks."""
    wanted: list[list[Operand]] = [[] for _ in range(loops)]
    for node in marked.nodes:
        if node.op == "fail" and marked.assertions[node.index].startswith(_MARK):
            wanted[int(marked.assertions[node.index].removeprefix(_MARK))].append(node.operands[0])
    return wanted


_MARK = "\0loop "
"""Begins the messages of marks; no string of C does."""


class _Marker:
    def __init__(self, inner_only: bool) -> None:
        self._inner_only = inner_only
        self.loops: list[Loop] = []
        self._functions: dict[ir.Function, ir.Function] = {}

    def kernel(self, kernel: ir.Kernel) -> ir.Kernel:
        return replace(kernel, body=self._body(kernel.body))

    def _body(self, body: ir.Body) -> ir.Body:
        return tuple([self._statement(stmt) for stmt in body])

    def _statement(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Call(function):
                if function not in self._functions:
                    self._functions[function] = replace(function, body=self._body(function.body))
                return replace(stmt, function=self._functions[function])
            case ir.While() | ir.DoWhile() if not self._inner_only or _is_innermost(stmt):
                number = len(self.loops)
                self.loops.append(Loop(stmt.where or Place("?", 0), _is_innermost(stmt)))
                mark = ir.Assert(ir.FALSE, f"{_MARK}{number}", where=stmt.where)
                marked = map_bodies(stmt, self._body)
                assert isinstance(marked, _LOOPS)
                return replace(marked, body=(mark, *marked.body))
        return map_bodies(stmt, self._body)


def _is_innermost(loop: ir.Stmt) -> bool:
    return not any(_has_loop(stmt) for body in bodies(loop) for stmt in statements(body))


def _has_loop(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.While() | ir.DoWhile():
            return True
        case ir.Call(function):
            return any(_has_loop(inner) for inner in statements(function.body))
    return False
