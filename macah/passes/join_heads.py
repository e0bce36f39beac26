"""What is done with a stream before a loop and at the end of its body is done once, at its head.

    x <? in;                             loop:
    while (0 <= x): {                    { x <? in } while (0 <= x): {
      out <! x                   ->        out <! x
      x <? in                            }
    }

This is how `for (x <? in; x >= 0; x <? in)` is lowered. A stream has one port, so that two receives would
take two cycles of an iteration, and each would wait for the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from macah import ir
from macah.ir import Body, Stmt, Variable
from macah.passes.unplaced import unplaced
from macah.walk import Renaming, map_bodies, operands, statements, targets, variables_in

_MOST = 30
"""So many statements are compared."""


def join_heads(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with such loops testing behind their heads; see the module for an example."""
    if not any(isinstance(stmt, ir.While) for stmt in statements(kernel.body)):
        return kernel
    return replace(kernel, body=_Heads(_mentions(kernel.body)).body(kernel.body))


def _mentions(body: Body) -> Counter[Variable]:
    """How often each variable is read or written."""
    found = Counter[Variable]()
    for stmt in statements(body):
        found.update(targets(stmt))
        for expr in operands(stmt):
            found.update(variables_in(expr))
    return found


class _Heads:
    def __init__(self, mentions: Counter[Variable]) -> None:
        self.mentions = mentions

    def body(self, body: Body) -> Body:
        result: list[Stmt] = []
        for stmt in body:
            stmt = map_bodies(stmt, self.body)
            loop = _begins_with(stmt)
            if loop is not None and (length := self.common(result, loop.body)):
                stmt = _with_head(stmt, tuple(result[-length:]))
                del result[-length:]
            result.append(stmt)
        return tuple(result)

    def common(self, before: Sequence[Stmt], body: Body) -> int:
        """How many statements both end with; 0 if none of them is an operation on a stream."""
        alike = 0
        for one, other in zip(reversed(before), reversed(body), strict=False):
            if type(one) is not type(other) or alike == _MOST:
                break
            alike += 1
        for length in range(alike, 0, -1):
            head = tuple(before[-length:])
            if any(isinstance(stmt, ir.Move) for stmt in statements(head)) and self.same(
                head, body[-length:]
            ):
                return length
        return 0

    def same(self, one: Body, other: Body) -> bool:
        """Whether two bodies do the same, but for the names of what nothing else mentions."""
        names = dict[Variable, Variable]()
        for a, b in zip(statements(one), statements(other), strict=False):
            names |= {u: t for t, u in zip(targets(a), targets(b), strict=False) if t is not u}
        own = self.only_in(one, names.values()) and self.only_in(other, names)
        return own and unplaced(Renaming(names).body(other)) == unplaced(one)

    def only_in(self, body: Body, variables: Iterable[Variable]) -> bool:
        inside = _mentions(body)
        return all(inside[variable] == self.mentions[variable] for variable in variables)


def _begins_with(stmt: Stmt) -> ir.While | None:
    """The loop that a statement begins with: `break` leaves a block around it."""
    match stmt:
        case ir.While():
            return stmt
        case ir.Block(_, (first, *_)):
            return _begins_with(first)
    return None


def _with_head(stmt: Stmt, head: Body) -> Stmt:
    """The statement with its first loop doing at its head what it did at its end."""
    match stmt:
        case ir.While(before, _, body):
            return replace(stmt, before=(*head, *before), body=body[: -len(head)])
        case ir.Block(_, (first, *others)):
            return replace(stmt, body=(_with_head(first, head), *others))
    raise AssertionError(stmt)
