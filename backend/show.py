"""A mapping as text: which unit does what in which slot, and the way of every value."""

from __future__ import annotations

from arch.layout import LETTERS

from .dfg import Node, Use
from .mapping import Mapping


def show_mapping(mapping: Mapping) -> str:
    """The mapping as a table of units by slots, followed by its arrays and routes."""
    fabric, placement = mapping.fabric, mapping.placement
    lines = [
        f"mapping {mapping.dfg.name} on {fabric.name}: interval {mapping.interval},"
        f" {mapping.length} cycles an iteration, {len(mapping.dfg.nodes)} operations"
    ]
    for memory, place in zip(mapping.dfg.memories, placement.memory, strict=True):
        bank = fabric.memories[place.bank].name
        lines.append(f"  array {memory.name}: {bank}[{place.base}..{place.base + memory.words})")
    lines += _table(mapping)
    lines.append("routes: value -> operand of reader, then resource@cycle")
    for route in sorted(mapping.routes, key=lambda r: (r.consumer, r.position)):
        use = mapping.dfg.nodes[route.consumer].operands[route.position]
        assert isinstance(use, Use)
        value = f"%{use.node}" + (f".{use.output}" if use.output else "")
        steps = " ".join(f"{fabric.resources[r].name}@{cycle}" for r, cycle in route.steps)
        lines.append(f"  {value} -> %{route.consumer}.{LETTERS[route.position]}: {steps}")
    return "\n".join(lines) + "\n"


def _table(mapping: Mapping) -> list[str]:
    """One line for each unit that does something, one column for each slot."""
    placement = mapping.placement
    cells: dict[int, list[str]] = {}
    for node in mapping.dfg.nodes:
        start = placement.schedule.start[node.id]
        row = cells.setdefault(placement.unit[node.id], ["."] * mapping.interval)
        row[start % mapping.interval] = _cell(mapping, node, start)
    head = ["unit"] + [f"slot {slot}" for slot in range(mapping.interval)]
    body = [[mapping.fabric.units[u].name, *cells[u]] for u in sorted(cells)]
    widths = [max(len(row[k]) for row in (head, *body)) for k in range(len(head))]
    return [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *body)
    ]


def _cell(mapping: Mapping, node: Node, start: int) -> str:
    name = node.op
    if node.stream is not None:
        name += " " + mapping.dfg.streams[node.stream].name
    if node.memory is not None:
        name += " " + mapping.dfg.memories[node.memory].name
    return f"{start}: %{node.id} {name}"
