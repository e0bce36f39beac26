"""A graph with all that is done about its recurrences."""

from __future__ import annotations

from backend.dfg import DFG
from macah import ir
from macah.capacity import Capacity
from macah.closing_sends import with_closing_sends
from macah.exact_orders import with_exact_orders
from macah.optional import enabled
from macah.shorten import bound, shorten
from macah.tabulate import tabulated


def with_short_recurrences(kernel: ir.Kernel, dfg: DFG, capacity: Capacity) -> DFG:
    """The graph with shorter recurrences, and with tables where these make it shorter still."""
    dfg = with_closing_sends(kernel, dfg, capacity)
    dfg = with_exact_orders(dfg, capacity) if enabled(kernel, "exact_orders") else dfg
    best = shorten(dfg, capacity)
    told = tabulated(dfg, best, capacity) if enabled(kernel, "tabulate") else None
    if told is not None and bound(told := shorten(told, capacity), capacity) < bound(best, capacity):
        return told
    return best
