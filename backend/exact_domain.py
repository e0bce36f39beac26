"""Where and when operations may be: what the exact engine decides about."""

from __future__ import annotations

from dataclasses import dataclass, field

from .bound import delays
from .cycles import Delay, longest_paths
from .exact_model import Ground
from .flat import Problem

Value = tuple[int, int]
"""A node and which of its outputs."""

Spot = tuple[int, int]
"""A cell and a cycle."""

Stop = tuple[int, int]
"""A resource and a cycle."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The sites and cycles of issue that each node may have, and where values are that are not to move.

    That is said in resources, as cells are not the same on each ground.
    """

    sites: tuple[tuple[int, ...], ...]
    early: tuple[int, ...]
    late: tuple[int, ...]
    kept: dict[Value, frozenset[Stop]] = field(default_factory=dict)


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
