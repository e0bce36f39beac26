"""How late the inputs of operations are that are on recurrences: the latest can wait for least."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from .cycles import Delay, components, tightest_of
from .dfg import Use
from .longest import Arcs, longest


class Lateness:
    """What is late in a graph of delays, by its recurrences."""

    def __init__(self, arcs: Sequence[Delay]) -> None:
        self._inside: dict[int, list[Delay]] = {}
        for inside in components(arcs):
            self._inside |= dict.fromkeys((arc.target for arc in inside), inside)

    def of(self, node: int, uses: Sequence[Use]) -> list[float]:
        """When inputs of a node are there, counted from where it has to be issued, at the least interval that
        its recurrences allow; `-inf` for those that do not depend on it.

        0 is on a recurrence that binds; all others are earlier.
        """
        inside = self._inside.get(node, [])
        interval = tightest_of(inside, 1)[0] if inside else 1
        after = _after(node, inside, interval)
        cycles = {(arc.source, arc.distance): arc.cycles for arc in inside if arc.target == node}
        return [
            after.get(use.node, -inf) + cycles.get((use.node, use.distance), 0) - use.distance * interval
            for use in uses
        ]


def _after(node: int, inside: Sequence[Delay], interval: int) -> dict[int, int]:
    """How many cycles at least the nodes of a component are issued after one of them."""
    names = sorted({arc.target for arc in inside})
    local = {name: k for k, name in enumerate(names)}
    # All starts are at least 0, so this one has to be later than any way back is long.
    first = 1 + sum(abs(arc.cycles) + arc.distance * interval for arc in inside)
    arcs = Arcs()
    for arc in inside:
        arcs.add(local[arc.source], local[arc.target], arc.distance, arc.cycles)
    if inside:
        arcs.add(len(names), local[node], 0, first)
    start, _ = longest(len(names) + 1, arcs, interval)
    return {name: start[k] - first for name, k in local.items()}
