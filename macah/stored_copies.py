"""Copies of arrays that are stored to, where loads would become one for want of ports.

    phase 1: s[y][x] = s[y - 1][x] + row;
    phase 2: o = s[a][b] - s[c][b] - s[a][d] + s[c][d];

Of the five loads, one may be the load of either phase. Then what phase 1 waits for is also what phase 2 loads
just behind the last store. With copies, each of them with all stores, the loads stay apart: stores alone
become as few as can be, as each takes a port of all copies.
"""

from __future__ import annotations

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.copies import with_copies
from macah.optional import enabled
from macah.share_ports import MOST_NODES
from macah.share_units import with_joined_stores, with_shared_units


def with_stored_copies(kernel: ir.Kernel, best: DFG, apart: DFG, fabric: Fabric) -> DFG:
    """The best graph, or the one with nothing joined yet with copies, if its bound is lower then."""
    if not (enabled(kernel, "copies") and enabled(kernel, "share_units")) or len(apart.nodes) > MOST_NODES:
        return best
    try:
        reached, before = minimum_interval(best, fabric).mii, minimum_interval(apart, fabric)
        if before.resource == 1 or before.recurrence >= reached:
            return best
        stores_joined = with_joined_stores(apart)
        copied = with_copies(kernel, stores_joined, fabric, stored=True)
        if copied is stores_joined:
            return best
        made = with_shared_units(kernel, copied, fabric)
        return made if minimum_interval(made, fabric).mii < reached else best
    except DoesNotFit:
        return best
