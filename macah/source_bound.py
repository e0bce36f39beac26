"""How short the interval of a kernel can be at all, from its source: whatever passes make of its loops.

    for (i = 0; i < n; i++) { h[x[i]] = h[x[i]] + 1; }          1 or more: + and a choice between two values

A bound is what cycles of dependences need (`macah/source_graph.py`), each operation at the least that it can
cost (`macah/source_cost.py`), divided by the iterations of innermost loops around the cycle; and what ports
and units need for an iteration. No interval is shorter as long as an iteration of an innermost loop is an
iteration of the flat loop: unrolling changes the loop, and so does leaving iterations empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arch.fabric import Fabric
from backend.dfg import Place
from macah import ir
from macah.passes.complete_stores import complete_stores
from macah.passes.find_sites import find_sites
from macah.passes.invert_loops import invert_loops
from macah.passes.pipeline import PIPELINE
from macah.source_graph import SourceGraph
from macah.source_recurrences import recurrences
from macah.source_resources import source_resources

BEGUN = (1, 4)
"""For so many iterations ahead, either outcome of a choice may be prepared."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on a recurrence, and the variable that it gives a value."""

    op: str
    variable: str | None
    where: Place | None


@dataclass(frozen=True, slots=True)
class SourceBound:
    """The least interval: what recurrences and resources need, and the operations of one that binds.

    `loops` are the places of the loops.
    """

    recurrence: int
    resource: int
    steps: tuple[Step, ...]
    binding: str
    loops: tuple[Place, ...]

    @property
    def interval(self) -> int:
        """The least interval."""
        return max(self.recurrence, self.resource)


def source_bound(kernel: ir.Kernel, fabric: Fabric) -> SourceBound:
    """The bound of a kernel as it comes from `lower`."""
    found = SourceGraph(complete_stores(find_sites(_structured(kernel))))
    recurrence, cycle = recurrences(found, fabric)
    drafts = found.graph.drafts
    steps = tuple(Step(drafts[n].op, drafts[n].variable, drafts[n].where) for n in cycle)
    resource, binding = source_resources(found, fabric)
    places = tuple(loop.where for loop in found.loops if loop.where is not None)
    return SourceBound(recurrence, resource, steps, binding, places)


def _structured(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with loops and branches as they are written, but without calls, jumps and `while`."""
    kernel = replace(kernel, tests_first=())
    for step in PIPELINE:
        if step.name not in kernel.without:
            kernel = step.run(kernel)
        if step.run is invert_loops:
            break
    return kernel
