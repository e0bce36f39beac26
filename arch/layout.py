"""Checked description -> structural model: lays out tiles with their units, then has them connected."""

from __future__ import annotations

from collections.abc import Iterable

from .description import Description, UnitKind
from .fabric import Fabric, Kind, MemoryBank, Resource, Tile, Unit
from .ops import OPS
from .wiring import Wiring

LETTERS = "abcdefgh"
"""The names of operands."""


class Layout:
    """The tiles, units, memories and resources that there are so far; results and units by tile."""

    def __init__(self, description: Description) -> None:
        self.d = description
        self.names: list[tuple[str, Kind, int]] = []
        self.narrow: set[int] = set()
        self.tiles: list[Tile] = []
        self.units: list[Unit] = []
        self.units_of: list[list[Unit]] = []
        self.memories: list[MemoryBank] = []
        self.banks = 0
        self.sharing: list[int] = []
        self.out: list[int] = []
        self.registers: list[list[int]] = []
        self.bit_registers: list[list[int]] = []
        self.takes_bits: set[int] = set()

    def build(self, digest: str) -> Fabric:
        """The fabric. Errors: ArchitectureError."""
        d = self.d
        places = [(row, column) for row in range(d.rows) for column in range(d.columns)]
        own = [layer for layer in d.layers if layer.memory]
        self.banks = sum(layer.covers(*place, d.rows, d.columns) for place in places for layer in own)
        for row, column in places:
            self._tile(row, column)
        self._check_connected()
        self._check_bits()
        wiring = Wiring(self)
        resources = tuple(
            Resource(
                id, name, kind, tile, wiring.sources.get(id, ()), wiring.static.get(id), id in self.narrow
            )
            for id, (name, kind, tile) in enumerate(self.names)
        )
        if self.sharing:
            bank = len(self.memories)
            self.memories.append(MemoryBank(bank, "memory", 0, d.shared_words, tuple(self.sharing)))
        name = f"{d.name}{d.rows}x{d.columns}"
        tiles, units, memories = tuple(self.tiles), tuple(self.units), tuple(self.memories)
        links = d.links
        return Fabric(
            name,
            d.width,
            d.max_interval,
            tiles,
            units,
            resources,
            memories,
            links.crossbar,
            links.bits is not None and links.bits.apart,
            digest,
        )

    def add(self, name: str, kind: Kind, tile: int, narrow: bool = False) -> int:
        """A new resource, without sources."""
        self.names.append((name, kind, tile))
        if narrow:
            self.narrow.add(len(self.names) - 1)
        return len(self.names) - 1

    def _tile(self, row: int, column: int) -> None:
        """Add a tile with its units and registers."""
        layers = [layer for layer in self.d.layers if layer.covers(row, column, self.d.rows, self.d.columns)]
        tile = Tile(len(self.tiles), "+".join(layer.name for layer in layers), row, column)
        self.tiles.append(tile)
        self.units_of.append([])
        taken: set[str] = set()
        making = 0
        if self.d.links.held:
            self.out.append(self.add(f"{tile.prefix}.out", Kind.REGISTER, tile.id))
        for layer in layers:
            for kind in (*layer.units, *(layer.memory[1] if layer.memory else ())):
                if kind.name in taken:
                    raise layer.pattern.error(
                        f"tile {tile.prefix} gets unit '{kind.name}' twice, from layer '{layer.name}' too"
                    )
                taken.add(kind.name)
                making += _makes_words(kind)
                if self.d.links.held and making > 1:
                    raise layer.pattern.error(
                        f"with 'held' a tile has one unit that makes words; {tile.prefix} has two"
                    )
            for kind in layer.units:
                if any(OPS[op].latency_class == "mem" for _, members in kind.groups for op in members):
                    self.sharing.append(self._unit(tile, kind, self.banks))
                else:
                    self._unit(tile, kind, None)
            if layer.memory:
                bank = len(self.memories)
                ports = tuple(self._unit(tile, kind, bank) for kind in layer.memory[1])
                name = f"{tile.prefix}.memory"
                self.memories.append(MemoryBank(bank, name, tile.id, layer.memory[0], ports))
        names = [f"{tile.prefix}.r{k}" for k in range(sum(layer.registers for layer in layers))]
        self.registers.append([self.add(name, Kind.REGISTER, tile.id) for name in names])
        names = [f"{tile.prefix}.p{k}" for k in range(sum(layer.bit_registers for layer in layers))]
        self.bit_registers.append([self.add(name, Kind.REGISTER, tile.id, narrow=True) for name in names])

    def _unit(self, tile: Tile, kind: UnitKind, memory: int | None) -> int:
        """Add a unit, its operands, and for each group of operations the results that they share."""
        prefix = f"{tile.prefix}.{kind.name}"
        operands = tuple(
            self.add(f"{prefix}.{letter}", Kind.OPERAND, tile.id, kind.narrow)
            for letter in LETTERS[: kind.operands]
        )
        self.takes_bits.update(operands[position] for position in kind.bits)
        latency: dict[str, int] = {}
        results: dict[str, tuple[int, ...]] = {}
        shared: list[int] = []
        for group, members in kind.groups:
            # Where results are in a register, or leave in the next cycle, that is part of their time.
            held = self.d.links.held and _makes_words(kind)
            crossbar = self.d.links.crossbar
            latency |= {
                op: cycles + (held or (crossbar and OPS[op].outputs > 0)) for op, cycles in members.items()
            }
            if held:
                # One output register: no operations with two values. Those with none end what it held, too.
                single = [op for op in members if OPS[op].outputs < 2]
                if not single:
                    raise self.d.links.table.error(f"with 'held' no unit can do '{group}'", "held")
                latency = {op: cycles for op, cycles in latency.items() if op in results or op in single}
                results |= dict.fromkeys(single, (self.out[tile.id],))
                continue
            # What a crossbar sends is the unit's result, whatever it does.
            name = "t" if crossbar else group
            made = shared if crossbar else []
            for k in range(len(made), max(OPS[op].outputs for op in members)):
                full = f"{prefix}.{name}" + (str(k) if k else "")
                made.append(self.add(full, Kind.RESULT, tile.id, kind.narrow))
            results |= {op: tuple(made[: OPS[op].outputs]) for op in members}
        id = len(self.units)
        self.units.append(Unit(id, prefix, tile.id, latency, operands, results, memory))
        self.units_of[tile.id].append(self.units[-1])
        return id

    def _check_bits(self) -> None:
        """Refuse a plane of bits out of which some value finds no way to some operand."""
        bits = self.d.links.bits
        if bits is None:
            return
        if not (bits.apart or any(self.registers)):
            raise bits.table.error("no tile has a register for words, in which bits become words")
        for unit in self.units if bits.apart else ():
            for letter, operand in zip(LETTERS, unit.operands, strict=False):
                if operand not in self.takes_bits | self.narrow:
                    raise bits.table.error(
                        f"with 'apart' all operands take bits; operand {letter} of {unit.name} does not",
                        "apart",
                    )

    def links(self, tile: Tile) -> Iterable[tuple[str, int]]:
        """The tile's outgoing links of words: name and target."""
        return self._follow(tile, self.d.links.steps)

    def bit_links(self, tile: Tile) -> Iterable[tuple[str, int]]:
        """The tile's outgoing links of bits: name and target."""
        return self._follow(tile, self.d.links.bits.steps if self.d.links.bits else ())

    def _follow(self, tile: Tile, steps: Iterable[tuple[str, int, int]]) -> Iterable[tuple[str, int]]:
        rows, columns = self.d.rows, self.d.columns
        for name, down, right in steps:
            row, column = tile.row + down, tile.column + right
            if self.d.links.wrap:
                row, column = row % rows, column % columns
            if 0 <= row < rows and 0 <= column < columns and (row, column) != (tile.row, tile.column):
                yield name, row * columns + column

    def _check_connected(self) -> None:
        """Refuse links that leave tiles out: mapping would fail later, and not say why."""
        reached = {0}
        waiting = [0]
        for tile in waiting:
            for _, there in self.links(self.tiles[tile]):
                if there not in reached:
                    reached.add(there)
                    waiting.append(there)
        for tile in range(len(self.tiles)):
            if tile not in reached:
                names = f"{self.tiles[0].prefix} to {self.tiles[tile].prefix}"
                raise self.d.links.table.error(f"the links lead nowhere from tile {names}")

    def results(self, tile: int, narrow: bool = False) -> list[int]:
        """The results of a tile's units, words or bits."""
        units = self.units_of[tile]
        found = dict.fromkeys(r for unit in units for outputs in unit.results.values() for r in outputs)
        return [result for result in found if (result in self.narrow) == narrow]


def _makes_words(kind: UnitKind) -> bool:
    return any(OPS[op].outputs for _, members in kind.groups for op in members)
