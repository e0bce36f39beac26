"""A mapping of a graph with stages (`relays.py`) as one of the graph without: words pass the stages' units.

What a stage reads is somewhere in the cycle in which the stage is issued; from there it goes on to where the
result would be a cycle later, if the fabric has that way.
"""

from __future__ import annotations

from dataclasses import replace

from arch.fabric import Kind

from .check import MappingError, check_mapping
from .dfg import DFG, Use
from .mapping import Mapping, Placement, Route, Schedule

Steps = tuple[tuple[int, int], ...]


def unstaged(mapping: Mapping, dfg: DFG) -> Mapping | None:
    """A checked mapping of `dfg`, of whose graph with stages there is one; None if some way is missing.

    The stages are the nodes after those of `dfg`.
    """
    routes = _Ways(mapping, dfg).routes()
    if routes is None:
        return None
    count, placement = len(dfg.nodes), mapping.placement
    start = placement.schedule.start[:count]
    first = min(start, default=0)
    schedule = Schedule(dfg, mapping.interval, tuple(s - first for s in start))
    early = tuple(replace(r, steps=_later(r.steps, -first)) for r in routes)
    found = Mapping(
        Placement(schedule, mapping.fabric, placement.unit[:count], placement.memory), early, mapping.late
    )
    try:
        check_mapping(found)
    except MappingError:
        return None
    return found


def _later(steps: Steps, cycles: int) -> Steps:
    return tuple((resource, cycle + cycles) for resource, cycle in steps)


class _Ways:
    """Routes past the stages."""

    def __init__(self, mapping: Mapping, dfg: DFG) -> None:
        self.mapping, self.count = mapping, len(dfg.nodes)
        self.resources = mapping.fabric.resources
        self.ways: dict[int, tuple[Steps, int]] = {}  # to each stage's operand, and how much later it is

    def routes(self) -> list[Route] | None:
        """All routes of the graph without stages."""
        found = []
        # Stages in order: each reads what a stage before it gives, or no stage.
        for route in sorted(self.mapping.routes, key=lambda r: (r.consumer < self.count, r.consumer)):
            use = self.mapping.dfg.nodes[route.consumer].operands[route.position]
            assert isinstance(use, Use)
            steps, late = route.steps, 0
            if use.node >= self.count:
                way, late = self.ways[use.node]
                passed = self._passed(way, _later(route.steps, late))
                if passed is None:
                    return None
                steps = passed
            if route.consumer < self.count:
                found.append(replace(route, steps=steps))
            else:
                self.ways[route.consumer] = steps[:-1], late + use.distance * self.mapping.interval
        return found

    def _passed(self, way: Steps, steps: Steps) -> Steps | None:
        """From the way to a stage on to where its result goes."""
        rest = tuple(step for step in steps if self.resources[step[0]].kind is not Kind.RESULT)
        (source, cycle), (target, later) = way[-1], rest[0]
        resource = self.resources[target]
        delay = 1 if resource.kind is Kind.REGISTER else 0
        return way + rest if source in resource.sources and later - cycle == delay else None
