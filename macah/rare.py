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

from collections.abc import Iterable, Iterator
from dataclasses import replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import Place
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled
from macah.passes.pipeline import optimize
from macah.passes.take_turns import is_rare
from macah.rare_branch import RareBranch
from macah.todfg import build_dfg
from macah.walk import statements

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)
MOST_BRANCHES = 3
MOST_NODES = 400
GAIN = 0.95
"""Turns must save 5 %, as schedules do not always reach their lower bounds."""


def with_turns(kernel: ir.Kernel, fabric: Fabric) -> ir.Kernel:
    """The kernel with a decision about each rare branch."""
    if not enabled(kernel, "take_turns") or not any(
        isinstance(stmt, ir.If) and stmt.expect is not None for stmt in _everything(kernel)
    ):
        return kernel
    chances: dict[Place, float] = {}

    def watch(name: str, after: ir.Kernel) -> None:
        if name == "fuse_loops":
            chances.update(_chances(after))

    dfg = build_dfg(optimize(kernel, watch), fabric)
    try:
        bounds = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return kernel
    plain = bounds.mii
    counts = COUNTS if bounds.recurrence > bounds.resource and len(dfg.nodes) <= MOST_NODES else ()
    rarest = sorted(chances.items(), key=lambda item: item[1])
    interval, cycles = plain, float(plain)
    for place, chance in rarest[:MOST_BRANCHES]:
        best = RareBranch(place, 0, chance, plain, interval, cycles)
        for count in counts:
            if count > 2 * best.turns + 2:
                break  # more turns have stopped helping
            tried = replace(best, turns=count)
            found = _interval(replace(kernel, rare=(*kernel.rare, tried)), fabric)
            cost = expected_cycles(found, (*kernel.rare, tried))
            if cost < best.cycles * GAIN:
                best = replace(tried, interval=found, cycles=cost)
        kernel = replace(kernel, rare=(*kernel.rare, best))
        interval, cycles = best.interval, best.cycles
    return kernel


def expected_cycles(interval: int, rare: Iterable[RareBranch]) -> float:
    """What an iteration takes on average."""
    return interval * (1 + sum(branch.chance * branch.turns for branch in rare))


def rare_text(branch: RareBranch) -> str:
    """A decision, for people."""
    place = f"{branch.where.file}:{branch.where.line}, taken by {branch.chance:.1%} of the iterations"
    if not branch.turns:
        return f"{place}, is predicated"
    return (
        f"{place}, takes {branch.turns} more turns: an interval of {branch.interval} instead of"
        f" {branch.predicated}, {branch.cycles:.1f} cycles on average"
    )


def _interval(kernel: ir.Kernel, fabric: Fabric) -> int:
    """The lower bound of the interval; the largest if the kernel does not fit at all."""
    try:
        return minimum_interval(build_dfg(optimize(kernel), fabric), fabric).mii
    except DoesNotFit:
        return fabric.max_interval


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
