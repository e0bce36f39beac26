"""What the mapper decides, stage by stage; each stage's result holds what was decided before."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from arch.fabric import Fabric

from .dfg import DFG


class Shortage(Enum):
    """What a kernel needs more of than there is."""

    UNITS = "function units"
    PORTS = "stream ports"
    MEMORIES = "memory words"
    REGISTERS = "registers"
    ROUTES = "routes"
    INTERVAL = "initiation interval"
    TIME = "seconds"


class DoesNotFit(Exception):
    """A kernel that the fabric cannot hold; `nodes` are the graph's nodes in the way."""

    def __init__(
        self, message: str, shortage: Shortage, needed: int, available: int, nodes: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.shortage, self.needed, self.available, self.nodes = shortage, needed, available, nodes


@dataclass(frozen=True, slots=True)
class Schedule:
    """`start[n]` is the cycle, counted from the start of its iteration, in which node n is issued."""

    dfg: DFG
    interval: int
    start: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """An array's bank (index into `Fabric.memories`) and the address of its first word."""

    bank: int
    base: int


@dataclass(frozen=True, slots=True)
class Placement:
    """`unit[n]` does node n; `memory[m]` holds array m."""

    schedule: Schedule
    fabric: Fabric
    unit: tuple[int, ...]
    memory: tuple[MemoryPlace, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """How a value gets from its producer to one operand.

    `steps` are (resource, cycle): from the producer's RESULT in the cycle it is there, along the fabric's
    edges, to the consumer's OPERAND in the cycle of issue. Cycles count from the start of the *producer's*
    iteration, so the last one is `start[consumer] + distance * interval`.
    """

    consumer: int
    position: int
    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A kernel on a fabric: every `Use` of the graph has its route.

    `late` says that time or patience ended its search: nobody then looks for a better one.
    """

    placement: Placement
    routes: tuple[Route, ...]
    late: bool = field(default=False, compare=False)

    @property
    def dfg(self) -> DFG:
        return self.placement.schedule.dfg

    @property
    def fabric(self) -> Fabric:
        return self.placement.fabric

    @property
    def interval(self) -> int:
        return self.placement.schedule.interval

    @property
    def length(self) -> int:
        """Cycles from the start of an iteration until its last operation has completed."""
        units = self.placement.unit
        starts = self.placement.schedule.start
        return max(
            (starts[n.id] + self.fabric.units[units[n.id]].latency[n.op] for n in self.dfg.nodes),
            default=0,
        )


EFFORTS = {"low": 0.5, "normal": 1.0, "high": 4.0}
"""What users call an effort."""


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How hard to try; `seed` makes every choice.

    `interval` is the only one to try (0: the smallest that succeeds), none is above `max_interval` (0: the
    fabric's). After `time_limit` seconds (0: any) the best mapping so far is the result. Up to `jobs`
    processes work at a time, which changes nothing but the time.
    """

    seed: int = 1
    effort: float = 1.0
    interval: int = 0
    max_interval: int = 0
    time_limit: float = 0.0
    jobs: int = 1
