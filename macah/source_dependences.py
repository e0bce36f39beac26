"""What the values of a source program depend on: operands, what was stored, and which of that goes round.

What a choice chooses from is data; what it is chosen by is not, as it may be known later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import networkx as nx

from arch.fabric import Fabric
from arch.ops import OPS
from backend.dfg import Use
from macah.dependence import FARTHEST, Distances
from macah.graph import Before, Draft, Value
from macah.ir import Array
from macah.ranges import TRUTH
from macah.site import Affine, Loop, Site
from macah.source_cost import EXTREMES, Costs
from macah.source_graph import Effect, SourceGraph
from macah.source_times import After

MOST_ACCESSES = 200
"""Of more accesses to one array in the source, only neighbours are compared, among all of them and among
those at the same address."""

NEAR = 8
"""So many accesses in each direction are neighbours, those of the next iteration among them."""


class Dependences:
    """What the values of a source graph depend on; joins are numbered behind operations."""

    def __init__(self, source: SourceGraph, fabric: Fabric) -> None:
        self.source = source
        self.drafts = source.graph.drafts
        self.costs = Costs(source, fabric)
        self.joins = list(source.joins.values())
        self.number = {variable: len(self.drafts) + k for k, variable in enumerate(source.joins)}
        self.receive = fabric.latency("recv")
        self.places = {id(join): len(self.drafts) + k for k, join in enumerate(self.joins)}
        self.bits = {node for node in range(len(self.drafts) + len(self.joins)) if self._is_bit(node)}
        self.memory = list(self._memory())
        self.edges = [*self._edges(), *((after.source, load) for after, load in self.memory)]

    def numbered(self, value: Value) -> int | None:
        """The number of an operation or a join; None of what is the same all through the kernel."""
        match value:
            case Use(node):
                return node
            case Before(variable):
                return self.number.get(variable)
            case _:
                return None

    def draft(self, value: Value) -> Draft | None:
        """The operation that makes a value."""
        return self.drafts[value.node] if isinstance(value, Use) else None

    def _edges(self) -> Iterator[tuple[int, int]]:
        """Whatever a value depends on."""
        for node, draft in enumerate(self.drafts):
            values = draft.operands if draft.op != "store" else ()
            yield from ((n, node) for value in values if (n := self.numbered(value)) is not None)
        for place, join in enumerate(self.joins):
            values = tuple(value for value, _ in join.sources)
            yield from ((n, len(self.drafts) + place) for v in values if (n := self.numbered(v)) is not None)

    def _is_bit(self, node: int) -> bool:
        """True for an operation that gives 0 or 1, and for a variable that is such a value from then on."""
        if node < len(self.drafts):
            return OPS[self.drafts[node].op].pure and self._within_bit(Use(node))
        return all(
            self._within_bit(value)
            for value, distance in self.joins[node - len(self.drafts)].sources
            if distance
        )

    def _within_bit(self, value: Value) -> bool:
        return self.source.facts.range(value).within(TRUTH)

    def chooses_from(self, user: int, value: int) -> bool:
        """True if what an operation does with a value is done with 0 and with 1, and one of both chosen."""
        return value in self.bits and user < len(self.drafts) and user not in self.source.graph.logical

    def carried(self, bits: bool) -> dict[int, int]:
        """The recurrence that a value is on, for all on one that goes on if choices are left out.

        One of choices alone does not count: there are no more values to choose from from time to time.
        """
        graph: nx.DiGraph[int] = nx.DiGraph()
        chosen = {
            (test, node)
            for node, draft in enumerate(self.drafts)
            if draft.op == "select" and (test := self.numbered(draft.operands[0])) is not None
            if draft.operands[0] not in draft.operands[1:]
        }
        left = (edge for edge in self.edges if edge not in chosen)
        graph.add_edges_from(edge for edge in left if not (bits and self.chooses_from(edge[1], edge[0])))
        return {
            n: min(component)
            for component in nx.strongly_connected_components(graph)
            for n in component
            if any(n < len(self.drafts) and self.drafts[n].op != "select" for n in component)
        }

    def steady(self, carried: Mapping[int, int], decisions: Iterable[tuple[int, int]]) -> set[int]:
        """The recurrences on which nothing but one chain goes on, until a choice by it starts anew.

        m = m + x > 1000 ? y : m + x       after k iterations: one of k values, or m + a sum

        `decisions` are tests with what they decide. On what else depends on such a choice, nothing goes on.
        """
        graph: nx.DiGraph[int] = nx.DiGraph([*self.edges, *decisions])
        found: set[int] = set()
        for around in nx.strongly_connected_components(graph):
            rounds = {carried[n] for n in around if n in carried and self._goes_round(n, carried)}
            if len(rounds) == 1 and self._is_one_chain(around, carried, *rounds):
                found |= rounds
        return found

    def _goes_round(self, node: int, carried: Mapping[int, int]) -> bool:
        """True for the start of a variable's iterations that depends on how these end."""
        sources = self.joins[node - len(self.drafts)].sources if node >= len(self.drafts) else []
        ends = [self.numbered(value) for value, distance in sources if distance]
        return any(n is not None and carried.get(n) == carried[node] for n in ends)

    def _is_one_chain(self, around: set[int], carried: Mapping[int, int], recurrence: int) -> bool:
        """True if all operations are links of one chain, and choices by its values start anew or go on."""
        groups = set[str | None]()
        for node in sorted(n for n in around if n < len(self.drafts) and carried.get(n) == recurrence):
            draft = self.drafts[node]
            numbers = [self.numbered(value) for value in draft.operands]
            if draft.op == "select" and numbers[0] not in around:
                continue
            if sum(n is not None and carried.get(n) == recurrence for n in numbers) > 1:
                return False
            if draft.op != "select" and (group := self.costs.group(draft)) not in EXTREMES:
                groups.add(group)
        return len(groups) < 2 and None not in groups

    # --- Memories

    def _memory(self) -> Iterator[tuple[After, int]]:
        """From what is stored to the loads that may find it: through registers, so without memory."""
        accesses: dict[Array, list[Effect]] = {}
        for effect in self.source.effects:
            if isinstance(effect.what, Array) and effect.what in self.source.stored:
                accesses.setdefault(effect.what, []).append(effect)
        distances = Distances()
        for effects in accesses.values():
            for store, others in _compared(effects):
                stored = self.numbered(store.value)
                for load in others:
                    if not load.sends and stored is not None:
                        yield from self._forwarded(store, stored, load, distances)

    def _forwarded(
        self, store: Effect, stored: int, load: Effect, distances: Distances
    ) -> Iterator[tuple[After, int]]:
        if store.site is None or load.site is None:
            distance: int | None = 1 if load.order < store.order else 0
        else:
            distance = distances.least(store.site, load.site)
        if distance == 0 and store.loop is load.loop and self.source.facts.exclude(store.guards, load.guards):
            distance = 1
        if distance is not None and (store.loop is not load.loop or not _constant_apart(store, load)):
            distance += self.source.kernel.delay  # that many iterations are left empty between rows
        if distance is not None and distance < FARTHEST:
            yield After(stored, distance, choices=0 if _constant_apart(store, load) else 1), load.node


def _compared(effects: list[Effect]) -> Iterator[tuple[Effect, list[Effect]]]:
    """The stores to an array, each with the accesses that it is compared with."""
    if len(effects) <= MOST_ACCESSES:
        yield from ((effect, effects) for effect in effects if effect.sends)
        return
    alike: dict[object, list[Effect]] = {}
    for effect in effects:
        site = effect.site
        address = None if site is None else (site.address.constant, frozenset(site.address.terms))
        alike.setdefault(address, []).append(effect)
    near: dict[int, dict[int, Effect]] = {}
    for row in (effects, *alike.values()):
        for place, store in enumerate(row):
            if store.sends:
                around = (row[k % len(row)] for k in range(place - NEAR, place + NEAR + 1))
                near.setdefault(store.order, {}).update({effect.order: effect for effect in around})
    for store in effects:
        if store.sends:
            yield store, list(near[store.order].values())


def _constant_apart(store: Effect, load: Effect) -> bool:
    """True if the distance between two accesses is always the same, so that no addresses are compared."""
    if store.site is None or load.site is None:
        return False
    terms = frozenset(store.site.address.terms)
    depth = len(store.site.loops)
    same = _fixed(store.site.address, depth) and terms == frozenset(load.site.address.terms)
    return same and (_in_one_row(store.site, load.site) or all(loop.exact for loop in store.site.loops[1:]))


def _in_one_row(store: Site, load: Site) -> bool:
    """True if two accesses with the same terms meet while the innermost loop around them runs once.

    Else they meet in different rows, and how far apart depends on how long rows are:

        for (i = 7; i > 0; i--)  for (j = 0; j < i; j++)  a[j] = a[j + 1] + 1;
    """
    step = dict(store.address.terms).get(store.loops[-1], 0) if store.loops else 0
    apart = store.address.constant - load.address.constant
    return len(store.loops) < 2 or (step != 0 and apart % step == 0 and apart // step > 0)


def _fixed(address: Affine, depth: int) -> bool:
    """True if an address depends only on what loops count, and what stays the same in the innermost one."""
    return all(isinstance(unknown, Loop) or unknown.level < depth for unknown, _ in address.terms)
