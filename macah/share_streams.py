"""Receives and sends that never happen in the same iteration become one, before recurrences are shortened.

    for (c = 0; c < 16; c++) v[c] <? in;
    for (i = 0; i < n; i++) { x <? in; … }            ->          one receive, for either loop in its turn

`share_units` does that with graphs whose recurrences are short. That may be too late: recurrences are made no
shorter than streams allow, and conditions that are known iterations ahead do not tell what excludes what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled
from macah.share_units import relieved_streams

MOST_NODES = 300
"""Larger graphs are left as they are."""

Finish = Callable[[DFG], DFG]


def with_shared_streams(
    kernel: ir.Kernel, dfg: DFG, fabric: Fabric, plain: Callable[[], DFG], finish: Finish
) -> DFG:
    """The graph with fewer operations on streams if its bound is lower then.

    `plain` makes the graph before recurrences are shortened; `finish` does that, and what comes after it.
    """
    crowded = most_moved(dfg)
    if crowded == 1 or len(dfg.nodes) > MOST_NODES:
        return dfg
    if not (enabled(kernel, "share_units") and enabled(kernel, "shorten")):
        return dfg
    try:
        bound = minimum_interval(dfg, fabric).mii
        made = relieved_streams(plain())
        if most_moved(made) >= crowded:
            return dfg
        made = finish(made)
        return made if minimum_interval(made, fabric).mii < bound else dfg
    except DoesNotFit:
        return dfg


def most_moved(dfg: DFG) -> int:
    """How many operations there are on the stream that has most."""
    return max(Counter(n.stream for n in dfg.nodes if n.stream is not None).values(), default=1)
