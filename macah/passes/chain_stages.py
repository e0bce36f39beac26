"""Counts through loops in sequence, in another loop, whose iterations are known in number where they begin.

    do { i = 0; do A while (++i < w);  j = 0; do B while (++j < 3); … } while (more);

Fused as they are, each loop's end decides what is next, and resets what counts: three operations, and more,
from one iteration to the next. With one counter for all, an iteration knows by itself where it is:

    first = w; length = first + 3; turn = 0;
    do {
        past = first <= turn;
        if (past) { j = turn - first; B; } else { i = turn; A; }
        turn = turn + 1;
    } while (turn < length);

A loop that does not run has one iteration, in which it does nothing, as it has otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.passes.loop_stages import Stage, Stages
from macah.passes.predicate import Predicates
from macah.passes.row_trips import Steps, find_steps, trips
from macah.walk import (
    has_loop,
    is_constant,
    loads_in,
    map_expr,
    operands,
    replace_reads,
    subexpressions,
    variables_in,
    written,
)

WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class Turn:
    """A loop of several: what its counter is in an iteration, and in which ones it runs, and its last one."""

    counter: Assign
    runs: Expr
    over: Expr


@dataclass(frozen=True, slots=True)
class Chain:
    """Loops with one counter: what stands before them, at the start of each iteration and at its end.

    `pasts` say of each loop but the last that its iterations are over, `again` that there is another one.
    """

    setup: Body
    first: Body
    turns: tuple[Turn, ...]
    last: Body
    again: Expr


@dataclass(frozen=True, slots=True)
class _Known:
    """How a loop counts: from `start`, `count` times, `most` if that is all that is known."""

    steps: Steps
    start: Expr
    count: Expr
    most: int


def chain(sequence: Stages, pasts: Sequence[Variable], predicates: Predicates) -> Chain | None:
    """One counter for loops in sequence; None if it is not known where they begin how often each runs."""
    known, changed = list[_Known](), set[Variable]()
    for stage in sequence.all:
        found = _known(stage, sequence, changed)
        if found is None:
            return None
        known.append(found)
        changed |= written((stage.loop, *stage.then))
    if all(isinstance(one.count, Const) for one in known):
        return None  # `count_stages` does that better
    if sum(max(1, one.most) for one in known) >= WORD:
        return None  # the counter might wrap around
    return _Chainer(sequence, predicates).made(known, pasts)


class _Chainer:
    def __init__(self, sequence: Stages, predicates: Predicates) -> None:
        self.sequence, self.predicates = sequence, predicates
        self.setup = list[Stmt]()

    def made(self, known: Sequence[_Known], pasts: Sequence[Variable]) -> Chain:
        stages = self.sequence.all
        where = stages[0].loop.where
        turn = Variable("turn", where=where)
        begun: Expr = Const(0)
        turns, ends = list[Turn](), list[Expr]()
        for stage, one in zip(stages, known, strict=True):
            count = self.named("count", one.count, stage)
            runs = _simple(Apply("ne", (count, Const(0))))
            spent = _simple(Apply("select", (runs, count, Const(1))))
            end = self.named("end", _sum("add", begun, spent), stage)
            turns.append(self.turn(turn, one, begun, end, runs, stage))
            ends.append(end)
            begun = end
        self.setup.append(Assign(turn, Const(0), where))
        first = tuple(
            Assign(past, Apply("ule", (end, Read(turn))), past.where)
            for past, end in zip(pasts, ends, strict=False)
        )
        step = Assign(turn, Apply("add", (Read(turn), Const(1))), where)
        return Chain(tuple(self.setup), first, tuple(turns), (step,), Apply("ult", (Read(turn), ends[-1])))

    def turn(self, turn: Variable, one: _Known, begun: Expr, end: Expr, runs: Expr, stage: Stage) -> Turn:
        number = _sum("sub", Read(turn), begun)
        start = self.named("start", one.start, stage)
        value = _sum("add", start, number) if one.steps.step > 0 else _sum("sub", start, number)
        over = Apply("eq", (Read(turn), self.named("last", _sum("sub", end, Const(1)), stage)))
        return Turn(Assign(one.steps.variable, value, stage.loop.where), runs, over)

    def named(self, name: str, value: Expr, stage: Stage) -> Expr:
        """A variable for a value that is known where the loops begin, unless it is a constant."""
        if isinstance(value, Const):
            return value
        variable = Variable(name, where=stage.loop.where)
        self.setup.append(Assign(variable, value, stage.loop.where))
        return Read(variable)


def _known(stage: Stage, sequence: Stages, changed: set[Variable]) -> _Known | None:
    """How a loop counts if those before it change some variables; None if that is not known before all."""
    loop = stage.loop
    steps = None if has_loop(loop.body) else find_steps(loop)
    if steps is None or (steps.included and not isinstance(steps.bound, Const)):
        return None
    start = _start(steps.variable, stage, sequence)
    first = {steps.variable: start}
    entered = replace_reads(loop.guard, first)
    if not all(_is_steady(value, changed) for value in (start, steps.bound, entered)):
        return None
    count = trips(steps, loop, start, entered)
    if count is None:
        return None
    count = _simple(count)
    return _Known(steps, start, count, _most(count, start, steps, loop))


def _start(variable: Variable, stage: Stage, sequence: Stages) -> Expr:
    """What a variable is where a loop begins, as what is known before all of them."""
    inside = [earlier.then for earlier in sequence.all[: stage.number]]
    for body in reversed([sequence.before, *inside]):
        for stmt in reversed(body):
            match stmt:
                case Assign(other, value) if other is variable:
                    return (
                        value if body is not sequence.before or isinstance(value, Const) else Read(variable)
                    )
                case _ if variable in written((stmt,)):
                    return Read(variable)
    return Read(variable)


def _is_steady(value: Expr, changed: set[Variable]) -> bool:
    """Whether a value is the same before and behind loops that change some variables."""
    return changed.isdisjoint(variables_in(value)) and not any(loads_in(value))


def _most(count: Expr, start: Expr, steps: Steps, loop: DoWhile) -> int:
    """How often a loop runs at most: as its counter is not negative, or is an index of an array."""
    if isinstance(count, Const):
        return count.value
    extents = [size for stmt in loop.body for size in _extents(stmt, steps.variable)]
    signed = isinstance(loop.condition, Apply) and loop.condition.op == "slt"
    least = start if steps.step > 0 else steps.bound
    positive = signed and isinstance(least, Const) and least.value < WORD // 2
    return min([WORD // 2 - 1 if positive else WORD - 1, *extents])


def _extents(stmt: Stmt, counter: Variable) -> Iterator[int]:
    """The sizes of dimensions that a statement certainly accesses at a counter, or so far from it."""
    if isinstance(stmt, ir.Store) and is_constant(stmt.guard, 1):
        yield from _sizes(stmt.array, stmt.index, counter)
    for expr in operands(stmt):
        for inner in subexpressions(expr):
            if isinstance(inner, Load):
                yield from _sizes(inner.array, inner.index, counter)


def _sizes(array: ir.Array, index: Sequence[Expr], counter: Variable) -> Iterator[int]:
    for at, size in zip(index, array.shape, strict=True):
        match at:
            case Read(v) | Apply("add", (Read(v), Const())) if v is counter:
                yield size
            case _:
                pass


def _sum(op: str, a: Expr, b: Expr) -> Expr:
    return _simple(Apply(op, (a, b)))


def _simple(value: Expr) -> Expr:
    return map_expr(value, fold)
