"""Turns every `while` into `if (c) do … while (c)`.

    while (before, i < n) { body }

becomes

    before; do { body; before } while (i < n)   run at all iff i < n

and where constants show that the loop runs at least once, or never, the guard says so:

    i = 0; while (i < 16) { body }      becomes      i = 0; do { body } while (i < 16)

A loop that `Kernel.tests_first` names keeps its test where it is, for an iteration that only tests:

    do { before; goes_on = i < n; if (goes_on) { body } } while (goes_on)

So does one that uses streams before its test: they have one port each, for which the iteration that only
tests is one more in any case. What stands before a loop that is named, and uses a stream or an array of the
loop's, gets an iteration, too:

    out <! 7; while (c) { out <! x; … }

    begun = 0; do { if (begun) { goes_on = c; if (goes_on) { out <! x; … } } else { out <! 7; goes_on = 1 }
                    begun = 1 } while (goes_on)

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
from macah.tests_first import ports
from macah.walk import fresh, has_loop, map_bodies, read, statements, targets, variables_in, written

_Known = dict[Variable, Const]


def invert_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Remove every `While`; see the module for an example."""
    body = kernel.body
    if enabled(kernel, "tests_first"):
        loops = [stmt for stmt in statements(body) if isinstance(stmt, ir.While)]
        named = [loop for loop in loops if loop.where in kernel.tests_first]
        first = named + [loop for loop in loops if _uses_stream(loop.before)]
        body = _with_tests_first(body, frozenset(map(id, first)), frozenset(map(id, named)))
    body = _body(body, {})
    # What stands behind an inner loop for nobody would still have iterations wait.
    return replace(kernel, body=without_dead(body, set(live_at_end(kernel))))


def _with_tests_first(body: Body, loops: Set[int], named: Set[int]) -> Body:
    """The body in which some loops test first, those with these identities."""
    if not loops:
        return body
    made: list[Stmt] = []
    for old in body:
        stmt = map_bodies(old, lambda inner: _with_tests_first(inner, loops, named))
        if isinstance(stmt, ir.While) and id(old) in loops:
            made += _tests_first(stmt, _taken_off(made, stmt) if id(old) in named else ())
        else:
            made.append(stmt)
    return tuple(made)


def _tests_first(stmt: ir.While, head: Body) -> Body:
    """The loop, with an iteration for what is to be done before it."""
    goes_on, begun = Variable("goes_on", where=stmt.where), Variable("begun", where=stmt.where)
    once: Body = (
        *stmt.before,
        Assign(goes_on, stmt.condition, stmt.where),
        ir.If(Read(goes_on), stmt.body, where=stmt.where),
    )
    if not head:
        return (ir.DoWhile(once, Read(goes_on), ir.TRUE, stmt.where),)
    # What a receive leaves alone where its stream has ended is what was there before the loop.
    received = (v for inner in statements(head) if isinstance(inner, ir.Receive) for v in inner.targets)
    kept = {variable: fresh(variable) for variable in received}
    begins = tuple([Assign(variable, Read(before), stmt.where) for variable, before in kept.items()])
    head = (*begins, *head, Assign(goes_on, ir.TRUE, stmt.where))
    body = (ir.If(Read(begun), once, head, where=stmt.where), Assign(begun, ir.TRUE, stmt.where))
    return (
        *[Assign(before, Read(variable), stmt.where) for variable, before in kept.items()],
        Assign(begun, ir.FALSE, stmt.where),
        ir.DoWhile(body, Read(goes_on), ir.TRUE, stmt.where),
    )


def _taken_off(made: list[Stmt], loop: ir.While) -> Body:
    """What stands before a loop and needs its streams or arrays, with all that comes after that and must.

    It is taken off `made`, which ends with what stands there.
    """
    begin, needed = len(made), ports((loop,))
    while begin and not has_loop((made[begin - 1],)):
        begin -= 1
    stays, moved = made[:begin], list[Stmt]()
    for stmt in made[begin:]:
        moves = bool(ports((stmt,)) & needed) or (moved and _comes_after(stmt, tuple(moved)))
        (moved if moves else stays).append(stmt)
    made[:] = stays
    return tuple(moved)


def _comes_after(stmt: Stmt, moved: Body) -> bool:
    """Whether a statement must stay behind others."""
    if not isinstance(stmt, Assign) or ports((stmt,)):
        return True
    changed = written(moved)
    return stmt.variable in changed | read(moved) or not changed.isdisjoint(variables_in(stmt.value))


def _uses_stream(body: Body) -> bool:
    return any(isinstance(stmt, ir.Move) for stmt in statements(body))


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
