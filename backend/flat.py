"""A graph on a fabric as flat integer arrays, for the hot loops of the mapper."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from arch.fabric import Fabric
from arch.ops import OPS

from .dfg import DFG, Node
from .predicates import narrow, predicates
from .terrain import ints, rows, terrain

if TYPE_CHECKING:
    from .ledger import Ledger

BROKEN = 30.0
"""The first price of an edge without route, or of an order that is not kept."""

SHARING = 0.5
"""The first price of sharing a place."""

COLUMNS = 40
"""The most starts that a relocation looks at; `WIDEST` in the compiled modules."""


class Task(NamedTuple):
    """What is asked of a unit: an operation; where there is a plane of bits, what of it is of one bit; which
    unit it has to be, if that is known."""

    op: str
    bits: tuple[bool, ...] = ()
    gives_bits: bool = False
    pin: int = -1

    def fits(self, fabric: Fabric, unit: int) -> bool:
        """Whether a unit that does the operation does it on what there is: those on bits need bits alone."""
        if self.pin not in (-1, unit):
            return False
        return not fabric.is_narrow(fabric.units[unit]) or (self.gives_bits and all(self.bits))


class Problem:
    """A graph on a terrain: nodes with candidate units, edges, orders, and groups that move as one.

    Nodes have the same operation code if they do the same operation and, where there is a plane of bits, read
    and give bits at the same places. `plane[e]` is what to add to an operand or result to find the basin or
    spring of edge e.

    `latency[c * U + u]` is the latency of operation code c on unit u, 0 if it cannot; `result[(2 * c + k)
    * U + u]` the resource of its output k, -1 if none. A *group* is a stream (one unit for all its
    nodes) or an array (one bank for all its nodes): streams first. Edges `pairs[2 * k]` and `[2 * k + 1]`
    bring two words of one array to one node, where there is one way from a tile to the next. `ties` are the
    orders at a node and the pairs, counted on from them. `pins` are the only units of some nodes.
    """

    def __init__(self, dfg: DFG, fabric: Fabric, pins: Mapping[int, int] | None = None) -> None:
        self.dfg, self.fabric, self.terrain = dfg, fabric, terrain(fabric)
        self.nodes = len(dfg.nodes)
        self.bits = predicates(dfg) if fabric.planes else frozenset()
        tasks = [self._task(node, (pins or {}).get(node.id, -1)) for node in dfg.nodes]
        kinds = sorted(set(tasks))
        code = {kind: k for k, kind in enumerate(kinds)}
        self.code = ints(code[task] for task in tasks)
        units = fabric.units
        fits = [frozenset(u for u in fabric.units_for(task.op) if task.fits(fabric, u)) for task in kinds]
        places = {
            task.op: max((len(u.results[task.op]) for u in units if task.op in u.results), default=0)
            for task in kinds
        }
        self.outputs = ints(places[n.op] for n in dfg.nodes)
        self.latency = ints(
            u.latency[task.op] if u.id in able else 0
            for task, able in zip(kinds, fits, strict=True)
            for u in units
        )
        self.result = ints(
            u.results[task.op][k] if u.id in able and k < len(u.results.get(task.op, ())) else -1
            for task, able in zip(kinds, fits, strict=True)
            for k in (0, 1)
            for u in units
        )
        uses = list(dfg.uses())
        words = self.terrain.resources if fabric.planes else 0
        self.plane = ints(0 if (use.node, use.output) in self.bits else words for _, _, use in uses)
        self.source = ints(use.node for _, _, use in uses)
        self.target = ints(consumer for consumer, _, _ in uses)
        self.distance = ints(use.distance for _, _, use in uses)
        self.position = ints(position for _, position, _ in uses)
        self.output = ints(use.output for _, _, use in uses)
        self.in_at, self.ins = self._edges_of(self.target)
        self.out_at, self.outs = self._edges_of(self.source)
        self.before = ints(o.before for o in dfg.orders)
        self.after = ints(o.after for o in dfg.orders)
        self.order_distance = ints(o.distance for o in dfg.orders)
        self.delay = ints(o.delay for o in dfg.orders)
        touching: list[list[int]] = [[] for _ in dfg.nodes]
        for k, o in enumerate(dfg.orders):
            touching[o.before].append(k)
            if o.after != o.before:
                touching[o.after].append(k)
        self.orders_at, self.orders = rows(touching)
        self._group_nodes()
        self._pair_loads()
        self._class_nodes([(task.op, able) for task, able in zip(kinds, fits, strict=True)])

    def _task(self, node: Node, pin: int) -> Task:
        """What is asked of a unit that does a node."""
        if not self.fabric.planes:
            return Task(node.op, pin=pin)
        operands = tuple(narrow(operand, self.bits) for operand in node.operands)
        gives_bits = all((node.id, k) in self.bits for k in range(OPS[node.op].outputs))
        return Task(node.op, operands, gives_bits, pin)

    def _edges_of(self, ends: array[int]) -> tuple[array[int], array[int]]:
        lists: list[list[int]] = [[] for _ in self.dfg.nodes]
        for edge, node in enumerate(ends):
            lists[node].append(edge)
        return rows(lists)

    def _group_nodes(self) -> None:
        streams = len(self.dfg.streams)
        self.streams = streams
        self.groups = streams + len(self.dfg.memories)
        self.group = ints([-1]) * self.nodes
        members: list[list[int]] = [[] for _ in range(self.groups)]
        for node in self.dfg.nodes:
            if node.stream is not None:
                self.group[node.id] = node.stream
            elif node.memory is not None:
                self.group[node.id] = streams + node.memory
            if self.group[node.id] >= 0:
                members[self.group[node.id]].append(node.id)
        self.members_at, self.members = rows(members)
        self.words = ints([0] * streams + [m.words for m in self.dfg.memories])
        self.room = ints(bank.words for bank in self.fabric.memories)
        self.bank = ints(-1 if u.memory is None else u.memory for u in self.fabric.units)
        self.homes = [self._group_homes(g, members[g]) for g in range(self.groups)]
        self.homes_at, self.homes_flat = rows(self.homes)

    def _group_homes(self, group: int, members: list[int]) -> list[int]:
        """The units (for a stream) or banks (for an array) that can take a whole group."""
        ops = {self.dfg.nodes[n].op for n in members}
        if group < self.streams:
            return [u.id for u in self.fabric.units if ops and all(op in u.latency for op in ops)]
        return [
            bank.id
            for bank in self.fabric.memories
            if bank.words >= self.words[group]
            and all(any(op in self.fabric.units[u].latency for u in bank.ports) for op in ops)
        ]

    def _pair_loads(self) -> None:
        """Pairs of edges that bring one node words from one array, and at each node the orders and pairs."""
        pairs = [
            (e, f)
            for n in range(self.nodes)
            for e, f in combinations(self.ins[self.in_at[n] : self.in_at[n + 1]], 2)
            if self.group[self.source[e]] == self.group[self.source[f]] >= self.streams
            and self.source[e] != self.source[f]
        ]
        pairs = pairs if self.terrain.lone_ways else []
        self.pairs = ints(edge for pair in pairs for edge in pair)
        ties = [list(self.orders[self.orders_at[n] : self.orders_at[n + 1]]) for n in range(self.nodes)]
        for k, (e, f) in enumerate(pairs, len(self.before)):
            for n in (self.source[e], self.source[f], self.target[e]):
                ties[n].append(k)
        self.ties_at, self.ties = rows(ties)

    def _class_nodes(self, kinds: Sequence[tuple[str, frozenset[int]]]) -> None:
        """Classes of operations by the units that can do them, and each class's near units."""
        memory_units = tuple(u.id for u in self.fabric.units if u.memory is not None)
        classes: dict[tuple[int, ...], int] = {}
        of_code = []
        for name, able in kinds:
            units = tuple(sorted(able))
            if name in ("load", "store"):
                units = tuple(u for u in units if u in memory_units)
            of_code.append(classes.setdefault(units, len(classes)))
        self.classes = list(classes)
        self.kind = ints(of_code[c] for c in self.code)
        self.class_at, self.class_units = rows(self.classes)
        near = [self.terrain.near(units) for units in self.classes]
        self.near_at = array("i")
        self.near = array("i")
        for starts, flat in near:
            base = len(self.near)
            self.near_at.extend(base + s for s in starts)
            self.near.extend(flat)

    def one_bit(self, edge: int) -> bool:
        """Whether an edge's value is of one bit; False for all where there is no plane of bits."""
        return self.terrain.planes > 1 and self.plane[edge] == 0

    def candidates(self, node: int) -> tuple[int, ...]:
        """The units that can do a node."""
        return self.classes[self.kind[node]]


class Board:
    """What the negotiation changes, shared by its parts.

    Places of resources are `resource * interval + slot`, of units likewise. `used` and `busy` count what is
    there, `history` and `weary` remember conflicts, `toll` is the price of a resource now. An edge's route is
    `steps[edge * stride ...]`, as layer * resources + resource, of `length[edge]` steps, -1 for none.
    `grudge` is the price of leaving an edge without route, `present[0]` the price of sharing now. Of what is
    configured once, `times` counts the uses of each setting in all slots, `claims` those of all its settings.
    """

    def __init__(
        self,
        problem: Problem,
        interval: int,
        unit: Sequence[int],
        start: Sequence[int],
        home: Sequence[int],
        layers: int,
    ) -> None:
        t, edges = problem.terrain, len(problem.source)
        self.interval, self.layers, self.stride = interval, layers, 2 * layers + 8
        self.unit, self.start, self.home = ints(unit), ints(start), ints(home)
        self.used = ints([0]) * (t.resources * interval)
        self.ledger: Ledger | None = None
        self.times = ints([0]) * t.resources
        self.claims = ints([0]) * (len(t.settings_at) - 1)
        self.toll = array("d", [0.0]) * (t.resources * interval)
        self.history = array("d", [0.0]) * (t.resources * interval)
        self.busy = ints([0]) * (t.units * interval)
        self.weary = array("d", [0.0]) * (t.units * interval)
        self.grudge = array("d", [BROKEN]) * (edges + 1)
        self.order_grudge = array("d", [BROKEN]) * (len(problem.before) + 1)
        self.present = array("d", [SHARING])
        self.length = ints([-1]) * (edges + 1)
        self.steps = ints([0]) * (self.stride * edges + 1)
        self.tree = ints([0]) * ((layers + 1) * t.resources)
        self.tree_list = ints([0]) * ((layers + 1) * t.resources)
        self.sums = array("d", [0.0]) * (t.units * COLUMNS + 1)
