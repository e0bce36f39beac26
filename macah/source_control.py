"""What waits for the tests of loops in a source program.

    for (...) { x <? in; while (x > 1) x = x / 2; }        the next x is received when the test has failed

What follows a loop is begun before that is known, for either outcome; nothing is received before. The tests
of loops that count, and others that can be computed ahead, hold nothing up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import networkx as nx

from arch.ops import OPS
from macah.source_dependences import Dependences
from macah.source_graph import Effect, SourceLoop


@dataclass(frozen=True, slots=True)
class Decision:
    """A test decides so many iterations later what a value is, or whether it is received."""

    test: int
    target: int
    distance: int
    chooses: bool


def tests_of(found: Dependences) -> Iterator[Decision]:
    """What the tests of loops decide: whose turn it is, and whether something is received."""
    ahead = _Ahead(found)
    tests = {}
    for loop in found.source.loops:
        test = found.numbered(loop.condition)
        if test is not None and not ahead.holds(test, [found.places[id(join)] for join in loop.joins]):
            tests[id(loop)] = test
    for loop in found.source.loops:
        if id(loop) in tests:
            for outer in loop.chain() if loop.parent else []:
                for join in outer.joins:
                    # What follows is begun before the test is known, for either outcome.
                    target = found.numbered(join.sources[-1][0])
                    if target is not None:
                        yield Decision(tests[id(loop)], target, 1 + found.source.kernel.delay, True)
    for effect in found.source.effects:
        if found.drafts[effect.node].op in ("recv", "ended"):
            for guard in effect.guards:
                source = found.numbered(guard)
                if source is not None:
                    yield Decision(source, effect.node, 0, False)
            for loop, distance in _tests_before(effect):
                if id(loop) in tests:
                    yield Decision(tests[id(loop)], effect.node, distance, False)


def _tests_before(effect: Effect) -> Iterator[tuple[SourceLoop, int]]:
    """The tests that say whether an effect takes place, and how many iterations before."""
    chain = effect.loop.chain() if effect.loop is not None else []
    for outer in chain:
        yield outer, 1
        for inner in outer.inner:
            if inner not in chain:
                yield inner, 0 if inner.order < effect.order and outer is effect.loop else 1


class _Ahead:
    """Which values can be computed ahead: counters and what follows from them, loads of constant data."""

    def __init__(self, found: Dependences) -> None:
        drafts = found.drafts
        self.graph: nx.DiGraph[int] = nx.DiGraph()
        self.graph.add_nodes_from(range(len(drafts) + len(found.joins)))
        self.graph.add_edges_from(found.edges)
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
