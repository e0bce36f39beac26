"""The structural model of an accelerator: units, routing resources, and the wires between them.

Everything else is a view of this model: the mapper searches it unrolled over time, the emitter
prints it as Verilog, the configuration selects its multiplexers, the report draws it. Nothing in
it is a mesh or a direction; tiles and coordinates serve pictures and first guesses only.

Time. A *resource* carries one word in each cycle. A `RESULT` is the output of a unit in the cycle
in which the operation completes: an operation issued in cycle t with latency L has its result there in
cycle t + L - 1. A `REGISTER` shows in cycle t + 1 what was selected at its input in cycle t; selecting itself
holds. An `OPERAND` is an input of a unit in the cycle of issue. A `WIRE` is combinational.
So an edge into a REGISTER takes one cycle and every other edge none, and an operation of latency 1 issued in
cycle t can feed, through one register, another one issued in cycle t + 1.

An operation can also leave its result in a REGISTER: it is there in cycle t + L - 1, whether anything reads
it or not, and what the register held or would have selected is gone. The cycle of entering it counts in L.
Operations without a value can have such a result, too: then the register holds nothing.

A resource is of one of two planes: it carries words, or, if it is `narrow`, one bit. Only values that are 0
or 1 in every iteration may be in narrow resources (`Fabric.allows`). A narrow resource that selects a word
takes its low bit; one of words that selects a narrow one gets 0 or 1.

A multiplexer that is configured once, for all slots, is one resource for each of its *settings*, of which a
configuration uses one. So whoever shares it over time agrees on the setting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

RESULT_FAR = 1 << 20
"""A distance that means: not reachable."""


class Kind(Enum):
    """What a routing resource is."""

    RESULT = "result"
    REGISTER = "register"
    OPERAND = "operand"
    WIRE = "wire"


@dataclass(frozen=True, slots=True)
class Resource:
    """A routing resource; `sources` are the resources its multiplexer can select, by id.

    `static` is the number of the multiplexer that is configured once, if this is one of its settings: then
    `sources` are settings of one other, or a single resource.
    """

    id: int
    name: str
    kind: Kind
    tile: int
    sources: tuple[int, ...]
    static: int | None = None
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """Something that issues at most one operation in a cycle.

    `latency` maps each operation that it can do to its latency in cycles (at least 1); every operation is
    pipelined. Its operands and results are all of one plane; if that is of bits, it does its operations on
    bits (`arch.ops.BIT_OPS`). `operands` are its OPERAND resources, by position. `results[op]` are the RESULT
    resources of each output of `op`; operations that share one compete for it in the cycle of their result.
    `memory` is the index of the memory it accesses, if it is a memory port. A unit that does stream
    operations is one stream port: all operations on one stream and direction use the same unit, and no other
    stream may.
    """

    id: int
    name: str
    tile: int
    latency: dict[str, int]
    operands: tuple[int, ...]
    results: dict[str, tuple[int, ...]]
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryBank:
    """A local memory: `words` words, accessed through the units in `ports`."""

    id: int
    name: str
    tile: int
    words: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A place in the drawing."""

    id: int
    kind: str
    row: int
    column: int

    @property
    def prefix(self) -> str:
        """What the names of all that is in it begin with."""
        return f"r{self.row}c{self.column}"


@dataclass(frozen=True)
class Fabric:
    """One accelerator. Ids are positions in the tuples.

    `loops`: ways through wires can lead back to their beginning, as through crossbars. No route does, so no
    configuration has a loop without a register. `apart`: values of one bit are in narrow registers and wires
    alone, never in those for words.
    """

    name: str
    width: int
    max_interval: int
    tiles: tuple[Tile, ...]
    units: tuple[Unit, ...]
    resources: tuple[Resource, ...]
    memories: tuple[MemoryBank, ...]
    loops: bool = False
    apart: bool = False
    digest: str = field(default="", compare=False)

    def __hash__(self) -> int:
        return hash((self.name, len(self.resources)))

    @cached_property
    def sinks(self) -> tuple[tuple[int, ...], ...]:
        """For each resource, those that can select it."""
        out: list[list[int]] = [[] for _ in self.resources]
        for resource in self.resources:
            for source in resource.sources:
                out[source].append(resource.id)
        return tuple(tuple(s) for s in out)

    @cached_property
    def settings(self) -> tuple[tuple[int, ...], ...]:
        """For each multiplexer that is configured once, its settings."""
        found: dict[int, list[int]] = {}
        for resource in self.resources:
            if resource.static is not None:
                found.setdefault(resource.static, []).append(resource.id)
        return tuple(tuple(found[number]) for number in range(len(found)))

    @cached_property
    def registers(self) -> int:
        """How many words and bits the fabric can hold."""
        return self.registers_of(False) + self.registers_of(True)

    def registers_of(self, narrow: bool) -> int:
        """How many bits (if narrow) or words the fabric can hold."""
        plain = sum(
            r.kind is Kind.REGISTER for r in self.resources if r.static is None and r.narrow == narrow
        )
        some = [self.resources[settings[0]] for settings in self.settings]
        return plain + sum(r.kind is Kind.REGISTER for r in some if r.narrow == narrow)

    @cached_property
    def largest_memory(self) -> int:
        """The words of the largest memory; 0 if there are none."""
        return max((bank.words for bank in self.memories), default=0)

    @cached_property
    def planes(self) -> bool:
        """Whether there is a plane of bits."""
        return any(resource.narrow for resource in self.resources)

    def allows(self, resource: int, one_bit: bool) -> bool:
        """Whether a value, of one bit or not, may be in a resource."""
        place = self.resources[resource]
        if place.narrow or not one_bit:
            return one_bit or not place.narrow
        return not self.apart or place.kind in (Kind.RESULT, Kind.OPERAND)

    def is_narrow(self, unit: Unit) -> bool:
        """Whether a unit works on bits."""
        return bool(unit.operands) and self.resources[unit.operands[0]].narrow

    @cached_property
    def _units_by_op(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for unit in self.units:
            for op in unit.latency:
                found.setdefault(op, []).append(unit.id)
        return {op: tuple(ids) for op, ids in found.items()}

    def units_for(self, op: str) -> tuple[int, ...]:
        """The units that can do `op`, in order; empty if none can."""
        return self._units_by_op.get(op, ())

    def latency(self, op: str) -> int:
        """The fewest cycles from the issue of `op` to that of a reader; 1 if no unit does it."""
        return min((self._until_read(self.units[u], op) for u in self.units_for(op)), default=1)

    def _until_read(self, unit: Unit, op: str) -> int:
        """The latency; a cycle less if that of a register is in it, or wires lead to operands."""
        for result in unit.results[op]:
            ways = {self.resources[sink].kind for sink in self.sinks[result]}
            if self.resources[result].kind is Kind.REGISTER or ways - {Kind.REGISTER}:
                return unit.latency[op] - 1
        return unit.latency[op]

    def words_at(self, unit: int) -> int:
        """How many different words a unit's operands can have at once: no more than places they come from."""
        operands = self.units[unit].operands
        return len({source for operand in operands for source in self.resources[operand].sources})

    def words_from_away(self, unit: int) -> int:
        """How many of these can be words that other tiles make."""
        return self._from_away[unit]

    @cached_property
    def _from_away(self) -> tuple[int, ...]:
        found = []
        for unit in self.units:
            places = {source for operand in unit.operands for source in self.resources[operand].sources}
            found.append(sum(self._selects_from_away(place, unit.tile) for place in places))
        return tuple(found)

    def _selects_from_away(self, resource: int, tile: int) -> bool:
        """Whether any way from another tile leads to a resource."""
        seen = {resource}
        left = [resource]
        while left:
            here = self.resources[left.pop()]
            if here.tile != tile:
                return True
            left += (new := set(here.sources) - seen)
            seen |= new
        return False

    def cost(self, resource: int) -> int:
        """Cycles that entering `resource` takes: 1 for a register, else 0."""
        return 1 if self.resources[resource].kind is Kind.REGISTER else 0

    def reach(self, start: Iterable[int]) -> list[int]:
        """The fewest cycles from any of `start` to each resource (0-1 breadth-first search)."""
        far = [RESULT_FAR] * len(self.resources)
        queue: deque[int] = deque()
        for resource in start:
            far[resource] = 0
            queue.append(resource)
        while queue:
            here = queue.popleft()
            for there in self.sinks[here]:
                step = far[here] + self.cost(there)
                if step < far[there]:
                    far[there] = step
                    (queue.append if self.cost(there) else queue.appendleft)(there)
        return far

    @cached_property
    def distances(self) -> tuple[tuple[int, ...], ...]:
        """`distances[a][b]`: the fewest cycles from a result of unit a to an operand of unit b.

        It counts from the cycle in which the result is there, so it is at least 1 (one register).
        `RESULT_FAR` where there is no way.
        """
        rows: dict[frozenset[int], tuple[int, ...]] = {}
        table = []
        for unit in self.units:
            start = frozenset(r for outputs in unit.results.values() for r in outputs)
            if start not in rows:
                far = self.reach(start)
                rows[start] = tuple(
                    min((far[o] for o in other.operands), default=RESULT_FAR) for other in self.units
                )
            table.append(rows[start])
        return tuple(table)

    def distance(self, a: int, b: int) -> int:
        """See `distances`."""
        return self.distances[a][b]
