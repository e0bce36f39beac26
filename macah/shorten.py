"""Shortens recurrences: the cycles of a graph that keep iterations from starting sooner.

    k = select(p@1, k@1 + 1, 0)
    p = t[k] != 0          ->          p = select(p@1, t[k@1 + 1] != 0, t[0] != 0)

A load takes 2 cycles, so p waited for p@1 for 4; now for 1, and for 6 for p@2, by way of k@1.

For smaller and smaller intervals, values on cycles that take too long get further ways to be made
(`shorten_rules`), until some choice of ways (`shorten_time`) is fast enough, or nothing helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from backend.cycles import Delay, components, dependences, on_cycles, tightest_of
from backend.dfg import DFG, Use, is_ordered
from macah.balance import latency
from macah.capacity import Capacity
from macah.graph import Value
from macah.meanwhile import aside
from macah.shorten_ahead import look_ahead
from macah.shorten_convert import from_dfg, order_arcs, to_dfg
from macah.shorten_hold import hold
from macah.shorten_modulo import count_turns
from macah.shorten_rules import RULES_FOR, Pair, Rule
from macah.shorten_time import Times
from macah.shorten_wrap import unmasked

MOST_NODES = 4000
"""Larger graphs are left as they are."""

MOST_DRAFTS = 12000
"""So many ways to make values there are at most."""

MOST_NEW_EACH = 8
"""So many ways to make values are looked at for each node on a cycle, besides those of a `Budget`."""

SMALL = 128
"""Graphs of so many nodes are searched in a second manner, too."""

MOST_TRIES = 20000
MOST_TRIES_EACH = 40
"""So often are operations rewritten for an interval, and for each node on a cycle: some graphs get one new
way at a time, for which all that there are so far are looked at again."""

SLACK = 1
"""Only ways are rewritten that are later than the soonest one of their value by no more cycles than this."""

WORSE = 1
"""New ways may be later than the soonest one by this."""

PATIENCE = 12
"""So often are times raised without finding a new way."""

PATIENCE_ALONE = 60
"""And so often where no new ways are looked for."""

STEPS = 24


@dataclass(frozen=True, slots=True)
class Budget:
    """So many ways to make values are looked at for an interval: `new`, or fewer in large graphs: `drafts`
    over the number of nodes. `ways` are kept for one value.
    """

    ways: int
    new: int
    drafts: int


USUAL = Budget(ways=12, new=1200, drafts=30_000)
PATIENT = Budget(ways=24, new=4000, drafts=200_000)
"""Two to three times the seconds."""

REMEMBERED = 64
"""What became of so many graphs is known, as choices for a kernel often come to the same graph."""


def shorten(dfg: DFG, capacity: Capacity) -> DFG:
    """The same graph, with shorter recurrences where these bind.

    Several iterations are looked ahead only where nothing else helps as much: that takes more operations.
    """
    if len(dfg.nodes) > (MOST_NODES if capacity.most is None else capacity.most):
        return dfg
    if capacity.slowest is not None and bound(dfg, capacity) > capacity.slowest:
        return dfg
    return _shortest(dfg, replace(capacity, slowest=None, most=None))


@lru_cache(maxsize=REMEMBERED)
def _shortest(dfg: DFG, capacity: Capacity) -> DFG:
    if (best := _without_masks(dfg, capacity)) is not dfg:
        return best
    if len(dfg.nodes) <= SMALL and bound(dfg, capacity) > capacity.least_interval(dfg):
        with aside(partial(_repeated, dfg, capacity, False)) as other:
            found = _repeated(dfg, capacity, True), other()
        best = min(found, key=lambda shorter: (bound(shorter, capacity), len(shorter.nodes)))
    else:
        best = _repeated(dfg, capacity, True)
    if (reached := bound(best, capacity)) > capacity.least_interval(best):
        ahead = _shortened(dfg, capacity, True, ahead=True)
        if ahead is not dfg and bound(ahead := _repeated(ahead, capacity, True), capacity) < reached:
            return ahead
    return best


def _without_masks(dfg: DFG, capacity: Capacity) -> DFG:
    """The graph with what wraps around outside its recurrences only, if these need no other ways then."""
    floor = capacity.least_interval(dfg)
    slowest, members = slow_cycles(dfg, floor)
    if slowest > floor and unmasked(dfg, members)[1]:
        search = _Search(dfg, members, True, _budget(capacity))
        if search.feasible(floor, False):
            found = to_dfg(dfg, search.choices, search.drafts, search.times.chosen)
            if is_ordered(found) and bound(found, capacity) <= floor:
                return found
    return dfg


def _repeated(dfg: DFG, capacity: Capacity, broad: bool) -> DFG:
    """What was reached is a better place to begin from than all the ways that led there."""
    while (shorter := _shortened(dfg, capacity, broad)) is not dfg:
        dfg = shorter
    return dfg


def bound(dfg: DFG, capacity: Capacity) -> int:
    """The least interval that recurrences, units, streams and memories allow."""
    return slow_cycles(dfg, capacity.least_interval(dfg))[0]


def _shortened(dfg: DFG, capacity: Capacity, broad: bool, ahead: bool = False) -> DFG:
    floor = capacity.least_interval(dfg)
    slowest, members = slow_cycles(dfg, floor)
    if slowest <= floor:
        return dfg
    best, reached = dfg, slowest
    search = _Search(dfg, members, broad, _budget(capacity))
    if ahead and not look_ahead(dfg, search.choices, search.drafts):
        return dfg
    # Long recurrences get shorter by several cycles at a time, so that there are few steps.
    stride = max(1, (slowest - floor) // STEPS)
    aim = slowest - stride
    while aim >= floor:
        if search.feasible(aim, not ahead):
            found = to_dfg(dfg, search.choices, search.drafts, search.times.chosen)
            bound = max(capacity.least_interval(found), slow_cycles(found, floor)[0])
            worse = max(bound, capacity.roomy_interval(found)) > max(reached, capacity.roomy_interval(best))
            # a value that never changes may have been found to be itself
            if bound < reached and not worse and is_ordered(found):
                best, reached = found, bound
        elif stride == 1:
            break
        else:
            aim += stride
            stride = (stride + 1) // 2
        aim = min(aim, reached) - stride
    return best


def _budget(capacity: Capacity) -> Budget:
    return PATIENT if capacity.patient else USUAL


def slow_cycles(dfg: DFG, floor: int) -> tuple[int, list[int]]:
    """The smallest interval from `floor` on that cycles allow, and the nodes of components that need more."""
    slowest, members = floor, list[int]()
    for inside in components(delays(dfg)):
        needed = tightest_of(inside, floor)[0]
        slowest = max(slowest, needed)
        if needed > floor:
            members += sorted({end for delay in inside for end in (delay.source, delay.target)})
    return slowest, sorted(members)


def delays(dfg: DFG) -> list[Delay]:
    """What nodes wait for, with latencies that are typical."""
    found: list[Delay] = []
    for consumer, _, use in dfg.uses():
        cycles = latency(dfg.nodes[consumer].op)
        found.append(Delay(use.node, consumer, use.distance, cycles))
    for order in dfg.orders:
        before, after = dfg.nodes[order.before], dfg.nodes[order.after]
        cycles = order.delay - latency(before.op) + latency(after.op)
        found.append(Delay(before.id, after.id, order.distance, cycles))
    return found


def _after_cycles(dfg: DFG) -> list[int]:
    """The nodes that need values of cycles."""
    edges = dependences(dfg)
    found = on_cycles(edges)
    pending = list(found)
    while pending:
        new = set(edges.successors(pending.pop())) - found
        found |= new
        pending += new
    return sorted(found)


class _Search:
    """`broad`: all values whose times grow get further ways, not at first only those on cycles."""

    def __init__(self, dfg: DFG, members: Sequence[int], broad: bool, budget: Budget) -> None:
        self.broad, self.budget = broad, budget
        dfg, equal = unmasked(dfg, members)
        self.choices, self.drafts = from_dfg(dfg)
        for node, copy in equal.items():
            self.choices.equal(self.drafts[node], Use(self.drafts[copy]))
        self.times = Times(self.choices, order_arcs(dfg, self.drafts))
        self.choices.delay_all()
        hold(dfg, self.choices, self.drafts)
        count_turns(dfg, self.choices, self.drafts)
        self.roots = [self.drafts[node] for node in members]
        self.repeated = [self.drafts[node] for node in _after_cycles(dfg)]
        self.more = min(budget.new, budget.drafts // len(dfg.nodes)) + MOST_NEW_EACH * len(self.roots)
        self.most = 0  # drafts
        self.tries = 0  # that are left
        self.offers: dict[int, list[Value]] = {}  # values found for a class, not taken as ways of it yet
        # by way, operand, way of the operand: the rules whose results seemed to be too late
        self.untried: dict[tuple[int, int, int], tuple[Rule, ...]] = {}

    def feasible(self, interval: int, more: bool = True) -> bool:
        """Whether some choice of ways is fast enough; `more`: also of ways that are yet to be found."""
        times = self.times
        times.begin(interval, self.repeated)
        self.most = min(len(self.choices.graph.drafts) + self.more, MOST_DRAFTS)
        self.tries = MOST_TRIES + MOST_TRIES_EACH * len(self.roots)
        times.order(self.roots)
        idle = 0
        while idle < (PATIENCE if more else PATIENCE_ALONE):
            grown = times.sweep()
            if not grown:
                return True
            idle += 1
            if more and idle % 3 == 0 and self._expand(grown):
                self.choices.merge_same()
                times.order(self.roots)
                idle = 0
        return False

    def _expand(self, grown: list[int]) -> bool:
        """Find further ways for values whose times grow."""
        return (not self.broad and self._offer(self.times.critical(grown))) or self._offer(grown)

    def _offer(self, nodes: list[int]) -> bool:
        """Find new ways for classes that are about as soon as the old ones."""
        for worse in range(WORSE + 1):
            new = False
            for node in nodes:
                if self._exhausted():
                    break
                self._find(node, worse)
            self.times.estimate(len(self.choices.graph.drafts))
            for node in nodes:
                new |= self._take(node, worse)
            if new:
                return True
        return False

    def _take(self, node: int, worse: int) -> bool:
        """Take the ways found for a class that are late by no more than `worse`."""
        offers = self.offers.get(node)
        if not offers:
            return False
        choices, times = self.choices, self.times
        times.estimate(len(choices.graph.drafts))
        self.offers[node] = left = []
        new = False
        latest = times.of(node) + worse
        for value in offers:
            if len(choices.ways[choices.find(node)]) > self.budget.ways:
                break
            if times.of_value(value) <= latest:
                new |= choices.equal(node, value)
            else:
                left.append(value)
        return new

    def _find(self, node: int, worse: int) -> None:
        """Find further ways for a class, but not those that are certainly late by more than `worse`."""
        last = self.times.of(node) + SLACK
        for way in list(self.choices.ways[self.choices.find(node)]):
            if not self.choices.movable(way):
                continue
            for at in self.times.late_operands(way, last):
                if self._exhausted():
                    return
                self.tries -= 1
                self._rewrite(node, way, at, worse)

    def _exhausted(self) -> bool:
        """Whether no more is to be tried for this interval."""
        return len(self.choices.graph.drafts) > self.most or self.tries == 0

    def _late(self, way: int) -> bool:
        """Whether other ways of a class are much sooner."""
        return self.times.of_way(way)[0] > self.times.of(way) + SLACK

    def _rewrite(self, node: int, way: int, at: int, worse: int) -> None:
        choices = self.choices
        draft = choices.graph.drafts[way]
        found = self.offers.setdefault(node, [])
        latest = self.times.of(node) + worse
        for inner, inside in list(choices.views(draft.operands[at])):
            rules = self.untried.get((way, at, inner), RULES_FOR[draft.op])
            if not rules or self._late(inner):
                continue
            pair = Pair(
                choices, draft, draft.operands, at, choices.graph.drafts[inner], inside, self.times, latest
            )
            left: tuple[Rule, ...] = ()
            for rule in rules:
                pair.put_off = False
                found += rule(pair)
                if pair.put_off:
                    left += (rule,)
            self.untried[way, at, inner] = left
