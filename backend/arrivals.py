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


def refuse_crowds(problem: Problem) -> None:
    """Raise DoesNotFit if an operation reads more words at once than can reach any unit that does it."""
    name = problem.fabric.name
    most = [max(map(problem.fabric.words_at, units), default=0) for units in problem.classes]
    anyhow = [max(map(problem.fabric.words_from_away, units), default=0) for units in problem.classes]
    for node in problem.dfg.nodes:
        words = {(use.node, use.output, use.distance) for use in node.operands if isinstance(use, Use)}
        kind, what = problem.kind[node.id], ""
        needed, seen = len(words), most[kind]
        if seen >= needed > anyhow[kind]:
            makers = [_tiles(problem, maker) for maker, _, _ in sorted(words)]
            (needed, seen), what = _fewest_missing(problem, kind, makers), " that other tiles make"
        if needed > seen:
            raise DoesNotFit(
                f"{node.spelling} reads {needed} values at once{what}; {seen} can reach a unit of {name} that"
                " does it",
                Shortage.ROUTES,
                needed,
                seen,
                (node.id,),
            )


def _tiles(problem: Problem, node: int) -> Tiles:
    """The tiles that can do a node."""
    return {problem.fabric.units[unit].tile for unit in problem.candidates(node)}


def _fewest_missing(problem: Problem, kind: int, makers: Sequence[Tiles]) -> tuple[int, int]:
    """An operation's words from other tiles, and how many can reach it, on the unit that lacks the fewest.

    Some units can have that many words, if enough are their own.
    """
    fabric = problem.fabric
    found = (
        (strangers(fabric.units[unit].tile, makers), fabric.words_from_away(unit))
        for unit in problem.classes[kind]
        if fabric.words_at(unit) >= len(makers)
    )
    return min(found, key=lambda some: some[0] - some[1])


class Room:
    """What operations of a graph from elsewhere can read, by the classes of its nodes.

    `most` are the most operands of a class, at least FEWEST. Nodes that are not in the graph are arithmetic.
    """

    def __init__(self, fabric: Fabric, kinds: Sequence[str]) -> None:
        self.fabric, self.kinds = fabric, kinds
        self.most: dict[str, int] = {}
        self.anyhow: dict[str, int] = {}
        self.tiles: dict[str, frozenset[int]] = {}
        for kind in {*kinds, "alu"}:
            inputs = {unit: k for k in range(MOST_INPUTS + 1) for unit in fabric.units_for(f"{kind}_{k}")}
            self.most[kind] = max([FEWEST, *(min(k, fabric.words_at(unit)) for unit, k in inputs.items())])
            self.anyhow[kind] = max((min(k, fabric.words_from_away(u)) for u, k in inputs.items()), default=0)
            self.tiles[kind] = frozenset(fabric.units[unit].tile for unit in inputs)

    def takes(self, kind: str, operands: Sequence[Use]) -> bool:
        """Whether an operation of a class can have these operands; `anyhow`, wherever they are made."""
        if len(operands) <= self.anyhow[kind]:
            return True
        if len(operands) > self.most[kind]:
            return False
        makers = [self._makers(node) for node, _ in {(use.node, use.distance) for use in operands}]
        units = self.fabric.units_for(f"{kind}_{len(operands)}")
        return any(arrive(self.fabric, unit, makers) for unit in units)

    def part(self, operands: Sequence[Use], wanted: int) -> int:
        """How many of the first operands an operation of arithmetic takes off them, up to those wanted."""
        width = max(FEWEST, min(self.most["alu"], wanted))
        while width > FEWEST and not self.takes("alu", operands[:width]):
            width -= 1
        return width

    def _makers(self, node: int) -> Tiles:
        return self.tiles[self.kinds[node] if node < len(self.kinds) else "alu"]
