"""What attempts do: the usual ones at an interval in turn, those that place for long, and hasty ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an attempt is made, and its number, which tells its seed from those of others at its interval.

    `stretch`: how much longer delays are in the schedule that it begins with; `placing` and `routing`: how
    much it does of these. `central`: arrays begin in memories in the middle of the fabric. `mends`: it ends
    with a repair of what it leaves. `hasty`: its few iterations are no fewer where attempts turn in circles.
    """

    number: int
    stretch: int
    placing: float
    routing: float
    central: bool = False
    mends: bool = True
    hasty: bool = False


RECIPES = ((1, 1, 1), (0, 1, 1), (2, 3, 2), (0, 1, 2), (1, 1, 1), (1, 6, 2), (0, 1, 1), (2, 4, 4))
"""Of each usual attempt, in turn: stretch, placing and routing."""

DEAR = ((1, 1, 1), (2, 3, 2))
"""The same where an attempt takes seconds."""

PATIENT = ((0, 10, 1), (1, 10, 1), (0, 30, 1))
"""The same for arrays whose tiles have one output register: conflicts there hardly ever end by other ways,
but ten times the placing leaves half of them."""

HASTE, LARGE, HUGE = ((1, 0.3, 0.06), (0, 0.3, 0.06)), (1, 0.6, 1.0), (1, 0.3, 1.0)
"""The same of attempts that end soon (hasty.py): a fraction of the placing, and few iterations of routing
without progress. Of graphs of more nodes than MANY placing takes most of the time, but where edges reach far:
there negotiation takes ten times as long, and less of that after more placing. HUGE is for the largest."""

SPELL = 16
"""So many of them follow one recipe before those of the next come."""

MANY, MOST = 250, 1000
"""Graphs of more nodes than MANY are those whose attempts take seconds, of more than MOST the largest."""

FIRST_PATIENT, FIRST_HASTY = 100, 1000
"""Numbers from which on attempts are of these kinds, so that none shares its seed with a usual one."""


def usual(nodes: int, k: int) -> Recipe:
    """The k-th of the usual attempts at a graph of so many nodes.

    The first is mended apart, after the search has asked whether there can be mappings at all. In every other
    one arrays begin in the middle, as the first memories may be too near an edge.
    """
    recipes = DEAR if nodes > MANY else RECIPES
    return Recipe(k, *recipes[k % len(recipes)], central=k % 2 == 1, mends=k > 0)


def patient(nodes: int) -> list[Recipe]:
    """The attempts that place for long: one where it takes seconds."""
    some = PATIENT[:1] if nodes > MANY else PATIENT
    return [Recipe(FIRST_PATIENT + k, *one) for k, one in enumerate(some)]


def hasty(nodes: int, k: int) -> Recipe:
    """The k-th of those that end soon."""
    some = HASTE[k // SPELL % len(HASTE)]
    if nodes > MANY:
        some = HUGE if nodes > MOST else LARGE
    return Recipe(FIRST_HASTY + k, *some, mends=False, hasty=True)
