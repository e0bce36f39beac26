"""Division by a constant without dividing: the quotient is the upper word of a product with a reciprocal.

x / 10        ->     umulh(x, 0xCCCCCCCD) >> 3

With m = floor(2^k / c) + 1 and e = m * c - 2^k, the upper part of m * x beyond bit k is x / c for all x with
e * x < 2^k (Granlund and Montgomery; Warren, Hacker's Delight, chapter 10). The smaller x, the smaller k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from macah.ranges import HALF, WIDTH, WORD

T = TypeVar("T")


class Builder(Protocol[T]):
    """Makes operations on words."""

    def __call__(self, op: str, *operands: T | int) -> T: ...


@dataclass(frozen=True, slots=True)
class Magic:
    """The upper word of the product with `factor`, shifted right by `shift`, is the quotient."""

    factor: int
    shift: int


def magic(divisor: int, most: int, least: int = 0, width: int = WIDTH) -> Magic:
    """The reciprocal for dividends from `least`, at most 0, to `most`; its factor may need 33 bits.

    A negative quotient is one too small, so that there e * -x may be 2^k.
    """
    for shift in range(width + 1):
        power = 1 << (width + shift)
        factor = power // divisor + 1
        error = factor * divisor - power
        if error * most < power and error * -least <= power:
            return Magic(factor, shift)
    raise AssertionError(divisor)


def unsigned_quotient(do: Builder[T], x: T, divisor: int, most: int, width: int = WIDTH) -> T:
    """x / divisor for a divisor that is not 0, where x is at most `most`."""
    zeros = (divisor & -divisor).bit_length() - 1
    if divisor == 1 << zeros:
        return do("shr", x, zeros)
    if divisor >= 1 << (width - 1):
        return do("ule", divisor, x)
    found, whole = magic(divisor, most, width=width), 1 << width
    if found.factor < whole:
        return do("shr", do("umulh", x, found.factor), found.shift)
    if zeros:
        return unsigned_quotient(do, do("shr", x, zeros), divisor >> zeros, most >> zeros, width)
    # The upper word of the whole product may need another bit: halve the difference first.
    upper = do("umulh", x, found.factor - whole)
    half = do("shr", do("sub", x, upper), 1)
    return do("shr", do("add", half, upper), found.shift - 1)


def signed_quotient(do: Builder[T], x: T, divisor: int, least: int = -HALF, most: int = HALF - 1) -> T:
    """x / divisor towards zero for a divisor beyond 1 and -1, where x is from `least` to `most`."""
    positive = abs(divisor)
    if positive == HALF:
        return do("eq", x, HALF)
    if positive & (positive - 1) == 0:
        shift = positive.bit_length() - 1
        quotient = do("sar", _raised(do, x, shift), shift)
        return quotient if divisor > 0 else do("neg", quotient)
    found = magic(positive, most, min(least, 0))
    upper = do("smulh", x, found.factor)
    if found.factor >= HALF:  # which is a negative number to `smulh`
        upper = do("add", upper, x)
    rounded, sign = do("sar", upper, found.shift), do("sar", x, WIDTH - 1)
    return do("sub", rounded, sign) if divisor > 0 else do("sub", sign, rounded)


def _raised(do: Builder[T], x: T, shift: int) -> T:
    """A dividend that may be rounded down instead of towards zero: a negative one grows by a power less 1."""
    sign = x if shift == 1 else do("sar", x, WIDTH - 1)
    return do("add", x, do("shr", sign, WIDTH - shift))


def signed_remainder(do: Builder[T], x: T, shift: int) -> T:
    """x % (1 << shift), with the sign of x."""
    whole = do("and", _raised(do, x, shift), -(1 << shift) & WORD)
    return do("sub", x, whole)


def remainder(do: Builder[T], x: T, divisor: int, quotient: T) -> T:
    """What is left; as a product and a sum, which are one operation."""
    return do("add", do("mul", quotient, -divisor & WORD), x)
