"""Lets loops in sequence share as few variables as possible.

for (i = 0; …) A; for (i = 0; …) B;      ->      i = 0; i' = 0; for (; …) A; for (; …) B; i = i';
"""

from __future__ import annotations

from macah.ir import Assign, Body, Const, DoWhile, Read, Stmt, Variable
from macah.passes.liveness import Live
from macah.passes.predicate import Predicates
from macah.walk import Renaming, read, written


def independent(body: Body, after: Live, predicates: Predicates) -> Body:
    """A body with loops, in which constants that are assigned between them stand before the first one."""
    return _hoist_constants(_split_variables(body, after, predicates))


def _split_variables(body: Body, after: Live, predicates: Predicates) -> Body:
    """A variable that is set to a constant between loops becomes a new one from there on."""
    touched, seen_loop, place = set[Variable](), False, 0
    while place < len(body):
        match body[place]:
            case Assign(variable, Const()) if seen_loop and variable in touched:
                own = predicates.like(variable)
                rest = Renaming({variable: own}).body(body[place:])
                back = (Assign(variable, Read(own)),) if variable in after else ()
                body = (*body[:place], *rest, *back)
            case _:
                pass
        seen_loop = seen_loop or isinstance(body[place], DoWhile)
        touched |= _touched(body[place])
        place += 1
    return body


def _hoist_constants(body: Body) -> Body:
    """Constants for variables that no loop has touched yet move before the first loop."""
    first = next(place for place, stmt in enumerate(body) if isinstance(stmt, DoWhile))
    touched, hoisted, rest = set[Variable](), list[Stmt](), list[Stmt]()
    for stmt in body[first:]:
        match stmt:
            case Assign(variable, Const()) if variable not in touched:
                hoisted.append(stmt)
            case _:
                rest.append(stmt)
        touched |= _touched(stmt)
    return (*body[:first], *hoisted, *rest)


def _touched(stmt: Stmt) -> set[Variable]:
    return read((stmt,)) | written((stmt,))
