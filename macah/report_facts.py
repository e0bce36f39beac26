"""What the mapper made of a kernel, and what limits it, as an object for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from arch.fabric import Kind
from arch.ops import COMPARISONS
from backend.bound import Bounds, minimum_interval
from backend.core import tightened
from backend.dfg import DFG, Node, Place, Use
from backend.flat import Problem
from backend.mapping import Mapping

from .advice import Advice, advice
from .answers import answered
from .ir import Kernel
from .refusal import Refusal
from .refusals import refusal_text, refusals
from .source_bound import SourceBound, Step, source_bound
from .tabulate import control_tables
from .whole import done_at_once
from .why import Recurrence, Why, why
from .why_text import meeting_text


@dataclass(frozen=True, slots=True)
class Usage:
    """How many of each there are, and how many are used at all. `bits` are links and registers of one bit."""

    units_used: int
    units: int
    registers_used: int
    registers: int
    bits_used: int
    bits: int
    memories_used: int
    memories: int
    words_used: int
    streams: int


def usage(mapping: Mapping) -> Usage:
    """Counts what a mapping occupies."""
    fabric, placement = mapping.fabric, mapping.placement
    # Of settings, one at most is used.
    steps = {resource for route in mapping.routes for resource, _ in route.steps}
    used = [fabric.resources[step] for step in steps if fabric.resources[step].kind is Kind.REGISTER]
    bits = sum(resource.narrow for resource in used)
    return Usage(
        units_used=len(set(placement.unit)),
        units=len(fabric.units),
        registers_used=len(used) - bits,
        registers=fabric.registers_of(narrow=False),
        bits_used=bits,
        bits=fabric.registers_of(narrow=True),
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


@dataclass(frozen=True)
class Account:
    """A kernel, what it was when it had been lowered, and what became of it."""

    where: Place
    lowered: Kernel
    mapping: Mapping
    automatic: bool = True  # loops may get copies of their bodies that nobody asked for
    keep: bool = False  # advice, for the next report

    @cached_property
    def bounds(self) -> Bounds:
        """What is known to be impossible, crowded recurrences too, up to what was reached."""
        dfg, fabric = self.mapping.dfg, self.mapping.fabric
        return tightened(minimum_interval(dfg, fabric), Problem(dfg, fabric), self.mapping.interval)

    @cached_property
    def source(self) -> SourceBound:
        return source_bound(self.lowered, self.mapping.fabric)

    @cached_property
    def why(self) -> Why:
        return why(self.mapping.dfg, self.mapping.fabric)

    @cached_property
    def advice(self) -> Advice | None:
        """What would lower the interval, if it is not 1."""
        if self.mapping.interval == 1:
            return None
        dfg, fabric = self.mapping.dfg, self.mapping.fabric
        made = partial(advice, self.lowered, dfg, fabric, self.why, self.source)
        if not self.keep:
            return made()
        return answered("advice", (self.lowered, dfg, fabric.digest), (), made, names_lines=True)

    @cached_property
    def refusals(self) -> list[Refusal]:
        """What was not converted, once where the same is said of all banks of an array."""
        arrays = {resource.name for resource in self.why.resources if resource.kind == "array"}
        found: dict[str, Refusal] = {}
        for refusal in refusals(self.lowered, arrays, self.automatic):
            found.setdefault(refusal_text(refusal), refusal)
        return list(found.values())


def limit(found: Why) -> str:
    """What holds the interval up, in one word; "none" if it could not be smaller."""
    if not found.recurrences and not found.resources:
        return "none"
    if found.recurrences and found.resources:
        return "both"
    return "recurrence" if found.recurrences else "resources"


def facts(account: Account) -> dict[str, Any]:
    """One kernel as an object for JSON."""
    where, mapping, bounds = account.where, account.mapping, account.bounds
    dfg, used = mapping.dfg, usage(mapping)
    return {
        "name": dfg.name,
        "file": where.file,
        "line": where.line,
        "operations": len(dfg.nodes),
        "ii": mapping.interval,
        "mii": bounds.mii,
        "resource_mii": bounds.resource,
        "recurrence_mii": bounds.recurrence,
        # Where ranges of values show more than the bound of the source knows, that may be undercut.
        "source_bound": min(account.source.interval, bounds.mii),
        "source_resource_bound": account.source.resource,
        "source_recurrence_bound": account.source.recurrence,
        "bubbles": account.lowered.bubbles,
        "rare_branches": [
            {
                "file": branch.where.file,
                "line": branch.where.line,
                "expected": branch.chance,
                "turns": branch.turns,
                "ii_predicated": branch.predicated,
                "cycles_per_iteration": branch.cycles,
            }
            for branch in account.lowered.rare
        ],
        "binding": limit(account.why),
        "binding_text": bounds.binding,
        "copies": [
            {"file": place.file, "line": place.line, "copies": copies or "all"}
            for place, copies in account.lowered.unroll
        ],
        "partitioned": list(account.lowered.partitioned),
        "not_unrolled": [{"file": place.file, "line": place.line} for place in account.lowered.rolled],
        "by_turns": account.lowered.by_turns,
        "control_tables": [{"array": m.name, "words": m.words} for m in control_tables(dfg)],
        "at_once": [
            {"file": place.file, "line": place.line, "iterations": count}
            for place, count in done_at_once(account.lowered)
        ],
        "empty_between_rows": account.lowered.delay,
        "least_row": account.lowered.row,
        "receives_once": account.lowered.once,
        "schedule_length": mapping.length,
        "selects": sum(node.op == "select" for node in dfg.nodes),
        "predicates": count_predicates(dfg),
        "units_used": used.units_used,
        "units": used.units,
        "registers_used": used.registers_used,
        "registers": used.registers,
        "bit_registers_used": used.bits_used,
        "bit_registers": used.bits,
        "memories_used": used.memories_used,
        "memories": used.memories,
        "memory_words": used.words_used,
        "streams": used.streams,
        "recurrence": [_operation(dfg.nodes[n]) for n in bounds.cycle],
        "source_recurrence": [_operation(step) for step in account.source.steps],
        "recurrences": [_recurrence(found) for found in account.why.recurrences],
        "resources": [
            {"kind": r.kind, "name": r.name, "needed": r.needed, "available": r.available}
            for r in account.why.resources
        ],
        "change": _advice(account.advice),
        "not_converted": [_refusal(refusal) for refusal in account.refusals],
    }


def _advice(found: Advice | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "ii": found.interval,
        "iterations": found.iterations,
        "kinds": list(found.kinds),
        "text": found.text,
        "tried": list(found.tried),
    }


def _operation(step: Node | Step) -> dict[str, Any]:
    return {"operation": step.op, "variable": step.variable, **_place(step.where)}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    touches = [(touch.name, touch.stores, touch.where) for touch in refusal.touches]
    return {
        "kind": refusal.kind,
        "name": refusal.name or None,
        "places": [_place(where) for where in (refusal.where, refusal.other) if where],
        "accesses": [{"of": name, "stores": stores, **_place(where)} for name, stores, where in touches],
        "text": refusal_text(refusal),
    }


def _place(place: Place | None) -> dict[str, Any]:
    return {"file": place.file if place else None, "line": place.line if place else None}


def _recurrence(found: Recurrence) -> dict[str, Any]:
    return {
        "cycles": found.cycles,
        "distance": found.distance,
        "operations": [_operation(node) for node in found.nodes],
        "orders": [
            {
                "of": meeting.name,
                "before": _operation(meeting.before),
                "after": _operation(meeting.after),
                "distance": meeting.distance,
                "text": meeting_text(meeting) if meeting.before.memory is not None else None,
            }
            for meeting in found.meetings
        ],
    }
