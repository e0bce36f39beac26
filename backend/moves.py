"""Why an interval of 1 may be impossible where words leave each tile through one register, again and again.

Such a register then holds one word of each iteration, for one cycle: an operation's result, or a word on its
way. A word cannot wait: private registers are filled from the register that is overwritten, and what has come
out of it cannot go back. So who reads a value g cycles after it is there reads it from a neighbour that holds
it then, and in each cycle before it has been in another tile, one step on. This has two consequences:

- The fewest registers that hold words on their way are the least sum of such cycles over all times: Leiserson
  and Saxe's retiming (1991), a linear program whose dual is a flow of least cost.
- Each cycle is a step. On arrays where a word comes back after even numbers of steps only (meshes, tori of
  even sizes), times thus tell tiles' colours, which uses between iterations may contradict.

Both hold for all schedules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import networkx as nx

from arch.fabric import Fabric, Kind

from .cycles import Delay

if TYPE_CHECKING:
    from .flat import Problem


def refuted_at_one(problem: Problem, arcs: list[Delay]) -> str | None:
    """Why there is no mapping at an interval of 1; None if that is not known.

    `arcs` are what times have to keep.
    """
    outputs, even = only_outputs(problem.fabric)
    if not outputs or (latency := latencies(problem, outputs)) is None:
        return None
    moving = _on_their_way(problem, arcs, latency)
    if len(latency) + moving > len(outputs):
        return f"{len(latency)} results, and {moving} words on their way, in {len(outputs)} output registers"
    if even and _contradictory(problem, latency):
        return "values read in odd and in even cycles, on an array where all ways back are even"
    return None


@lru_cache(maxsize=16)
def only_outputs(fabric: Fabric) -> tuple[frozenset[int], bool]:
    """The registers through which all words leave tiles, one for each, and whether all ways back are even.

    No registers if there are other ways.
    """
    resources = fabric.resources
    steps: nx.Graph[int] = nx.Graph()
    found: dict[int, int] = {}
    for r in resources:
        for there in {resources[s].tile for s in fabric.sinks[r.id]} - {r.tile}:
            steps.add_edge(r.tile, there)
            if r.kind is not Kind.REGISTER or found.setdefault(r.tile, r.id) != r.id:
                return frozenset(), False
    outputs = frozenset(found.values())
    others = [r for r in resources if r.kind in (Kind.REGISTER, Kind.WIRE) and r.id not in outputs]
    results = {one for unit in fabric.units for some in unit.results.values() for one in some}
    private = all(_private(fabric, r.id, found.get(r.tile, -1)) for r in others)
    return (outputs if private and results <= outputs else frozenset()), nx.is_bipartite(steps)


def _private(fabric: Fabric, resource: int, out: int) -> bool:
    """Whether it is a register that is filled from its tile's output, or from others of its kind."""
    one = fabric.resources[resource]
    sources = [fabric.resources[s] for s in one.sources if s != out]
    return one.kind is Kind.REGISTER and all(s.tile == one.tile and s.kind is Kind.REGISTER for s in sources)


def latencies(problem: Problem, outputs: frozenset[int]) -> dict[int, int] | None:
    """The latency of each operation that writes its tile's register wherever it is; None if it varies."""
    found = {}
    for node in problem.dfg.nodes:
        units = [problem.fabric.units[u] for u in problem.candidates(node.id)]
        if all(outputs & {*unit.results.get(node.op, ())} for unit in units):
            latencies = {unit.latency[node.op] for unit in units}
            if len(latencies) > 1:
                return None
            found[node.id] = latencies.pop()
    return found


def _between_tiles(problem: Problem, latency: dict[int, int]) -> list[tuple[int, int, int]]:
    """Uses (producer, reader, distance) whose ends are in two tiles, as both write their tile's register."""
    uses = [(use.node, reader, use.distance) for reader, _, use in problem.dfg.uses()]
    return [use for use in uses if use[0] in latency and use[1] in latency and use[0] != use[1]]


def _on_their_way(problem: Problem, arcs: list[Delay], latency: dict[int, int]) -> int:
    """The least sum, over values, of the cycles until their last use in another tile."""
    least: dict[tuple[object, object], int] = {}

    def apart(before: object, after: object, cycles: int) -> None:
        least[before, after] = max(cycles, least.get((before, after), cycles))

    for arc in arcs:
        if arc.source != arc.target:
            apart(arc.source, arc.target, arc.cycles - arc.distance)
    flow: nx.DiGraph[object] = nx.DiGraph()
    flow.add_nodes_from(range(problem.nodes), demand=0)
    for producer, reader, distance in _between_tiles(problem, latency):
        last = "last", producer
        if last not in flow:
            flow.add_node(last, demand=1)
            flow.nodes[producer]["demand"] -= 1
            apart(producer, last, latency[producer] - 1)
        apart(reader, last, distance)
    for (before, after), cycles in least.items():
        flow.add_edge(before, after, weight=-cycles)
    span = -int(nx.min_cost_flow_cost(flow))
    return span - sum(latency[n] - 1 for n in latency if ("last", n) in flow)


def _contradictory(problem: Problem, latency: dict[int, int]) -> bool:
    """Whether no two colours of tiles, corrected by times, fit all uses: some node would need both."""
    colours: nx.Graph[tuple[int, int]] = nx.Graph()
    for producer, reader, distance in _between_tiles(problem, latency):
        for colour in (0, 1):
            colours.add_edge((producer, colour), (reader, (colour + distance + latency[producer]) % 2))
    return any(
        (n, 0) in part and (n, 1) in part for part in nx.connected_components(colours) for n, _ in part
    )
