"""What a variable holds before something is received into it comes round in no loop.

    while (i < n) { x <? s; x = x * 3; … }    ->    while (i < n) { x = unspecified; x <? s; x = x * 3; … }

A receive that does not take place leaves what the variable held, so iterations would wait for each other.
Where streams do not end, each one that the program comes to takes place. Variables that nothing else is
assigned to in the loop need nothing: what they hold is what was received. Nor do those that only a receive
changes in one arm of an `if`: keeping what they held is what joins the arms.
"""

from __future__ import annotations

from collections.abc import Set

from macah import ir
from macah.ir import Assign, Body, Stmt, Variable
from macah.walk import map_bodies, statements, targets


def renewed(body: Body, received: Set[Variable]) -> Body:
    """The body with that before receives in loops; `received` are the variables that it may be done for."""
    return _renewed(body, received, frozenset()) if received else body


def _renewed(body: Body, received: Set[Variable], assigned: Set[Variable]) -> Body:
    """`assigned` are those that are assigned to in the loop or arm around."""

    def inside(stmt: Stmt) -> Stmt:
        match stmt:
            case ir.While() | ir.DoWhile():
                around = _assigned((stmt,), received)
                return map_bodies(stmt, lambda body: _renewed(body, received, around))
            case ir.If() if assigned:
                return map_bodies(stmt, lambda arm: _renewed(arm, received, _assigned(arm, assigned)))
            case _:
                return map_bodies(stmt, lambda body: _renewed(body, received, assigned))

    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, ir.Receive) and stmt.worked is None:
            anew = (word for word in stmt.targets if word in assigned)
            found += (Assign(word, ir.unspecified(word.bits), stmt.where) for word in anew)
        found.append(inside(stmt))
    return tuple(found)


def _assigned(body: Body, wanted: Set[Variable]) -> Set[Variable]:
    """Those of the variables that anything but a receive assigns to."""
    others = (stmt for stmt in statements(body) if not isinstance(stmt, ir.Receive))
    return wanted & {variable for stmt in others for variable in targets(stmt)}
