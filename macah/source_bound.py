"""How short the interval of a kernel can be at all, from its source: whatever passes make of its loops.

    for (i = 0; i < n; i++) { h[x[i]] = h[x[i]] + 1; }          1 or more: + and a choice between two values

A bound is what cycles of dependences need (`macah/source_graph.py`), each operation at the least that it can
cost (`macah/source_cost.py`), divided by the iterations of innermost loops around the cycle; and what ports
and units need for an iteration. No interval is shorter as long as an iteration of an innermost loop is an
iteration of the flat loop: unrolling changes the loop, and so does leaving iterations empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import networkx as nx

from arch.fabric import Fabric
from arch.ops import OPS
from backend.cycles import Delay, tightest
from backend.dfg import Place, Use
from macah import ir
from macah.dependence import FARTHEST, Distances
from macah.graph import Before, Value
from macah.ir import Array
from macah.passes.find_sites import find_sites
from macah.passes.invert_loops import invert_loops
from macah.passes.pipeline import PIPELINE
from macah.site import Loop
from macah.source_cost import Costs
from macah.source_graph import Effect, SourceGraph, SourceLoop
from macah.source_resources import source_resources

BEGUN = (1, 4)
"""For so many iterations ahead, either outcome of a choice may be prepared."""

MOST_ACCESSES = 200
"""Of more accesses to one array in the source, only neighbours are compared."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on a recurrence, and the variable that it gives a value."""

    op: str
    variable: str | None
    where: Place | None


@dataclass(frozen=True, slots=True)
class SourceBound:
    """The least interval: what recurrences and resources need, and the operations of one that binds.

    `loops` are the places of the loops.
    """

    recurrence: int
    resource: int
    steps: tuple[Step, ...]
    binding: str
    loops: tuple[Place, ...]

    @property
    def interval(self) -> int:
        """The least interval."""
        return max(self.recurrence, self.resource)


def source_bound(kernel: ir.Kernel, fabric: Fabric) -> SourceBound:
    """The bound of a kernel as it comes from `lower`."""
    found = SourceGraph(find_sites(_structured(kernel)))
    recurrence, cycle = _Recurrences(found, fabric).bound()
    resource, binding = source_resources(found, fabric)
    places = tuple(loop.where for loop in found.loops if loop.where is not None)
    return SourceBound(recurrence, resource, cycle, binding, places)


def _structured(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with loops and branches as they are written, but without calls, jumps and `while`."""
    kernel = replace(kernel, tests_first=())
    for step in PIPELINE:
        if step.name not in kernel.without:
            kernel = step.run(kernel)
        if step.run is invert_loops:
            break
    return kernel


class _Recurrences:
    """The arcs of a source graph; joins are numbered behind operations."""

    def __init__(self, source: SourceGraph, fabric: Fabric) -> None:
        self.source = source
        self.drafts = source.graph.drafts
        self.costs = Costs(source, fabric)
        self.joins = list(source.joins.values())
        self.number = {variable: len(self.drafts) + k for k, variable in enumerate(source.joins)}
        self.receive = fabric.latency("recv")
        self.turns: set[Delay] = set()  # of loops, which their tests choose like a select

    def bound(self) -> tuple[int, tuple[Step, ...]]:
        """The least interval of all cycles, and the operations of one that needs it.

        What a choice waits for costs less if iterations after it are begun for either outcome: two cycles
        more for each, but the choice has to be made in so many iterations more.
        """
        arcs = [*self.data(), *self.memory()]
        arcs += self.control(arcs)
        best, worst = tightest(arcs)
        for iterations in BEGUN:
            begun, other = tightest([self.begun(arc, iterations) for arc in arcs])
            if begun < best:
                best, worst = begun, other
        return best, tuple(self.step(n) for n in worst if n < len(self.drafts))

    def begun(self, arc: Delay, iterations: int) -> Delay:
        """An arc to a choice, if so many iterations behind it have been begun for either outcome."""
        if arc.target < len(self.drafts):
            draft = self.drafts[arc.target]
            choice = draft.op == "select" and self.numbered(draft.operands[0]) == arc.source
            if choice or arc in self.turns:
                return Delay(arc.source, arc.target, arc.distance + iterations, arc.cycles + 2 * iterations)
        return arc

    def step(self, number: int) -> Step:
        draft = self.drafts[number]
        return Step(draft.op, draft.variable, draft.where)

    def numbered(self, value: Value) -> int | None:
        match value:
            case Use(node):
                return node
            case Before(variable):
                return self.number.get(variable)
            case _:
                return None

    def data(self) -> Iterator[Delay]:
        for node, draft in enumerate(self.drafts):
            if draft.op == "store":
                continue
            for position, value in enumerate(draft.operands):
                source = self.numbered(value)
                if source is not None:
                    yield Delay(source, node, 0, self.costs.arc(node, position))
        for place, join in enumerate(self.joins):
            for value, distance in join.sources:
                source = self.numbered(value)
                if source is not None:
                    yield Delay(source, len(self.drafts) + place, distance, 0)

    def starts(self, loop: SourceLoop) -> list[int]:
        """The joins of a loop."""
        known = {id(join): len(self.drafts) + place for place, join in enumerate(self.joins)}
        return [known[id(join)] for join in loop.joins]

    # --- Memories

    def memory(self) -> Iterator[Delay]:
        """From what is stored to the loads that may find it: through registers, so without memory."""
        accesses: dict[Array, list[Effect]] = {}
        for effect in self.source.effects:
            if isinstance(effect.what, Array) and effect.what in self.source.stored:
                accesses.setdefault(effect.what, []).append(effect)
        distances = Distances()
        for effects in accesses.values():
            near = len(effects) > MOST_ACCESSES
            for place, store in enumerate(effects):
                if not store.sends:
                    continue
                stored = self.numbered(store.value)
                for load in effects[max(0, place - 8) : place + 8] if near else effects:
                    if not load.sends and stored is not None:
                        yield from self.forwarded(store, stored, load, distances)

    def forwarded(self, store: Effect, stored: int, load: Effect, distances: Distances) -> Iterator[Delay]:
        if store.site is None or load.site is None:
            distance: int | None = 1 if load.order < store.order else 0
        else:
            distance = distances.least(store.site, load.site)
        if distance is None or distance >= FARTHEST:
            return
        yield Delay(stored, load.node, distance, 0 if _constant_apart(store, load) else 1)

    # --- Control

    def control(self, arcs: list[Delay]) -> Iterator[Delay]:
        """What the tests of loops decide: whose turn it is, and whether something is received."""
        ahead = _Ahead(self, arcs)
        tests = {}
        for loop in self.source.loops:
            test = self.numbered(loop.condition)
            if test is not None and not ahead.holds(test, self.starts(loop)):
                tests[id(loop)] = test
        for loop in self.source.loops:
            if id(loop) in tests:
                for outer in loop.chain() if loop.parent else []:
                    for join in outer.joins:
                        # What follows is begun before the test is known, for either outcome.
                        target = self.numbered(join.sources[-1][0])
                        if target is not None:
                            turn = Delay(tests[id(loop)], target, 1, 1)
                            self.turns.add(turn)
                            yield turn
        for effect in self.source.effects:
            if self.drafts[effect.node].op in ("recv", "ended"):
                for guard in effect.guards:
                    source = self.numbered(guard)
                    if source is not None:
                        yield Delay(source, effect.node, 0, self.receive)
                for loop, distance in _tests_before(effect):
                    if id(loop) in tests:
                        yield Delay(tests[id(loop)], effect.node, distance, self.receive)


def _tests_before(effect: Effect) -> Iterator[tuple[SourceLoop, int]]:
    """The tests that say whether an effect takes place, and how many iterations before."""
    chain = effect.loop.chain() if effect.loop is not None else []
    for outer in chain:
        yield outer, 1
        for inner in outer.inner:
            if inner not in chain:
                yield inner, 0 if inner.order < effect.order and outer is effect.loop else 1


def _constant_apart(store: Effect, load: Effect) -> bool:
    """True if the distance between two accesses is always the same, so that no addresses are compared."""
    if store.site is None or load.site is None:
        return False
    terms = frozenset(store.site.address.terms)
    counted = all(isinstance(unknown, Loop) for unknown, _ in terms)
    return counted and terms == frozenset(load.site.address.terms)


class _Ahead:
    """Which values can be computed ahead: counters and what follows from them, loads of constant data."""

    def __init__(self, found: _Recurrences, arcs: Iterable[Delay]) -> None:
        drafts = found.drafts
        self.graph: nx.DiGraph[int] = nx.DiGraph()
        self.graph.add_nodes_from(range(len(drafts) + len(found.joins)))
        self.graph.add_edges_from((arc.source, arc.target) for arc in arcs)
        self.slow: set[int] = set()
        self.loads = {n for n, draft in enumerate(drafts) if draft.op == "load"}
        stored = {e.node for e in found.source.effects if e.what in found.source.stored}
        for component in nx.strongly_connected_components(self.graph):
            members = [n for n in component if n < len(drafts)]
            ops = {drafts[n].op for n in members}
            cyclic = len(component) > 1 or any(self.graph.has_edge(n, n) for n in component)
            effects = any(not OPS[op].pure and op != "load" for op in ops) or not stored.isdisjoint(members)
            counts = ops <= {"add", "sub", "mov", "sext8", "sext16", "zext8", "zext16"}
            if effects or cyclic and not counts and self._entered(component):
                self.slow |= component
        self.slow |= {n for s in list(self.slow) for n in nx.descendants(self.graph, s)}

    def _entered(self, component: set[int]) -> bool:
        """True if something comes into a cycle that is not the same all through the kernel."""
        return any(p not in component for n in component for p in self.graph.predecessors(n))

    def holds(self, test: int, starts: Iterable[int]) -> bool:
        """True if the test of a loop can be told when the loop is entered; `starts` are the loop's joins."""
        if test in self.slow:
            return False
        inside = set[int]().union(*(nx.descendants(self.graph, n) for n in starts))
        return self.loads.isdisjoint(inside & (nx.ancestors(self.graph, test) | {test}))
