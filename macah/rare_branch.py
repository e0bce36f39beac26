"""What was decided about a rare branch."""

from __future__ import annotations

from dataclasses import dataclass

from backend.dfg import Place


@dataclass(frozen=True, slots=True)
class RareBranch:
    """The branch at a place takes so many more turns; 0: it is predicated as any other.

    `chance`: how often an iteration takes it. `interval` and `cycles` are what was expected of the kernel
    with this decision, in each iteration and on average; `predicated` is its interval without turns.
    """

    where: Place
    turns: int
    chance: float
    predicated: int
    interval: int
    cycles: float
