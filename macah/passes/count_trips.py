"""Lets loops count from 0 that run a constant number of times, from a start that is none.

    i = b;  while (i < b + 4) { B; i = i + 1; }           ->

    first = b;  trip = 0;  while (trip != 4) { i = first + trip; B; trip = trip + 1; }  i = first + 4

The step of `i` stays in the loop where something is behind it that may read `i`.
Blocks of a matrix and pointers from a row's first element to its last are counted so. Then loops can be
unrolled, their end is known ahead (`counters`), and `i` goes round no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from macah import ir
from macah.evolution import Forms
from macah.ir import FALSE, TRUE, Apply, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable, While
from macah.site import Affine, Loop
from macah.trips import assigned_in, find_counters, is_of_integers, limit, stepped_at_last
from macah.walk import (
    arrays_written,
    children,
    leaves_to,
    map_bodies,
    parted,
    statements,
    targets,
    variables_in,
)

Counted = While | DoWhile


def count_trips(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with loops that count from 0; see the module for an example."""
    # Where the start is no constant, but the number of iterations is, the end is none either.
    loops = [stmt for stmt in parted(kernel.body)[1] if isinstance(stmt, Counted)]
    if all(len(set(variables_in(loop.condition))) < 2 for loop in loops):
        return kernel
    walk = _Walk(arrays_written(kernel.body))
    walk.body(kernel.body)
    return replace(kernel, body=_body(kernel.body, walk.found)) if walk.found else kernel


@dataclass(frozen=True, slots=True)
class _Count:
    """What counts a loop, its step, and how often the loop runs."""

    variable: Variable
    step: int
    trips: int


class _Words(Forms):
    """Forms of words of 32 bits; of others nothing is known."""

    def _form(self, expr: Expr, args: list[Affine]) -> Affine:
        if any(inner.bits != 32 for inner in (expr, *children(expr))):
            return self.new()
        return super()._form(expr, args)


class _Walk:
    """Goes through a kernel in program order, and notes loops, by their identity, worth another counter."""

    def __init__(self, stored: set[ir.Array]) -> None:
        self.forms = _Words(stored)
        self.found: dict[int, _Count] = {}

    def body(self, body: Body) -> None:
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(variable, value):
                self.forms.known[variable] = self.forms.of(value)
            case ir.If(_, then, orelse):
                before = self.forms.some(changed := assigned_in((*then, *orelse)))
                self.body(then)
                after = self.forms.some(changed)
                self.forms.known.update(before)
                self.body(orelse)
                self.forms.join(after)
            case ir.Block(_, body):
                self.body(body)
                self.forms.forget(assigned_in(body))  # control may have left anywhere in it
            case While((), condition, body):
                self.loop(stmt, DoWhile(body, condition, condition, stmt.where))
            case While(before, _, body):
                # No counters: tests that are statements too are taken as parts of the body.
                self.loop(None, DoWhile((*before, *body), TRUE, FALSE))
            case DoWhile():
                self.loop(stmt, stmt)
            case _:
                self.forms.forget(targets(stmt))

    def loop(self, found: Counted | None, stmt: DoWhile) -> None:
        """Walk a loop; `found` is what may be counted."""
        forms, changed, loop = self.forms, assigned_in(stmt.body), Loop()
        before, counters = forms.some(changed), {} if found is None else find_counters(stmt, changed)
        forms.loops.append(loop)
        forms.enter(loop, counters, changed)
        limit(loop, stmt, forms.at_end(loop, counters), forms)
        if found is not None:
            self.note(found, stmt, loop, counters)
        self.body(stmt.body)
        forms.loops.pop()
        sure = stmt.guard == TRUE and not leaves_to(stmt.body)
        forms.leave(loop, stepped_at_last(stmt, counters), changed, before, sure)

    def note(self, found: Counted, stmt: DoWhile, loop: Loop, counters: Mapping[Variable, int]) -> None:
        span, trips = loop.span, loop.trips
        # a span is of integers, so nothing wraps around on the way to the end
        if span is None or trips is None or not loop.exact or span.rest.terms:
            return
        entered = span.rest.constant + span.step >= span.least and is_of_integers(stmt.condition, self.forms)
        runs = stmt.guard == TRUE or entered
        for variable in variables_in(stmt.condition):
            starts = [unknown for unknown, _ in self.forms.read(variable).terms if unknown is not loop]
            if runs and starts and counters.get(variable) and variable.bits == 32:
                self.found[id(found)] = _Count(variable, counters[variable], trips)
                return


def _body(body: Body, found: Mapping[int, _Count]) -> Body:
    made = list[Stmt]()
    for stmt in body:
        count = found.get(id(stmt))
        inner = map_bodies(stmt, lambda inside: _body(inside, found))
        if count is None:
            made.append(inner)
        else:
            assert isinstance(inner, Counted)
            made += _counted(inner, count, _start(made, count.variable))
    return tuple(made)


def _start(before: list[Stmt], variable: Variable) -> Expr:
    """What a variable is behind some statements: the variable that it is a copy of, if that is clear."""
    later = set[Variable]()
    for stmt in reversed(before):
        match stmt:
            case Assign(assigned, Read(start)) if assigned is variable and start not in later:
                return Read(start)
            case Assign(assigned) if assigned is not variable:
                later.add(assigned)
            case _:
                break
    return Read(variable)


def _counted(loop: Counted, count: _Count, start: Expr) -> Body:
    """The loop with a counter of its own, what it starts with, and what the old counter is behind it."""
    variable, where = count.variable, loop.where
    first = Variable(f"{variable.name}_first", variable.bits, where)
    trip = Variable(f"{variable.name}_trip", variable.bits, where)
    step, end = (Const(number % (1 << 32)) for number in (count.step, count.step * count.trips))
    body = _without_step(loop.body, variable)
    now = Assign(variable, Apply("add", (Read(first), Read(trip))), where)
    after = Assign(trip, Apply("add", (Read(trip), step)), where)
    counted = replace(loop, body=(now, *body, after), condition=Apply("ne", (Read(trip), end)))
    counted = replace(counted, guard=TRUE) if isinstance(counted, DoWhile) else counted
    behind = () if body is loop.body else (Assign(variable, Apply("add", (Read(first), end)), where),)
    return Assign(first, start, where), Assign(trip, FALSE, where), counted, *behind


def _without_step(body: Body, variable: Variable) -> Body:
    """A body without the step of a counter at its end; itself if there may be others, or who reads it."""
    writes = sum(variable in targets(stmt) for stmt in statements(body))
    for place in reversed(range(len(body) if writes == 1 else 0)):
        stmt = body[place]
        if not isinstance(stmt, Assign):
            break
        if stmt.variable is variable:
            return (*body[:place], *body[place + 1 :])
        if variable in variables_in(stmt.value):
            break
    return body
