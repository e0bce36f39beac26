"""Architecture description (TOML) -> structural model.

The meaning of each key stands where it is read; what the shipped values cost, in the files themselves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .fabric import Fabric, Kind, MemoryBank, Resource, Tile, Unit
from .ops import OPS, WIDE_OPS
from .tables import ArchitectureError, Table

__all__ = ["ArchitectureError", "load_fabric", "shipped"]

_SHIPPED = Path(__file__).parent
_LARGEST = 64
_SIDES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
_CORNERS = {"northeast": (-1, 1), "southeast": (1, 1), "southwest": (1, -1), "northwest": (-1, -1)}


def shipped() -> tuple[str, ...]:
    """The names of the architectures that come with the tool."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def load_fabric(name_or_path: str) -> Fabric:
    """The fabric `grid`, `grid:8x8` (or `grid8x8`), or that of a file, `my.toml` or `my.toml:8x8`."""
    base, size = _split_size(name_or_path)
    if base in shipped():
        path, label = _SHIPPED / f"{base}.toml", f"{base}.toml"
    else:
        path, label = Path(base), base
    if size and not (2 <= size[0] <= _LARGEST and 2 <= size[1] <= _LARGEST):
        raise ArchitectureError(f"a grid has from 2x2 to {_LARGEST}x{_LARGEST} tiles", name_or_path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a text file"
        if "/" not in base and not base.endswith(".toml"):
            reason = (
                f"no such architecture (shipped: {', '.join(shipped())}; or give the path of a .toml file)"
            )
        raise ArchitectureError(reason, name_or_path) from None
    return _Builder(_read(text, label, size)).build(hashlib.sha256(f"{size}\n{text}".encode()).hexdigest())


def _split_size(name: str) -> tuple[str, tuple[int, int] | None]:
    """`grid:8x8` -> `grid`, (8, 8); the colon may be left out after a shipped name."""
    match = re.fullmatch(r"(.+?)(:?)(\d{1,6})x(\d{1,6})", name)
    if match and (match[2] or match[1] in shipped()):
        return match[1], (int(match[3]), int(match[4]))
    return name, None


@dataclass(frozen=True)
class _UnitKind:
    """A function unit: latencies by operation, in groups that share result ports."""

    name: str
    operands: int
    groups: tuple[tuple[str, dict[str, int]], ...]


@dataclass(frozen=True)
class _Layer:
    """Equipment of those tiles that the pattern selects."""

    name: str
    pattern: Table
    every: tuple[int, int]
    first: tuple[int, int]
    checkerboard: bool
    border: bool
    registers: int
    units: tuple[_UnitKind, ...]
    memory: tuple[int, tuple[_UnitKind, ...]] | None

    def covers(self, row: int, column: int, rows: int, columns: int) -> bool:
        down, right = row - self.first[0], column - self.first[1]
        return (
            (not self.border or row in (0, rows - 1) or column in (0, columns - 1))
            and (not self.checkerboard or (down + right) % 2 == 0)
            and down % self.every[0] == 0
            and right % self.every[1] == 0
        )


@dataclass(frozen=True)
class _Description:
    """A checked file."""

    name: str
    width: int
    max_interval: int
    rows: int
    columns: int
    layers: tuple[_Layer, ...]
    steps: tuple[tuple[str, int, int], ...]
    wrap: bool


def _read(text: str, label: str, size: tuple[int, int] | None) -> _Description:
    root = Table.parse(text, label)
    name = root.take_name("name")
    width = root.take_int("width", 32, 32, 32)
    max_interval = root.take_int("max_interval", 1, 4096, 64)
    rows, columns = root.take_int("rows", 2, _LARGEST), root.take_int("columns", 2, _LARGEST)
    if size:
        rows, columns = size
    steps, wrap = _read_links(root.take_table("links"))
    tables = root.take_tables("layer")
    layers = tuple(_read_layer(table) for table in tables)
    root.close()
    if not layers:
        raise root.error("no [[layer]]: the tiles are empty")
    names = [layer.name for layer in layers]
    for table, layer in zip(tables, layers, strict=True):
        if names.count(layer.name) > 1:
            raise table.error(f"two layers have the name '{layer.name}'", "name")
    return _Description(name, width, max_interval, rows, columns, layers, steps, wrap)


def _read_links(table: Table) -> tuple[tuple[tuple[str, int, int], ...], bool]:
    """The offsets (name, down, right) of the tiles that each tile sends words to."""
    words = table.take_int("words", 1, 8, 1)
    steps: dict[str, tuple[int, int]] = {}
    if table.take_bool("neighbours"):
        steps |= _SIDES
    if table.take_bool("diagonals"):
        steps |= _CORNERS
    if table.take_bool("hops"):
        steps |= {f"{side}2": (2 * down, 2 * right) for side, (down, right) in _SIDES.items()}
    wrap = table.take_bool("wrap")
    table.close()
    if not steps:
        raise table.error("'links' has neither 'neighbours' nor 'diagonals' nor 'hops': tiles are cut off")
    suffixes = [f"_{k}" if k else "" for k in range(words)]
    return tuple((n + s, down, right) for n, (down, right) in steps.items() for s in suffixes), wrap


def _read_layer(table: Table) -> _Layer:
    name = table.take_name("name")
    where = table.take_table("where")
    every = where.take_int("every_row", 1, _LARGEST, 1), where.take_int("every_column", 1, _LARGEST, 1)
    first = where.take_int("first_row", 0, _LARGEST, 0), where.take_int("first_column", 0, _LARGEST, 0)
    checkerboard, border = where.take_bool("checkerboard"), where.take_bool("border")
    where.close()
    registers = table.take_int("registers", 0, 64, 0)
    units = tuple(_read_unit(unit) for unit in table.take_tables("unit"))
    memory = _read_memory(table.take_table("memory")) if "memory" in table.values else None
    table.known.append("memory")
    table.close()
    return _Layer(name, where, every, first, checkerboard, border, registers, units, memory)


def _read_memory(table: Table) -> tuple[int, tuple[_UnitKind, ...]]:
    """A bank of `words` words with `ports` units that load and store, one access each per cycle."""
    words = table.take_int("words", 1, 1 << 24)
    ports = table.take_int("ports", 1, 16)
    load, store = table.take_int("load", 2, 64), table.take_int("store", 1, 64)
    table.close()
    groups = (("load", {"load": load}), ("store", {"store": store}))
    return words, tuple(_UnitKind(f"mem{port}", 3, groups) for port in range(ports))


def _read_unit(table: Table) -> _UnitKind:
    """`does` maps a class of operations, or one operation, to its latency; each entry has its own results."""
    name = table.take_name("name")
    operands = table.take_int("operands", 1, 3)
    does = table.take_table("does")
    groups: dict[str, dict[str, int]] = {}
    for key in list(does.values):
        latency = does.take_int(key, 1, 64)
        members = _members(key)
        if not members:
            raise does.error(f"'{key}' is neither an operation nor a class of them", key)
        for op in members:
            if OPS[op].latency_class == "mem":
                raise does.error(f"'{op}' belongs to a memory: give the layer a [layer.memory]", key)
            if OPS[op].arity > operands:
                raise does.error(f"'{op}' has {OPS[op].arity} operands, unit '{name}' has {operands}", key)
            if any(op in group for group in groups.values()):
                raise does.error(f"unit '{name}' does '{op}' twice", key)
        groups[key] = dict.fromkeys(members, latency)
    table.close()
    if not groups:
        raise table.error(f"unit '{name}' does nothing: 'does' is missing or empty")
    return _UnitKind(name, operands, tuple(groups.items()))


def _members(key: str) -> list[str]:
    ops = [op for op in OPS.values() if op.name not in WIDE_OPS]
    return [op.name for op in ops if key in (op.name, op.latency_class)]


class _Builder:
    """Lays out the tiles, then the resources, then connects them."""

    def __init__(self, description: _Description) -> None:
        self.d = description
        self.names: list[tuple[str, Kind, int]] = []
        self.sources: dict[int, tuple[int, ...]] = {}
        self.tiles: list[Tile] = []
        self.units: list[Unit] = []
        self.memories: list[MemoryBank] = []

    def build(self, digest: str) -> Fabric:
        d = self.d
        registers: list[list[int]] = []
        for row in range(d.rows):
            for column in range(d.columns):
                registers.append(self._tile(row, column))
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        incoming: list[list[int]] = [[] for _ in self.tiles]
        for tile in self.tiles:
            for name, there in self._links(tile):
                link = self._add(f"{_prefix(tile)}.{name}", Kind.REGISTER, tile.id)
                outgoing[tile.id].append(link)
                incoming[there].append(link)
        for tile in self.tiles:
            self._connect(tile.id, registers[tile.id], outgoing[tile.id], incoming[tile.id])
        resources = tuple(
            Resource(id, name, kind, tile, self.sources.get(id, ()))
            for id, (name, kind, tile) in enumerate(self.names)
        )
        name = f"{d.name}{d.rows}x{d.columns}"
        tiles, units, memories = tuple(self.tiles), tuple(self.units), tuple(self.memories)
        return Fabric(name, d.width, d.max_interval, tiles, units, resources, memories, digest)

    def _add(self, name: str, kind: Kind, tile: int) -> int:
        self.names.append((name, kind, tile))
        return len(self.names) - 1

    def _tile(self, row: int, column: int) -> list[int]:
        """Add a tile with its units and return its registers."""
        layers = [layer for layer in self.d.layers if layer.covers(row, column, self.d.rows, self.d.columns)]
        tile = Tile(len(self.tiles), "+".join(layer.name for layer in layers), row, column)
        self.tiles.append(tile)
        taken: set[str] = set()
        for layer in layers:
            for kind in (*layer.units, *(layer.memory[1] if layer.memory else ())):
                if kind.name in taken:
                    raise layer.pattern.error(
                        f"tile {_prefix(tile)} gets unit '{kind.name}' twice, from layer '{layer.name}' too"
                    )
                taken.add(kind.name)
            for kind in layer.units:
                self._unit(tile, kind, None)
            if layer.memory:
                bank = len(self.memories)
                ports = tuple(self._unit(tile, kind, bank) for kind in layer.memory[1])
                name = f"{_prefix(tile)}.memory"
                self.memories.append(MemoryBank(bank, name, tile.id, layer.memory[0], ports))
        count = sum(layer.registers for layer in layers)
        return [self._add(f"{_prefix(tile)}.r{k}", Kind.REGISTER, tile.id) for k in range(count)]

    def _unit(self, tile: Tile, kind: _UnitKind, memory: int | None) -> int:
        """Add a unit, its operands, and for each group of operations the results that they share."""
        prefix = f"{_prefix(tile)}.{kind.name}"
        operands = tuple(
            self._add(f"{prefix}.{letter}", Kind.OPERAND, tile.id) for letter in "abc"[: kind.operands]
        )
        latency: dict[str, int] = {}
        results: dict[str, tuple[int, ...]] = {}
        for group, members in kind.groups:
            count = max(OPS[op].outputs for op in members)
            shared = [
                self._add(f"{prefix}.{group}" + (str(k) if k else ""), Kind.RESULT, tile.id)
                for k in range(count)
            ]
            latency |= members
            results |= {op: tuple(shared[: OPS[op].outputs]) for op in members}
        id = len(self.units)
        self.units.append(Unit(id, prefix, tile.id, latency, operands, results, memory))
        return id

    def _links(self, tile: Tile) -> Iterable[tuple[str, int]]:
        """The tile's outgoing links: name and target."""
        rows, columns = self.d.rows, self.d.columns
        for name, down, right in self.d.steps:
            row, column = tile.row + down, tile.column + right
            if self.d.wrap:
                row, column = row % rows, column % columns
            if 0 <= row < rows and 0 <= column < columns and (row, column) != (tile.row, tile.column):
                yield name, row * columns + column

    def _connect(self, tile: int, registers: list[int], outgoing: list[int], incoming: list[int]) -> None:
        """Operands read links and registers; registers read results too, and themselves to hold."""
        units = [unit for unit in self.units if unit.tile == tile]
        results = list(
            dict.fromkeys(r for unit in units for outputs in unit.results.values() for r in outputs)
        )
        for unit in units:
            for operand in unit.operands:
                self.sources[operand] = (*incoming, *registers)
        for register in registers:
            self.sources[register] = (*results, *incoming, *registers)
        for link in outgoing:
            self.sources[link] = (*results, *incoming, *registers, link)


def _prefix(tile: Tile) -> str:
    return f"r{tile.row}c{tile.column}"
