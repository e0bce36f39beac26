"""Where in the nests of a kernel an array is accessed, and at which address.

An address is affine: a constant plus multiples of the numbers of the iterations of enclosing loops, which
count from 0, and of symbols, values of which nothing more is known. All of it is modulo 2**32.

    for (i = 0; i < 8; i++)  for (j = i; j < n; j++)  a[i][2 * j + x] = ...           int a[8][100];

has the address 102 * #i + 2 * #j + x. A site belongs to the access through all later passes, which make one
flat loop of the nests: each iteration of an innermost loop becomes one flat iteration of its own, and so does
an iteration of another loop in which no inner one runs. What stands before an inner loop is part of the first
flat iteration after it, what stands after it part of the last one before it. Who copies an access to
somewhere else, or executes it at another time, leaves its site out: then nothing is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from backend.record import made_quickly

WORD = 1 << 32


@dataclass(slots=True, eq=False)
class Loop:
    """A loop: each time it is entered it runs `fewest` times at least, and at most `trips` if that is known.

    One of its iterations makes at least `least` flat iterations. `span` says exactly how often it runs. All
    is filled in while its body is walked.
    """

    trips: int | None = None
    fewest: int = 1
    least: int = 1
    span: Span | None = None

    @property
    def last(self) -> int:
        """The largest number of an iteration."""
        return min(self.trips or WORD, WORD) - 1

    @property
    def exact(self) -> bool:
        """True if it always runs equally often."""
        return self.trips == self.fewest


@dataclass(frozen=True, slots=True)
class Span:
    """An iteration is followed by another one while `rest - step * #loop >= least`; `step` is positive.

    `tested`: there is no iteration at all unless `rest + step >= least`.
    """

    rest: Affine
    step: int
    least: int
    tested: bool = False


@made_quickly
@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A value in [low, high] that is fixed in an iteration of all of the outermost `level` loops."""

    level: int
    low: int = -(WORD >> 1)
    high: int = (WORD >> 1) - 1
    circle: Circle | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """What counts from 0 to below `period`, and around: `start + step * #loop` modulo `period`."""

    loop: Loop
    start: Affine
    step: int
    period: int


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a nest, of which the inner loop starts `delay` flat iterations later than it would."""

    delay: int


Unknown = Loop | Symbol


@made_quickly
@dataclass(frozen=True, slots=True)
class Affine:
    """`constant` plus the sum of coefficients times unknowns, none of which is 0."""

    constant: int = 0
    terms: tuple[tuple[Unknown, int], ...] = ()


@made_quickly
@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An access in `loops`, from the outermost to the innermost; `order` is that in the program.

    `sure`: it is in every iteration of the innermost one, not in a branch. `arms`: the branches there that it
    is in, from outside, and on which side. `rows`: those it is a part of, in the inner loop if `inside`.
    """

    loops: tuple[Loop, ...]
    address: Affine
    order: int
    sure: bool = False
    arms: tuple[tuple[object, bool], ...] = ()
    rows: Rows | None = None
    inside: bool = False

    def is_surely(self, other: Site) -> bool:
        """True if this touches the element that the other may touch, in each iteration of their loops."""
        here, there = self.address, other.address
        same = here.constant == there.constant and set(here.terms) == set(there.terms)
        return self.sure and same and self.loops == other.loops

    def excludes(self, other: Site) -> bool:
        """True if they are in both sides of a branch: an iteration of the innermost loop has one at most."""
        if self.loops != other.loops:
            return False
        for (branch, side), (another, there) in zip(self.arms, other.arms, strict=False):
            if branch is not another or side != there:
                return branch is another
        return False

    def delay(self, later: Site) -> int:
        """How many empty flat iterations there are before a later access, at least."""
        return self.rows.delay if self.rows and self.rows is later.rows and later.inside > self.inside else 0
