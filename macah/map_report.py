"""What `macahc map` says of a mapping."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from backend.bound import Bounds
from backend.mapping import Mapping


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `macahc map` tells.

    `horizon`: the interval is proven to be minimal for schedules that issue an iteration's operations within
    so many cycles; 0: for all. `stages`: so many operations are not the graph's (`backend/staged.py`).
    """

    mapping: Mapping
    bounds: Bounds
    proven: bool
    horizon: int
    seconds: float
    peak_mb: float
    stages: int = 0


def as_json(outcome: Outcome) -> str:
    """One JSON object."""
    found: dict[str, Any] = {
        "ii": outcome.mapping.interval,
        "mii": outcome.bounds.mii,
        "cause": outcome.bounds.binding,
        "proven": outcome.proven,
        "operations": len(outcome.mapping.dfg.nodes),
        "seconds": round(outcome.seconds, 3),
        "peak_mb": round(outcome.peak_mb, 1),
    }
    if outcome.proven:
        found["horizon"] = outcome.horizon or None
    if outcome.stages:
        found["stages"] = outcome.stages
    return json.dumps(found) + "\n"


def as_text(outcome: Outcome) -> str:
    """A table."""
    if outcome.proven:
        proof = "minimal"
        if outcome.horizon:
            proof = f"minimal among schedules that issue all operations within {outcome.horizon} cycles"
    else:
        proof = "not proven to be minimal"
    mapping = outcome.mapping
    operations = str(len(mapping.dfg.nodes))
    if outcome.stages:
        operations += f", {outcome.stages} of which are stages of values that are kept over many iterations"
    rows = (
        ("initiation interval", f"{mapping.interval}, {proof}"),
        ("lower bound", f"{outcome.bounds.mii}: {outcome.bounds.binding}"),
        ("operations", operations),
        ("schedule length", f"{mapping.length} cycles"),
        ("time", f"{outcome.seconds:.3f} s"),
        ("peak memory", f"{outcome.peak_mb:.1f} MB"),
    )
    lines = [f"graph {mapping.dfg.name} on {mapping.fabric.name}"]
    return "\n".join([*lines, *(f"  {name:20}{text}" for name, text in rows)]) + "\n"
