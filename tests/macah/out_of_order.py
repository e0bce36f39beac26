"""Runs a graph in any order that its uses and orders allow, as hardware with odd latencies would."""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping, Sequence

from backend.dfg import DFG, Use
from backend.run_dfg import EXTRA, DFGRun, Machine, run_dfg

DEEP = 12  # so many iterations may one operation be ahead of another


def run_out_of_order(
    dfg: DFG,
    seed: int,
    live_ins: Sequence[int] = (),
    inputs: Mapping[int, Sequence[int]] | None = None,
    memories: Mapping[int, Sequence[int]] | None = None,
    limit: int = 10**6,
) -> DFGRun:
    """What a run leaves in which every node is some random number of iterations early or late."""
    count = run_dfg(dfg, live_ins, inputs, memories, limit).iterations + EXTRA
    machine = _Unrolled(dfg, live_ins, inputs or {}, memories or {})
    source = random.Random(seed)
    delay = [source.choice((0, 0, source.random(), source.uniform(0, DEEP))) for _ in dfg.nodes]
    after: list[list[tuple[int, int]]] = [[] for _ in dfg.nodes]
    for consumer, _, use in dfg.uses():
        after[use.node].append((consumer, use.distance))
    for order in dfg.orders:
        after[order.before].append((order.after, order.distance))
    waiting = [[0] * count for _ in dfg.nodes]
    for follows in after:
        for node, distance in follows:
            for iteration in range(distance, count):
                waiting[node][iteration] += 1
    ready = [(i + delay[n], n, i) for n in range(len(dfg.nodes)) for i in range(count) if not waiting[n][i]]
    heapq.heapify(ready)
    done = 0
    while ready:
        _, node, iteration = heapq.heappop(ready)
        machine.execute(node, iteration)
        done += 1
        for other, distance in after[node]:
            later = iteration + distance
            if later < count:
                waiting[other][later] -= 1
                if not waiting[other][later]:
                    heapq.heappush(ready, (later + delay[other], other, later))
    assert done == count * len(dfg.nodes)
    return DFGRun(
        machine.outputs,
        machine.live_outs,
        dict(enumerate(machine.memories)),
        count - EXTRA,
        frozenset(machine.closed),
    )


class _Unrolled(Machine):
    """All iterations at once."""

    def execute(self, node: int, iteration: int) -> None:
        if not hasattr(self, "made"):
            self.made: dict[tuple[int, int], tuple[int, ...]] = {}
        operands = [
            self.made[o.node, iteration - o.distance][o.output]
            if isinstance(o, Use) and iteration >= o.distance
            else self.operand(o, iteration)
            for o in self.dfg.nodes[node].operands
        ]
        self.made[node, iteration] = self.node(self.dfg.nodes[node], operands)
