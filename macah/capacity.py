"""What an architecture can do in a cycle, roughly: enough to tell whether shorter recurrences would help."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from arch.fabric import Fabric
from backend.dfg import DFG
from macah.balance import latency

EASY = 128
"""Graphs of so many nodes are mapped to full arrays, too."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """So many operations, and accesses to one memory; those of `grid8x8` where nothing is known.

    `multiplies`: whatever can add can multiply and add, in no more cycles than shift and add. `memories`: so
    many there are for arrays and copies of them (`macah/copies.py`); 0 if arrays get no copies. `slowest`:
    graphs whose recurrences take more cycles are left so, if that is known, and `most`: those of more
    operations. `least`: intervals below are of no use. `sends_and_closes`: ports can do both at once.
    `patient`: shorter recurrences are looked for longer. `fabric`: whose latencies are known.
    """

    units: int = 64
    ports: int = 2
    multiplies: bool = True
    memories: int = 0
    slowest: int | None = None
    most: int | None = None
    least: int = 1
    sends_and_closes: bool = True
    patient: bool = False
    fabric: Fabric | None = field(default=None, compare=False)

    def latencies(self, dfg: DFG) -> dict[str, int]:
        """The cycles that the operations of a graph take, or a guess."""
        cycles = self.fabric.latency if self.fabric else latency
        return {op: cycles(op) for op in {node.op for node in dfg.nodes}}

    def least_interval(self, dfg: DFG) -> int:
        """What units, streams and memories allow, and what is of use."""
        streams = Counter(node.stream for node in dfg.nodes if node.stream is not None)
        words = max(streams.values(), default=1)
        return max(self.least, words, -(-len(dfg.nodes) // self.units), self._memory_interval(dfg))

    def roomy_interval(self, dfg: DFG) -> int:
        """That in which half of the units do all operations: large graphs are hard to map to more."""
        return -(-2 * len(dfg.nodes) // self.units) if len(dfg.nodes) > EASY else 1

    def _memory_interval(self, dfg: DFG) -> int:
        """What the ports of memories allow: each copy of an array gets all stores and some of the loads."""
        stores = Counter(node.memory for node in dfg.nodes if node.op == "store")
        loads = Counter(node.memory for node in dfg.nodes if node.op == "load")
        arrays = [(stores[memory], loads[memory]) for memory in stores | loads]
        whole = max((-(-sum(counts) // self.ports) for counts in arrays), default=1)
        return 1 + bisect_left(range(1, whole), True, key=partial(self._have_room, arrays))

    def _have_room(self, arrays: list[tuple[int, int]], interval: int) -> bool:
        """Whether there are memories for these numbers of stores and loads, with copies for loads."""
        room = self.ports * interval
        if any(stored + bool(loaded) > room for stored, loaded in arrays):
            return False
        copies = [-(-loaded // (room - stored)) if loaded else 1 for stored, loaded in arrays]
        return sum(copies) <= self.memories


GRID = Capacity()


def capacity_of(fabric: Fabric | None) -> Capacity:
    """That of an architecture."""
    if fabric is None:
        return GRID
    ports = max((len(bank.ports) for bank in fabric.memories), default=1)
    adders = fabric.units_for("add")
    slow = fabric.latency("muladd") > fabric.latency("shl") + fabric.latency("add")
    multiplies = set(adders) <= set(fabric.units_for("muladd"))
    return Capacity(
        max(1, len(adders)),
        ports,
        multiplies and not slow,
        len(fabric.memories),
        sends_and_closes=set(fabric.units_for("send")) <= set(fabric.units_for("send_close")),
        fabric=fabric,
    )
