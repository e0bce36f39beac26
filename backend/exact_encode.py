"""The clauses of a mapping at one interval: where and when operations are, and where words are in each cycle.

Variables, for nodes n, sites, cells and cycles counted from the start of the producer's iteration:

- `at[n][site]`: n is there; nodes of one stream share these, and those of an array if banks are sites;
- `begin[n][t]`: n is issued in cycle t, and `by[n][t]`: in t or before;
- `word[v][cell, t]`: output v = (n, k) is in the cell in cycle t.

A word is somewhere only if it was in something selectable a cycle before, or is made there: time runs
forward, so such local reasons are enough, and no flow has to be kept. It may be in many places, which is how
it reaches several readers. Operands are there when an operation is issued. In each slot, a cell holds no more
words than it has members and a site issues no more operations; a word that lives too long meets itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arch.ops import OPS

from .bound import delays
from .cycles import Delay, longest_paths
from .exact_clauses import TRUE, Clauses
from .exact_model import Ground, Outlet
from .flat import Problem

Value = tuple[int, int]
"""A node and which of its outputs."""


MOST_WORDS = 500_000
"""The most variables for words: some ten million clauses."""


class TooLarge(Exception):
    """More clauses than a solver can be given."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The sites and cycles of issue that each node may have.

    `given[v]` are (cell, cycle) where word v is already; no other word may have that room.
    """

    sites: tuple[tuple[int, ...], ...]
    early: tuple[int, ...]
    late: tuple[int, ...]
    given: dict[Value, frozenset[tuple[int, int]]] = field(default_factory=dict)


def whole_domain(problem: Problem, ground: Ground, interval: int, slack: int) -> Domain | None:
    """Every place, and every cycle in which all ends within `slack` cycles of the earliest possible end.

    None if no schedule is there at all, whatever the slack.
    """
    arcs = delays(problem)
    early, cycle = longest_paths(problem.nodes, arcs, interval)
    if cycle:
        return None
    back = [Delay(a.target, a.source, a.distance, a.cycles) for a in arcs]
    tail = longest_paths(problem.nodes, back, interval)[0]
    end = max((e + t for e, t in zip(early, tail, strict=True)), default=0) + slack
    sites = tuple(ground.candidates(n.op) for n in problem.dfg.nodes)
    return Domain(sites, tuple(early), tuple(end - t for t in tail))


class Encoding:
    """All clauses of a graph on a fabric at an interval; `into` receives them."""

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
        self.word: dict[Value, dict[tuple[int, int], int]] = {}
        self._made: dict[tuple[int, int, int], int] = {}
        self._held: dict[tuple[int, int], list[int]] = {}
        self._uses: dict[Value, list[tuple[int, int, int]]] = {}
        for consumer, position, use in self.dfg.uses():
            self._uses.setdefault((use.node, use.output), []).append((consumer, position, use.distance))
        self._place()
        self.reach = {value: self._reach(value) for value in self._values()}
        words = sum(
            max(0, b - a + 1) for first, last in self.reach.values() for a, b in zip(first, last, strict=True)
        )
        if words > MOST_WORDS:
            raise TooLarge(words)
        self._time()
        self._occupy()
        self._crowd()
        for value in self.reach:
            self._move(value)
        self._share()

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
                    for slot, held in slots.items():
                        there.setdefault((site, slot), []).append(self._both(literal, held))
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
                for literal in literals:
                    self.out.add(-literal, slots[slot])
        self.slot.append(slots)
        return slots

    def _both(self, a: int, b: int) -> int:
        """A literal that holds if both do."""
        if a == TRUE or b == TRUE:
            return b if a == TRUE else a
        both = self.out.fresh()
        self.out.add(-a, -b, both)
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
                        (op, k) in clash for k in range(OPS[op].outputs) if (n, k) in self._uses
                    ):
                        for t, literal in self.begin[n].items():
                            slot = (t + site.latency[op] - 1) % self.interval
                            done.setdefault(slot, []).append(self._both(here[s], literal))
                for literals in done.values():
                    self.out.at_most(literals, 1)

    # Words

    def _values(self) -> list[Value]:
        """What has to be somewhere: what is used, and results that go into registers by themselves."""
        found = set(self._uses)
        for node in self.dfg.nodes:
            for s in self.at[node.id]:
                outlets = self.ground.sites[s].outlets[node.op]
                found |= {(node.id, k) for k, outlet in enumerate(outlets) if outlet.into is not None}
        return sorted(found)

    def _move(self, value: Value) -> None:
        """Where a word can be, why it is there, and that it is where its readers want it."""
        first, last = self.reach[value]
        word: dict[tuple[int, int], int] = {}
        given = self.domain.given.get(value, frozenset())
        for cell in range(len(self.ground.cells)):
            for t in range(first[cell], last[cell] + 1):
                word[cell, t] = TRUE if (cell, t) in given else self.out.fresh()
        self.word[value] = word
        self._leave(value)
        feeds = self._feeds(value)
        for (cell, t), literal in word.items():
            if literal == TRUE:
                continue
            before = t - self.ground.cells[cell].delay
            reasons = [-literal]
            reasons += [word[s, before] for s in self.ground.cells[cell].sources if (s, before) in word]
            reasons += self._makers(value, feeds[0].get(cell, ()), before)
            reasons += self._makers(value, feeds[2].get(cell, ()), t)
            self.out.some(reasons)
            self._held.setdefault((cell, t % self.interval), []).append(literal)
        self._read(value, feeds[1])

    def _outlets(self, value: Value) -> list[tuple[int, Outlet]]:
        node, output = value
        op = self.dfg.nodes[node].op
        return [(s, self.ground.sites[s].outlets[op][output]) for s in self.at[node]]

    def _leave(self, value: Value) -> None:
        """Results that go into registers by themselves are there, wherever that may be of use or not."""
        node, word = value[0], self.word[value]
        op = self.dfg.nodes[node].op
        for site, outlet in self._outlets(value):
            if outlet.into is not None:
                for t, begun in self.begin[node].items():
                    spot = outlet.into, t + self.ground.sites[site].latency[op] - 1
                    if spot not in word:
                        word[spot] = self.out.fresh()
                    self.out.add(-self.at[node][site], -begun, word[spot])

    def _feeds(self, value: Value) -> tuple[dict[int, list[int]], ...]:
        """The sites at which the value, when made, goes into a cell, into a basin, or is in a cell."""
        cells: dict[int, list[int]] = {}
        basins: dict[int, list[int]] = {}
        into: dict[int, list[int]] = {}
        for site, outlet in self._outlets(value):
            if outlet.into is not None:
                into.setdefault(outlet.into, []).append(site)
            for cell in outlet.cells:
                cells.setdefault(cell, []).append(site)
            for basin in outlet.basins:
                basins.setdefault(basin, []).append(site)
        return cells, basins, into

    def _makers(self, value: Value, sites: Sequence[int], cycle: int) -> list[int]:
        """Literals for the value being made at one of the sites in a cycle."""
        node = value[0]
        op = self.dfg.nodes[node].op
        found = []
        for site in sites:
            begun = self.begin[node].get(cycle - self.ground.sites[site].latency[op] + 1)
            if begun is None:
                continue
            place = self.at[node][site]
            if place == TRUE or begun == TRUE:
                found.append(begun if place == TRUE else place)
                continue
            key = (node, site, cycle)
            if key not in self._made:
                self._made[key] = made = self.out.fresh()
                self.out.add(-made, place)
                self.out.add(-made, begun)
            found.append(self._made[key])
        return found

    def _reach(self, value: Value) -> tuple[list[int], list[int]]:
        """For each cell, the first and last cycle in which the word can be in it and be of use."""
        node, domain, ground = value[0], self.domain, self.ground
        op = self.dfg.nodes[node].op
        seeds = []
        for site, outlet in self._outlets(value):
            made = domain.early[node] + ground.sites[site].latency[op] - 1
            seeds += [(cell, made + ground.cells[cell].delay) for cell in outlet.cells]
            seeds += [(outlet.into, made)] if outlet.into is not None else []
        seeds += list(domain.given.get(value, ()))
        first = ground.spread(sorted(set(seeds)))
        ends = []
        for consumer, position, distance in self._uses.get(value, ()):
            end = domain.late[consumer] + distance * self.interval
            basins = {ground.sites[s].basins[position] for s in self.at[consumer]}
            ends += [(cell, -end) for basin in basins for cell in ground.basins[basin]]
        last = [-left for left in ground.drain(sorted(set(ends)))]
        return first, last

    def _read(self, value: Value, feeds: dict[int, list[int]]) -> None:
        """At the issue of a reader, the word is in a cell that the operand can select."""
        word, ready = self.word[value], dict[tuple[int, int], int]()
        for consumer, position, distance in self._uses.get(value, ()):
            for site, place in self.at[consumer].items():
                basin = self.ground.sites[site].basins[position]
                for t, begun in self.begin[consumer].items():
                    cycle = t + distance * self.interval
                    if (basin, cycle) not in ready:
                        ways = [word[c, cycle] for c in self.ground.basins[basin] if (c, cycle) in word]
                        ways += self._makers(value, feeds.get(basin, ()), cycle)
                        ready[basin, cycle] = self._any(ways)
                    self.out.add(-place, -begun, ready[basin, cycle])

    def _any(self, ways: list[int]) -> int:
        """A literal that holds only if one of `ways` does."""
        if len(ways) <= 1:
            return ways[0] if ways else -TRUE
        if TRUE in ways:
            return TRUE
        one = self.out.fresh()
        self.out.some([-one, *ways])
        return one

    def _share(self) -> None:
        """In each slot a cell holds no more words than it has members."""
        taken: dict[tuple[int, int], int] = {}
        for places in self.domain.given.values():
            for cell, t in places:
                key = (cell, t % self.interval)
                taken[key] = taken.get(key, 0) + 1
        for (cell, slot), literals in self._held.items():
            room = len(self.ground.cells[cell].members) - taken.get((cell, slot), 0)
            if room <= 0:
                for literal in literals:
                    self.out.add(-literal)
            else:
                self.out.at_most(literals, room)
