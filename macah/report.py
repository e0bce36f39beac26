"""What the mapper made of each kernel, and what limits it, for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from arch.fabric import Kind
from arch.ops import COMPARISONS
from backend.bound import Bounds, minimum_interval
from backend.dfg import DFG, Node, Place, Use
from backend.mapping import Mapping

from .adpc import PseudoConstant
from .diagnostic import source_line

# Names that lowering gives to what these statements decide.
_C_WORDS = frozenset({"if", "for", "while", "do", "switch", "case", "FOR"})


@dataclass(frozen=True, slots=True)
class Usage:
    """How many of each there are, and how many are used at all."""

    units_used: int
    units: int
    registers_used: int
    registers: int
    memories_used: int
    memories: int
    words_used: int
    streams: int


def usage(mapping: Mapping) -> Usage:
    """Counts what a mapping occupies."""
    fabric, placement = mapping.fabric, mapping.placement
    registers = {r.id for r in fabric.resources if r.kind is Kind.REGISTER}
    used = {resource for route in mapping.routes for resource, _ in route.steps}
    return Usage(
        units_used=len(set(placement.unit)),
        units=len(fabric.units),
        registers_used=len(used & registers),
        registers=len(registers),
        memories_used=len({place.bank for place in placement.memory}),
        memories=len(fabric.memories),
        words_used=sum(memory.words for memory in mapping.dfg.memories),
        streams=len(mapping.dfg.streams),
    )


def count_predicates(dfg: DFG) -> int:
    """Operations whose value only ever decides: comparisons, and logic on them."""
    predicates: set[int] = set()
    for _ in range(len(dfg.nodes)):
        before = len(predicates)
        for node in dfg.nodes:
            if node.op in COMPARISONS:
                predicates.add(node.id)
            elif node.op in ("and", "or", "xor", "not"):
                sources = [o.node for o in node.operands if isinstance(o, Use)]
                if sources and all(s in predicates or s == node.id for s in sources):
                    predicates.add(node.id)
        if len(predicates) == before:
            break
    return len(predicates)


def limit(bounds: Bounds) -> str:
    """Which of the two bounds holds the interval up, in one word; "none" if it could not be smaller."""
    if bounds.mii == 1:
        return "none"
    if bounds.resource == bounds.recurrence:
        return "both"
    return "recurrence" if bounds.recurrence > bounds.resource else "resources"


def facts(where: Place, mapping: Mapping) -> dict[str, Any]:
    """One kernel as an object for JSON."""
    dfg = mapping.dfg
    bounds = minimum_interval(dfg, mapping.fabric)
    used = usage(mapping)
    return {
        "name": dfg.name,
        "file": where.file,
        "line": where.line,
        "operations": len(dfg.nodes),
        "ii": mapping.interval,
        "mii": bounds.mii,
        "resource_mii": bounds.resource,
        "recurrence_mii": bounds.recurrence,
        "binding": limit(bounds),
        "binding_text": bounds.binding,
        "schedule_length": mapping.length,
        "selects": sum(node.op == "select" for node in dfg.nodes),
        "predicates": count_predicates(dfg),
        "units_used": used.units_used,
        "units": used.units,
        "registers_used": used.registers_used,
        "registers": used.registers,
        "memories_used": used.memories_used,
        "memories": used.memories,
        "memory_words": used.words_used,
        "streams": used.streams,
        "recurrence": [
            {"operation": dfg.nodes[n].op, "variable": dfg.nodes[n].variable, "line": _line(dfg, n)}
            for n in bounds.cycle
        ],
    }


def report_json(kernels: Sequence[tuple[Place, Mapping]], constants: Sequence[PseudoConstant] = ()) -> str:
    """The report as one JSON object."""
    found = {
        "kernels": [facts(where, mapping) for where, mapping in kernels],
        "pseudo_constants": [
            {
                "name": c.name,
                "function": c.function or None,
                "file": c.where.file,
                "line": c.where.line,
                "value": c.value,
                "minimum": c.minimum,
                "maximum": c.maximum,
            }
            for c in constants
        ],
    }
    return json.dumps(found, indent=2) + "\n"


def report_text(kernels: Sequence[tuple[Place, Mapping]], constants: Sequence[PseudoConstant] = ()) -> str:
    """The report for people."""
    texts = [_kernel_text(where, mapping) for where, mapping in kernels] or ["no kernels\n"]
    if constants:
        texts.append("".join(f"{_constant_text(c)}\n" for c in constants))
    return "\n".join(texts)


def _constant_text(c: PseudoConstant) -> str:
    return (
        f"pseudo-constant {c.key} ({c.where.file}:{c.where.line}) is {c.value}, of {c.minimum} to {c.maximum}"
    )


def _kernel_text(where: Place, mapping: Mapping) -> str:
    f = facts(where, mapping)
    bounds = minimum_interval(mapping.dfg, mapping.fabric)
    lines = [
        f"kernel {f['name']} ({where.file}:{where.line}) on {mapping.fabric.name}",
        f"  operations           {f['operations']}, of them {f['selects']} selects,"
        f" {f['predicates']} predicates",
        f"  initiation interval  {f['ii']}, lower bound {f['mii']}"
        f" (resources {f['resource_mii']}, recurrences {f['recurrence_mii']})",
        f"  bound by             {_binding(mapping, bounds)}",
        f"  schedule length      {f['schedule_length']} cycles",
        f"  units                {f['units_used']} of {f['units']}",
        f"  links and registers  {f['registers_used']} of {f['registers']}",
        f"  memories             {f['memories_used']} of {f['memories']}, {f['memory_words']} words",
        f"  streams              {f['streams']}",
    ]
    return "\n".join(lines) + "\n"


def _binding(mapping: Mapping, bounds: Bounds) -> str:
    """What sets the interval, and for a recurrence its operations with their source lines."""
    which = limit(bounds)
    texts = []
    if which == "none" and mapping.interval == 1:
        texts.append("nothing: an iteration begins in every cycle")
    if which in ("resources", "both"):
        texts.append(f"resources: {bounds.binding}")
    if which in ("recurrence", "both"):
        texts.append(f"a recurrence: {_count(len(bounds.cycle), 'operation')}, one after the other")
    text = f"\n{'':23}and ".join(texts)
    if which in ("recurrence", "both"):
        text += "".join(f"\n    {line}" for line in _steps(mapping.dfg, bounds.cycle))
    if mapping.interval > bounds.mii:
        above = f"placement and routing, {mapping.interval - bounds.mii} above the lower bound"
        text += f"\n{'':23}and {above}" if text else above
    return text


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _steps(dfg: DFG, cycle: Sequence[int]) -> Iterator[str]:
    """The operations of a cycle, those of one source line together, with the text of that line."""
    for where, numbers in groupby(cycle, key=lambda number: dfg.nodes[number].where):
        source = source_line(where) if where else None
        words = [_step(dfg.nodes[number], source or "") for number in numbers]
        place = f"{where.file}:{where.line}: " if where else ""
        yield f"{place}{', '.join(words)}" + (f"  | {' '.join(source.split())}" if source else "")


def _step(node: Node, source: str) -> str:
    """An operation, and the variable that it gives a value, if the source line speaks of it."""
    name = node.variable
    named = name and name.partition(".")[0] not in _C_WORDS and _mentions(source, name.partition(".")[0])
    return f"{node.op} of {name}" if named else node.op


def _mentions(source: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", source) is not None


def _line(dfg: DFG, number: int) -> int | None:
    where = dfg.nodes[number].where
    return where.line if where else None
