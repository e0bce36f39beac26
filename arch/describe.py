"""Architecture description (TOML) -> structural model.

The meaning of each key stands where it is read; what the shipped values cost, in the files themselves.
"""

from __future__ import annotations

import hashlib
import re
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from .description import Bits, Description, Layer, Links, UnitKind
from .fabric import Fabric
from .layout import LETTERS, Layout
from .ops import BIT_OPS, MOST_INPUTS, OPAQUE_OPS, OPS, WIDE_OPS
from .tables import ArchitectureError, Table

__all__ = ["ArchitectureError", "fabric_file", "load_fabric", "shipped"]

_SHIPPED = Path(__file__).parent
LARGEST = 64
MOST_CHARACTERS = 1 << 22
"""The longest file that is read: a device may have no end."""
_SIDES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
_CORNERS = {"northeast": (-1, 1), "southeast": (1, 1), "southwest": (1, -1), "northwest": (-1, -1)}


def shipped() -> tuple[str, ...]:
    """The names of the architectures that come with the tool."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def _guess(name: str) -> str:
    """`grid8`, `gird:4x4`, `Grid4x4`: what was probably meant, to append to a message."""
    parts = re.fullmatch(r"([A-Za-z]+):?(\d*)(?:[xX](\d+))?", name)
    near = get_close_matches(parts[1].lower(), shipped(), 1, 0.7) if parts else []
    if not parts or not near:
        return ""
    size = f"{parts[2]}x{parts[3] or parts[2]}" if parts[2] else ""
    return f"; did you mean '{near[0]}{size}'?"


def load_fabric(name_or_path: str) -> Fabric:
    """The fabric `grid`, `grid:8x8` (or `grid8x8`), or that of a file, `my.toml` or `my.toml:8x8`."""
    base, size = _split_size(name_or_path)
    path, label = fabric_file(name_or_path), f"{base}.toml" if base in shipped() else base
    if size and not (2 <= size[0] <= LARGEST and 2 <= size[1] <= LARGEST):
        raise ArchitectureError(f"a grid has from 2x2 to {LARGEST}x{LARGEST} tiles", name_or_path)
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = "not a text file"
        if isinstance(error, OSError) and error.strerror:
            reason = f"cannot read it: {error.strerror.lower()}"
        if "/" not in base and not base.endswith(".toml"):
            reason = (
                f"no such architecture{_guess(name_or_path)} (shipped: {', '.join(shipped())}; "
                "or give the path of a .toml file)"
            )
        raise ArchitectureError(reason, name_or_path) from None
    if len(text) > MOST_CHARACTERS:
        raise ArchitectureError(f"it has more than {MOST_CHARACTERS} characters", name_or_path)
    return _built(text, label, size)


def fabric_file(name_or_path: str) -> Path:
    """The file that describes a fabric, whether there is one or not."""
    base, _ = _split_size(name_or_path)
    return _SHIPPED / f"{base}.toml" if base in shipped() else Path(base)


@lru_cache(maxsize=8)
def _built(text: str, label: str, size: tuple[int, int] | None) -> Fabric:
    """One object for all who ask, so that what is found out about it is found once."""
    return Layout(_read(text, label, size)).build(hashlib.sha256(f"{size}\n{text}".encode()).hexdigest())


def _split_size(name: str) -> tuple[str, tuple[int, int] | None]:
    """`grid:8x8` -> `grid`, (8, 8); the colon may be left out after a shipped name."""
    match = re.fullmatch(r"(.+?)(:?)(\d{1,6})x(\d{1,6})", name)
    if match and (match[2] or match[1] in shipped()):
        return match[1], (int(match[3]), int(match[4]))
    return name, None


def _read(text: str, label: str, size: tuple[int, int] | None) -> Description:
    root = Table.parse(text, label)
    name = root.take_name("name")
    width = root.take_int("width", 32, 32, 32)
    max_interval = root.take_int("max_interval", 1, 4096, 64)
    rows, columns = root.take_int("rows", 2, LARGEST), root.take_int("columns", 2, LARGEST)
    if size:
        rows, columns = size
    root.known.append("bits")
    bits = root.take_table("bits") if "bits" in root.values else None
    links = _read_links(root.take_table("links"), bits, min(rows, columns))
    tables = root.take_tables("layer")
    # One memory, with every unit as a port that does `mem`.
    memory = root.take_table("memory")
    words = memory.take_int("words", 1, 1 << 24) if memory.values else 0
    memory.close()
    layers = tuple(_read_layer(table, words > 0, links.bits is not None) for table in tables)
    root.close()
    if not layers:
        raise root.error("no [[layer]]: the tiles are empty")
    for index, (table, layer) in enumerate(zip(tables, layers, strict=True)):
        if layer.name in [earlier.name for earlier in layers[:index]]:
            raise table.error(f"two layers have the name '{layer.name}'", "name")
    return Description(name, width, max_interval, rows, columns, layers, links, words)


def _read_links(table: Table, bits: Table | None, side: int) -> Links:
    """Which tiles are linked, and how: see `description.Links`.

    `shared`: all links of a tile are one register. `static`: so many of the `words` of each link are
    configured once, for all slots.

    Grids whose shorter side is less than `long_from` have no diagonals and hops.
    """
    words = table.take_int("words", 1, 8, 1)
    static = table.take_int("static", 0, words, 0)
    steps: dict[str, tuple[int, int]] = {}
    if table.take_bool("neighbours"):
        steps |= _SIDES
    diagonals, hops = table.take_bool("diagonals"), table.take_bool("hops")
    long = side >= table.take_int("long_from", 0, LARGEST, 0)
    if diagonals and long:
        steps |= _CORNERS
    if hops and long:
        steps |= {f"{side}2": (2 * down, 2 * right) for side, (down, right) in _SIDES.items()}
    wrap, shared, held, crossbar = (table.take_bool(key) for key in ("wrap", "shared", "held", "crossbar"))
    if held and words > 1:
        raise table.error("with 'held' a tile has one output: 'words' must be 1", "words")
    if crossbar and (held or shared):
        raise table.error("'crossbar' excludes 'held' and 'shared'", "crossbar")
    if static and (held or shared or crossbar):
        raise table.error("'static' excludes 'held', 'shared' and 'crossbar'", "static")
    table.close()
    if not steps:
        raise table.error("'links' has neither 'neighbours' nor 'diagonals' nor 'hops': tiles are cut off")
    suffixes = [f"_{k}" if k else "" for k in range(words - static)]
    once = [f"_static{k or ''}" for k in range(static)]
    links = [("out" if shared or held else name, *step) for name, step in steps.items()]
    found = tuple((name + end, down, right) for name, down, right in links for end in (*suffixes, *once))
    if bits and (held or crossbar):
        raise bits.error("a plane of bits excludes 'held' and 'crossbar'")
    once_for_all = frozenset(name + end for name, _, _ in links for end in once)
    plane = _read_bits(bits, links) if bits else None
    return Links(table, found, wrap, held, crossbar, once_for_all, plane)


def _read_bits(table: Table, links: list[tuple[str, int, int]]) -> Bits:
    """The plane of bits: `links` bits beside each link, see `description.Bits`."""
    count = table.take_int("links", 1, 8)
    apart = table.take_bool("apart")
    table.close()
    ends = [f"_bit{k or ''}" for k in range(count)]
    steps = tuple((name + end, down, right) for name, down, right in links for end in ends)
    return Bits(table, steps, apart)


def _read_layer(table: Table, shared: bool, planes: bool) -> Layer:
    name = table.take_name("name")
    where = table.take_table("where")
    every = where.take_int("every_row", 1, LARGEST, 1), where.take_int("every_column", 1, LARGEST, 1)
    first = where.take_int("first_row", 0, LARGEST, 0), where.take_int("first_column", 0, LARGEST, 0)
    start = where.take_int("from_row", 0, LARGEST, 0), where.take_int("from_column", 0, LARGEST, 0)
    checkerboard, border = where.take_bool("checkerboard"), where.take_bool("border")
    where.close()
    registers = table.take_int("registers", 0, 64, 0)
    bit_registers = table.take_int("bit_registers", 0, 64, 0)
    if bit_registers and not planes:
        raise table.error(_NO_PLANE, "bit_registers")
    units = tuple(_read_unit(unit, shared, planes) for unit in table.take_tables("unit"))
    memory = _read_memory(table.take_table("memory"), planes) if "memory" in table.values else None
    table.known.append("memory")
    table.close()
    return Layer(
        name, where, every, first, start, checkerboard, border, registers, bit_registers, units, memory
    )


_NO_PLANE = "there is no plane of bits: the file has no [bits]"


def _takes_bits(table: Table, operands: int, planes: bool) -> tuple[int, ...]:
    """The operands, by letter, that select bits as well as words."""
    letters = table.take_text("takes_bits")
    if letters and not planes:
        raise table.error(_NO_PLANE, "takes_bits")
    for letter in letters:
        if letter not in LETTERS[:operands]:
            known = ", ".join(LETTERS[:operands])
            raise table.error(
                f"'takes_bits' names no operand with '{letter}' (they are {known})", "takes_bits"
            )
    return tuple(sorted({LETTERS.index(letter) for letter in letters}))


def _read_memory(table: Table, planes: bool) -> tuple[int, tuple[UnitKind, ...]]:
    """A bank of `words` words with `ports` units that load and store, one access each per cycle."""
    words = table.take_int("words", 1, 1 << 24)
    ports = table.take_int("ports", 1, 16)
    load, store = table.take_int("load", 2, 64), table.take_int("store", 1, 64)
    bits = _takes_bits(table, 3, planes)
    table.close()
    loads = {"load": load} | dict.fromkeys(_members("access", 3), load)
    groups = (("load", loads), ("store", {"store": store}))
    return words, tuple(UnitKind(f"mem{port}", 3, groups, bits=bits) for port in range(ports))


def _read_unit(table: Table, shared: bool, planes: bool) -> UnitKind:
    """`does` maps a class of operations, or one operation, to its latency; each entry has its own results.

    A unit `on_bits` does those of a class that bits are enough for.
    """
    name = table.take_name("name")
    operands = table.take_int("operands", 1, MOST_INPUTS)
    narrow = table.take_bool("on_bits")
    if narrow and not planes:
        raise table.error(_NO_PLANE, "on_bits")
    bits = _takes_bits(table, operands, planes)
    if narrow and bits:
        raise table.error("a unit on bits has no operands for words: leave out 'takes_bits'", "takes_bits")
    does = table.take_table("does")
    groups: dict[str, dict[str, int]] = {}
    for key in list(does.values):
        latency = does.take_int(key, 1, 64)
        members = _members(key, operands)
        if members and narrow and not (members := _on_bits(key, members, operands)):
            raise does.error(f"'{key}' is nothing that a unit on bits does ({', '.join(BIT_OPS)})", key)
        if not members:
            raise does.error(f"'{key}' is neither an operation nor a class of them", key)
        for op in members:
            if OPS[op].latency_class == "mem" and not shared:
                raise does.error(
                    f"'{op}' belongs to a memory: give the layer a [layer.memory], or the file a [memory]",
                    key,
                )
            if OPS[op].arity > operands:
                raise does.error(f"'{op}' has {OPS[op].arity} operands, unit '{name}' has {operands}", key)
            if any(op in group for group in groups.values()):
                raise does.error(f"unit '{name}' does '{op}' twice", key)
        groups[key] = dict.fromkeys(members, latency)
    table.close()
    if not groups:
        raise table.error(f"unit '{name}' does nothing: 'does' is missing or empty")
    return UnitKind(name, operands, tuple(groups.items()), narrow, bits)


def _on_bits(key: str, members: list[str], operands: int) -> list[str]:
    """Of some operations those for bits; of a class those with so few inputs."""
    return [op for op in members if op in BIT_OPS and (op == key or OPS[op].arity <= operands)]


def _members(key: str, operands: int) -> list[str]:
    """An operation, or those of a class; of opaque ones those with so few inputs."""
    ops = [op for op in OPS.values() if op.name not in WIDE_OPS]
    fitting = [op for op in ops if op.arity <= operands or op.name not in OPAQUE_OPS]
    return [op.name for op in fitting if key in (op.name, op.latency_class)]
