"""What is expected of a kernel with copies of loops, banks and the like: graphs are made, nothing is placed.

Trials often differ in what comes to the same, as when ports suffice whatever banks there may be: each kernel
that comes out of `bank_arrays` is made into a graph once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil

from arch.fabric import Fabric
from backend.bound import Bounds, minimum_interval
from backend.core import tightened
from backend.dfg import DFG, Place
from backend.flat import Problem
from backend.mapping import DoesNotFit
from macah import ir
from macah.capacity import capacity_of
from macah.jam import joined_copies
from macah.loop_trips import UNKNOWN_TRIPS, LoopTrips
from macah.meanwhile import Meanwhile
from macah.optional import enabled
from macah.passes.delay_rows import waits_first
from macah.passes.partition_arrays import partitionable
from macah.passes.pipeline import optimize
from macah.shorten import bound
from macah.show import show_with_sizes
from macah.sources import source_name
from macah.tests_first import FEW_TRIPS
from macah.todfg import build_dfg, graph_of
from macah.walk import statements

SHARE = 0.5
"""Of the units, those that can work in each cycle of an interval: the others are for routing."""

FULL = 0.95
"""The same where nothing but a recurrence is in the way: so full an array is usually mapped, too."""

GAIN = 0.83
"""Copies must leave at most this share of the cycles."""

GROWS = 1.25
"""By so much graphs may grow for a shorter interval where the plain one is about as large as they may be."""

MOST_GROWN = 400
"""But not beyond so many nodes: mapping them takes long."""

LARGER = 2
"""So much larger graphs may be where short loops become one iteration, if that saves most cycles."""

HOPELESS = 8
"""Banks whose recurrences take more than so many times the interval without them are left so: looking for
shorter ones takes long then, and has not made any of them worth it."""

SHORTER = 4
"""The same of copies of bodies whose recurrences take more than so many times the cycles that would pay."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A lowered kernel with what is chosen for it, its final form, its graph, and what to expect of that.

    `interval` leaves half of the units free. There are so many `iterations`, and `fewest` where loops of
    unknown trips make few. `bolder` is to be tried as well (bolder.py).
    """

    kernel: ir.Kernel
    final: ir.Kernel
    dfg: DFG
    bounds: Bounds
    interval: int
    iterations: int
    fewest: int
    bolder: Choice | None = None

    @property
    def cycles(self) -> int:
        """Those of all iterations."""
        return self.iterations * self.interval

    @property
    def few(self) -> int:
        """Those of the fewest iterations."""
        return self.fewest * self.interval

    @property
    def ended(self) -> int:
        """The cycles until the last iteration is over, too."""
        return self.cycles + self.bounds.length


def crowd(dfg: DFG, fabric: Fabric, share: float) -> int:
    """The interval in which that share of the arithmetic units works; memories have ports of their own."""
    units = fabric.units_for("add")
    busy = sum(node.memory is None for node in dfg.nodes)
    return -int(-busy // (share * len(units)))


def full(choice: Choice, fabric: Fabric, share: float = FULL) -> int:
    """The interval of a choice for which a fuller array will do."""
    return max(choice.bounds.mii, crowd(choice.dfg, fabric, share))


class Trials:
    """Tries one kernel, whose loops these are, with other choices than those it came with.

    Other graphs with more than `most` nodes are none to be chosen. Up to `jobs` processes work.
    """

    def __init__(
        self, kernel: ir.Kernel, loops: tuple[LoopTrips, ...], fabric: Fabric, most: int, jobs: int = 1
    ) -> None:
        self.kernel = kernel
        self.loops = loops
        self.most = most
        self.fabric = fabric
        self.ports = min((len(bank.ports) for bank in fabric.memories), default=0)
        # by the choices that passes before `bank_arrays` or behind it ask for, and what that made of them
        self._known: dict[object, tuple[ir.Kernel, DFG, Bounds]] = {}
        self._made: dict[object, Choice] = {}  # by all choices
        # by those, and the slowest that are of use: these may be made at any time, and so ahead
        self._graphs: dict[object, tuple[DFG, Bounds]] = {}
        self._joined: dict[object, frozenset[Place]] = {}  # by copies, whose iterations are one loop's
        self.meanwhile = Meanwhile(self._graphs, jobs)

    def choice(self, kernel: ir.Kernel, odd: bool = False, share: float = SHARE) -> Choice:
        """What is expected of a kernel, with arrays in banks or variables if memories hold it up.

        These are the best ones where that share of the units works; `odd`: as `Room` says.
        """
        best = tried = self._banked(self.made(kernel), odd, share)
        while names := self._held_up_by(tried, share):
            partitioned = tuple(sorted({*tried.kernel.partitioned, *names}))
            apart = replace(tried.kernel, partitioned=partitioned, room=None)
            try:
                tried = self._banked(self.made(apart, HOPELESS * best.interval), odd, share)
            except DoesNotFit:  # as there are more operations
                break
            fits = len(tried.dfg.nodes) <= GROWS * self.most
            best = min(best, tried, key=partial(self._quickest, share=share)) if fits else best
        return best

    def fits(self, choice: Choice, best: Choice) -> bool:
        """Whether another form of the loops than the best one has a graph that may be chosen.

        A graph with more nodes than usual must be mapped sooner, though half of the units are for routing.
        """
        nodes = len(choice.dfg.nodes)
        return nodes <= self.most or (nodes <= self.largest and choice.interval < best.interval)

    @cached_property
    def largest(self) -> int:
        """So many nodes other forms of the loops may have."""
        plain = self.made(self.kernel)
        return max(self.most, min(MOST_GROWN, int(GROWS * len(plain.dfg.nodes))))

    @cached_property
    def waits_first(self) -> bool:
        """Whether all there is is a loop that waits for what is received before it."""
        if not any(isinstance(stmt, ir.Receive) for stmt in statements(self.kernel.body)):
            return False
        stages: list[ir.Kernel] = []
        optimize(self.kernel, lambda name, now: stages.append(now) if name == "pace_rows" else None)
        return bool(stages) and waits_first(stages[0].body)

    def iterations(self, kernel: ir.Kernel, unknown: int = UNKNOWN_TRIPS) -> int:
        """How many iterations of a flat loop there are, if loops of unknown trips make so many."""
        joined = self._to_be_joined(kernel.unroll)
        pace = _Pace(dict(kernel.unroll), joined, kernel.row, kernel.delay, unknown)
        return max(1, ceil(sum(pace.iterations(loop) for loop in self.loops)))

    def _to_be_joined(self, unroll: tuple[tuple[Place, int], ...]) -> Container[Place]:
        """The loops in copies that are joined: those nobody has made yet as with fewer copies of the last."""
        if unroll in self._joined or not unroll:
            return self._joined.get(unroll, ())
        *others, (where, factor) = unroll
        return self._to_be_joined((*others, (where, factor // 2))) if factor > 2 else dict(unroll)

    def crowd(self, dfg: DFG, share: float = SHARE) -> int:
        """The interval in which a share of the arithmetic units works; memories have ports of their own."""
        return crowd(dfg, self.fabric, share)

    def full(self, choice: Choice, share: float = FULL) -> int:
        """The interval of a choice for which a fuller array will do."""
        return full(choice, self.fabric, share)

    def waits(self, choice: Choice) -> bool:
        """Whether shorter recurrences might help: alone, or as ports can be shared then (`share_ports`)."""
        recurrence, resource = choice.bounds.recurrence, choice.bounds.resource
        return recurrence > resource or recurrence == resource > self.crowd(choice.dfg, FULL)

    def tightened(self, choice: Choice, reached: int) -> Choice:
        """The choice with an interval that is not refuted, or that of another one."""
        bounds = tightened(choice.bounds, Problem(choice.dfg, self.fabric), reached)
        return replace(choice, bounds=bounds, interval=max(choice.interval, bounds.mii))

    def busiest(self, dfg: DFG) -> int:
        """The interval that the ports of memories need, if arrays have no copies."""
        names = [memory.name for memory in dfg.memories]
        first = {names.index(name) for name in names}  # of the memories of an array
        accesses = Counter(
            dfg.memories[node.memory].name
            for node in dfg.nodes
            if node.memory is not None and (node.op == "load" or node.memory in first)
        )
        return max((-(-count // self.ports) for count in accesses.values()), default=1)

    def _banked(self, best: Choice, odd: bool, share: float) -> Choice:
        """The choice with banks for the interval that everything but ports allows, if that is not longer."""
        if not enabled(best.kernel, "bank_arrays"):
            return best
        kernel, crowd = best.kernel, self.crowd(best.dfg, share)
        # Recurrences are made shorter where they bind alone: once ports bind less, they may become so.
        for hopeful in (False, True):
            wanted = crowd if hopeful else max(best.bounds.recurrence, crowd)
            if self.busiest(best.dfg) > wanted:
                room = ir.Room(len(self.fabric.memories), self.ports, wanted, odd)
                reached = self.full(best, share)
                slowest = HOPELESS * best.interval
                if hopeful:
                    slowest = min(slowest, self._unshortened(best) + _added(best, reached - wanted))
                banked = self.made(replace(kernel, room=room), slowest)
                if self.full(banked, share) < reached + (not hopeful):
                    best = banked
        return best

    def _quickest(self, choice: Choice, share: float) -> tuple[int, int, int]:
        """The interval where that share of the units works, that of a full array, and the operations."""
        return self.full(choice, share), self.full(choice), len(choice.dfg.nodes)

    def _held_up_by(self, choice: Choice, share: float) -> frozenset[str]:
        """The small arrays in memories for which a choice waits."""
        plain = choice.kernel
        interval = self.full(choice, share)
        if interval == self.crowd(choice.dfg, share) or not enabled(plain, "partition_arrays"):
            return frozenset()
        small = partitionable(self.made(replace(plain, room=None)).final)
        names = {source_name(name) for name in _waited_for(choice, interval, self.ports)}
        return (small & names).difference(plain.partitioned)

    def _unshortened(self, choice: Choice) -> int:
        """The interval that a kernel needs before its recurrences are made shorter."""
        plain = replace(choice.final, without=choice.final.without | {"shorten"})
        capacity = capacity_of(self.fabric)
        return bound(graph_of(plain, capacity), capacity)

    def made(self, kernel: ir.Kernel, slowest: int | None = None) -> Choice:
        """What is expected of a kernel as it is; `slowest`: as `Capacity` says."""
        asked = (kernel.room, kernel.partitioned, *_wishes(kernel))
        if asked not in self._made:
            self.meanwhile.go_on()
            self._made[asked] = self._new(kernel, slowest)
        return self._made[asked]

    def _new(self, kernel: ir.Kernel, slowest: int | None) -> Choice:
        stages: dict[str, ir.Kernel] = {}
        final = optimize(kernel, stages.__setitem__)
        text = show_with_sizes(stages["bank_arrays"]) if "bank_arrays" in stages else ""
        if kernel.unroll not in self._joined:
            joined = stages.get("join_loops")  # None if nothing is to be joined
            self._joined[kernel.unroll] = frozenset(joined_copies(self.loops, joined) if joined else ())
        key = (text, kernel.partitioned, *_wishes(kernel))
        slowest = min((one for one in (slowest, self._slowest(kernel)) if one is not None), default=None)
        if key not in self._known:
            if (key, slowest) not in self._graphs:
                with self.meanwhile.idle_helping():
                    dfg = build_dfg(final, self.fabric, slowest=slowest, most=self._most(kernel))
                self._graphs[key, slowest] = dfg, minimum_interval(dfg, self.fabric)
            self._known[key] = final, *self._graphs[key, slowest]
        final, dfg, bounds = self._known[key]
        interval = max(bounds.mii, self.crowd(dfg))
        often, few = self.iterations(kernel), self.iterations(kernel, FEW_TRIPS)
        return Choice(kernel, final, dfg, bounds, interval, often, few)

    def _slowest(self, kernel: ir.Kernel) -> int | None:
        """Copies of bodies with longer recurrences, before these are made shorter, are of no use."""
        if kernel.unroll == self.kernel.unroll:
            return None
        plain = self.made(self.kernel)
        return SHORTER * max(plain.interval, plain.cycles // self.iterations(kernel))

    def _most(self, kernel: ir.Kernel) -> int | None:
        """So many nodes a graph may have to be chosen, if there is a limit; making them better adds some."""
        if (kernel.partitioned, *_wishes(kernel)) == (self.kernel.partitioned, *_wishes(self.kernel)):
            return None  # it is what there is if nothing else is chosen
        if kernel.unroll == self.kernel.unroll:
            return self.largest
        whole = any(factor == 0 for _, factor in kernel.unroll)
        return self.most * (LARGER if whole else 1)


def _waited_for(choice: Choice, interval: int, ports: int) -> Iterator[str]:
    """The arrays on the recurrence that binds, and those whose ports do."""
    dfg, bounds = choice.dfg, choice.bounds
    if bounds.recurrence >= interval:
        yield from (
            dfg.memories[m].name for node in bounds.cycle if (m := dfg.nodes[node].memory) is not None
        )
    accesses = Counter(node.memory for node in dfg.nodes if node.memory is not None)
    for memory, count in accesses.items():
        if -(-count // ports) >= interval:
            yield dfg.memories[memory].name


def _added(best: Choice, gain: int) -> int:
    """What banks may add to recurrences if at most so many cycles are gained without waiting for ports.

    Half of what is added may go again once ports are not in the way; where they are not now, nothing will.
    """
    return gain if best.bounds.recurrence > best.bounds.resource else 2 * gain


def _wishes(kernel: ir.Kernel) -> tuple[object, ...]:
    """What is asked of other passes than those that say where arrays are."""
    rows = kernel.row, kernel.delay, kernel.chained, kernel.stacked, kernel.entered
    return kernel.unroll, kernel.tests_first, *rows, kernel.patient, kernel.once


@dataclass(frozen=True, slots=True)
class _Pace:
    """Copies of loops' bodies, those whose loops are joined, and of rows how long they are at least, and how
    many empty iterations follow them.
    """

    factors: dict[Place, int]
    joined: Container[Place]
    row: int
    delay: int
    unknown: int

    def iterations(
        self, loop: LoopTrips, around: int | None = None, *, within: bool = False
    ) -> Fraction | int:
        """How many iterations of a flat loop this one takes on average, in one that runs `around` times."""
        factor = self.factors.get(loop.where, 1) if loop.where else 1
        inside = sum(self.iterations(inner, loop.trips, within=True) for inner in loop.loops)
        innermost = within and not inside
        joined = loop.where in self.joined
        each = max(1, inside if joined else factor * inside)
        if loop.rows and factor:
            rows = sum(self._row(max(1, -(-trips // factor)), innermost) for trips in loop.rows)
            return Fraction(rows, len(loop.rows)) * each
        trips: Fraction | int | None = loop.trips
        if loop.rows:
            trips = Fraction(sum(loop.rows), len(loop.rows))
        if trips is None:
            trips = -(-around // 2) if loop.triangular and around else self.unknown
        if factor == 0 or factor >= trips:
            return inside if joined else trips * inside
        return self._row(-(-trips // factor), innermost) * each

    def _row(self, trips: int, innermost: bool) -> int:
        """The iterations of a row, and the empty ones behind it."""
        return max(trips, self.row) + self.delay if innermost else trips
