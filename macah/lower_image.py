"""Tables of constants as the bytes that the host has of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from macah import ir
from macah.ctypes import ArrayType, CType, Integer, size_of
from macah.lower_scope import Object, Table
from macah.lower_units import Step, after, position
from macah.lower_values import Lvalue


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


def table_units(owner: Object, whole: Lvalue, unit: Integer, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The units of a union in all elements of a table, or of a whole raw table."""
    assert owner.table is not None
    image, size = image_of(owner.type, owner.table), size_of(whole.type) or 0
    words: list[int] = []
    for index in product(*map(range, shape)):
        steps, _ = interleaved(owner.type, whole.path, index)
        start = position(owner.type, steps).start
        words += words_of(image[start : start + size], unit.size)
    return tuple(words)


def table_values(owner: Object, path: tuple[str, ...], shape: tuple[int, ...]) -> list[int]:
    """The values of a scalar in all elements of a table."""
    assert owner.table is not None
    return [owner.table.get((path, index), 0) for index in product(*map(range, shape))]
