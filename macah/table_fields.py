"""How values that go through known words are laid out in tables: beside each other, as bits of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from arch.ops import signed, word
from macah.graph import WIDTH


@dataclass(frozen=True)
class Field:
    """The words that a value goes through, one after the other."""

    values: tuple[int, ...]

    @cached_property
    def is_signed(self) -> bool:
        """Whether it takes fewer bits with a sign."""
        return max(self.values) >> WIDTH - 1 == 1 and self._with_sign < WIDTH

    @cached_property
    def width(self) -> int:
        """The bits that it takes."""
        return self._with_sign if self.is_signed else max(self.values).bit_length()

    @property
    def _with_sign(self) -> int:
        numbers = [signed(WIDTH, value) for value in self.values]
        return 1 + max([(number if number >= 0 else ~number).bit_length() for number in numbers])


@dataclass(frozen=True, slots=True)
class Bits:
    """Where a field is in a word: what is shifted out below it, with a copy of its sign if `signed`.

    `mask` removes what is above it; 0 if nothing is, and the field has several bits.
    """

    shift: int
    mask: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table's words, and the bits of the fields in it, by their numbers."""

    words: tuple[int, ...]
    bits: dict[int, Bits]


def packed(fields: Sequence[Field], most: int) -> list[Table] | None:
    """Tables for all fields, `most` of them; None if these are too few.

    A load takes no arithmetic unit, cutting a word apart does: as long as half of the memories are left, only
    two fields share a word, one at its top and one at its bottom.
    """
    count = min(max(1, most // 2), -(-len(fields) // 2))
    while count <= most:
        if (rows := _rows(fields, count)) is not None:
            return [_table(fields, row) for row in rows if row]
        count += 1
    return None


def _rows(fields: Sequence[Field], count: int) -> list[list[int]] | None:
    """The fields of each table, those at the bottom first; None if they do not fit."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for number in sorted(range(len(fields)), key=lambda n: (-fields[n].width, n)):
        open_rows = [row for row in rows if _has_room(fields, row, fields[number])]
        if not open_rows:
            return None
        min(open_rows, key=len).append(number)
    return [sorted(row, key=lambda n: (fields[n].is_signed, fields[n].width)) for row in rows]


def _has_room(fields: Sequence[Field], row: list[int], field: Field) -> bool:
    """Whether a field goes into a word with others: a sign has to be at the top."""
    signs = sum(fields[n].is_signed for n in row) + field.is_signed
    return signs <= 1 and sum(fields[n].width for n in row) + field.width <= WIDTH


def _table(fields: Sequence[Field], row: list[int]) -> Table:
    words, bits, below = [0] * len(fields[row[0]].values), dict[int, Bits](), 0
    for number in row:
        field, top = fields[number], number == row[-1]
        shift = WIDTH - field.width if field.is_signed else below
        for at, value in enumerate(field.values):
            words[at] |= word(WIDTH, value << shift)
        # one bit is a predicate, and has to look like one
        mask = (1 << field.width) - 1 if field.width == 1 or not top else 0
        bits[number] = Bits(shift, mask, field.is_signed)
        below += field.width
    return Table(tuple(words), bits)
