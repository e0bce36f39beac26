"""Decides which rare branches take turns of their own, by what an iteration then takes on average.

A branch whose result the next iteration waits for holds up all iterations, though few take it. With `n`
more turns for those that do (`passes/take_turns.py`), its recurrence may be n + 1 turns long. If it is taken
with a frequency of p, which only EXPECT tells, an iteration takes

    interval(n) * (1 + p * n)

cycles on average instead of interval(0). Both intervals are the lower bounds of the graphs as they would be
mapped. It is assumed that every iteration comes to the condition; if not, turns are even cheaper. Turns do
not help where operations are too many: all of the branch's are there in any case, predicated. A unit that two
exclusive operations share would need selects for their operands, which are operations as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import Place
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled
from macah.passes.pipeline import optimize
from macah.passes.take_turns import is_rare
from macah.todfg import build_dfg
from macah.walk import statements

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)
MOST_BRANCHES = 3
MOST_NODES = 1000
GAIN = 0.95
"""Turns must save so much, as schedules do not always reach their lower bounds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is expected of a kernel: its interval, and the cycles of an iteration on average."""

    interval: int
    cycles: float


def with_turns(kernel: ir.Kernel, fabric: Fabric) -> ir.Kernel:
    """The kernel, with turns for the rare branches that gain by them."""
    if not enabled(kernel, "take_turns") or not any(
        isinstance(stmt, ir.If) and stmt.expect is not None for stmt in _everything(kernel)
    ):
        return kernel
    chances: dict[Place, float] = {}

    def watch(name: str, after: ir.Kernel) -> None:
        if name == "fuse_loops":
            chances.update(_chances(after))

    dfg = build_dfg(optimize(kernel, watch))
    try:
        bounds = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return kernel
    if bounds.recurrence <= bounds.resource or len(dfg.nodes) > MOST_NODES:
        return kernel
    best = Estimate(bounds.mii, bounds.mii)
    for place, _ in sorted(chances.items(), key=lambda item: item[1])[:MOST_BRANCHES]:
        others = kernel.turns
        for count in COUNTS:
            tried = replace(kernel, turns=(*others, (place, count)))
            found = estimate(tried, chances, fabric)
            if found is not None and found.cycles < best.cycles * GAIN:
                kernel, best = tried, found
    return kernel


def estimate(kernel: ir.Kernel, chances: dict[Place, float], fabric: Fabric) -> Estimate | None:
    """What to expect of a kernel whose `turns` are chosen; None if it does not fit."""
    try:
        interval = minimum_interval(build_dfg(optimize(kernel)), fabric).mii
    except DoesNotFit:
        return None
    return Estimate(interval, interval * (1 + sum(chances[place] * count for place, count in kernel.turns)))


def _chances(kernel: ir.Kernel) -> Iterator[tuple[Place, float]]:
    """The rare branches that may have turns, and how often they are taken: a copy of one is one more."""
    found: dict[Place, float] = {}
    for stmt in statements(kernel.body):
        if isinstance(stmt, ir.If) and is_rare(stmt) and stmt.where is not None and stmt.expect:
            found[stmt.where] = found.get(stmt.where, 0.0) + stmt.expect
    yield from found.items()


def _everything(kernel: ir.Kernel) -> Iterator[ir.Stmt]:
    """All statements, those of the functions that are called too."""
    pending, seen = [kernel.body], set[int]()
    while pending:
        for stmt in statements(pending.pop()):
            yield stmt
            if isinstance(stmt, ir.Call) and id(stmt.function) not in seen:
                seen.add(id(stmt.function))
                pending.append(stmt.function.body)
