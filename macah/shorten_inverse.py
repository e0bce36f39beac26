"""Finds operands with which an operation gives a wanted result, to move it to before the first iteration.

_ + 1 = 7          ->          6 + 1 = 7
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from arch.ops import OPS, evaluate
from backend.dfg import Const, LiveIn
from macah.graph import WIDTH

Start = Const | LiveIn
_MASK = (1 << WIDTH) - 1
_NEUTRAL = {
    **dict.fromkeys(("add", "sub", "xor", "or", "shl", "shr", "sar", "rotl", "umax"), 0),
    **dict.fromkeys(("and", "umin"), _MASK),
    "mul": 1,
    "smin": _MASK >> 1,
    "smax": (_MASK >> 1) + 1,
    "sdiv": 1,
    "udiv": 1,
}
"""What changes nothing as a second operand (and as a first, if the operation commutes)."""


def neutral(op: str) -> Const | None:
    """The operand with which an operation gives its other one, if there is one."""
    return Const(_NEUTRAL[op]) if op in _NEUTRAL else None


@lru_cache(maxsize=1 << 14)
def operands_for(
    op: str, result: Start, fixed: tuple[Start | None, ...], prefer: tuple[Start | None, ...]
) -> tuple[Start, ...] | None:
    """Operands that give the result, those that are `fixed` among them; those preferred where possible."""
    best: tuple[int, tuple[Start, ...]] | None = None
    for candidate in _candidates(op, result, fixed, prefer):
        if _gives(op, candidate, result):
            changes = sum(p is not None and c != p for c, p in zip(candidate, prefer, strict=True))
            if best is None or changes < best[0]:
                best = (changes, candidate)
            if changes == 0:
                break
    return None if best is None else best[1]


def _gives(op: str, operands: Sequence[Start], result: Start) -> bool:
    if op == "select" and isinstance(operands[0], Const):
        return operands[1 if operands[0].value else 2] == result
    numbers = [o.value for o in operands if isinstance(o, Const)]
    if len(numbers) == len(operands):
        return Const(evaluate(op, WIDTH, *numbers)) == result
    if len(operands) != 2:
        return False
    identity = neutral(op)
    a, b = operands
    return identity is not None and (
        (a == result and b == identity) or (OPS[op].commutative and b == result and a == identity)
    )


def _candidates(
    op: str, result: Start, fixed: Sequence[Start | None], prefer: Sequence[Start | None]
) -> Iterator[tuple[Start, ...]]:
    guesses: list[Start] = [result, Const(0), Const(1), Const(_MASK)]
    identity = neutral(op)
    if identity is not None:
        guesses.append(identity)
    if isinstance(result, Const):
        r = result.value
        others = [value.value for value in (*fixed, *prefer) if isinstance(value, Const)]
        found = [-r, ~r] + [n for k in others for n in (k, k + 1, k - 1, r - k, r + k, k - r, r ^ k)]
        found += [r << (k % WIDTH) for k in others]
        guesses += [Const(n & _MASK) for n in found]
    if op == "select":
        guesses = guesses[:4]
    options = []
    for value, wish in zip(fixed, prefer, strict=True):
        if value is not None:
            options.append([value])
        else:
            options.append(list(dict.fromkeys([*([] if wish is None else [wish]), *guesses])))
    if len(options) == 3 and op == "select":
        options[0] = [o for o in options[0] if isinstance(o, Const) and o.value < 2]
    yield from product(*options)
