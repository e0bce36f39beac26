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

from arch.ops import COMPARISONS
from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.passes.loop_stages import Stage, Stages
from macah.passes.predicate import Predicates, either, negate
from macah.passes.row_trips import Steps, find_steps, trips
from macah.walk import (
    both,
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
    """A loop of several: its counter in an iteration, when it runs, and after which another one follows."""

    counter: Body
    runs: Expr
    more: Expr


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


def chain(
    sequence: Stages, pasts: Sequence[Variable], predicates: Predicates, stacked: bool = False
) -> Chain | None:
    """One counter for loops in sequence; None if it is not known where they begin how often each runs.

    If they are `stacked`, each has one loop in it (`stack_nests`). Then it is enough to know of the last one
    whether it runs.
    """
    known, changed = list[_Known](), set[Variable]()
    if not stacked and any(has_loop(stage.loop.body) for stage in sequence.all):
        return None
    for stage in sequence.all:
        found = _known(stage, sequence, changed)
        if found is None:
            break
        known.append(found)
        changed |= written((stage.loop, *stage.then))
    if sum(max(1, one.most) for one in known) >= WORD:
        return None  # the counter might wrap around
    chainer = _Chainer(sequence, predicates)
    if len(known) == len(sequence.all):
        # If all run a constant number of times, `count_stages` does that better.
        constant = all(isinstance(one.count, Const) for one in known)
        return chainer.made(known, pasts) if stacked or not constant else None
    entered = _entered(sequence.all[-1], sequence, changed)
    if stacked and len(known) == len(pasts) and entered is not None:
        return chainer.open(known, pasts, predicates.truth(entered))
    return None


class _Chainer:
    def __init__(self, sequence: Stages, predicates: Predicates) -> None:
        self.sequence, self.predicates = sequence, predicates
        self.setup = list[Stmt]()
        self.turn = Variable("turn", where=sequence.all[0].loop.where)

    def made(self, known: Sequence[_Known], pasts: Sequence[Variable]) -> Chain:
        """One counter for all loops."""
        turns, ends = self.turns(known)
        self.setup.append(Assign(self.turn, Const(0), self.turn.where))
        step = Assign(self.turn, Apply("add", (Read(self.turn), Const(1))), self.turn.where)
        again = Apply("ult", (Read(self.turn), ends[-1]))
        return Chain(tuple(self.setup), self.first(pasts, ends), turns, (step,), again)

    def open(self, known: Sequence[_Known], pasts: Sequence[Variable], entered: Expr) -> Chain:
        """One counter for all but the last one, which says itself whether it goes on; it rests meanwhile."""
        turns, ends = self.turns(known)
        last, past = self.sequence.all[-1], Read(pasts[-1])
        code, runs = self.predicates.named(entered, "entered", last.loop.where)
        if _is_known_inside(entered, last):
            code, runs = (), entered
        self.setup += (*code, Assign(self.turn, Const(0), self.turn.where))
        step = Assign(self.turn, Apply("add", (Read(self.turn), negate(past))), self.turn.where)
        more = both(runs, self.predicates.truth(last.loop.condition))
        again = either(negate(past), more)
        return Chain(
            tuple(self.setup), self.first(pasts, ends), (*turns, Turn((), runs, more)), (step,), again
        )

    def first(self, pasts: Sequence[Variable], ends: Sequence[Expr]) -> Body:
        return tuple(
            Assign(past, Apply("ule", (end, Read(self.turn))), past.where)
            for past, end in zip(pasts, ends, strict=False)
        )

    def turns(self, known: Sequence[_Known]) -> tuple[tuple[Turn, ...], list[Expr]]:
        """The turns of the first loops, and where each ends."""
        begun: Expr = Const(0)
        turns, ends = list[Turn](), list[Expr]()
        for stage, one in zip(self.sequence.all, known, strict=False):
            count = self.named("count", one.count, stage)
            runs = _simple(Apply("ne", (one.count, Const(0))))
            if not _is_known_inside(runs, stage):
                runs = _simple(Apply("ne", (count, Const(0))))
            spent = _simple(Apply("umax", (count, Const(1))))
            end = self.named("end", _sum("add", begun, spent), stage)
            turns.append(self.counted(one, begun, end, runs, stage))
            ends.append(end)
            begun = end
        return tuple(turns), ends

    def counted(self, one: _Known, begun: Expr, end: Expr, runs: Expr, stage: Stage) -> Turn:
        """The turn of a loop that begins and ends when the counter is so far."""
        number = _sum("sub", Read(self.turn), begun)
        start = self.named("start", one.start, stage)
        value = _sum("add", start, number) if one.steps.step > 0 else _sum("sub", start, number)
        last = self.named("last", _sum("sub", end, Const(1)), stage)
        counter = Assign(one.steps.variable, value, stage.loop.where)
        return Turn((counter,), runs, Apply("ne", (Read(self.turn), last)))

    def named(self, name: str, value: Expr, stage: Stage) -> Expr:
        """A variable for a value that is known where the loops begin, unless it is a constant."""
        if isinstance(value, Const):
            return value
        variable = Variable(name, where=stage.loop.where)
        self.setup.append(Assign(variable, value, stage.loop.where))
        return Read(variable)


def _entered(stage: Stage, sequence: Stages, changed: set[Variable]) -> Expr | None:
    """Whether a loop runs, as what is known before all of them; None if it is not."""
    guard = stage.loop.guard
    starts = {variable: _start(variable, stage, sequence) for variable in variables_in(guard)}
    entered = replace_reads(guard, starts)
    return map_expr(entered, fold) if _is_steady(entered, changed) else None


def _known(stage: Stage, sequence: Stages, changed: set[Variable]) -> _Known | None:
    """How a loop counts if those before it change some variables; None if that is not known before all."""
    loop = stage.loop
    steps = find_steps(loop)
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
    earlier = sequence.all[: stage.number]
    bodies = [sequence.before, *(body for one in earlier for body in ((one.loop,), one.then))]
    for body in reversed(bodies):
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
    always = (stmt for stmt in loop.body if not isinstance(stmt, DoWhile))
    extents = [size for stmt in always for size in _extents(stmt, steps.variable)]
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


def _is_known_inside(value: Expr, stage: Stage) -> bool:
    """Whether a value is one comparison, which is the same all through a loop."""
    return _is_comparison(value) and written((stage.loop,)).isdisjoint(variables_in(value))


def _is_comparison(value: Expr) -> bool:
    match value:
        case Const():
            return True
        case Apply(op, (Const() | Read(), Const() | Read())):
            return op in COMPARISONS
        case _:
            return False


def _sum(op: str, a: Expr, b: Expr) -> Expr:
    return _simple(Apply(op, (a, b)))


def _simple(value: Expr) -> Expr:
    return map_expr(value, fold)
