"""Lets loops in sequence share as few variables as possible.

for (i = 0; …) A; for (i = 0; …) B;      ->      i = 0; i' = 0; for (; …) A; for (; …) B; i = i';
"""

from __future__ import annotations

from dataclasses import replace

from macah.ir import Assign, Body, Const, DoWhile, Read, Stmt, Variable
from macah.passes.liveness import Live
from macah.passes.predicate import Predicates
from macah.walk import Renaming, read, written


def independent(body: Body, after: Live, predicates: Predicates, values: bool = False) -> Body:
    """A body with loops, in which constants that are assigned between them stand before the first one.

    With `values` what is assigned anything else between them is shared no more, either.
    """
    return _hoist_constants(_split_variables(body, after, predicates, values))


def _split_variables(body: Body, after: Live, predicates: Predicates, values: bool) -> Body:
    """A variable that is set to a constant between loops, or to a value, becomes a new one from there on."""
    touched, seen_loop, done = set[Variable](), False, list[Stmt]()
    own: dict[Variable, Variable] = {}  # what stands for variables from here on
    old: dict[Variable, Variable] = {}  # and for which one that does
    renaming = Renaming(own)
    for stmt in body:
        renamed = renaming.body((stmt,))[0] if own else stmt
        match renamed:
            case Assign(variable, value) if (
                seen_loop and variable in touched and (values or isinstance(value, Const))
            ):
                first = old.get(variable, variable)
                own[first] = predicates.like(variable)
                old[own[first]] = first
                renamed = replace(renamed, variable=own[first])
            case _:
                pass
        seen_loop = seen_loop or isinstance(stmt, DoWhile)
        touched |= _touched(renamed)
        done.append(renamed)
    return (*done, *(Assign(variable, Read(new)) for variable, new in own.items() if variable in after))


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
