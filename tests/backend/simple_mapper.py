"""A small mapper for tests of what comes after mapping: any legal mapping will do, and odd ones are welcome.

It places one node after the other, at random among the units and the next cycles, with its routes.
"""

from __future__ import annotations

import random

from arch.fabric import Fabric, Kind
from backend.dfg import DFG, Use, evaluation_order
from backend.mapping import Mapping, MemoryPlace, Placement, Route, Schedule

Signal = tuple[int, int, int]  # node, output, cycle


class _Stuck(Exception):
    pass


def simple_map(dfg: DFG, fabric: Fabric, seed: int = 1, interval: int = 1, window: int = 12) -> Mapping:
    """A mapping with at least `interval` slots."""
    rng = random.Random(seed)
    while interval <= fabric.max_interval:
        for _ in range(3):
            try:
                return _Attempt(dfg, fabric, interval, rng, window).run()
            except _Stuck:
                pass
        interval += 1
    raise AssertionError(f"{dfg.name} cannot be mapped simply")


class _Attempt:
    def __init__(self, dfg: DFG, fabric: Fabric, interval: int, rng: random.Random, window: int) -> None:
        self.dfg, self.fabric, self.interval, self.rng, self.window = dfg, fabric, interval, rng, window
        self.start: dict[int, int] = {}
        self.unit: dict[int, int] = {}
        self.bank: dict[int, MemoryPlace] = {}
        self.filled = [0] * len(fabric.memories)
        self.stream_unit: dict[int, int] = {}
        self.issued: set[tuple[int, int]] = set()
        self.busy: dict[tuple[int, int], Signal] = {}
        self.routes: list[Route] = []

    def run(self) -> Mapping:
        for node in evaluation_order(self.dfg):
            self.place(node)
        order = range(len(self.dfg.nodes))
        schedule = Schedule(self.dfg, self.interval, tuple(self.start[n] for n in order))
        for m in range(len(self.dfg.memories)):  # those without operations
            if m not in self.bank:
                self.keep(m, next(bank for bank in range(len(self.filled)) if self.has_room(m, bank)))
        memory = tuple(self.bank[m] for m in range(len(self.dfg.memories)))
        placement = Placement(schedule, self.fabric, tuple(self.unit[n] for n in order), memory)
        return Mapping(placement, tuple(sorted(self.routes, key=lambda r: (r.consumer, r.position))))

    def latency(self, node: int) -> int:
        return self.fabric.units[self.unit[node]].latency[self.dfg.nodes[node].op]

    def place(self, node: int) -> None:
        units = [u for u in self.fabric.units_for(self.dfg.nodes[node].op) if self.allowed(node, u)]
        self.rng.shuffle(units)
        first, last = 0, 10**6
        for use in self.dfg.nodes[node].operands:
            if isinstance(use, Use) and use.node in self.start:
                ready = self.start[use.node] + self.latency(use.node) - 1 - use.distance * self.interval
                first = max(first, ready)
        for o in self.dfg.orders:
            if o.after == node and o.before in self.start:
                first = max(first, self.start[o.before] + o.delay - o.distance * self.interval)
            if o.before == node and o.after in self.start:
                last = min(last, self.start[o.after] - o.delay + o.distance * self.interval)
        for cycle in range(first, min(last, first + self.window) + 1):
            for unit in units[:20]:
                if self.try_at(node, unit, cycle):
                    return
        raise _Stuck

    def allowed(self, node: int, unit: int) -> bool:
        n = self.dfg.nodes[node]
        if n.memory is not None and n.memory in self.bank:
            return self.fabric.units[unit].memory == self.bank[n.memory].bank
        if n.memory is not None:
            bank = self.fabric.units[unit].memory
            return bank is not None and self.has_room(n.memory, bank)
        if n.stream is not None:
            mine = self.stream_unit.get(n.stream)
            return unit == mine if mine is not None else unit not in self.stream_unit.values()
        return True

    def has_room(self, memory: int, bank: int) -> bool:
        return self.filled[bank] + self.dfg.memories[memory].words <= self.fabric.memories[bank].words

    def keep(self, memory: int, bank: int) -> None:
        self.bank[memory] = MemoryPlace(bank, self.filled[bank])
        self.filled[bank] += self.dfg.memories[memory].words

    def try_at(self, node: int, unit: int, cycle: int) -> bool:
        n = self.dfg.nodes[node]
        if (unit, cycle % self.interval) in self.issued:
            return False
        before = dict(self.busy), list(self.routes)
        self.start[node], self.unit[node] = cycle, unit
        if self.claim(node) and all(self.route(*use) for use in self.ready_uses(node)):
            self.issued.add((unit, cycle % self.interval))
            if n.stream is not None:
                self.stream_unit[n.stream] = unit
            if n.memory is not None and n.memory not in self.bank:
                bank = self.fabric.units[unit].memory
                assert bank is not None
                self.keep(n.memory, bank)
            return True
        del self.start[node], self.unit[node]
        self.busy, self.routes = before
        return False

    def claim(self, node: int) -> bool:
        """Occupy the node's results."""
        cycle = self.start[node] + self.latency(node) - 1
        op = self.dfg.nodes[node].op
        for output, result in enumerate(self.fabric.units[self.unit[node]].results[op]):
            if not self.take(result, cycle, (node, output, cycle)):
                return False
        return True

    def take(self, resource: int, cycle: int, signal: Signal) -> bool:
        return self.busy.setdefault((resource, cycle % self.interval), signal) == signal

    def free(self, resource: int, cycle: int, signal: Signal) -> bool:
        return self.busy.get((resource, cycle % self.interval), signal) == signal

    def ready_uses(self, node: int) -> list[tuple[int, int, Use]]:
        return [
            (consumer, position, use)
            for consumer, position, use in self.dfg.uses()
            if node in (consumer, use.node) and consumer in self.start and use.node in self.start
        ]

    def route(self, consumer: int, position: int, use: Use) -> bool:
        """Breadth first over (resource, cycle), then occupy the way found."""
        op = self.dfg.nodes[use.node].op
        source = self.fabric.units[self.unit[use.node]].results[op][use.output]
        cycle = self.start[use.node] + self.latency(use.node) - 1
        target = self.fabric.units[self.unit[consumer]].operands[position]
        end = self.start[consumer] + use.distance * self.interval
        came: dict[tuple[int, int], tuple[int, int] | None] = {(source, cycle): None}
        queue = [(source, cycle)]
        for here, now in queue:
            if (here, now) == (target, end):
                break
            sinks = list(self.fabric.sinks[here])
            self.rng.shuffle(sinks)
            for there in sinks:
                then = now + self.fabric.cost(there)
                operand = self.fabric.resources[there].kind is Kind.OPERAND
                if then > end or (there, then) in came or (operand and (there, then) != (target, end)):
                    continue
                signal = (use.node, use.output, then)
                key = (-1 - consumer, position, then) if operand else signal
                if self.free(there, then, key) and not self.wraps(came, (here, now), there, then):
                    came[there, then] = here, now
                    queue.append((there, then))
        if (target, end) not in came:
            return False
        steps: list[tuple[int, int]] = []
        step: tuple[int, int] | None = (target, end)
        while step is not None:
            steps.append(step)
            step = came[step]
        for resource, when in steps[1:]:
            assert self.take(resource, when, (use.node, use.output, when))
        assert self.take(target, end, (-1 - consumer, position, end))
        self.routes.append(Route(consumer, position, tuple(reversed(steps))))
        return True

    def wraps(
        self,
        came: dict[tuple[int, int], tuple[int, int] | None],
        step: tuple[int, int] | None,
        there: int,
        then: int,
    ) -> bool:
        """Whether the way to `step` was already in `there` in the same slot, an interval earlier."""
        while step is not None:
            if step[0] == there and (step[1] - then) % self.interval == 0:
                return True
            step = came[step]
        return False
