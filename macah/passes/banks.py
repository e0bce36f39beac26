"""Banks of an array: the memories that it is spread over along one dimension, and where each element is.

An index consists of three parts: with blocks of S elements and K banks,

    index = (place / S * K + bank) * S + place % S

Neighbours are in different banks if S is 1. With larger blocks they are mostly in the same one, but others
are apart:

    for (i = 0; i < 64; i += 32)  for (k = 0; k < 16; k++)  swap(a[i + k], a[i + k + 16]);         S is 16

Bank and place are bits of the index if S and K are powers of two. Otherwise they cost divisions, unless it
is known which bank an access is to: then the place is a difference if there is one block in each, and a
product if S is 1, as a multiple of an odd K is divided by a multiplication with its inverse modulo 2**32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import gcd, prod

from macah.affine import fits
from macah.evolution import Forms
from macah.fold import fold_apply
from macah.ir import Array, Const, Expr
from macah.offsets import Offsets
from macah.site import WORD, Affine, Loop


@dataclass(slots=True)
class Spread:
    """An array whose `dimension` is spread over `count` banks, in blocks of `block` elements."""

    array: Array
    dimension: int
    count: int
    block: int = 1
    banks: dict[int, Array] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """After so many elements, the first bank has its next block."""
        return self.count * self.block

    @property
    def is_plain(self) -> bool:
        """True if bank and place are bits of the index."""
        return _is_power(self.count) and _is_power(self.block)

    @property
    def is_cut(self) -> bool:
        """True if each bank has one block."""
        return self.round >= self.array.shape[self.dimension]

    @property
    def is_single(self) -> bool:
        """True if each bank has one place in the dimension."""
        return self.block == 1 and self.is_cut

    def bank(self, number: int) -> Array:
        """The memory of a bank."""
        if number not in self.banks:
            array, d = self.array, self.dimension
            shape = (*array.shape[:d], self.extent(number), *array.shape[d + 1 :])
            initial = tuple(self._initial(number)) if array.initial else ()
            self.banks[number] = replace(array, name=self._name(number), shape=shape, initial=initial)
        return self.banks[number]

    def extent(self, number: int) -> int:
        """How long a bank is in the dimension that is spread."""
        whole, rest = divmod(self.array.shape[self.dimension], self.round)
        return whole * self.block + max(0, min(self.block, rest - number * self.block))

    @property
    def words(self) -> int:
        """How many the first bank has, which is the largest."""
        return self.array.size // self.array.shape[self.dimension] * self.extent(0)

    def bank_of(self, place: int) -> int:
        """The bank of an element of the array."""
        return place // self.block % self.count

    def source(self, number: int, place: str) -> str:
        """The index, in C, of the element at a place in a bank."""
        first = number * self.block
        if self.block == 1:
            return f"({place} * {self.count} + {number})"
        if self.is_cut:
            return f"({place} + {first})"
        return f"({place} / {self.block} * {self.round} + {place} % {self.block} + {first})"

    def which(self, index: Expr) -> Expr:
        """The bank of an index."""
        number = _op("udiv", index, self.block)
        return number if self.is_cut else _op("urem", number, self.count)

    def inside(self, index: Expr) -> Expr:
        """The place of an index in its bank."""
        if self.is_cut:
            return _op("urem", index, self.block)
        block = _op("udiv", index, self.round)
        if self.block == 1:
            return block
        return fold_apply("add", (_op("mul", block, self.block), _op("urem", index, self.block)), 32)

    def place(self, index: Expr, number: int, offsets: Offsets) -> Expr:
        """The place of an index in its bank, of which the number is known."""
        if self.block == 1 and self.is_plain:
            return self.inside(offsets.about(index, number, self.count))
        if self.block == 1 and self.count % 2:
            return offsets.divided(index, number, self.count)
        first = offsets.less(index, number * self.block)
        if self.is_cut:
            return first
        if self.block == 1:
            zeros = (self.count & -self.count).bit_length() - 1
            return offsets.divided(_op("shr", first, zeros), 0, self.count >> zeros)
        if self.is_plain:
            return self.inside(first)
        skipped = _op("mul", _op("udiv", first, self.round), self.round - self.block)
        return fold_apply("sub", (first, skipped), 32)

    def touched(self, form: Affine, forms: Forms, loop: Loop | None = None) -> range:
        """The banks that an access with this index may touch, where all have elements.

        `loop` is the innermost one around the access if each of its iterations does it.
        """
        if self.block > 1:
            form = forms.divided(form, self.block)[0] if fits(form, False) else forms.new()
        elif not _is_power(self.count) and not self.is_index(form, loop):
            form = forms.new()
        step = gcd(self.count, *(factor for _, factor in form.terms))
        return range(form.constant % step, self.bank_of_last + 1, step)

    def is_index(self, form: Affine, loop: Loop | None) -> bool:
        """True if the form as integers is the index: what does not wrap around, or leaves the array before.

        A division of what a loop that runs for long counts is one by an odd number, which needs no more.
        """
        if fits(form, False):
            return True
        factor = dict(form.terms).get(loop, 0) if loop is not None else 0
        first = Affine(form.constant, tuple([term for term in form.terms if term[0] is not loop]))
        step = abs(factor) + self.array.shape[self.dimension]
        return bool(factor and self.count % 2 and fits(first, False)) and step < WORD >> 1

    @property
    def bank_of_last(self) -> int:
        """The last bank that has elements."""
        return min(self.count, -(-self.array.shape[self.dimension] // self.block)) - 1

    def _name(self, number: int) -> str:
        array, first = self.array, number * self.block
        run = f"..{first + self.block - 1}" if self.block > 1 else ""
        place = f"[{self.round}n{f'+{first}' if first or run else ''}{run}]"
        if self.is_single:
            place = f"[{number}]"
            if "[]" in array.name:
                return array.name.replace("[]", place, 1)
        if array.name.endswith("]"):
            return array.name + place
        marks = ["[]"] * len(array.shape)
        return array.name + "".join((*marks[: self.dimension], place, *marks[self.dimension + 1 :]))

    def _initial(self, number: int) -> Iterator[int]:
        inner = prod(self.array.shape[self.dimension + 1 :])
        for place in range(self.array.size):
            if self.bank_of(place // inner % self.array.shape[self.dimension]) == number:
                yield self.array.initial[place] if place < len(self.array.initial) else 0


def _op(op: str, value: Expr, number: int) -> Expr:
    return fold_apply(op, (value, Const(number)), 32)


def _is_power(number: int) -> bool:
    return number & number - 1 == 0
