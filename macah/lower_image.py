"""Tables of constants as the bytes that the host has of them."""

from __future__ import annotations

from collections.abc import Sequence

from macah import ir
from macah.ctypes import ArrayType, CType, Integer, size_of
from macah.lower_scope import Table
from macah.lower_units import Step, after, position


def image_of(ctype: CType, table: Table) -> bytes:
    """The bytes of a variable of `ctype` with the values of `table`."""
    image = 0
    for (names, indices), value in table.items():
        steps, leaf = interleaved(ctype, names, indices)
        at = position(ctype, steps)
        assert isinstance(leaf, Integer), leaf
        width = leaf.precision if at.bit is not None else 8 * leaf.size
        mask, shift = (1 << width) - 1, 8 * at.start + (at.bit or 0)
        image = image & ~(mask << shift) | (value & mask) << shift
    return image.to_bytes(size_of(ctype) or 0, "little")


def interleaved(ctype: CType, names: Sequence[str], indices: Sequence[int]) -> tuple[list[Step], CType]:
    """Names and indices in the order in which the type takes them, and the type that they lead to."""
    steps: list[Step] = []
    name, index = list(names), list(indices)
    while name or index:
        step: Step = ir.Const(index.pop(0)) if isinstance(ctype, ArrayType) else name.pop(0)
        steps.append(step)
        ctype = after(ctype, step)
    return steps, ctype


def words_of(image: bytes, size: int) -> list[int]:
    """The bytes as unsigned numbers of `size` bytes."""
    return [int.from_bytes(image[at : at + size], "little") for at in range(0, len(image), size)]
