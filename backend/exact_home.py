"""What waits is read at home, or moves at once: places and times of readers, before ways are known.

Where results are left in registers that are a tile's only way out, a word that no register of these has in
the cycle after it is made is in registers of its tile. It could go back into the output later, but hardly any
mapping needs that. Here it is excluded: a reader that comes later is in that tile, or the word is on its way
in the very next cycle, in a register that others need as well. Those have room for few (`exact_spare.py`),
and a tile for as many operations as an interval has cycles. So times alone lead to much, and mappings are met
in fewer conflicts; that there is none of this kind refutes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .exact_domain import Value
from .exact_near import basin, reached
from .exact_places import Places


@dataclass(slots=True)
class _Pair:
    """A producer and a reader that are at home together if `literal` holds; `same`: that is on one site,
    which does one operation in a slot."""

    literal: int
    same: bool


@dataclass(slots=True)
class Home:
    """Clauses for the readers of values, on the places `of` a graph.

    `moved[value][t]` holds if it is in any of `outputs` in cycle t but made in it; those that are left in
    such a register wherever they are made are looked at.
    """

    of: Places
    outputs: frozenset[int]
    moved: Mapping[Value, Mapping[int, int]]
    _pairs: dict[tuple[Value, int, int], _Pair] = field(default_factory=dict)
    _private: dict[int, frozenset[int]] = field(default_factory=dict)

    def say(self) -> None:
        """All clauses."""
        for value in sorted(self.of.uses):
            latency = self._latency(value)
            if latency is None:
                continue
            for reader, position, distance in self.of.uses[value]:
                if reader != value[0]:
                    self._wait(value, latency, reader, position, distance)
        self._partners()

    def _latency(self, value: Value) -> int | None:
        """The latency of what makes a value, if it is the same and leaves it in an output everywhere."""
        outlets = self.of.outlets(value)
        op = self.of.dfg.nodes[value[0]].op
        latencies = {self.of.ground.sites[site].latency[op] for site, _ in outlets}
        left = all(outlet.into in self.outputs for _, outlet in outlets)
        return latencies.pop() if left and len(latencies) == 1 else None

    def _wait(self, value: Value, latency: int, reader: int, position: int, distance: int) -> None:
        """Read later than it is made: at home, or it is on its way in the very next cycle."""
        of, home = self.of, self._home(value, reader, position)
        early, late = of.domain.early[reader], of.domain.late[reader]
        for begun, literal in of.begin[value[0]].items():
            made = begun + latency - 1
            soon = made - distance * of.interval
            if soon >= late:
                continue
            now = [of.by[reader][soon]] if soon >= early else []
            way = [self.moved[value][made + 1]] if made + 1 in self.moved[value] else []
            of.out.some([-literal, *now, home, *way])

    def _home(self, value: Value, reader: int, position: int) -> int:
        """A literal that holds only if a reader is where the value can wait for it without moving."""
        key = value, reader, position
        if key not in self._pairs:
            self._pairs[key] = self._paired(value, reader, position)
        return self._pairs[key].literal

    def _paired(self, value: Value, reader: int, position: int) -> _Pair:
        of, node = self.of, value[0]
        home, same = of.out.fresh(), True
        for site, outlet in of.outlets(value):
            assert outlet.into is not None
            near = self._near(outlet.into)
            there = [s for s in of.at[reader] if near & basin(of.ground, s, position)]
            same &= there in ([], [site]) and len(of.ground.sites[site].members) == 1
            of.out.some([-home, -of.at[node][site], *(of.at[reader][s] for s in there)])
        if same:
            for slot in of.slot[node].keys() & of.slot[reader].keys():
                of.out.add(-home, -of.slot[node][slot], -of.slot[reader][slot])
        return _Pair(home, same)

    def _near(self, cell: int) -> frozenset[int]:
        """The cells, but itself, that a word can get to from an output without entering another."""
        if cell not in self._private:
            self._private[cell] = reached(self.of.ground, cell, self.outputs) - {cell}
        return self._private[cell]

    def _partners(self) -> None:
        """With an operation there are no more others on its site than an interval has further cycles."""
        partners: dict[int, dict[int, list[int]]] = {}
        for ((producer, _), reader, _), pair in self._pairs.items():
            if pair.same:
                partners.setdefault(producer, {}).setdefault(reader, []).append(pair.literal)
                partners.setdefault(reader, {}).setdefault(producer, []).append(pair.literal)
        for others in partners.values():
            if len(others) >= self.of.interval:
                self.of.out.at_most([self._any(found) for found in others.values()], self.of.interval - 1)

    def _any(self, literals: Collection[int]) -> int:
        """A literal that holds if any does."""
        if len(literals) == 1:
            return next(iter(literals))
        one = self.of.out.fresh()
        for literal in literals:
            self.of.out.add(-literal, one)
        return one
