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

from .exact_clauses import TRUE, Clauses
from .exact_domain import Domain, Spot, Value
from .exact_home import Home
from .exact_model import Ground
from .exact_near import stay_near
from .exact_places import Places
from .exact_spare import room_of, say_room
from .flat import Problem

MOST_WORDS = 1_000_000
"""The most variables for words: some five million clauses."""


HOPS = 8
"""So many wires in a row are considered, after the first, where wires lead back to each other."""


class TooLarge(Exception):
    """More clauses than a solver can be given."""


class Encoding(Places):
    """All clauses of a graph on a fabric at an interval; `into` receives them.

    With `near`, what waits is at home or moves, and what follows for places and times is said; with `strict`,
    too, no word that has waited goes back into an output, and room is counted slot by slot. Errors: TooLarge,
    if there are more than `most` variables for words.
    """

    def __init__(
        self,
        problem: Problem,
        ground: Ground,
        interval: int,
        domain: Domain,
        into: Clauses,
        most: int = MOST_WORDS,
        near: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__(problem, ground, interval, domain, into)
        self.word: dict[Value, dict[Spot, int]] = {}
        self._made: dict[tuple[int, int, int], int] = {}
        self._held: dict[tuple[int, int], list[int]] = {}
        self._moved: dict[Value, dict[int, int]] = {}
        room = room_of(self)
        self._outputs, self._strict, self._tracked = room.outputs, strict, near or room.scarce
        values, kept = self._values(), domain.kept
        self._reach = {value: self._range(value) for value in values if value not in kept}
        weight = [1 + HOPS * (cell in ground.circular) for cell in range(len(ground.cells))]
        ranges = (zip(weight, first, last, strict=True) for first, last in self._reach.values())
        if sum(w * max(0, b - a + 1) for cells in ranges for w, a, b in cells) > most:
            raise TooLarge
        self.schedule()
        for value in values:
            self._move(value)
        self._share()
        say_room(self, room, self._moved, slots=strict)
        self._agree()
        if near:
            self._stay_near()

    def _values(self) -> list[Value]:
        """What has to be somewhere: what is used, and results that go into registers by themselves."""
        found = set(self.uses)
        for node in self.dfg.nodes:
            for s in self.at[node.id]:
                outlets = self.ground.sites[s].outlets[node.op]
                found |= {(node.id, k) for k, outlet in enumerate(outlets) if outlet.into is not None}
        return sorted(found)

    def _move(self, value: Value) -> None:
        """Where a word can be, why it is there, and that it is where its readers want it."""
        word = self.word[value] = {spot: self.out.fresh() for spot in self._spots(value)}
        self._leave(value)
        feeds = self._feeds(value)
        entered: dict[Spot, list[int]] = {}
        moved = self._moved[value] = dict[int, int]()
        from_there = [self._sources(cell) for cell in range(len(self.ground.cells))]
        for (cell, t), literal in word.items():
            before = t - self.ground.cells[cell].delay
            sources = [s for s in from_there[cell] if (s, before) in word]
            reasons = [word[s, before] for s in sources if s != cell and not self._circular(cell, s)]
            if cell in feeds[0]:
                reasons += self._makers(value, feeds[0][cell], before)
            made = self._makers(value, feeds[2][cell], t) if cell in feeds[2] else []
            reasons += made
            if cell in self._outputs and self._tracked:
                if t not in moved:
                    moved[t] = self.out.fresh()
                self.out.some([-literal, *made, moved[t]])
            entered[cell, t] = reasons
            held = [word[cell, before]] if cell in sources else []
            if cell not in self.ground.circular:
                self.out.some([-literal, *reasons, *held])
            self._held.setdefault((cell, t % self.interval), []).append(literal)
        self._renew(word, entered)
        self._rank(word, entered)
        self._read(value, feeds[1])

    def _spots(self, value: Value) -> list[Spot]:
        """Where the word may be: in reach or, if it is not to move, where it was."""
        if value in self.domain.kept:
            cell_of = self.ground.cell_of
            return sorted({(cell_of[r], t) for r, t in self.domain.kept[value] if r in cell_of})
        return [
            (cell, t)
            for cell, (first, last) in enumerate(zip(*self._reach[value], strict=True))
            for t in range(first, last + 1)
        ]

    def _sources(self, cell: int) -> Sequence[int]:
        """What a word in a cell may come from; if `strict`, into an output only from outputs."""
        sources = self.ground.cells[cell].sources
        if self._strict and cell in self._outputs:
            return [s for s in sources if s in self._outputs]
        return sources

    def _circular(self, cell: int, source: int) -> bool:
        return cell in self.ground.circular and source in self.ground.circular

    def _rank(self, word: dict[Spot, int], entered: dict[Spot, list[int]]) -> None:
        """In wires that lead back to each other, a word has come through HOPS of them at most.

        `rank[k]` are literals for its being there after no more than k other wires: so it is nobody's reason
        that it is a reason of itself.
        """
        looping = [spot for spot in word if spot[0] in self.ground.circular]
        rank: dict[Spot, int] = {}
        for k in range(HOPS + 1):
            now = word if k == HOPS else {spot: self.out.fresh() for spot in looping}
            for cell, t in looping:
                ways = [rank[s, t] for s in self.ground.cells[cell].sources if (s, t) in rank]
                self.out.some([-now[cell, t], *entered[cell, t], *ways])
                self.out.add(-now[cell, t], word[cell, t])
            rank = now if k < HOPS else {}

    def _renew(self, word: dict[Spot, int], entered: dict[Spot, list[int]]) -> None:
        """In a still cell, a word has come in within the last interval, or its register would be taken."""
        for (cell, t), literal in word.items():
            if self.ground.cells[cell].still and (cell, t - self.interval) in word:
                recent = [r for k in range(self.interval) for r in entered.get((cell, t - k), ())]
                self.out.some([-literal, *recent])

    def _leave(self, value: Value) -> None:
        """Results that go into registers by themselves are there, wherever that may be of use or not."""
        node, word = value[0], self.word[value]
        op = self.dfg.nodes[node].op
        for site, outlet in self.outlets(value):
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
        for site, outlet in self.outlets(value):
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

    def _range(self, value: Value) -> tuple[list[int], list[int]]:
        """For each cell, the first and last cycle in which the word can be in it and be of use."""
        node, domain, ground = value[0], self.domain, self.ground
        op = self.dfg.nodes[node].op
        seeds = []
        for site, outlet in self.outlets(value):
            made = domain.early[node] + ground.sites[site].latency[op] - 1
            seeds += [(cell, made + ground.cells[cell].delay) for cell in outlet.cells]
            seeds += [(outlet.into, made)] if outlet.into is not None else []
        first = ground.spread(sorted(set(seeds)))
        ends = []
        for consumer, position, distance in self.uses.get(value, ()):
            end = domain.late[consumer] + distance * self.interval
            basins = {ground.sites[s].basins[position] for s in self.at[consumer]}
            ends += [(cell, -end) for basin in basins for cell in ground.basins[basin]]
        last = [-left for left in ground.drain(sorted(set(ends)))]
        return first, last

    def _read(self, value: Value, feeds: dict[int, list[int]]) -> None:
        """At the issue of a reader, the word is in a cell that the operand can select."""
        word, ready = self.word[value], dict[Spot, int]()
        for consumer, position, distance in self.uses.get(value, ()):
            for site, place in self.at[consumer].items():
                basin = self.ground.sites[site].basins[position]
                for t, begun in self.begin[consumer].items():
                    cycle = t + distance * self.interval
                    if (basin, cycle) not in ready:
                        ways = [word[c, cycle] for c in self.ground.basins[basin] if (c, cycle) in word]
                        if basin in feeds:
                            ways += self._makers(value, feeds[basin], cycle)
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
        for (cell, _), literals in self._held.items():
            self.out.at_most(literals, len(self.ground.cells[cell].members))

    def _stay_near(self) -> None:
        """Implied: where readers can be, whatever the times, and where those that come late."""
        for value, moved in self._moved.items():
            stay_near(self, value, self.outlets(value), moved.values(), self._outputs)
        Home(self, self._outputs, self._moved).say()

    def _agree(self) -> None:
        """Of what is configured once, words are in one setting."""
        for settings in self.ground.fabric.settings:
            taken = []
            for cell in (self.ground.cell_of[setting] for setting in settings):
                literals = [lit for slot in range(self.interval) for lit in self._held.get((cell, slot), ())]
                if literals:
                    taken.append(self.out.fresh())
                    for literal in literals:
                        self.out.add(-literal, taken[-1])
            self.out.at_most(taken, 1)
