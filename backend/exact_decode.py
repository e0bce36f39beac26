"""From the solver's answer to a mapping: routes looked back for, members given to cells and sites."""

from __future__ import annotations

from collections.abc import Sequence

from .dfg import Use
from .exact_clauses import TRUE
from .exact_domain import Spot, Value
from .exact_encode import Encoding
from .mapping import Mapping, MemoryPlace, Placement, Route, Schedule

Run = tuple[Value, list[Spot]]
"""A word's stay in a still cell."""

PATIENCE = 2000
"""So many steps are spent on members for the words in one still cell."""


class NoMember(Exception):
    """The words of a still cell cannot be given registers, or not easily."""


class Decoded:
    """What an answer says. `holds` are the literals that hold, as a set."""

    def __init__(self, encoding: Encoding, model: Sequence[int]) -> None:
        self.encoding, self.holds = encoding, set(model) | {TRUE}
        self.ground, self.interval = encoding.ground, encoding.interval
        nodes = range(encoding.problem.nodes)
        self.site = [self._chosen(encoding.at[n]) for n in nodes]
        self.start = [self._chosen(encoding.begin[n]) for n in nodes]
        self.bank = [self._chosen(banks) for banks in encoding.bank]
        self.reason: dict[Value, dict[Spot, Spot | None]] = {}
        self.member: dict[tuple[Value, Spot], int] = {}

    def _chosen(self, literals: dict[int, int]) -> int:
        return next(choice for choice, literal in literals.items() if literal in self.holds)

    def mapping(self) -> Mapping:
        """The mapping. Errors: NoMember."""
        encoding, dfg = self.encoding, self.encoding.dfg
        unit = self._units()
        ways = {}
        for value in sorted(encoding.uses):
            self.reason[value] = self._reasons(value)
            for consumer, position, distance in encoding.uses[value]:
                ways[consumer, position] = self._way(value, consumer, position, distance)
        self._give_members(ways)
        routes = []
        for (consumer, position), way in sorted(ways.items()):
            use = dfg.nodes[consumer].operands[position]
            assert isinstance(use, Use)
            routes.append(self._route(unit, use, consumer, position, way))
        schedule = Schedule(dfg, self.interval, tuple(self.start))
        placement = Placement(schedule, self.ground.fabric, tuple(unit), self._memory())
        return Mapping(placement, tuple(routes))

    def _units(self) -> list[int]:
        """Members of sites, in each slot in the order of the nodes."""
        issued: dict[tuple[int, int], int] = {}
        units = []
        for n, site in enumerate(self.site):
            key = (site, self.start[n] % self.interval)
            units.append(self.ground.sites[site].members[issued.get(key, 0)])
            issued[key] = issued.get(key, 0) + 1
        return units

    def _memory(self) -> tuple[MemoryPlace, ...]:
        """Arrays one after the other in their banks."""
        filled = [0] * len(self.ground.fabric.memories)
        places = []
        for memory, bank in zip(self.encoding.dfg.memories, self.bank, strict=True):
            places.append(MemoryPlace(bank, filled[bank]))
            filled[bank] += memory.words
        return tuple(places)

    def _done(self, node: int) -> int:
        site = self.ground.sites[self.site[node]]
        return self.start[node] + site.latency[self.encoding.dfg.nodes[node].op] - 1

    def _reasons(self, value: Value) -> dict[Spot, Spot | None]:
        """Where the word comes from at every spot that it really reaches: another spot; None: it is made."""
        word = self.encoding.word[value]
        found: dict[Spot, Spot | None] = {}
        times: dict[int, list[int]] = {}
        for (cell, t), literal in word.items():
            if literal in self.holds:
                times.setdefault(t, []).append(cell)
        node, output = value
        outlet = self.ground.sites[self.site[node]].outlets[self.encoding.dfg.nodes[node].op][output]
        done = self._done(node)
        for t in sorted(times):
            waiting = times[t]
            while waiting:
                left = []
                for cell in waiting:
                    before = t - self.ground.cells[cell].delay
                    if (cell in outlet.cells and before == done) or (cell == outlet.into and t == done):
                        found[cell, t] = None
                        continue
                    ways = [(s, before) for s in self._preferred(cell) if (s, before) in found]
                    if ways:
                        found[cell, t] = ways[0]
                    else:
                        left.append(cell)
                # Again for wires behind wires, as long as that helps.
                waiting = left if len(left) < len(waiting) else []
        return found

    def _preferred(self, cell: int) -> list[int]:
        """What a cell can select: itself first, so that words stay; a still cell last, to come in anew."""
        one = self.ground.cells[cell]
        return sorted(one.sources, key=lambda s: ((s == cell) == one.still, s))

    def _way(self, value: Value, consumer: int, position: int, distance: int) -> tuple[Spot, ...]:
        """The spots that a word goes through to an operand; none if the operand reads the result itself."""
        ground, node = self.ground, value[0]
        basin = ground.sites[self.site[consumer]].basins[position]
        cycle = self.start[consumer] + distance * self.interval
        outlet = ground.sites[self.site[node]].outlets[self.encoding.dfg.nodes[node].op][value[1]]
        if basin in outlet.basins and cycle == self._done(node):
            return ()
        found = self.reason[value]
        spot: Spot | None = next((c, cycle) for c in ground.basins[basin] if (c, cycle) in found)
        way = []
        while spot is not None:
            way.append(spot)
            spot = found[spot]
        return tuple(reversed(way))

    def _give_members(self, ways: dict[tuple[int, int], tuple[Spot, ...]]) -> None:
        """Members of cells for the words on routes: the one it was in before, if free, else the first."""
        spots: dict[tuple[Value, Spot], None] = {}
        for (consumer, position), way in ways.items():
            use = self.encoding.dfg.nodes[consumer].operands[position]
            assert isinstance(use, Use)
            spots.update(dict.fromkeys(((use.node, use.output), spot) for spot in way))
        taken: dict[tuple[int, int], set[int]] = {}
        stays: dict[int, list[Run]] = {}
        for value, spot in sorted(spots, key=lambda key: (key[1][1], key)):
            cell, t = spot
            before = self.reason[value][spot]
            inside = before is not None and before[0] == cell
            if self.ground.cells[cell].still:
                runs = stays.setdefault(cell, [])
                if inside:
                    next(run for run in runs if run[0] == value and run[1][-1] == before)[1].append(spot)
                else:
                    runs.append((value, [spot]))
                continue
            busy = taken.setdefault((cell, t % self.interval), set())
            free = [m for m in self.ground.cells[cell].members if m not in busy]
            assert inside or free
            wish = self.member[value, before] if inside and before is not None else -1
            self.member[value, spot] = wish if wish in free else free[0]
            busy.add(self.member[value, spot])
        for cell, runs in stays.items():
            self._give_runs(cell, runs)

    def _give_runs(self, cell: int, runs: list[Run]) -> None:
        """A member for each stay of a word in a still cell: colours for arcs on a circle, by backtracking."""
        members = self.ground.cells[cell].members
        slots = [{t % self.interval for _, t in spots} for _, spots in runs]
        if any(len(s) < len(spots) for s, (_, spots) in zip(slots, runs, strict=True)):
            raise NoMember
        colour = [-1] * len(runs)
        steps = 0
        k = 0
        while k < len(runs):
            steps += 1
            used = {colour[j] for j in range(k) if slots[j] & slots[k]}
            nxt = next((c for c in range(colour[k] + 1, len(members)) if c not in used), None)
            if nxt is not None:
                colour[k] = nxt
                k += 1
                continue
            colour[k] = -1
            k -= 1
            if k < 0 or steps > PATIENCE:
                raise NoMember
        for c, (value, spots) in zip(colour, runs, strict=True):
            self.member.update({(value, spot): members[c] for spot in spots})

    def _route(self, unit: list[int], use: Use, consumer: int, position: int, way: tuple[Spot, ...]) -> Route:
        fabric, value = self.ground.fabric, (use.node, use.output)
        op = self.encoding.dfg.nodes[use.node].op
        first = (fabric.units[unit[use.node]].results[op][use.output], self._done(use.node))
        steps = [(self.member[value, spot], spot[1]) for spot in way]
        if steps[:1] != [first]:
            steps.insert(0, first)
        operand = fabric.units[unit[consumer]].operands[position]
        steps.append((operand, self.start[consumer] + use.distance * self.interval))
        return Route(consumer, position, tuple(steps))
