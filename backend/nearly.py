"""A mapping but for a few conflicts: where everything was at the best moment of a negotiation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ledger import Ledger

CLOSE = 8
"""With more conflicts than that, nothing is kept: there is too much to mend."""


@dataclass(frozen=True, slots=True)
class Nearly:
    """Units, starts and routes of which only operations `nodes` and edges `edges` are in conflict.

    `paths[e]` are the (resource, cycle) steps of edge e, cycles from the start of its producer's iteration;
    empty if it has no route.
    """

    interval: int
    unit: tuple[int, ...]
    start: tuple[int, ...]
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]

    def count(self) -> int:
        """How many conflicts there are."""
        return len(self.nodes) + len(self.edges)


class Best:
    """Keeps the moment that is nearest to a mapping: with the fewest edges that have no route at all.

    Those come too late for their readers, most times, so that many operations would have to be moved.
    """

    def __init__(self, ledger: Ledger, interval: int, edges: int) -> None:
        self.ledger, self.interval, self.edges = ledger, interval, edges
        self.fewest = (1 << 30, 0)
        self.nearly: Nearly | None = None

    def see(self, nodes: Sequence[int], edges: Sequence[int]) -> None:
        """What is in conflict now."""
        conflicts = len(nodes) + len(edges)
        if not 0 < conflicts <= CLOSE:
            return
        torn = sum(self.ledger.edge_state(e) == 2 for e in edges)
        if (torn, conflicts) >= self.fewest:
            return
        self.fewest = torn, conflicts
        unit, start = self.ledger.places()
        paths = tuple(tuple(self.ledger.path(e)) for e in range(self.edges))
        self.nearly = Nearly(self.interval, tuple(unit), tuple(start), tuple(nodes), tuple(edges), paths)
