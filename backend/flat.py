"""A fabric and a graph as flat integer arrays, for the hot loops of the mapper."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from arch.fabric import RESULT_FAR, Fabric, Kind

from .dfg import DFG
from .reach import between, far_from, far_to, least_to, nearest

if TYPE_CHECKING:
    from .ledger import Ledger

NEAR = 64
"""How many near units of a class are listed for each unit."""


BROKEN = 30.0
"""The first price of an edge without route, or of an order that is not kept."""

SHARING = 0.5
"""The first price of sharing a place."""

COLUMNS = 40
"""The most starts that a relocation looks at; `WIDEST` in the compiled modules."""


def ints(values: Iterable[int]) -> array[int]:
    """An array of C ints."""
    return array("i", values)


def rows(lists: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Lists of different lengths as one array and where each starts (compressed rows)."""
    starts, flat = array("i", [0]), array("i")
    for one in lists:
        flat.extend(one)
        starts.append(len(flat))
    return starts, flat


class Terrain:
    """What the mapper asks about a fabric, computed once.

    Operands with equal sources share a *basin*. `gap[basin * R + r]` is the fewest cycles from
    resource r to an operand of that basin. Results with equal sinks share a *spring*; `far[spring * R + r]`
    is the fewest cycles from such a result to resource r.
    """

    def __init__(self, fabric: Fabric) -> None:
        resources = fabric.resources
        self.fabric = fabric
        self.resources = len(resources)
        self.units = len(fabric.units)
        self.delay = ints(r.kind is Kind.REGISTER for r in resources)
        self.registers = fabric.registers
        self.static = ints(-1 if r.static is None else r.static for r in resources)
        self.settings_at, self.settings = rows(fabric.settings)
        self.operand = ints(r.kind is Kind.OPERAND for r in resources)
        self.sinks_at, self.sinks = rows(fabric.sinks)
        self.sources_at, self.sources = rows([r.sources for r in resources])
        basins: dict[tuple[int, ...], int] = {}
        self.basin = ints([-1]) * len(resources)
        for r in resources:
            if r.kind is Kind.OPERAND:
                self.basin[r.id] = basins.setdefault(tuple(sorted(r.sources)), len(basins))
        self.gap = array("i")
        for sources in basins:
            self.gap.extend(far_from(self.sources_at, self.sources, self.delay, ints(sources), RESULT_FAR))
        springs: dict[tuple[int, ...], int] = {}
        self.spring = ints([-1]) * len(resources)
        results = {r for u in fabric.units for outputs in u.results.values() for r in outputs}
        for r in resources:
            if r.id in results:
                self.spring[r.id] = springs.setdefault(tuple(sorted(fabric.sinks[r.id])), len(springs))
        self.far = array("i")
        for sinks in springs:
            self.far.extend(far_to(self.sinks_at, self.sinks, self.delay, ints(sinks), RESULT_FAR))
        for r in resources:
            if r.id in results:
                # A result is reached from itself; others of the same spring are no concern of a search.
                self.far[self.spring[r.id] * len(resources) + r.id] = 0
        self.ports = max(len(u.operands) for u in fabric.units)
        self.unit_operands = ints([-1]) * (self.ports * self.units)
        for u in fabric.units:
            for position, operand in enumerate(u.operands):
                self.unit_operands[self.ports * u.id + position] = operand
        self._near: dict[tuple[int, ...], tuple[array[int], array[int]]] = {}
        self._least: dict[tuple[int, ...], array[int]] = {}
        self._apart = self._between_units()

    def _between_units(self) -> array[int]:
        """The fewest cycles from any result of one unit to any operand of another."""
        outs = [sorted({r for results in u.results.values() for r in results}) for u in self.fabric.units]
        ins = [sorted({self.basin[o] for o in u.operands}) for u in self.fabric.units]
        found: array[int] = between(self.gap, self.resources, *rows(outs), *rows(ins), RESULT_FAR)
        return found

    def apart(self, a: int, b: int) -> int:
        """The fewest cycles from a result of unit a to an operand of unit b."""
        return self._apart[a * self.units + b]

    def least(self, units: tuple[int, ...]) -> array[int]:
        """From each unit of the fabric, the fewest cycles to any of `units`."""
        if units not in self._least:
            self._least[units] = least_to(self._apart, self.units, ints(units), RESULT_FAR)
        return self._least[units]

    def near(self, units: tuple[int, ...]) -> tuple[array[int], array[int]]:
        """For each unit of the fabric, the nearest ones of `units`, itself first: compressed rows."""
        if units not in self._near:
            some = ints(units)
            table = [nearest(self._apart, self.units, u, some, NEAR) for u in range(self.units)]
            self._near[units] = rows(table)
        return self._near[units]


@lru_cache(maxsize=8)
def terrain(fabric: Fabric) -> Terrain:
    """The fabric's terrain."""
    return Terrain(fabric)


class Problem:
    """A graph on a terrain: nodes with candidate units, edges, orders, and groups that move as one.

    `latency[c * U + u]` is the latency of operation code c on unit u, 0 if it cannot; `result[(2 * c + k)
    * U + u]` the resource of its output k, -1 if none. A *group* is a stream (one unit for all its
    nodes) or an array (one bank for all its nodes): streams first.
    """

    def __init__(self, dfg: DFG, fabric: Fabric) -> None:
        self.dfg, self.fabric, self.terrain = dfg, fabric, terrain(fabric)
        self.nodes = len(dfg.nodes)
        names = sorted({n.op for n in dfg.nodes})
        code = {name: k for k, name in enumerate(names)}
        self.code = ints(code[n.op] for n in dfg.nodes)
        units = fabric.units
        places = {
            name: max((len(u.results[name]) for u in units if name in u.results), default=0) for name in names
        }
        self.outputs = ints(places[n.op] for n in dfg.nodes)
        self.latency = ints(u.latency.get(name, 0) for name in names for u in units)
        self.result = ints(
            u.results[name][k] if name in u.latency and k < len(u.results.get(name, ())) else -1
            for name in names
            for k in (0, 1)
            for u in units
        )
        uses = list(dfg.uses())
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
        self._class_nodes(names)

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

    def _class_nodes(self, names: list[str]) -> None:
        """Classes of operations by the units that can do them, and each class's near units."""
        memory_units = tuple(u.id for u in self.fabric.units if u.memory is not None)
        classes: dict[tuple[int, ...], int] = {}
        of_code = []
        for name in names:
            units = self.fabric.units_for(name)
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
        self.tree_list = ints([0]) * ((layers + 1) * t.resources)
        self.sums = array("d", [0.0]) * (t.units * COLUMNS + 1)
