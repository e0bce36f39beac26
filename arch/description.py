"""What a checked architecture file says, before anything is laid out."""

from __future__ import annotations

from dataclasses import dataclass

from .tables import Table


@dataclass(frozen=True)
class UnitKind:
    """A function unit: latencies by operation, in groups that share result ports.

    A `narrow` one works on bits. Of others, the operands at `bits` can select bits as well.
    """

    name: str
    operands: int
    groups: tuple[tuple[str, dict[str, int]], ...]
    narrow: bool = False
    bits: tuple[int, ...] = ()


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
    bit_registers: int
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
class Bits:
    """The plane of bits: its links (name, down, right), registers that take what words' links take, in bits.

    They select results, the low bit of those of words, and what the tile holds or gets in bits. So do the
    tile's registers of bits. Operands of units on bits select what comes in and what is held, in bits and, as
    low bits, in words; of other units some (`UnitKind.bits`) select bits besides words. The tile's registers
    of words take bits, too: as words of 0 or 1, these can go on anywhere.

    With `apart`, values of one bit stay in this plane, so nothing takes them out of it but operands.
    """

    table: Table
    steps: tuple[tuple[str, int, int], ...]
    apart: bool


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

    `bits` is the plane of bits, if there is one; it can be beside registered links.
    """

    table: Table
    steps: tuple[tuple[str, int, int], ...]
    wrap: bool
    held: bool
    crossbar: bool
    static: frozenset[str]
    bits: Bits | None


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
