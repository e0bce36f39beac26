"""What a variable was some turns of a loop ago, for `bubbles` and `delay_rows`.

x1 = x2 = 0;  do { ... x = ...; ... x2 ... ; x2 = x1; x1 = x; } while (...)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from macah.ir import Assign, Body, Const, Read, Variable
from macah.walk import fresh


@dataclass(frozen=True, slots=True)
class Past:
    """`values` are those of one, two, … turns ago, 0 before the loop.

    `start` belongs before the loop and `steps` at the end of its body.
    """

    values: tuple[Variable, ...]
    start: Body
    steps: Body


def past(variable: Variable, count: int, like: Callable[[Variable], Variable] = fresh) -> Past:
    """The values of a variable in up to `count` turns before; `like` makes variables that hold them."""
    values = tuple(like(variable) for _ in range(count))
    steps = [Assign(old, Read(newer)) for newer, old in pairwise((variable, *values))]
    return Past(values, tuple(Assign(v, Const(0, v.bits)) for v in values), tuple(reversed(steps)))
