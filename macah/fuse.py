"""Fuses a multiplication and the addition after it, where that does not lengthen a recurrence.

t = a * b;  s = t + c          ->          s = muladd(a, b, c)
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.dfg import Use
from macah.flow import Flow
from macah.graph import Graph, Value
from macah.ir import Variable


def fuse(graph: Graph, final: Mapping[Variable, Value]) -> None:
    """Change additions of products that nothing else uses, in place."""
    flow = Flow(graph, final)
    for number in sorted(flow.live):
        draft = graph.drafts[number]
        if draft.op != "add":
            continue
        for product, other in (draft.operands, tuple(reversed(draft.operands))):
            if not isinstance(product, Use) or flow.uses[product.node] != 1:
                continue
            # An accumulation would wait for the multiplication in every iteration.
            component = flow.component.get(number)
            waits = component is not None and flow.component_of(other) == component
            factors = graph.drafts[product.node]
            if factors.op == "mul" and not waits:
                draft.op, draft.operands = "muladd", (*factors.operands, other)
                break
