"""A carried value that is replaced by a smaller one, shortened to its size: as a minimum.

    if (g && s < m) m = (unsigned short) s;      ->      m = g & s < 0 ? s & 0xffff : min(m, g ? s : MAX);

That is one operation from one `m` to the next and a choice that is known early, instead of three.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.dfg import Use
from macah.divide import Builder
from macah.graph import ONE, Draft, Value
from macah.ranges import HALF, WORD
from macah.ranges_of import EXTENSIONS
from macah.rewrite import Rebuilt
from macah.widths import Widths

_MOST_PARTS = 4
_END = {"smin": HALF - 1, "smax": HALF, "umin": WORD, "umax": 0}
"""With which an extreme leaves any other word as it is."""


def clipped(
    widths: Widths, new: Rebuilt, do: Builder[Value], condition: Value, short: Value, kept: Value
) -> Value | None:
    """`condition ? short : kept` if a part of the condition compares `kept` with what `short` is made of."""
    draft = _draft(widths, short)
    if draft is None or draft.op not in EXTENSIONS or not widths.range(kept).within(EXTENSIONS[draft.op]):
        return None
    limits, (whole,) = EXTENSIONS[draft.op], draft.operands
    for guards, comparison in _parts(widths, condition, ()):
        if comparison.op not in ("slt", "ult") or set(comparison.operands) != {whole, kept}:
            continue
        sign, smaller = comparison.op[0], comparison.operands[0] == whole
        if sign == "u" and limits.least < 0:
            return None
        extreme = sign + ("min" if smaller else "max")
        s = new.value(whole)
        guard: Value = ONE
        for part in guards:
            guard = do("and", guard, new.value(part))
        bound = (limits.least if sign == "s" else limits.low) if smaller else limits.most
        far = do(comparison.op, *((s, bound & WORD) if smaller else (bound & WORD, s)))
        near = do(extreme, new.value(kept), do("select", guard, s, _END[extreme]))
        return do("select", do("and", guard, far), new.value(short), near)
    return None


def _parts(
    widths: Widths, condition: Value, guards: tuple[Value, ...]
) -> Iterator[tuple[tuple[Value, ...], Draft]]:
    """Each comparison that is a part of a condition, and the other parts."""
    draft = _draft(widths, condition)
    if draft is None or len(guards) > _MOST_PARTS:
        return
    if draft.op in ("slt", "ult"):
        yield guards, draft
    if draft.op == "and":
        for one, other in (draft.operands, draft.operands[::-1]):
            if widths.range(other).high <= 1:
                yield from _parts(widths, one, (*guards, other))


def _draft(widths: Widths, value: Value) -> Draft | None:
    return widths.drafts[value.node] if isinstance(value, Use) and not value.output else None
