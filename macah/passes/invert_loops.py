"""Turns every `while` into `if (c) do … while (c)`.

    while (before, i < n) { body }

becomes

    before; do { body; before } while (i < n)   run at all iff i < n

and where constants show that the loop runs at least once, or never, the guard says so:

    i = 0; while (i < 16) { body }      becomes      i = 0; do { body } while (i < 16)

A loop that `Kernel.tests_first` names keeps its test where it is, for an iteration that only tests:

    do { before; goes_on = i < n; if (goes_on) { body } } while (goes_on)

So does one that uses streams before its test: they have one port each, for which the iteration that only
tests is one more in any case.

Assignments that nobody needs go, now that it is clear what follows what.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from arch.ops import COMPARISONS, evaluate
from macah import ir
from macah.fold import CONVERSIONS
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.optional import enabled
from macah.passes.liveness import live_at_end, without_dead
from macah.walk import has_loop, map_bodies, statements, targets, written

_Known = dict[Variable, Const]


def invert_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Remove every `While`; see the module for an example."""
    body = kernel.body
    if enabled(kernel, "tests_first"):
        loops = [stmt for stmt in statements(body) if isinstance(stmt, ir.While)]
        first = [loop for loop in loops if loop.where in kernel.tests_first or _uses_stream(loop.before)]
        body = _with_tests_first(body, frozenset(map(id, first)))
    body = _body(body, {})
    # What stands behind an inner loop for nobody would still have iterations wait.
    return replace(kernel, body=without_dead(body, set(live_at_end(kernel))))


def _with_tests_first(body: Body, loops: Set[int]) -> Body:
    """The body in which some loops test first, those with these identities."""
    return tuple([_tests_first(stmt, loops) for stmt in body]) if loops else body


def _tests_first(old: Stmt, loops: Set[int]) -> Stmt:
    stmt = map_bodies(old, lambda body: _with_tests_first(body, loops))
    if not isinstance(stmt, ir.While) or id(old) not in loops:
        return stmt
    goes_on = Variable("goes_on", where=stmt.where)
    once = (
        *stmt.before,
        Assign(goes_on, stmt.condition, stmt.where),
        ir.If(Read(goes_on), stmt.body, where=stmt.where),
    )
    return ir.DoWhile(once, Read(goes_on), ir.TRUE, stmt.where)


def _uses_stream(body: Body) -> bool:
    return any(isinstance(stmt, ir.Receive | ir.Send | ir.Close | ir.Ended) for stmt in statements(body))


def _body(body: Body, known: _Known) -> Body:
    """A body without `While`; `known` are constants at its start, and is changed to those at its end."""
    result: list[Stmt] = []
    for stmt in body:
        result.extend(_statement(stmt, known))
    return tuple(result)


def _statement(stmt: Stmt, known: _Known) -> Body:
    match stmt:
        case Assign(variable, value):
            constant = _constant(value, known)
            _forget(known, (variable,))
            if constant is not None:
                known[variable] = constant
                stmt = replace(stmt, value=constant)
            return (stmt,)
        case ir.While():
            return _invert(stmt, known)
        case ir.DoWhile():
            return _do_while(stmt.body, stmt, known)
        case _:
            _forget(known, targets(stmt))
            ends: list[_Known] = []

            def arm(body: Body) -> Body:
                ends.append(dict(known))
                return _body(body, ends[-1])

            inner = map_bodies(stmt, arm)
            _forget(known, [v for v, c in known.items() if any(end.get(v) != c for end in ends)])
            return (inner,)


def _invert(stmt: ir.While, known: _Known) -> Body:
    before = _body(stmt.before, known)
    loop = ir.DoWhile((*stmt.body, *stmt.before), stmt.condition, stmt.condition, stmt.where, stmt.most)
    return (*before, *_do_while(loop.body, loop, known))


def _do_while(body: Body, loop: ir.DoWhile, known: _Known) -> Body:
    guard = _constant(loop.guard, known)
    if guard is not None and not guard.value:
        return ()
    _forget(known, written(body))
    inner = _body(body, dict(known)) if has_loop(body) else body
    return (replace(loop, body=inner, guard=loop.guard if guard is None else ir.TRUE),)


def _forget(known: _Known, variables: Iterable[Variable]) -> None:
    for variable in variables:
        known.pop(variable, None)


def _constant(expr: Expr, known: _Known) -> Const | None:
    """The value of an expression, if it follows from constants."""
    match expr:
        case Const():
            return expr
        case Read(variable):
            return known.get(variable)
        case Apply(op, args, bits):
            values = list[int]()
            for arg in args:
                value = _constant(arg, known)
                if value is None:
                    return None
                values.append(value.value)
            width = args[0].bits if op in COMPARISONS or op in CONVERSIONS else bits
            return Const(evaluate(op, width, *values), bits)
        case _:
            return None
