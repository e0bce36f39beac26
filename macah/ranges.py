"""What values a word may have: bounds as an unsigned and as a signed number, and which bits may be 1.

Bounds follow from each other: a word whose upper 24 bits are 0 is at most 255, and not negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

WIDTH = 32
WORD = (1 << WIDTH) - 1
HALF = 1 << (WIDTH - 1)


class Range(NamedTuple):
    """Unsigned bounds `low` to `high`, signed ones `least` to `most`; bits outside `bits` are 0.

    A tuple, as these are made and compared more often than anything else.
    """

    low: int
    high: int
    least: int
    most: int
    bits: int

    @property
    def constant(self) -> int | None:
        """The only value, if there is one."""
        return self.low if self.low == self.high else None

    @property
    def positive(self) -> bool:
        """True if it is not negative as a signed number."""
        return self.least >= 0

    @property
    def size(self) -> int:
        """The largest magnitude as a signed number."""
        return max(-self.least, self.most)

    def __or__(self, other: Range) -> Range:
        if self is ALL or other is ALL:
            return ALL
        return Range(
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.least, other.least),
            max(self.most, other.most),
            self.bits | other.bits,
        )

    def __and__(self, other: Range) -> Range:
        """What both allow; if that is nothing, control does not come here, and anything may be said."""
        if other is ALL:
            return self
        if self is ALL:
            return other
        return made(
            max(self.low, other.low),
            min(self.high, other.high),
            max(self.least, other.least),
            min(self.most, other.most),
            self.bits & other.bits,
        )

    def within(self, other: Range) -> bool:
        """True if the other one allows all of it."""
        return self is other or (
            self.low >= other.low
            and self.high <= other.high
            and self.least >= other.least
            and self.most <= other.most
            and not self.bits & ~other.bits
        )


@lru_cache(1 << 16)
def made(low: int = 0, high: int = WORD, least: int = -HALF, most: int = HALF - 1, bits: int = WORD) -> Range:
    """A range from what is known; what follows from it is put in."""
    if low == 0 and high == WORD and least == -HALF and most == HALF - 1 and bits == WORD:
        return ALL
    for _ in range(2):
        bits &= (1 << high.bit_length()) - 1 if high >= 0 else 0
        high = min(high, bits)
        if high < HALF:
            least, most = max(least, low), min(most, high)
        elif low >= HALF:
            least, most = max(least, low - WORD - 1), min(most, high - WORD - 1)
        if least >= 0:
            low, high = max(low, least), min(high, most)
        elif most < 0:
            low, high = max(low, least + WORD + 1), min(high, most + WORD + 1)
    bits &= (1 << high.bit_length()) - 1 if high >= 0 else 0
    if low > high or least > most:
        return ALL
    return Range(low, high, least, most, bits)


ALL = Range(0, WORD, -HALF, HALF - 1, WORD)
TRUTH = Range(0, 1, 0, 1, 1)


@lru_cache(4096)
def exactly(value: int) -> Range:
    """One word."""
    number = value - WORD - 1 if value >= HALF else value
    return Range(value, value, number, number, value)


def unsigned(low: int, high: int, bits: int = WORD) -> Range:
    """What an exact unsigned result may be as a word; it wraps if it is too large."""
    return made(low, high, bits=bits) if low >= 0 and high <= WORD else made(bits=bits)


def signed(least: int, most: int, bits: int = WORD) -> Range:
    """What an exact signed result may be as a word; it wraps if it is too large."""
    fits = least >= -HALF and most < HALF
    return made(least=least, most=most, bits=bits) if fits else made(bits=bits)


def extended(bits: int, is_signed: bool) -> Range:
    """The words that an integer of some bits is extended to."""
    if bits >= WIDTH:
        return ALL
    return signed(-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else unsigned(0, (1 << bits) - 1)


def joined(ranges: Iterable[Range]) -> Range:
    """What any of several ranges allows."""
    first, *others = ranges
    for other in others:
        first = first | other
    return first
