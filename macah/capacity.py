"""What an architecture can do in a cycle, roughly: enough to tell whether shorter recurrences would help."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arch.fabric import Fabric
from backend.dfg import DFG


@dataclass(frozen=True, slots=True)
class Capacity:
    """So many operations, and accesses to one memory; those of `grid8x8` where nothing is known.

    `multiplies`: whatever can add can multiply and add, in no more cycles than shift and add.
    """

    units: int = 64
    ports: int = 2
    multiplies: bool = True

    def least_interval(self, dfg: DFG) -> int:
        """What units, streams and memories allow."""
        counts = Counter((node.stream, node.memory) for node in dfg.nodes)
        del counts[None, None]
        loads = [-(-n // (self.ports if stream is None else 1)) for (stream, _), n in counts.items()]
        return max([1, -(-len(dfg.nodes) // self.units), *loads])


GRID = Capacity()


def capacity_of(fabric: Fabric | None) -> Capacity:
    """That of an architecture."""
    if fabric is None:
        return GRID
    ports = max((len(bank.ports) for bank in fabric.memories), default=1)
    adders = fabric.units_for("add")
    slow = fabric.latency("muladd") > fabric.latency("shl") + fabric.latency("add")
    multiplies = set(adders) <= set(fabric.units_for("muladd"))
    return Capacity(max(1, len(adders)), ports, multiplies and not slow)
