"""Checked description -> structural model: lays out tiles and resources, then connects them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .fabric import Fabric, Kind, MemoryBank, Resource, Tile, Unit
from .ops import OPS
from .tables import Table

LETTERS = "abcdefgh"
"""The names of operands."""


@dataclass(frozen=True)
class UnitKind:
    """A function unit: latencies by operation, in groups that share result ports."""

    name: str
    operands: int
    groups: tuple[tuple[str, dict[str, int]], ...]


@dataclass(frozen=True)
class Layer:
    """Equipment of those tiles that the pattern selects."""

    name: str
    pattern: Table
    every: tuple[int, int]
    first: tuple[int, int]
    start: tuple[int, int]
    checkerboard: bool
    border: bool
    registers: int
    units: tuple[UnitKind, ...]
    memory: tuple[int, tuple[UnitKind, ...]] | None

    def covers(self, row: int, column: int, rows: int, columns: int) -> bool:
        down, right = row - self.first[0], column - self.first[1]
        return (
            (not self.border or row in (0, rows - 1) or column in (0, columns - 1))
            and (row >= self.start[0] and column >= self.start[1])
            and (not self.checkerboard or (down + right) % 2 == 0)
            and down % self.every[0] == 0
            and right % self.every[1] == 0
        )


@dataclass(frozen=True)
class Links:
    """The links (name, down, right) of each tile to others; those of one name are one resource.

    Usually a link is a register that selects results, registers of the tile, or what comes in.

    With `held` a tile has one output register, in which its operations leave their results: an operation of
    latency 1 in the next cycle. The word stays there until the tile's next one ends. Operands of the tile and
    of its neighbours read the output; the tile's registers are written from it alone, in any later cycle. In
    a cycle in which no operation ends, the output can take a word that an operand could read: a move.

    With `crossbar` a link is a wire that selects, in each cycle, the result of an operation of the tile that
    ended in the cycle before, a register of the tile, or an input. A tile's input from a link is a wire, too,
    that selects the link's word now, or the one that a register took from the link earlier. Operands read
    inputs and registers, registers results. So a word can go through any number of tiles in a cycle.

    The links named in `static` are configured once: each is a register that takes, in every cycle, what the
    same result or register of the tile shows, or the same link that comes in. It cannot hold a word.
    """

    table: Table
    steps: tuple[tuple[str, int, int], ...]
    wrap: bool
    held: bool
    crossbar: bool
    static: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Description:
    """A checked file."""

    name: str
    width: int
    max_interval: int
    rows: int
    columns: int
    layers: tuple[Layer, ...]
    links: Links
    shared_words: int


class Layout:
    """Lays out the tiles, then the resources, then connects them."""

    def __init__(self, description: Description) -> None:
        self.d = description
        self.names: list[tuple[str, Kind, int]] = []
        self.sources: dict[int, tuple[int, ...]] = {}
        self.tiles: list[Tile] = []
        self.units: list[Unit] = []
        self.memories: list[MemoryBank] = []
        self.banks = 0
        self.sharing: list[int] = []
        self.static: dict[int, int] = {}
        self.out: list[int] = []

    def build(self, digest: str) -> Fabric:
        d = self.d
        registers: list[list[int]] = []
        places = [(row, column) for row in range(d.rows) for column in range(d.columns)]
        own = [layer for layer in d.layers if layer.memory]
        self.banks = sum(layer.covers(*place, d.rows, d.columns) for place in places for layer in own)
        for row, column in places:
            registers.append(self._tile(row, column))
        self._check_connected()
        if d.links.crossbar:
            self._crossbars(registers)
        else:
            self._registered_links(registers)
        resources = tuple(
            Resource(id, name, kind, tile, self.sources.get(id, ()), self.static.get(id))
            for id, (name, kind, tile) in enumerate(self.names)
        )
        if self.sharing:
            bank = len(self.memories)
            self.memories.append(MemoryBank(bank, "memory", 0, d.shared_words, tuple(self.sharing)))
        name = f"{d.name}{d.rows}x{d.columns}"
        tiles, units, memories = tuple(self.tiles), tuple(self.units), tuple(self.memories)
        return Fabric(
            name, d.width, d.max_interval, tiles, units, resources, memories, d.links.crossbar, digest
        )

    def _registered_links(self, registers: list[list[int]]) -> None:
        """Links that are registers."""
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        incoming: list[list[int]] = [[] for _ in self.tiles]
        settings = self._settings(registers)
        for tile in self.tiles:
            made = {"out": self.out[tile.id]} if self.d.links.held else {}
            outgoing[tile.id] += made.values()
            for name, there in self._links(tile):
                if name in self.d.links.static:
                    incoming[there] += settings[tile.id, name]
                    continue
                if name not in made:
                    made[name] = self._add(f"{_prefix(tile)}.{name}", Kind.REGISTER, tile.id)
                    outgoing[tile.id].append(made[name])
                if made[name] not in incoming[there]:
                    incoming[there].append(made[name])
        for tile in self.tiles:
            self._connect(tile.id, registers[tile.id], outgoing[tile.id], incoming[tile.id])
            once = [found for name, _ in self._links(tile) if (found := settings.get((tile.id, name)))]
            self._connect_settings(once, [*self._results(tile.id), *registers[tile.id], *incoming[tile.id]])

    def _settings(self, registers: list[list[int]]) -> dict[tuple[int, str], list[int]]:
        """The settings of links that are configured once, by tile and name; their sources are set later."""
        arriving = [0] * len(self.tiles)
        for tile in self.tiles:
            for _, there in self._links(tile):
                arriving[there] += 1
        found: dict[tuple[int, str], list[int]] = {}
        for tile in self.tiles:
            count = len(self._results(tile.id)) + len(registers[tile.id]) + arriving[tile.id]
            for name, _ in self._links(tile):
                if name in self.d.links.static:
                    names = [f"{_prefix(tile)}.{name}.{k}" for k in range(count)]
                    found[tile.id, name] = [self._add(one, Kind.REGISTER, tile.id) for one in names]
                    self.static |= dict.fromkeys(found[tile.id, name], len(found) - 1)
        return found

    def _connect_settings(self, links: list[list[int]], sources: list[int]) -> None:
        """Each setting of some links selects one source, or one link that comes in, in any setting."""
        choices: dict[int, tuple[int, ...]] = {}
        for source in sources:
            key = self.static.get(source, -1 - source)
            choices[key] = (*choices.get(key, ()), source)
        for settings in links:
            self.sources |= dict(zip(settings, choices.values(), strict=True))

    def _crossbars(self, registers: list[list[int]]) -> None:
        """Links that are wires, with a wire and a register at their end."""
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        inputs: list[list[int]] = [[] for _ in self.tiles]
        for tile in self.tiles:
            for name, there in self._links(tile):
                link = self._add(f"{_prefix(tile)}.{name}", Kind.WIRE, tile.id)
                kept = self._add(f"{_prefix(self.tiles[there])}.{name}_kept", Kind.REGISTER, there)
                entry = self._add(f"{_prefix(self.tiles[there])}.{name}_in", Kind.WIRE, there)
                self.sources[kept] = (link, kept)
                self.sources[entry] = (link, kept)
                outgoing[tile.id].append(link)
                inputs[there].append(entry)
        for tile in self.tiles:
            own = registers[tile.id]
            results = self._results(tile.id)
            for unit in self.units:
                if unit.tile == tile.id:
                    self.sources |= dict.fromkeys(unit.operands, (*inputs[tile.id], *own))
            self.sources |= {register: (*results, register) for register in own}
            self.sources |= dict.fromkeys(outgoing[tile.id], (*results, *own, *inputs[tile.id]))

    def _add(self, name: str, kind: Kind, tile: int) -> int:
        self.names.append((name, kind, tile))
        return len(self.names) - 1

    def _tile(self, row: int, column: int) -> list[int]:
        """Add a tile with its units and return its registers."""
        layers = [layer for layer in self.d.layers if layer.covers(row, column, self.d.rows, self.d.columns)]
        tile = Tile(len(self.tiles), "+".join(layer.name for layer in layers), row, column)
        self.tiles.append(tile)
        taken: set[str] = set()
        if self.d.links.held:
            self.out.append(self._add(f"{_prefix(tile)}.out", Kind.REGISTER, tile.id))
        for layer in layers:
            for kind in (*layer.units, *(layer.memory[1] if layer.memory else ())):
                if kind.name in taken:
                    raise layer.pattern.error(
                        f"tile {_prefix(tile)} gets unit '{kind.name}' twice, from layer '{layer.name}' too"
                    )
                taken.add(kind.name)
                if self.d.links.held and len(taken) > 1:
                    raise layer.pattern.error(f"with 'held' a tile has one unit; {_prefix(tile)} has two")
            for kind in layer.units:
                if any(OPS[op].latency_class == "mem" for _, members in kind.groups for op in members):
                    self.sharing.append(self._unit(tile, kind, self.banks))
                else:
                    self._unit(tile, kind, None)
            if layer.memory:
                bank = len(self.memories)
                ports = tuple(self._unit(tile, kind, bank) for kind in layer.memory[1])
                name = f"{_prefix(tile)}.memory"
                self.memories.append(MemoryBank(bank, name, tile.id, layer.memory[0], ports))
        count = sum(layer.registers for layer in layers)
        return [self._add(f"{_prefix(tile)}.r{k}", Kind.REGISTER, tile.id) for k in range(count)]

    def _unit(self, tile: Tile, kind: UnitKind, memory: int | None) -> int:
        """Add a unit, its operands, and for each group of operations the results that they share."""
        prefix = f"{_prefix(tile)}.{kind.name}"
        operands = tuple(
            self._add(f"{prefix}.{letter}", Kind.OPERAND, tile.id) for letter in LETTERS[: kind.operands]
        )
        latency: dict[str, int] = {}
        results: dict[str, tuple[int, ...]] = {}
        shared: list[int] = []
        for group, members in kind.groups:
            # Where results are in a register, or leave in the next cycle, that is part of their time.
            held, crossbar = self.d.links.held, self.d.links.crossbar
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
                made.append(self._add(f"{prefix}.{name}" + (str(k) if k else ""), Kind.RESULT, tile.id))
            results |= {op: tuple(made[: OPS[op].outputs]) for op in members}
        id = len(self.units)
        self.units.append(Unit(id, prefix, tile.id, latency, operands, results, memory))
        return id

    def _links(self, tile: Tile) -> Iterable[tuple[str, int]]:
        """The tile's outgoing links: name and target."""
        rows, columns = self.d.rows, self.d.columns
        for name, down, right in self.d.links.steps:
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
            for _, there in self._links(self.tiles[tile]):
                if there not in reached:
                    reached.add(there)
                    waiting.append(there)
        for tile in range(len(self.tiles)):
            if tile not in reached:
                names = f"{_prefix(self.tiles[0])} to {_prefix(self.tiles[tile])}"
                raise self.d.links.table.error(f"the links lead nowhere from tile {names}")

    def _connect(self, tile: int, registers: list[int], outgoing: list[int], incoming: list[int]) -> None:
        """Operands read links and registers; registers read results too, and themselves to hold."""
        if self.d.links.held:
            self._connect_held(tile, registers, incoming)
            return
        units = [unit for unit in self.units if unit.tile == tile]
        results = self._results(tile)
        for unit in units:
            for operand in unit.operands:
                self.sources[operand] = (*incoming, *registers)
        for register in registers:
            self.sources[register] = (*results, *incoming, *registers)
        for link in outgoing:
            self.sources[link] = (*results, *incoming, *registers, link)

    def _results(self, tile: int) -> list[int]:
        units = [unit for unit in self.units if unit.tile == tile]
        return list(dict.fromkeys(r for unit in units for outputs in unit.results.values() for r in outputs))

    def _connect_held(self, tile: int, registers: list[int], incoming: list[int]) -> None:
        """Operands read the output, links and registers, a move the same; registers read the output."""
        out = self.out[tile]
        for unit in self.units:
            if unit.tile == tile:
                for operand in unit.operands:
                    self.sources[operand] = (*incoming, *registers, out)
        for register in registers:
            self.sources[register] = (out, register)
        self.sources[out] = (*incoming, *registers, out)


def _prefix(tile: Tile) -> str:
    return f"r{tile.row}c{tile.column}"
