"""The clauses about where and when operations are; `exact_encode.py` adds those about words."""

from __future__ import annotations

from collections.abc import Sequence

from arch.ops import OPS

from .bound import delays
from .exact_clauses import TRUE, Clauses
from .exact_domain import Domain, Value
from .exact_model import Ground, Outlet
from .exact_symmetry import break_places, symmetries
from .flat import Problem

DEEP = 4
"""So many nodes have their places restricted by symmetry."""


class Places:
    """Operations on sites, in cycles, and arrays in banks, as literals.

    `at[n][site]`, `begin[n][cycle]`, `by[n][cycle]` (in it or before), `slot[n][slot]`, `bank[m][bank]`.
    """

    def __init__(
        self, problem: Problem, ground: Ground, interval: int, domain: Domain, into: Clauses
    ) -> None:
        self.problem, self.ground, self.interval, self.domain = problem, ground, interval, domain
        self.dfg, self.out = problem.dfg, into
        self.at: list[dict[int, int]] = []
        self.begin: list[dict[int, int]] = []
        self.by: list[dict[int, int]] = []
        self.slot: list[dict[int, int]] = []
        self.bank: list[dict[int, int]] = []
        self.uses: dict[Value, list[tuple[int, int, int]]] = {}
        for consumer, position, use in self.dfg.uses():
            self.uses.setdefault((use.node, use.output), []).append((consumer, position, use.distance))
        self._place()

    def schedule(self) -> None:
        """The clauses about times, and about what is in one slot."""
        self._time()
        self._occupy()
        self._crowd()

    def outlets(self, value: Value) -> list[tuple[int, Outlet]]:
        """The sites on which a value may be made, and where it goes from there."""
        node, output = value
        op = self.dfg.nodes[node].op
        return [(s, self.ground.sites[s].outlets[op][output]) for s in self.at[node]]

    # Places

    def _place(self) -> None:
        """Each node on one site, each array in one bank, streams and units one to one."""
        homes = self._homes()
        streams: dict[int, dict[int, int]] = {}
        for node in self.dfg.nodes:
            if node.stream is not None and node.stream in streams:
                self.at.append(streams[node.stream])
                continue
            here = self._one_of(self._sites(node.id))
            self.at.append(here)
            if node.stream is not None:
                streams[node.stream] = here
            if node.memory is not None:
                for site, literal in here.items():
                    bank = self.ground.sites[site].bank
                    assert bank is not None
                    self.out.add(-literal, homes[node.memory][bank])
        for site in sorted({site for here in streams.values() for site in here}):
            self.out.at_most([here[site] for here in streams.values() if site in here], 1)

    def _homes(self) -> list[dict[int, int]]:
        """A bank for each array; together they have room, which `overfull` asks for."""
        problem = self.problem
        self.bank = [
            self._one_of(sorted(b for b in problem.homes[problem.streams + m]))
            for m in range(len(self.dfg.memories))
        ]
        return self.bank

    def _sites(self, node: int) -> list[int]:
        """The sites of the domain that can do everything that has to be in one place with a node."""
        group, sites = self.problem.group[node], self.domain.sites[node]
        if group < 0:
            return list(sites)
        homes = set(self.problem.homes[group])
        if group < self.problem.streams:
            return [s for s in sites if self.ground.sites[s].members[0] in homes]
        return [s for s in sites if self.ground.sites[s].bank in homes]

    def _one_of(self, choices: Sequence[int]) -> dict[int, int]:
        """A variable for each choice; exactly one holds."""
        if len(choices) == 1:
            return {choices[0]: TRUE}
        found = {choice: self.out.fresh() for choice in choices}
        self.out.some(list(found.values()))
        self.out.at_most(list(found.values()), 1)
        return found

    def overfull(self, bank_of: Sequence[int]) -> list[list[int]]:
        """Clauses that refuse arrays which do not fit into their banks together; none if all fit."""
        found = []
        for bank in self.ground.fabric.memories:
            inside = [m for m, b in enumerate(bank_of) if b == bank.id]
            inside.sort(key=lambda m: (-self.dfg.memories[m].words, m))
            words = 0
            for count, m in enumerate(inside):
                words += self.dfg.memories[m].words
                if words > bank.words:
                    found.append([-self.bank[k][bank.id] for k in inside[: count + 1]])
                    break
        return found

    # Time

    def _time(self) -> None:
        """Starts, in unary order, and what dependences ask of them."""
        for n in range(self.problem.nodes):
            self._start(n, self.domain.early[n], self.domain.late[n])
        for arc in delays(self.problem):
            gap = arc.cycles - arc.distance * self.interval
            if arc.source != arc.target:
                self._after(arc.source, arc.target, gap)

    def _start(self, n: int, early: int, late: int) -> None:
        out = self.out
        by = {t: out.fresh() for t in range(early, late)}
        by[late] = TRUE
        begin: dict[int, int] = {}
        for t in range(early, late + 1):
            if t == early:
                begin[t] = by[t]
                continue
            if t == late:
                begin[t] = -by[t - 1]
                continue
            begin[t] = out.fresh()
            out.add(-by[t - 1], by[t])
            out.add(-begin[t], by[t])
            out.add(-begin[t], -by[t - 1])
            out.add(begin[t], -by[t], by[t - 1])
        if late < early:
            out.add(-TRUE)
        self.by.append(by)
        self.begin.append(begin)

    def _after(self, before: int, after: int, gap: int) -> None:
        """`after` starts at least `gap` cycles after `before`."""
        early, late = self.domain.early[before], self.domain.late[before]
        for t in range(self.domain.early[after], self.domain.late[after] + 1):
            if t - gap < early:
                self.out.add(-self.by[after][t])
            elif t - gap < late:
                self.out.add(-self.by[after][t], self.by[before][t - gap])

    # Units

    def _occupy(self) -> None:
        """In each slot, a site issues no more operations than it has units."""
        there: dict[tuple[int, int], list[int]] = {}
        candidates: dict[int, int] = {}
        for here in self.at:
            for site in here:
                candidates[site] = candidates.get(site, 0) + 1
        for n, here in enumerate(self.at):
            slots = self._slots(n)
            for site, literal in here.items():
                if candidates[site] > len(self.ground.sites[site].members):
                    taken = {slot: self._both(literal, held) for slot, held in slots.items()}
                    self.out.some([-literal, *taken.values()])
                    for slot, both in taken.items():
                        there.setdefault((site, slot), []).append(both)
        for (site, _), literals in there.items():
            self.out.at_most(literals, len(self.ground.sites[site].members))
        self._part_results()

    def _slots(self, n: int) -> dict[int, int]:
        """For each slot, a literal that holds if n is issued in it."""
        of: dict[int, list[int]] = {}
        for t, literal in self.begin[n].items():
            of.setdefault(t % self.interval, []).append(literal)
        slots = {}
        for slot, literals in of.items():
            slots[slot] = literals[0] if len(literals) == 1 else self.out.fresh()
            if len(literals) > 1:
                self.out.some([-slots[slot], *literals])
                for literal in literals:
                    self.out.add(-literal, slots[slot])
        self.slot.append(slots)
        return slots

    def _both(self, a: int, b: int) -> int:
        """A literal that holds if, and only if, both do."""
        if a == TRUE or b == TRUE:
            return b if a == TRUE else a
        both = self.out.fresh()
        self.out.add(-a, -b, both)
        self.out.add(a, -both)
        self.out.add(b, -both)
        return both

    def _crowd(self) -> None:
        """Implied: in each slot no more operations of a class than units for them. Spares a search for it."""
        ground = self.ground
        kinds: dict[tuple[int, ...], list[int]] = {}
        for n in range(self.problem.nodes):
            kinds.setdefault(self.domain.sites[n], []).append(n)
        for sites, nodes in kinds.items():
            room = sum(len(ground.sites[s].members) for s in sites)
            # All who can only be on these sites.
            if len(nodes) > room:
                for slot in range(self.interval):
                    literals = [self.slot[n][slot] for n in nodes if slot in self.slot[n]]
                    self.out.at_most(literals, room)

    def _part_results(self) -> None:
        """Where operations of different latencies share a result, no two of them complete in one slot."""
        for s, site in enumerate(self.ground.sites):
            for clash in site.clashes:
                done: dict[int, list[int]] = {}
                for n, here in enumerate(self.at):
                    op = self.dfg.nodes[n].op
                    if s in here and any(
                        (op, k) in clash for k in range(OPS[op].outputs) if (n, k) in self.uses
                    ):
                        for t, literal in self.begin[n].items():
                            slot = (t + site.latency[op] - 1) % self.interval
                            done.setdefault(slot, []).append(self._both(here[s], literal))
                for literals in done.values():
                    self.out.at_most(literals, 1)

    def break_symmetry(self) -> None:
        """Leave one mapping of many that are each other's reflections; only for a whole domain."""
        count = [0] * self.problem.nodes
        for ends in (self.problem.source, self.problem.target):
            for n in ends:
                count[n] += 1
        nodes = sorted(range(self.problem.nodes), key=lambda n: (-count[n], n))
        break_places(self.out.some, self.at, nodes[:DEEP], symmetries(self.ground))
