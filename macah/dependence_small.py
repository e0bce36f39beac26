"""The exact least distance of two accesses in a nest that is small enough to be counted through.

    for (i = 7; i > 0; i--)  for (j = 0; j < i; j++)  a[j] = a[j + 1]

Here a range for j that holds for every i would not tell how soon an element is met again at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from macah.site import WORD, Affine, Loop, Site, Symbol

MOST_STEPS = 20_000
"""So many iterations and accesses are counted through for one answer."""

Numbers = dict[Loop, int]


class TooLarge(Exception):
    """The nest is not known exactly, or has too many iterations."""


class _Found(Exception):
    """No distance is less."""


@dataclass(slots=True)
class Counted:
    """Executes the loops around two sites, in the order of the program; `most` steps of it.

    No distance is below `least`, so a distance that is no more ends it.
    """

    a: Site
    b: Site
    most: int = MOST_STEPS
    least: int = 0
    now: int = 0
    used: bool = False  # the current flat iteration has had its innermost body
    steps: int = 0
    seen: dict[int, int] = field(default_factory=dict)  # when `a` was last at an address
    best: int | None = None
    numbers: Numbers = field(default_factory=dict)

    def least_distance(self) -> int | None:
        """That of `a` and a later `b`. Errors: TooLarge."""
        common = [x for x, y in zip(self.a.loops, self.b.loops, strict=False) if x is y]
        _refuse_unknown(self.a, self.b)
        # a loop in sequence with another that runs once may be none any more
        if any(loop.trips == 1 for site in (self.a, self.b) for loop in site.loops[len(common) :]):
            raise TooLarge
        with suppress(_Found):
            self.nest(tuple(common), self.both)
        return self.best

    def both(self) -> None:
        """The body of the innermost loop around both."""
        depth = len(self.numbers)
        sites = [self.a] if self.a is self.b else sorted((self.a, self.b), key=lambda site: site.order)
        for site in sites:
            self.nest(site.loops[depth:], partial(self.access, site))

    def nest(self, loops: tuple[Loop, ...], body: Callable[[], None]) -> None:
        if not loops:
            body()
            return
        for _ in self.iterations(loops[0]):
            self.nest(loops[1:], body)

    def iterations(self, loop: Loop) -> Iterator[None]:
        for number in range(_trips(loop, self.numbers)):
            self.steps += 1
            if self.steps > self.most:
                raise TooLarge
            self.now, self.used = self.now + self.used, False
            self.numbers[loop] = number
            yield
            self.used = True
        self.numbers.pop(loop, None)

    def access(self, site: Site) -> None:
        place = _value(site.address, self.numbers) % WORD
        if site is self.b and place in self.seen:
            distance = self.now - self.seen[place]
            self.best = distance if self.best is None else min(self.best, distance)
            if distance <= self.least:
                raise _Found
        if site is self.a:
            self.seen[place] = self.now


def _trips(loop: Loop, numbers: Mapping[Loop, int]) -> int:
    if loop.span is None:
        raise TooLarge
    span = loop.span
    more = _value(span.rest, numbers) - span.least
    if span.tested and more + span.step < 0:
        return 0
    return 1 + max(0, more // span.step + 1)


def _value(form: Affine, numbers: Mapping[Loop, int]) -> int:
    """A form without its symbols, which both addresses have."""
    return form.constant + sum(f * numbers[u] for u, f in form.terms if isinstance(u, Loop))


def _refuse_unknown(a: Site, b: Site) -> None:
    symbols = [{(u, f) for u, f in s.address.terms if isinstance(u, Symbol)} for s in (a, b)]
    if symbols[0] != symbols[1] or any(symbol.level for symbol, _ in symbols[0]):
        raise TooLarge
    for loop in (*a.loops, *b.loops):
        if loop.span is None or any(isinstance(u, Symbol) for u, _ in loop.span.rest.terms):
            raise TooLarge
