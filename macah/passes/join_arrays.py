"""Whether two loops that run equally often touch elements of arrays in an order that allows to join them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from macah.affine import plus
from macah.ir import Array, DoWhile, Variable
from macah.passes.elements import Element, Elements, differ
from macah.refusal import Touch
from macah.site import Affine, Symbol, Unknown

_LARGEST = 1 << 30  # distances that cannot wrap around
_COUNT = Symbol(0)


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop, and variables of its own that have the same value as the other's when an iteration starts."""

    loop: DoWhile
    counters: tuple[Variable, ...]


def arrays_forbid(
    first: Counted, second: Counted, elements: Elements, step: int, trips: int | None
) -> tuple[Touch, Touch] | None:
    """An access in each loop that may forbid to join them; None if nothing does.

    It does if an iteration of the second loop may touch what a later one of the first changes, or vice versa.
    Both run `trips` times, if that is known, and `step` is what is added to their counters each time.
    """
    here, there = _places_in(first, elements), _places_in(second, elements)
    steps = range(step, _LARGEST if step > 0 else -_LARGEST, step)
    if trips is not None:
        steps = steps[: trips - 1]
    for array in sorted(here.keys() & there.keys(), key=lambda array: array.name):
        for a in here[array]:
            for b in there[array]:
                if (a.element.stored or b.element.stored) and not a.sooner(b, steps):
                    return a.element.touch, b.element.touch
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """An element that an iteration touches, with its index as it follows from the loop's counter."""

    element: Element
    index: tuple[Affine, ...]

    def sooner(self, other: _Place, steps: range) -> bool:
        """True if no later iteration, counters `steps` ahead, touches what one of the other loop does."""
        return any(
            differ(a, b) or _sooner(mine, theirs, steps)
            for a, b, mine, theirs in zip(
                self.element.index, other.element.index, self.index, other.index, strict=True
            )
        )


def _sooner(mine: Affine, theirs: Affine, steps: range) -> bool:
    """True if the first index is never again what the second one is now."""
    ahead = plus(theirs, mine, -1)
    if (_COUNT, 1) not in mine.terms or ahead is None or ahead.terms:
        return False
    return abs(ahead.constant) < _LARGEST and ahead.constant not in steps


def _places_in(one: Counted, elements: Elements) -> dict[Array, list[_Place]]:
    counters = {elements.at_start(one.loop, variable) for variable in one.counters}
    found: dict[Array, list[_Place]] = defaultdict(list)
    for element in elements.of(one.loop):
        index = tuple([_counted(form, counters) for form in element.index])
        found[element.array].append(_Place(element, index))
    return found


def _counted(form: Affine, counters: Collection[Unknown]) -> Affine:
    """The form with one unknown for what is equal in both loops."""
    if not any(unknown in counters for unknown, _ in form.terms):
        return form
    count = sum(factor for unknown, factor in form.terms if unknown in counters)
    rest = tuple([term for term in form.terms if term[0] not in counters])
    return Affine(form.constant, ((_COUNT, count), *rest))
