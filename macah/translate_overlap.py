"""The check at a kernel's entry that what it captures under two names is not the same memory.

The kernel works on a copy of each, so an update of one would be lost in the other, or undone by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from backend.dfg import DFG
from macah import ir
from macah.names import host_names
from macah.program import walk


@dataclass(slots=True)
class _Use:
    extent: ir.Extent
    written: bool = False


def exposed_names(unit: Any) -> frozenset[str]:
    """The variables whose address is taken anywhere."""
    taken = (n.expr for n in walk(unit) if isinstance(n, c_ast.UnaryOp) and n.op == "&")
    return frozenset(name for node in taken if (name := _base(node)))


def _base(node: Any) -> str:
    while isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.StructRef) and node.type == "."):
        node = node.name
    return str(node.name) if isinstance(node, c_ast.ID) else ""


def overlap_check(kernel: ir.Kernel, dfg: DFG, exposed: frozenset[str]) -> Iterator[str]:
    """The statements that check; none where all is apart. `exposed`: names that pointers may lead to."""
    uses = [use for use in _uses(kernel, dfg) if _may_be_reached(use.extent, exposed)]
    uses = [use for use in uses if any(_may_overlap(use, other) for other in uses)]
    if not uses:
        return
    owners = list(dict.fromkeys(use.extent.owner for use in uses))
    rows = ", ".join(_row(use, owners.index(use.extent.owner)) for use in uses)
    yield f"const struct macah_extent macah_extents[{len(uses)}] = {{{rows}}};"
    place = json.dumps(str(kernel.where or ""))
    yield f"macah_keep_apart({json.dumps(kernel.name)}, {place}, macah_extents, {len(uses)});"


def _uses(kernel: ir.Kernel, dfg: DFG) -> list[_Use]:
    """The memory of the host that a kernel is copied from, or to."""
    written = {*dfg.live_outs, *(memory.name for memory in dfg.memories if memory.captured_out)}
    read = {*dfg.live_ins, *(memory.name for memory in dfg.memories if memory.captured_in)}
    found: dict[tuple[str, str], _Use] = {}
    for name, capture in host_names(kernel).items():
        if not isinstance(capture, ir.Capture) or capture.extent is None or name not in written | read:
            continue
        # The elements of an array may be captured one by one.
        use = found.setdefault((capture.extent.first, capture.extent.last), _Use(capture.extent))
        use.written = use.written or name in written
    return list(found.values())


def _may_be_reached(extent: ir.Extent, exposed: frozenset[str]) -> bool:
    """Whether a pointer may lead there; arrays become pointers without `&`."""
    return extent.reached or "[" in extent.first or extent.name in exposed


def _may_overlap(a: _Use, b: _Use) -> bool:
    is_other = a.extent.owner != b.extent.owner
    return is_other and (a.extent.reached or b.extent.reached) and (a.written or b.written)


def _row(use: _Use, owner: int) -> str:
    extent = use.extent
    bounds = [f"&{extent.first}", f"&{extent.last} + 1"]
    if extent.guard:
        bounds = [f"{extent.guard} ? {bound} : 0" for bound in bounds]
    parts = [f'"{extent.name}"', *bounds, str(owner), str(int(extent.reached)), str(int(use.written))]
    return f"{{{', '.join(parts)}}}"
