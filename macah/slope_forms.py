"""Sums of a constant and of multiples of values, as far as `slopes.py` needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from backend.dfg import Const
from macah.graph import Value
from macah.ranges import HALF, WORD

Interval = tuple[int, int]
"""The least and the largest number."""


@dataclass(frozen=True, slots=True)
class Form:
    """`constant` and the values, each so many times, as integers. Two that are equal are the same sum."""

    constant: int = 0
    terms: Mapping[Value, int] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.constant, len(self.terms)))

    def plus(self, other: Form, times: int = 1) -> Form:
        """This and the other one, so many times."""
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + times * factor
        left = {value: factor for value, factor in terms.items() if factor}
        return Form(self.constant + times * other.constant, left)

    def within(self, range_of: Callable[[Value], Interval]) -> Interval:
        """Between which numbers it is, if values are as `range_of` says."""
        low = high = self.constant
        for value, factor in self.terms.items():
            ends = [end * factor for end in range_of(value)]
            low, high = low + min(ends), high + max(ends)
        return low, high


LEVEL = Form()


def form_of(value: Value) -> Form:
    """A value by itself."""
    if isinstance(value, Const):
        return Form(value.value - WORD - 1 if value.value >= HALF else value.value)
    return Form(0, {value: 1})
