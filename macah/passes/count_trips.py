"""Lets loops count from 0 that run a constant number of times, from a start that is none.

    i = b;  do if (i < b + 4) { B; i = i + 1; } while (i < b + 4)           ->

    first = i;  trip = 0;  do { i = first + trip; B; i = i + 1; trip = trip + 1; } while (trip != 4)

The step of `i` goes where nobody reads `i` behind the loop.
Blocks of a matrix and pointers from a row's first element to its last are counted so. Then the end of the
loop is known ahead (`counters`), and `i` goes round no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import FALSE, TRUE, Apply, Array, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.find_sites import Finder
from macah.passes.liveness import live_at_end, without_dead
from macah.site import Loop
from macah.trips import is_of_integers
from macah.walk import arrays_written, map_bodies, parted, variables_in


def count_trips(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with loops that count from 0; see the module for an example."""
    # Where the start is no constant, but the number of iterations is, the end is none either.
    loops = [stmt for stmt in parted(kernel.body)[1] if isinstance(stmt, DoWhile)]
    if all(len(set(variables_in(loop.condition))) < 2 for loop in loops):
        return kernel
    finder = _Trips(arrays_written(kernel.body))
    finder.body(kernel.body)
    if not finder.found:
        return kernel
    # Mostly nobody reads the old counter behind its step, which would have it go round all the same.
    return replace(kernel, body=without_dead(_body(kernel.body, finder.found), set(live_at_end(kernel))))


@dataclass(frozen=True, slots=True)
class _Count:
    """What counts a loop, its step, and how often the loop runs."""

    variable: Variable
    step: int
    trips: int


class _Trips(Finder):
    """Notes loops, by their identity, that are worth another counter."""

    def __init__(self, stored: set[Array]) -> None:
        super().__init__(stored)
        self.found: dict[int, _Count] = {}

    def limited(self, loop: Loop, stmt: DoWhile, counters: Mapping[Variable, int]) -> None:
        super().limited(loop, stmt, counters)
        span, trips = loop.span, loop.trips
        # a span is of integers, so nothing wraps around on the way to the end
        if span is None or trips is None or not loop.exact or span.rest.terms or loop not in self.forms.depth:
            return
        entered = span.rest.constant + span.step >= span.least and is_of_integers(stmt.condition, self.forms)
        runs = stmt.guard == TRUE or entered
        for variable in variables_in(stmt.condition):
            starts = [unknown for unknown, _ in self.forms.read(variable).terms if unknown is not loop]
            if runs and starts and counters.get(variable) and variable.bits == 32:
                self.found[id(stmt)] = _Count(variable, counters[variable], trips)
                return


def _body(body: Body, found: Mapping[int, _Count]) -> Body:
    made = list[Stmt]()
    for stmt in body:
        inner = map_bodies(stmt, lambda inside: _body(inside, found))
        count = found.get(id(stmt))
        if count is None:
            made.append(inner)
        else:
            assert isinstance(inner, DoWhile)
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


def _counted(loop: DoWhile, count: _Count, start: Expr) -> Body:
    """The loop with a counter of its own, and what it starts with."""
    variable, where = count.variable, loop.where
    first = Variable(f"{variable.name}_first", variable.bits, where)
    trip = Variable(f"{variable.name}_trip", variable.bits, where)
    now = Assign(variable, Apply("add", (Read(first), Read(trip))), where)
    step, end = (Const(number % (1 << 32)) for number in (count.step, count.step * count.trips))
    after = Assign(trip, Apply("add", (Read(trip), step)), where)
    counted = DoWhile((now, *loop.body, after), Apply("ne", (Read(trip), end)), TRUE, where)
    return Assign(first, start, where), Assign(trip, FALSE, where), counted
