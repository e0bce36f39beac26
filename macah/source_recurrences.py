"""The recurrences of a source program, as times that depend on one another (`macah/source_times.py`).

    for (...) { if (c) x = x + a; else x = b; c = x > 3; }

Each value has two times: that of its data, when all is there that it may be made of, and that of its choice,
when it is known which of that it is. A choice may be made last, whatever is done with its outcome in the
meantime (that is done with all it may be): operations pass the second time on as it is, and a choice by `c`
adds a cycle to the time of `c`. So here `c` is chosen a cycle after the `c` before. But what goes from
iteration to iteration in its data, as `x` does, is known when the next iteration begins: else there would be
more and more that it may be. What is combined in a chain has a third time for the chain's operation, of its
operands all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from arch.fabric import Fabric
from arch.ops import COMPARISONS, OPS
from macah.graph import Draft, Value
from macah.source_control import Decision, tests_of
from macah.source_cost import BEHIND, DATA, EXTREMES, SUM
from macah.source_dependences import Dependences
from macah.source_graph import SourceGraph
from macah.source_times import After, Kind, Time, least_interval

BEGUN = ((0, 0), (1, 1), (2, 3), (4, 8))
"""For so many iterations ahead, what begins with either outcome of a choice may be prepared, and what that
costs: all that may come of it is there, and is chosen from."""

STEADY = {1: 1, 2: 1, 4: 2}
"""What that costs where only one outcome goes on and others start anew: there is one more each iteration."""

CHOICE, COMPARED = "choice", "compared"


def recurrences(source: SourceGraph, fabric: Fabric) -> tuple[int, tuple[int, ...]]:
    """The least interval of all recurrences, and the operations of one that needs it."""
    found = Dependences(source, fabric)
    best, worst = 0, tuple[int, ...]()
    extremes = any(map(found.costs.is_extreme, found.drafts))
    either = (False, True)
    for apart, bits, begun, early in product(
        either[: 1 + extremes], either[: 1 + bool(found.bits)], BEGUN, either
    ):
        if best != 1:
            times = _Times(found, _Ways(begun, early, apart, bits))
            if shorter := least_interval(times.times, most=best - 1 if best else None):
                best, cycle = shorter
                worst = times.operations(cycle)
    return best, worst


@dataclass(frozen=True, slots=True)
class _Ways:
    """How the kernel is rewritten, where one way excludes another.

    `begun`: for so many iterations, at so many cycles, a choice is left open for what the recurrence carries.
    `early`: choices among links of chains are made before them. `extremes`: minima and maxima are choices by
    a comparison. `bits`: what is done with a value of one bit is done with 0 and with 1, and chosen from.
    """

    begun: tuple[int, int]
    early: bool
    extremes: bool
    bits: bool


class _Times:
    """The unknowns and what they depend on, made as they are asked for."""

    def __init__(self, found: Dependences, ways: _Ways) -> None:
        self.found, self.ways = found, ways
        self.carried = found.carried(ways.bits)
        self.drafts, self.costs = found.drafts, found.costs
        self.times: list[Time] = []
        self.names: list[tuple[str, int]] = []
        self.known: dict[tuple[str, int], int] = {}
        self.pending: list[tuple[str, int]] = []
        self.tests: dict[int, list[Decision]] = {}
        decisions = list(tests_of(found))
        self.steady = found.steady(self.carried, [(d.test, d.target) for d in decisions])
        for decision in decisions:
            self.tests.setdefault(decision.target, []).append(decision)
        self.stored: dict[int, list[After]] = {}
        for after, load in found.memory:
            self.stored.setdefault(load, []).append(after)
        for node in range(len(self.drafts) + len(found.joins)):
            self.time(DATA, node)
        while self.pending:
            kind, node = self.pending.pop()
            self.times[self.known[kind, node]] = self.made(kind, node)

    def operations(self, cycle: Iterable[int]) -> tuple[int, ...]:
        """The operations of a cycle of times, each once."""
        nodes = dict.fromkeys(self.names[time][1] for time in cycle)
        return tuple(node for node in nodes if node < len(self.drafts))

    def time(self, kind: str, node: int) -> int:
        """The number of a time."""
        key = kind, node
        if key not in self.known:
            self.known[key] = len(self.times)
            self.times.append(Time())
            self.names.append(key)
            self.pending.append(key)
        return self.known[key]

    def of(self, kind: str, value: Value, cycles: int = 0, choices: int = 0) -> list[After]:
        """After a value, if that is not the same all through the kernel."""
        node = self.found.numbered(value)
        return [] if node is None else [After(self.time(kind, node), 0, cycles, choices)]

    def choices(self, draft: Draft) -> int:
        """What a choice costs what it chooses from."""
        return 0 if self.is_free(draft) or self.ways.early and self.costs.is_conditional(draft) else 1

    def is_free(self, draft: Draft) -> bool:
        """True for a choice that a minimum or an absolute value stands for."""
        return draft.op == "select" and self.costs.is_free(draft)

    def chooses(self, draft: Draft) -> bool:
        """Whether an operation is a choice."""
        return draft.op == "select" or self.ways.extremes and self.costs.is_extreme(draft)

    def group(self, draft: Draft) -> str | None:
        """The chains that an operation is a link of."""
        return None if self.chooses(draft) else self.costs.group(draft)

    def is_either(self, node: int, value: Value) -> bool:
        """True for an operand of one bit, where an operation is done with 0 and with 1."""
        number = self.found.numbered(value)
        return self.ways.bits and number is not None and self.found.chooses_from(node, number)

    # --- What times depend on

    def made(self, kind: str, node: int) -> Time:
        """The time of an operation or a join."""
        if node >= len(self.drafts):
            return self.joined(kind, node)
        if kind == CHOICE:
            return Time(after=list(self.choice(node)))
        if kind == DATA:
            time = self.data(node)
            for arc in self.stored.get(node, ()):
                time.after.append(After(self.time(DATA, arc.source), arc.distance, arc.cycles, arc.choices))
            for decision in self.tests.get(node, ()):
                if not decision.chooses:
                    time.after += self.whole(decision.test, decision.distance, self.found.receive)
            return time
        return self.chain(kind, node)

    def whole(self, test: int, distance: int, cycles: int) -> list[After]:
        """After a condition, that data have made and choices."""
        return [After(self.time(kind, test), distance, cycles, whole=True) for kind in (DATA, CHOICE)]

    def joined(self, kind: str, node: int) -> Time:
        """The start of an iteration, and what else one value of several is."""
        time, carried, join = Time(), self.carried.get(node), self.found.joins[node - len(self.drafts)]
        for value, distance in join.sources:
            number = self.found.numbered(value)
            if number is None:
                continue
            goes_on = kind == CHOICE or self.costs.goes_on(kind, self.found.draft(value))
            terms = self.term(kind if goes_on else DATA, value)
            apart = distance or join.entry
            time.after += [replace(term, distance=term.distance + apart) for term in terms]
            if kind != CHOICE and distance and carried is not None and carried == self.carried.get(number):
                ahead, cycles = self.ways.begun
                if carried in self.steady:
                    cycles = STEADY.get(ahead, cycles)
                time.after.append(After(self.time(CHOICE, number), distance + ahead, cycles, whole=True))
        return time

    def choice(self, node: int) -> Iterator[After]:
        draft = self.drafts[node]
        for arc in self.stored.get(node, ()):
            yield After(self.time(CHOICE, arc.source), arc.distance, arc.cycles, arc.choices)
        for decision in self.tests.get(node, ()):
            if decision.chooses:
                yield from self.whole(decision.test, decision.distance, 1)
        if not OPS[draft.op].pure and draft.op != "load":
            return
        values = draft.operands
        if self.chooses(draft):
            values = self.costs.arms(draft)
            chosen_early = self.ways.early and self.costs.is_conditional(draft)
            cycles = 0 if self.is_free(draft) else 1 + chosen_early
            tests = draft.operands[:1] if draft.op == "select" else values
            for test in tests:
                if (number := self.found.numbered(test)) is not None:
                    yield from self.whole(number, 0, cycles + (draft.op != "select"))
        for value in values:
            number = self.found.numbered(value)
            if self.is_either(node, value) and number is not None:
                yield from self.whole(number, 0, 1)
            else:
                yield from self.of(CHOICE, value)

    def data(self, node: int) -> Time:
        draft, costs = self.drafts[node], self.costs
        if draft.op == "store":
            return Time()
        if self.chooses(draft):
            after = self.of(DATA, draft.operands[0]) if self.is_free(draft) else []
            for value in costs.arms(draft):
                if not self.is_either(node, value):
                    after += self.of(DATA, value, choices=self.choices(draft))
            return Time(after=after)
        if node not in self.found.source.graph.logical:
            if (group := self.group(draft)) is not None:
                return Time(Kind.RESULT, costs.latency(draft), after=[After(self.time(group, node))])
            if draft.op in COMPARISONS:
                return Time(Kind.RESULT, after=[After(self.time(COMPARED, node))])
        after = []
        for value in draft.operands:
            if not self.is_either(node, value):
                cycles = costs.cycles(node, draft, self.found.draft(value))
                after += self.of(DATA, value, cycles)
        return Time(after=after)

    def chain(self, group: str, node: int) -> Time:
        """The time of all operands of a chain together, also behind what may be done to each of them."""
        draft = self.drafts[node]
        if self.chooses(draft):
            arms, choices = self.costs.arms(draft), self.choices(draft)
            return Time(
                after=[_later(a, 0, choices) for value in arms for a in self.operand(node, group, value)]
            )
        if group == COMPARED or self.group(draft) == group:
            time = Time(Kind.CHAIN, self.costs.latency(draft), len(draft.operands) == 1)
            for value in draft.operands:
                inner = self.found.draft(value)
                compared = group == COMPARED
                of = self.costs.compared(draft, inner) if compared else self.costs.inside(group, inner)
                terms = self.operand(node, of, value)
                shared = inner is not None and self.costs.has_factors(group, inner)
                time.after += [replace(term, shared=shared) for term in terms]
                time.early |= not terms
            return time
        outer, _, inner_group = group.partition(BEHIND)
        if inner_group:
            return Time(after=[a for value in draft.operands for a in self.operand(node, group, value)])
        own, cycles = self.group(draft), self.costs.behind(draft, group)
        behind = group if own is None else f"{outer}{BEHIND}{own}"
        return Time(
            after=[_later(a, cycles) for value in draft.operands for a in self.operand(node, behind, value)]
        )

    def operand(self, node: int, group: str, value: Value) -> list[After]:
        """After an operand of a chain, unless it is 0 and 1 there."""
        return [] if self.is_either(node, value) else self.term(group, value)

    def term(self, group: str, value: Value) -> list[After]:
        """After an operand of a chain."""
        node, draft = self.found.numbered(value), self.found.draft(value)
        if node is None or draft is None or group in (DATA, CHOICE):
            return [] if node is None else [After(self.time(group, node))]
        if node in self.found.source.graph.logical:
            return [After(self.time(DATA, node))]
        outer, _, inner = group.partition(BEHIND)
        if inner:
            # min(min(x + a, b) + c, d) is min(x + (a + c), …): sums go on through extremes, too
            links = (inner, outer) if outer in EXTREMES and inner == SUM else (inner,)
            goes_on = self.chooses(draft) or self.group(draft) in links
            return [After(self.time(group, node))] if goes_on else self.term(outer, value)
        own = self.chooses(draft) or self.group(draft) == group
        if own or self.costs.distributes(draft, node, group):
            return [After(self.time(group, node))]
        return [After(self.time(DATA, node), cycles=-1 if self.costs.joins(draft, group) else 0)]


def _later(after: After, cycles: int, choices: int = 0) -> After:
    return replace(after, cycles=after.cycles + cycles, choices=after.choices + choices)
