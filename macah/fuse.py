"""Fuses a multiplication and the addition after it, where that does not lengthen a recurrence.

t = a * b;  s = t + c          ->          s = muladd(a, b, c)
t = a << 3;  s = t + c         ->          s = muladd(a, 8, c)        off recurrences
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.dfg import Const, Use
from macah.flow import Flow
from macah.graph import WIDTH, Draft, Graph, Value
from macah.ir import Variable


def fuse(graph: Graph, final: Mapping[Variable, Value], shifts: bool) -> None:
    """Change additions of products that nothing else uses, in place; `shifts` are products, too."""
    flow = Flow(graph, final)
    for number in sorted(flow.live):
        draft = graph.drafts[number]
        if draft.op != "add":
            continue
        for product, other in (draft.operands, tuple(reversed(draft.operands))):
            if not isinstance(product, Use) or flow.uses[product.node] != 1:
                continue
            factors = _factors(graph.drafts[product.node], shifts)
            if factors is None:
                continue
            # An accumulation would wait for the multiplication in every iteration.
            component = flow.component.get(number)
            waits = component is not None and flow.component_of(other) == component
            if not waits and (component is None or graph.drafts[product.node].op == "mul"):
                draft.op, draft.operands = "muladd", (*factors, other)
                break


def _factors(draft: Draft, shifts: bool) -> tuple[Value, ...] | None:
    match draft.op, draft.operands:
        case "mul", factors:
            return factors
        case "shl", (value, Const(count)) if shifts and count < WIDTH:
            return value, Const(1 << count)
    return None
