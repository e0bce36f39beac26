"""Arithmetic on affine forms, modulo 2**32, and what ranges say of them as integers."""

from __future__ import annotations

from macah.site import WORD, Affine, Loop, Unknown

MOST_TERMS = 8
"""Forms of more terms are not kept: addresses do not have them."""

_SIGNED = (-(WORD >> 1), (WORD >> 1) - 1)


def small(number: int) -> int:
    """A word as the number of the smallest size that stands for it."""
    return (number + (WORD >> 1)) % WORD - (WORD >> 1)


def plus(a: Affine, b: Affine, times: int = 1) -> Affine | None:
    """`a + times * b`, if that has few terms."""
    terms: dict[Unknown, int] = dict(a.terms)
    for unknown, factor in b.terms:
        terms[unknown] = small(terms.get(unknown, 0) + times * factor)
    left = tuple([(unknown, factor) for unknown, factor in terms.items() if factor])
    if len(left) > MOST_TERMS:
        return None
    return Affine(small(a.constant + times * b.constant), left)


def bounds(unknown: Unknown) -> tuple[int, int]:
    """The least and the largest value of an unknown."""
    return (0, unknown.last) if isinstance(unknown, Loop) else (unknown.low, unknown.high)


def extent(form: Affine) -> tuple[int, int]:
    """The least and the largest value of a form, computed with integers."""
    low = high = form.constant
    for unknown, factor in form.terms:
        ends = [factor * end for end in bounds(unknown)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def is_signed(form: Affine) -> bool:
    """True if the form as integers is what its word is as a signed number."""
    low, high = extent(form)
    return _SIGNED[0] <= low and high <= _SIGNED[1]


def fits(form: Affine, negative: bool) -> bool:
    """True if the form as integers is what its word is as a number that may be negative, or may not."""
    return is_signed(form) and (negative or extent(form)[0] >= 0)
