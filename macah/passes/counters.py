"""Counters and sums of flattened nests, made so that they take one cycle per iteration.

A flattened nest sets the counter of an inner loop back at its end: `k = (k + 1 < 8) ? k + 1 : 0` takes three
operations from one k to the next. Where the number of iterations is known it can be told in advance that the
loop will end, so that only an addition is left between one k and the next:

    last = last_soon; last_soon = (k == 5);                # true two iterations ahead
    k = k + change; change = change_soon; change_soon = (k == 5) ? -7 : 1;

The counter of a loop around it changes only when the inner loop ends. Its next value is made ahead, too. And
a sum that starts anew with every inner loop becomes the difference of a sum that never does and what that was
at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arch.ops import word
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live
from macah.passes.predicate import Predicates, negate, select
from macah.passes.trips import trip_count
from macah.walk import Renaming, replace_reads, statements, targets, variables_in, written

Starts = Mapping[Variable, Const]

# How many iterations ahead it is told that a loop ends, or what comes after that. The three operations of
# that recurrence need 2; with more they have the time to be in places that are not all neighbours.
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Counter:
    """A variable that steps once in every iteration of a loop. `write` is where; `trips` may be unknown."""

    variable: Variable
    start: Const
    step: Const
    write: Stmt
    trips: int | None

    def at(self, trip: int) -> Const:
        """The value in an iteration, counted from 0."""
        bits = self.variable.bits
        return Const(word(bits, self.start.value + trip * self.step.value), bits)


def find_counter(body: Body, condition: Expr, starts: Starts, after: Live) -> Counter | None:
    """The counter that decides how often a loop runs, if its start is known and its end not needed."""
    for variable in variables_in(condition):
        if variable in starts and variable not in after:
            writes = [stmt for stmt in statements(body) if variable in targets(stmt)]
            match writes:
                case [Assign(_, Apply("add", (Read(read), Const() as step))) as write] if read is variable:
                    if any(stmt is write for stmt in body):
                        start = starts[variable]
                        return Counter(variable, start, step, write, _trips(condition, variable, start, step))
    return None


def _trips(condition: Expr, variable: Variable, start: Const, step: Const) -> int | None:
    """How often `v = start; do v += step while (condition)` runs, if the condition says it simply."""
    second = word(variable.bits, start.value + step.value)
    later = trip_count(condition, variable, second, step.value)
    return None if later is None else later + 1


def counting_on(counter: Counter, condition: Expr, facts: frozenset[Expr]) -> Expr:
    """The condition of a counter's loop, from its value before the step."""
    variable = Read(counter.variable)
    if counter.trips is not None:
        return Apply("ne", (variable, counter.at(counter.trips - 1)))
    match condition:
        # the counter is less than the bound from the start, so the bound is not the least number
        case Apply("slt" | "ult" as op, (Read(v), bound)) if (
            v is counter.variable
            and counter.step.value == 1
            and fold(replace_reads(condition, {v: counter.start})) in facts
        ):
            return Apply(op, (variable, Apply("sub", (bound, counter.step), bound.bits)))
        case _:
            stepped = Apply("add", (variable, counter.step), variable.bits)
            return replace_reads(condition, {counter.variable: stepped})


def step_apart(body: Body, counter: Counter, predicates: Predicates) -> Body:
    """A body that steps a variable of its own instead of the counter."""
    place = next(place for place, stmt in enumerate(body) if stmt is counter.write)
    stepped = predicates.like(counter.variable)
    renamed = Renaming({counter.variable: stepped}).body(body[place + 1 :])
    value = Apply("add", (Read(counter.variable), counter.step), stepped.bits)
    return (*body[:place], Assign(stepped, value, counter.write.where), *renamed)


@dataclass(frozen=True, slots=True)
class Told:
    """A loop that is told ahead when it ends. `state` is assigned before it.

    `first` and `last` are those statements at the start and the end of its body that look ahead, if its
    number of iterations is known; `over` is 1 in the last iteration then.
    """

    state: Body
    loop: DoWhile
    first: Body = ()
    last: Body = ()
    over: Variable | None = None


def count_inner(
    loop: DoWhile, counter: Counter, facts: frozenset[Expr], predicates: Predicates, ahead: int = AHEAD
) -> Told:
    """The innermost loop with a counter that is set back by itself, told `ahead` if its trips are known."""
    body = step_apart(loop.body, counter, predicates)
    variable, bits, where = counter.variable, counter.variable.bits, loop.where
    more = predicates.variable("more", where)
    if counter.trips is None:
        goes_on = Assign(more, predicates.truth(counting_on(counter, loop.condition, facts)), where)
        back = select(Read(more), Apply("add", (Read(variable), counter.step), bits), counter.start)
        made: Body = (goes_on, *body, Assign(variable, back, where))
        return Told((Assign(variable, counter.start),), DoWhile(made, Read(more), loop.guard, where))
    ends = [predicates.variable(f"{variable.name}_last", where) for _ in range(ahead + 1)]
    change = [Variable(f"{variable.name}_change", bits, where) for _ in range(ahead + 1)]
    end = counter.trips - 1
    back_by = Const(word(bits, counter.start.value - counter.at(end).value), bits)
    ending = range(end, ahead, counter.trips)
    first = (
        Assign(ends[-1], Apply("eq", (Read(variable), counter.at((end - ahead) % counter.trips))), where),
        Assign(change[-1], select(Read(ends[-1]), back_by, counter.step), where),
    )
    last = (*shift(ends), *shift(change))
    made = (
        Assign(more, negate(Read(ends[0])), where),
        *first,
        *body,
        Assign(variable, Apply("add", (Read(variable), Read(change[0])), bits), where),
        *last,
    )
    state = (
        Assign(variable, counter.start),
        *(Assign(v, Const(int(i in ending))) for i, v in enumerate(ends[:-1])),
        *(Assign(v, back_by if i in ending else counter.step) for i, v in enumerate(change[:-1])),
    )
    return Told(state, DoWhile(made, Read(more), loop.guard, where), first, last, ends[0])


def runs_freely(counter: Counter, ahead: int = AHEAD) -> bool:
    """True if `count_inner`'s chains of a counter that stays at its start become what they were at first."""
    return counter.trips is not None and counter.trips > ahead + 1


def shift(chain: list[Variable]) -> Body:
    """Every variable takes the value of the next one."""
    return tuple(Assign(a, Read(b), a.where) for a, b in zip(chain, chain[1:], strict=False))


@dataclass(frozen=True, slots=True)
class Ahead:
    """A counter of an outer loop whose next value is made some iterations ahead.

    `more` says whether the loop goes on after this step. `state`, `first` and `last` are the code for that:
    before the loop, at the start and at the end of an iteration.
    """

    state: Body
    first: Body
    last: Body
    more: Variable


def count_outer(counter: Counter, goes_on: Expr, left: Expr, ahead: int, predicates: Predicates) -> Ahead:
    """What steps the counter, or sets it back unless `goes_on`, in the iterations in which `left` holds.

    These are more than `ahead` iterations apart.
    """
    variable, where = counter.variable, counter.variable.where
    following = [Variable(f"{variable.name}_next", variable.bits, where) for _ in range(ahead + 1)]
    stepped = Apply("add", (Read(variable), counter.step), variable.bits)
    more = predicates.variable("more", where)
    first = (
        Assign(more, predicates.truth(goes_on), where),
        Assign(following[-1], select(Read(more), stepped, counter.start), where),
    )
    last = (
        Assign(variable, select(left, Read(following[0]), Read(variable)), where),
        *shift(following),
    )
    state = tuple(Assign(v, counter.start) for v in (variable, *following[:-1]))
    return Ahead(state, first, last, more)


@dataclass(frozen=True, slots=True)
class Sum:
    """A loop's body with a sum that never starts anew, the state for it, and the end of an iteration."""

    body: Body
    state: Body
    last: Body


def split_sum(body: Body, variable: Variable, start: Const, left: Expr) -> Sum | None:
    """Make a variable that starts anew where `left` holds from a sum that does not, if it is a sum."""
    bits, where = variable.bits, variable.where
    total, base = (Variable(f"{variable.name}_{name}", bits, where) for name in ("total", "base"))
    here = Assign(variable, Apply("sub", (Read(total), Read(base)), bits), where)
    made = summed(body, total, here)
    if made is None or len(made) == len(body) + 1:
        return None
    anew = Assign(base, select(left, fold(Apply("sub", (Read(total), start), bits)), Read(base)), where)
    return Sum(made, (Assign(total, start), Assign(base, Const(0, bits))), (anew,))


def summed(body: Body, total: Variable, here: Assign) -> Body | None:
    """A body that adds to a total what it adds to the variable of `here`, which then says what that is.

    None if it does anything else to that variable.
    """
    made: list[Stmt] = [here]
    for stmt in body:
        if here.variable not in written((stmt,)):
            made.append(stmt)
            continue
        part = _added(stmt, here.variable)
        if part is None:
            return None
        made += [Assign(total, Apply("add", (Read(total), part), total.bits), stmt.where), here]
    return tuple(made)


def _added(stmt: Stmt, variable: Variable) -> Expr | None:
    """What a statement adds to a variable, if that is all that it does."""
    match stmt:
        case Assign(_, Apply("add", (a, b))):
            a, b = (b, a) if b == Read(variable) else (a, b)
            return b if a == Read(variable) and variable not in variables_in(b) else None
        case Assign(_, Apply("sub", (Read(read), less), bits)) if read is variable:
            return None if variable in variables_in(less) else Apply("neg", (less,), bits)
        case _:
            return None
