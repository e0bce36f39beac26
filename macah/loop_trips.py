"""What to know of a kernel's plain loops before copies of bodies are chosen: trips, streams and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from arch.ops import COMPARISONS, word
from backend.dfg import Place
from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.passes.unroll_loops import Counter, Loop, LoopUnroller, trips_from
from macah.walk import loads_in, map_expr, replace_reads, statements, variables_in, written

MOST_TURNS = 4096
"""So many iterations of a loop are gone through to know how often those in it run."""

SHORT = 6
"""So many iterations are expected of a row of unknown length: empty ones cost more the shorter rows are."""

UNKNOWN_TRIPS = 64
"""So many iterations are expected of a loop of which nothing is known."""

Counts = dict[Variable, Const]
"""What the counters of loops are at some time."""


class Streams(Enum):
    """What a loop does with streams."""

    NONE = "nothing"
    LAST = "sends once, at most, and is over then"
    ALIKE = "only receives from one, or only sends to one, and waits for nothing else"
    MIXED = "anything else"


@dataclass(frozen=True, slots=True)
class LoopTrips:
    """A plain loop, how often it runs if that is known, and the loops in it."""

    where: Place | None
    counter: Variable | None
    trips: int | None
    counted: bool  # how often it runs, unless it is left, is known when it begins
    triangular: bool  # how often it runs is unknown, and follows from the counters of the loops around it
    rows: tuple[int, ...]  # how often it runs each time, if that is known then, and not always the same
    streams: Streams
    size: int  # operations, without those of addresses
    loops: tuple[LoopTrips, ...]


def loop_trips(kernel: ir.Kernel, by_row: bool = True) -> tuple[LoopTrips, ...]:
    """The loops of a kernel without calls and FOR loops; `by_row`: with `LoopTrips.rows`, which take long."""
    survey = _Survey({})
    survey.turns = [{}] if by_row else None
    survey.body(kernel.body)
    return tuple(survey.loops)


class _Survey(LoopUnroller):
    """Copies nothing, and notes the trips of all loops."""

    def __init__(self, factors: dict[Place, int]) -> None:
        super().__init__(factors)
        self.loops: list[LoopTrips] = []
        self.counters: list[Variable | None] = []  # of the loops around
        self.turns: list[Counts] | None = None  # what these are each time a loop begins, if that is known

    def loop(self, stmt: ir.While, out: list[Stmt]) -> None:
        self.visit(stmt, out, lambda: super(_Survey, self).loop(stmt, out))

    def do_loop(self, stmt: ir.DoWhile, out: list[Stmt]) -> None:
        self.visit(stmt, out, lambda: super(_Survey, self).do_loop(stmt, out))

    def visit(self, stmt: Loop, out: list[Stmt], inside: Callable[[], None]) -> None:
        counter, around = self.counter(stmt, 1), self.loops
        variable = None if counter is None else counter.variable
        trips = None if counter is None else counter.trips
        start = None if counter is None else self.start(counter.variable, out)
        triangular = counter is not None and trips is None and self.follows(stmt, counter.variable, start)
        turns, counts = self.turns, None
        if turns is not None and counter is not None and start is not None:
            counts = self.counts(stmt, counter, start, turns)
        rows = tuple(map(len, counts)) if counts and triangular else ()
        self.turns = None
        if turns is not None and counter is not None and counts is not None:
            both = zip(turns, counts, strict=True)
            self.turns = [{**turn, counter.variable: count} for turn, inner in both for count in inner]
        self.loops = []
        self.counters.append(variable)
        inside()
        self.counters.pop()
        self.turns = turns
        within = tuple(statements((stmt,)))
        size, streams = sum(map(_operations, within)), _streams(stmt, within)
        counted = counter is not None and _is_steady(stmt, counter.variable, within)
        inner = tuple(self.loops)
        around.append(LoopTrips(stmt.where, variable, trips, counted, triangular, rows, streams, size, inner))
        self.loops = around

    def start(self, counter: Variable, out: Sequence[Stmt]) -> Expr | None:
        """What a loop's counter begins with."""
        starts = [s.value for s in out if isinstance(s, Assign) and s.variable is counter]
        return starts[-1] if starts else (self.known or {}).get(counter)

    def counts(
        self, stmt: Loop, counter: Counter, start: Expr, turns: Sequence[Counts]
    ) -> list[list[Const]] | None:
        """What a loop's counter is in its iterations, for each time it begins; None if that is not known."""
        found, left, variable = list[list[Const]](), MOST_TURNS, counter.variable
        if not written((stmt,)).isdisjoint({*variables_in(stmt.condition)} - {variable}):
            return None
        for turn in turns:
            known = {**{v: c for v, c in (self.known or {}).items() if v is not variable}, **turn}
            first = map_expr(replace_reads(start, known), fold)
            if not isinstance(first, Const):
                return None
            condition = map_expr(replace_reads(stmt.condition, known), fold)
            trips = trips_from(stmt, condition, variable, first.value, counter.step)
            left -= trips or 0
            if trips is None or left < 0:
                return None
            words = (word(variable.bits, first.value + trip * counter.step) for trip in range(trips))
            found.append([Const(value, variable.bits) for value in words])
        return found

    def follows(self, stmt: Loop, counter: Variable, start: Expr | None) -> bool:
        """Whether the counters of loops around this one are all that its own one begins and ends with."""
        used = {*variables_in(stmt.condition), *(variables_in(start) if start else [])} - {counter}
        return start is not None and bool(used) and used <= {*self.counters, *(self.known or {})}


def _is_steady(loop: Loop, counter: Variable, within: Body) -> bool:
    """Whether a loop's condition compares its counter with what does not change in it."""
    before = loop.before if isinstance(loop, ir.While) else ()
    changing = written(within) - {counter}
    match loop.condition:
        case Apply(op, args) if op in COMPARISONS and not before and not loads_in(loop.condition):
            # `while (s & 7) s++` may take any bits of its counter
            plain = op not in {"eq", "ne"} or Read(counter) in args
            return plain and changing.isdisjoint(variables_in(loop.condition))
        case _:
            return False


def _operations(stmt: Stmt) -> int:
    """How many operations a statement takes, without those in it, and of addresses."""

    def count(expr: Expr) -> int:
        match expr:
            case Apply(_, arguments):
                return 1 + sum(map(count, arguments))
            case ir.Load():
                return 1
            case _:
                return 0

    match stmt:
        case Assign(_, value):
            return count(value)
        case ir.Store():
            return 1 + count(stmt.value)
        case ir.Send():
            return 1 + sum(map(count, stmt.values))
        case ir.If():
            return count(stmt.condition)
        case _:
            return 1


def _streams(loop: Loop, within: Sequence[Stmt]) -> Streams:
    """What a loop that consists of these statements does with streams."""
    uses = [stmt for stmt in within if isinstance(stmt, ir.Move)]
    if not uses:
        return Streams.NONE
    if len(uses) == _last_sends(loop):
        return Streams.LAST
    ports = {_port(use) for use in uses}
    return Streams.ALIKE if len(ports) == 1 and None not in ports else Streams.MIXED


def _port(use: Stmt) -> object | None:
    """What a blocking receive or send of a certain stream uses; None for anything else."""
    match use:
        case ir.Receive() | ir.Send() if use.worked is None and all(isinstance(k, Const) for k in use.index):
            return type(use), use.stream, use.index
        case _:
            return None


def _last_sends(stmt: Loop) -> int:
    """How many sends there are in a loop, but in none that is in it, that leave it at once."""
    inside = {block.label for block in statements((stmt,)) if isinstance(block, ir.Block)}

    def count(body: Body) -> int:
        found = 0
        for now, after in pairwise((*body, None)):
            match now, after:
                case ir.Send(), ir.Leave(label) if label not in inside:
                    found += 1
                case ir.Block(_, within), _:
                    found += count(within)
                case ir.If(_, then, otherwise), _:
                    found += count(then) + count(otherwise)
        return found

    return count(stmt.body)
