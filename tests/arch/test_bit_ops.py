"""What units that work on bits do is what the operations do on words of 0 or 1."""

from __future__ import annotations

from itertools import product

import pytest

from arch.ops import BIT_OPS, OPS, evaluate


class Bit(int):
    """A number of one bit, as Verilog has them."""

    def __invert__(self) -> Bit:
        return Bit(1 - self)

    def __and__(self, other: int) -> Bit:
        return Bit(int(self) & other)

    def __or__(self, other: int) -> Bit:
        return Bit(int(self) | other)

    def __xor__(self, other: int) -> Bit:
        return Bit(int(self) ^ other)


@pytest.mark.parametrize("name", sorted(BIT_OPS))
def test_operations_on_bits_give_what_they_give_on_words(name: str) -> None:
    for bits in product((0, 1), repeat=OPS[name].arity):
        text = BIT_OPS[name].format("a", "b", "c").replace("a ? b : c", "b if a else c")
        assert eval(text, dict(zip("abc", map(Bit, bits), strict=False))) == evaluate(name, 32, *bits)
