"""Graphs from elsewhere: named nodes and edges, of whose operations only the class is known.

Every reader of a graph file (`graph_json.py`, ...) ends in `assemble`, so all formats get the same checks
and the same errors; `to_dfg` then makes a graph for a fabric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arch.fabric import Fabric

from .arrivals import FEWEST, Room
from .cycles import Delay
from .dfg import DFG, Node, Order, Place, Use
from .lateness import Lateness

MOST_DISTANCE = 1024
"""The most iterations that an edge may reach back."""

MOST_SHOWN = 8
"""So many nodes of a cycle are named."""

_CLASSES = {
    "mul": ("mul", "mult", "fmul", "muladd", "mac", "mula", "umulh", "smulh"),
    "div": ("div", "sdiv", "udiv", "fdiv", "rem", "srem", "urem", "mod", "sqrt"),
    "access": (
        "load",
        "loadb",
        "loadh",
        "oload",
        "oloadb",
        "oloadh",
        "lod",
        "ld",
        "memr",
        "getptr",
        "lw",
        "lwd",
    )
    + ("store", "storeb", "storeh", "ostore", "ostoreb", "ostoreh", "str", "st", "memw", "sw", "swd")
    + ("atomicrmw", "cmpxchg"),
}
CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names}
"""The classes of operations by name; all others are `alu`, arithmetic."""

Key = int | str
Locate = Callable[[str, int], Place]
"""The place of the ("node" or "edge", position) in the file; (“”, 0) is its beginning."""


class GraphError(Exception):
    """A graph file that holds no graph: what is wrong, and where."""

    def __init__(self, message: str, where: Place | None) -> None:
        super().__init__(message)
        self.message, self.where = message, where


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node under the name that its file gives it."""

    key: Key
    op: str

    @property
    def name(self) -> str:
        """The key as text, which tells 1 from '1'."""
        return repr(self.key)


@dataclass(frozen=True, slots=True)
class ForeignEdge:
    """From node `source` to node `target`, by position; a value, or only an order of effects."""

    source: int
    target: int
    distance: int
    order: bool


@dataclass(frozen=True)
class ForeignGraph:
    """A graph as a file has it. `doubtful` holds what was read in spite of a doubt, with places.

    The graph of a `kernel` has all that makes it run; its nodes and edges are those of this one.
    """

    name: str
    nodes: tuple[ForeignNode, ...]
    edges: tuple[ForeignEdge, ...]
    locate: Locate
    doubtful: tuple[tuple[str, Place], ...] = ()
    kernel: DFG | None = None


def assemble(
    name: str,
    nodes: Sequence[tuple[Key, str]],
    edges: Sequence[tuple[Key, Key, int, bool]],
    locate: Locate,
    guessed: Sequence[int] = (),
) -> ForeignGraph:
    """The graph of (id, operation) and (source, target, distance, whether only an order), checked.

    `guessed` are the edges whose distances the file does not say.
    Errors: GraphError for no nodes, edges to nowhere, distances out of range, cycles within one iteration.
    """
    if not nodes:
        raise GraphError("the graph has no nodes", locate("", 0))
    position: dict[Key, int] = {}
    doubtful = []
    for k, (key, _) in enumerate(nodes):
        if key in position:
            doubtful.append((f"two nodes have the id {key!r}: edges mean the later one", locate("node", k)))
        position[key] = k
    if guessed:
        edge = f"{len(guessed)} edges close" if len(guessed) > 1 else "an edge closes"
        doubtful.append((f"{edge} a cycle: distance 1 is taken", locate("edge", guessed[0])))
    found = []
    for k, (source, target, distance, order) in enumerate(edges):
        for end in (source, target):
            if end not in position:
                raise GraphError(f"an edge with node {end!r}, which there is not", locate("edge", k))
        if not 0 <= distance <= MOST_DISTANCE:
            raise GraphError(f"distance {distance} is not from 0 to {MOST_DISTANCE}", locate("edge", k))
        found.append(ForeignEdge(position[source], position[target], distance, order))
    graph = ForeignGraph(
        name, tuple(ForeignNode(key, op) for key, op in nodes), tuple(found), locate, tuple(doubtful)
    )
    _refuse_cycles(graph)
    return graph


def with_back_edges(
    nodes: Sequence[tuple[Key, str]], edges: Sequence[tuple[Key, Key, int | None, bool]]
) -> tuple[list[tuple[Key, Key, int, bool]], list[int]]:
    """Distances for edges without: 1 for those that close a cycle, 0 for others; and which ones close one.

    That is seen in a depth-first search in the order of the file, first from nodes that nothing leads to.
    """
    after: dict[Key, list[int]] = {key: [] for key, _ in nodes}
    reached = set()
    for k, (source, target, distance, _) in enumerate(edges):
        if distance is None and source in after and target in after:
            after[source].append(k)
            reached.add(target)
    back: list[int] = []
    state: dict[Key, int] = {}  # 1: on the way to where the search is; 2: left
    for key in sorted(after, key=lambda key: key in reached):
        stack = [(key, iter(after[key]))] if key not in state else []
        state.setdefault(key, 1)
        while stack:
            here, ways = stack[-1]
            way = next(ways, None)
            if way is None:
                state[here] = 2
                stack.pop()
            elif state.get(there := edges[way][1]) == 1:
                back.append(way)
            elif there not in state:
                state[there] = 1
                stack.append((there, iter(after[there])))
    closing = set(back)
    found = [
        (source, target, (k in closing if distance is None else distance) + 0, order)
        for k, (source, target, distance, order) in enumerate(edges)
    ]
    return found, sorted(back)


def _refuse_cycles(graph: ForeignGraph) -> None:
    """GraphError if nodes of one iteration wait for each other."""
    after: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
    waiting = [0] * len(graph.nodes)
    for position, edge in enumerate(graph.edges):
        if edge.distance == 0:
            after[edge.source].append((edge.target, position))
            waiting[edge.target] += 1
    ready = [n for n, count in enumerate(waiting) if count == 0]
    for k in ready:
        for target, _ in after[k]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if len(ready) == len(graph.nodes):
        return
    # Every node that is left has a predecessor that is left: go back until one comes again.
    left = {n for n, count in enumerate(waiting) if count > 0}
    before = {target: (n, k) for n in sorted(left) for target, k in after[n] if target in left}
    seen: dict[int, int] = {}
    n = min(left)
    way: list[int] = []
    while n not in seen:
        seen[n] = len(way)
        way.append(n)
        n = before[n][0]
    cycle = [*way[seen[n] :], n][::-1]
    names = [graph.nodes[n].name for n in cycle]
    if len(names) > MOST_SHOWN:
        names[MOST_SHOWN - 1 : -1] = ["…"]
    worst = min(before[b][1] for _, b in pairwise(cycle))
    raise GraphError(
        f"a cycle within one iteration: {' -> '.join(names)} (one of its edges needs a distance)",
        graph.locate("edge", worst),
    )


def to_dfg(graph: ForeignGraph, fabric: Fabric) -> DFG:
    """The graph for a fabric; nodes keep their positions and orders.

    A node becomes an opaque operation of its class with its edges as operands. One with more inputs than
    units of the fabric have operands, or than words can reach a unit at once, gets a balanced tree of
    arithmetic before it, which values on tight recurrences enter last, and of others those of earlier
    iterations; the nodes of such trees follow those of the graph.
    """
    if graph.kernel is not None:
        return graph.kernel
    inputs: list[list[Use]] = [[] for _ in graph.nodes]
    orders = []
    for edge in graph.edges:
        if edge.order:
            orders.append(Order(edge.source, edge.target, edge.distance))
        else:
            inputs[edge.target].append(Use(edge.source, edge.distance))
    kinds = [CLASS_OF.get(node.op.lower(), "alu") for node in graph.nodes]
    room = Room(fabric, kinds, [len(some) for some in inputs])
    wide = [k for k, kind in enumerate(kinds) if not room.takes(kind, inputs[k])]
    lateness = Lateness(_delays(graph, fabric, kinds) if wide else ())
    trees: list[Node] = []
    for k in wide:
        inputs[k].sort(key=lambda use: use.distance)
        ranks = zip(lateness.of(k, inputs[k]), (use.distance > 0 for use in inputs[k]), strict=True)
        late = sorted(zip(ranks, inputs[k], strict=True), key=lambda ranked: ranked[0])
        while len(late) > FEWEST and not room.takes(kinds[k], [use for _, use in late]):
            width = room.part([use for _, use in late], len(late) - room.most[kinds[k]] + 1)
            part, late = late[:width], late[width:]
            tree = Node(
                len(graph.nodes) + len(trees),
                f"alu_{width}",
                tuple(use for _, use in part),
                variable=f"of {graph.nodes[k].name}",
            )
            trees.append(tree)
            room.add(width)
            latest, earlier = part[-1][0]
            rank = latest + fabric.latency(tree.op), earlier
            late.insert(sum(other <= rank for other, _ in late), (rank, Use(tree.id)))
        inputs[k] = [use for _, use in late]
    nodes = [
        Node(k, f"{kinds[k]}_{len(inputs[k])}", tuple(inputs[k]), variable=node.op)
        for k, node in enumerate(graph.nodes)
    ]
    return DFG(graph.name, (*nodes, *trees), tuple(orders), (), (), (), ())


def _delays(graph: ForeignGraph, fabric: Fabric, kinds: Sequence[str]) -> list[Delay]:
    """The edges of a graph with the fewest cycles that they take."""
    cycles = {kind: fabric.latency(f"{kind}_{FEWEST}") for kind in kinds}
    return [
        Delay(edge.source, edge.target, edge.distance, 1 if edge.order else cycles[kinds[edge.source]])
        for edge in graph.edges
    ]
