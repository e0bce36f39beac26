"""Whether all words that an operation reads can reach a unit in the cycle of its issue.

Each operand selects one of few places. In some arrays there are places for what the tile itself makes
alone, as the register behind a unit of `hycube`: an operation reads five words there only if one of them
comes from a unit of its own tile, and five loads, which are for other tiles, never reach it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arch.fabric import Fabric
from arch.ops import MOST_INPUTS

from .dfg import Use
from .flat import Problem
from .mapping import DoesNotFit, Shortage

FEWEST = 2
"""An operation with so many operands is not made smaller: what would take its place reads two as well."""

Tiles = Collection[int]
"""The tiles that can make a word."""


def strangers(tile: int, makers: Sequence[Tiles]) -> int:
    """How many words a tile cannot make."""
    return sum(tile not in tiles for tiles in makers)


def arrive(fabric: Fabric, unit: int, makers: Sequence[Tiles]) -> bool:
    """Whether different words can be operands of a unit at once, by the tiles that can make each."""
    if len(makers) > fabric.words_at(unit):
        return False
    away = fabric.words_from_away(unit)
    return len(makers) <= away or strangers(fabric.units[unit].tile, makers) <= away


class Crowds:
    """The operations that read more words at once than can come from anywhere: `found`, with their makers."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.fabric = problem, problem.fabric
        self.tiles: dict[tuple[int, int], frozenset[int]] = {}
        self.words = [
            sorted({(use.node, use.output, use.distance) for use in node.operands if isinstance(use, Use)})
            for node in problem.dfg.nodes
        ]
        anyhow = [max(map(self.fabric.words_from_away, units), default=0) for units in problem.classes]
        self.found = {
            n: [maker for maker, _, _ in words]
            for n, words in enumerate(self.words)
            if len(words) > anyhow[problem.kind[n]]
        }

    def lacking(self, node: int, alone: bool = False) -> tuple[int, int, str]:
        """The words of an operation, how many can reach it, and which, on the unit that lacks the fewest.

        `alone`: its tile does no other operation.
        """
        makers = [() if alone and maker != node else self._tiles(maker) for maker in self.found[node]]
        units, wanted = self.problem.candidates(node), len(makers)
        seen = {unit: self.fabric.words_at(unit) for unit in units}
        if wanted > (most := max(seen.values())):
            return wanted, most, ""
        units = tuple(unit for unit in units if seen[unit] >= wanted)
        found = [
            (strangers(self.fabric.units[unit].tile, makers), self.fabric.words_from_away(unit))
            for unit in units
        ]
        return *min(found, key=lambda some: some[0] - some[1]), " that other tiles make"

    def _tiles(self, node: int) -> Tiles:
        """The tiles that can do a node and have places for all that it reads itself."""
        key = self.problem.kind[node], len(self.words[node])
        if key not in self.tiles:
            units = [u for u in self.problem.candidates(node) if self.fabric.words_at(u) >= key[1]]
            self.tiles[key] = frozenset(self.fabric.units[unit].tile for unit in units)
        return self.tiles[key]


def refuse_crowds(problem: Problem) -> None:
    """Raise DoesNotFit if an operation reads more words at once than can reach any unit that does it."""
    crowds = Crowds(problem)
    for node in crowds.found:
        needed, seen, what = crowds.lacking(node)
        if needed > seen:
            raise DoesNotFit(
                f"{problem.dfg.nodes[node].spelling} reads {needed} values at once{what}; {seen} can reach a"
                f" unit of {problem.fabric.name} that does it",
                Shortage.ROUTES,
                needed,
                seen,
                (node,),
            )


def crowded_at_one(problem: Problem) -> str | None:
    """Why an interval of 1 is impossible where a tile, with one operation, makes no words but its own."""
    fabric, crowds = problem.fabric, Crowds(problem)
    if len({unit.tile for unit in fabric.units}) < len(fabric.units):
        return None
    for node in crowds.found:
        needed, seen, what = crowds.lacking(node, alone=True)
        if needed > seen:
            return f"an operation that reads {needed} values at once{what}, of which {seen} can reach it"
    return None


class Room:
    """What operations of a graph from elsewhere can read, by the classes of its nodes.

    `most` are the most operands of a class, at least FEWEST. `makers`: where nodes can be with as many
    inputs as they have, at first those of the graph; those of trees are added.
    """

    def __init__(self, fabric: Fabric, kinds: Sequence[str], inputs: Sequence[int]) -> None:
        self.fabric = fabric
        self.most: dict[str, int] = {}
        self.anyhow: dict[str, int] = {}
        self.tiles: dict[tuple[str, int], frozenset[int]] = {}
        for kind in {*kinds, "alu"}:
            able = {unit: k for k in range(MOST_INPUTS + 1) for unit in fabric.units_for(f"{kind}_{k}")}
            seen = {unit: min(k, fabric.words_at(unit)) for unit, k in able.items()}
            self.most[kind] = max([FEWEST, *seen.values()])
            self.anyhow[kind] = max((min(k, fabric.words_from_away(u)) for u, k in able.items()), default=0)
            for count in range(self.most[kind] + 1):
                units = [fabric.units[unit] for unit in able if seen[unit] >= count]
                self.tiles[kind, count] = frozenset(unit.tile for unit in units)
        self.makers = [
            self.tiles[kind, min(count, self.most[kind])] for kind, count in zip(kinds, inputs, strict=True)
        ]

    def add(self, inputs: int) -> None:
        """There is one node more, arithmetic with so many inputs."""
        self.makers.append(self.tiles["alu", inputs])

    def takes(self, kind: str, operands: Sequence[Use]) -> bool:
        """Whether an operation of a class can have these operands; `anyhow`, wherever they are made."""
        if len(operands) <= self.anyhow[kind]:
            return True
        if len(operands) > self.most[kind]:
            return False
        makers = [self.makers[node] for node, _ in {(use.node, use.distance) for use in operands}]
        units = self.fabric.units_for(f"{kind}_{len(operands)}")
        return any(arrive(self.fabric, unit, makers) for unit in units)

    def part(self, operands: Sequence[Use], wanted: int) -> int:
        """How many of the first operands an operation of arithmetic takes off them, up to those wanted."""
        width = max(FEWEST, min(self.most["alu"], wanted))
        while width > FEWEST and not self.takes("alu", operands[:width]):
            width -= 1
        return width
