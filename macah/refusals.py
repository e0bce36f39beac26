"""What was not converted and why, in the words of who wrote it: loops and arrays that stayed as they were.

    loops at p.macah:5 and p.macah:9 are not joined: 'a[i + 1]' (line 10) may be what 'a[i]' (line 6)
    changes in a later iteration

The passes themselves say so when they are asked; this asks them again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from macah import ir
from macah.body_copies import copyable, innermost
from macah.loop_trips import Streams, loop_trips
from macah.optional import enabled
from macah.passes.bank_plan import not_banked
from macah.passes.join_loops import not_joined
from macah.passes.pipeline import opened, optimize
from macah.passes.scalarize_arrays import kept_arrays
from macah.refusal import Refusal, Touch
from macah.sources import source_name
from macah.spread import MOST_STATEMENTS
from macah.trials import GAIN
from macah.walk import statements
from macah.whole import without
from macah.why_text import element_text


def refusals(kernel: ir.Kernel, binding: Container[str] = (), automatic: bool = True) -> list[Refusal]:
    """What the passes left of a lowered kernel.

    `binding` are the arrays whose ports bind the interval; `automatic`: loops get copies without being named.
    """
    stages: dict[str, ir.Kernel] = {"lower": kernel}
    first: dict[str, ir.Kernel] = {}

    def watch(name: str, after: ir.Kernel) -> None:
        first.setdefault(name, after)
        stages[name] = after

    optimize(kernel, watch)
    found = [*_unrolling(kernel, automatic)]
    if enabled(kernel, "scalarize_arrays"):
        kept = kept_arrays(stages["scalarize_arrays"], first["scalarize_arrays"])
        found += [refusal for refusal in kept if source_name(refusal.name) not in kernel.partitioned]
    if enabled(kernel, "bank_arrays"):
        names = dict.fromkeys(refusal.name for refusal in found if refusal.name in binding)
        found += [refusal for name in names if (refusal := not_banked(stages["invert_loops"], name))]
    if enabled(kernel, "join_loops"):
        before = next(name for name in ("receive_once", "invert_loops") if name in stages)
        found += not_joined(stages[before])
    return list(dict.fromkeys(found))


def _unrolling(kernel: ir.Kernel, automatic: bool) -> Iterator[Refusal]:
    if not enabled(kernel, "unroll_loops"):
        return
    plain, asked = opened(kernel), dict(kernel.unroll)
    large = sum(1 for _ in statements(plain.body)) > MOST_STATEMENTS
    left = without(loop_trips(plain), {place for place, copies in asked.items() if copies == 0})
    for loop in innermost(left):
        if loop.where is None or loop.where in asked:
            continue
        if not automatic:
            why = "only loops that are named get copies"
        elif large:
            why = f"the kernel has more than {MOST_STATEMENTS} statements"
        elif loop.streams is not Streams.NONE:
            why = "it uses streams, and copies would wait for more elements at once"
        elif not copyable(loop):
            why = "how often it runs is not known when it begins"
        else:
            why = f"copies do not save {100 - round(100 * GAIN)} % of the cycles, as far as the bounds tell"
        yield Refusal("unrolling", loop.where, why)


def refusal_text(refusal: Refusal) -> str:
    """One refusal as a sentence without its full stop."""
    at, why = f"{refusal.where.file}:{refusal.where.line}" if refusal.where else "?", refusal.why
    touches = [_touch(touch) for touch in refusal.touches]
    name = source_name(refusal.name)
    match refusal.kind:
        case "fusion":
            other = refusal.other
            there = f"{other.file}:{other.line}" if other else "?"
            if touches:
                verbs = ["changes" if touch.stores else "needs" for touch in refusal.touches]
                why = (
                    f"{touches[1]}, which the second one {verbs[1]}, may be what the first one"
                    f" {verbs[0]} as {touches[0]} in a later iteration"
                )
            return f"loops at {at} and {there} are not joined: {why}"
        case "unrolling":
            return f"the loop at {at} gets no copies of its body: {why}"
        case "scalarization":
            return f"array '{name}' is in a memory: " + (
                f"the index of {touches[0]} is not constant" if touches else f"it {why}"
            )
        case _:
            return f"array '{name}' is not spread over banks: " + (
                f"which one {touches[0]} is in changes from iteration to iteration" if touches else why
            )


def _touch(touch: Touch) -> str:
    line = f" (line {touch.where.line})" if touch.where else ""
    return element_text(touch.name, touch.stores, touch.where) + line
