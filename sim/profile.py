"""What a profiled run says of a program: where each kernel's cycles went, and what its threads waited for.

Everything is exact but for what ends with the program: cycles are counted one by one in the simulator, times
are those of the wall clock. A kernel's cycles are active or stalled; stalled ones are parted by what waited.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from backend.dfg import Place
from backend.verilog_frame import Design
from backend.watch import Loop

from .profile_memory import Memory
from .watching import Phase

NO_PLACE = Place("?", 0)


@dataclass(frozen=True, slots=True)
class KernelAbout:
    """A kernel as it was built: `window` iterations may overlap in mode dataflow; 0 in mode mapped.

    `uncounted` says why its loops are not counted, if they are not.
    """

    where: Place
    design: Design
    window: int = 0
    loops: tuple[Loop, ...] = ()
    uncounted: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An operation that waits: to receive from an empty stream, or to send to a full one."""

    stream: str
    sends: bool
    where: Place

    @property
    def text(self) -> str:
        """For people."""
        return f"{'send to full' if self.sends else 'receive from empty'} {self.stream}"


@dataclass(frozen=True, slots=True)
class Stalled:
    """Cycles in which just these operations waited, and how long they took."""

    waiting: tuple[Waiting, ...]
    cycles: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StreamUse:
    """One end of a stream in a kernel: words moved, cycles (and seconds) in which it stalled the kernel.

    In those `stalled_alone` nothing else did. `in_vain` are cycles in which the kernel looked at the stream,
    found nothing, and went on.
    """

    name: str
    sends: bool
    words: int
    stalled: int
    stalled_alone: int
    seconds: float
    in_vain: int


@dataclass(frozen=True, slots=True)
class Iterations:
    """`started`, `complete` and `useful`: see docs/profile.md. None is not counted."""

    started: int | None
    complete: int
    useful: int | None = None


@dataclass(frozen=True, slots=True)
class LoopUse:
    """A loop of the program: how often its body ran, in how many iterations of the kernel's one loop."""

    where: Place
    innermost: bool
    bodies: int
    iterations: int


@dataclass(frozen=True, slots=True)
class Work:
    """Iterations in which just these innermost loops' bodies ran, and their active cycles."""

    loops: tuple[Place, ...]
    iterations: int
    cycles: int


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """One kernel, all its executions together. `words` and `seconds` are by phase.

    In seconds, too: `idle` between executions, `asleep` in runs while nothing but bubbles and polls was
    there to do, `host` that threads of the program have been in the kernel.
    """

    about: KernelAbout
    simulators: int
    begun: int
    finished: int
    active: int
    stalls: tuple[Stalled, ...]
    iterations: Iterations
    loops: tuple[LoopUse, ...] | None
    work: tuple[Work, ...]
    uncounted: str
    streams: tuple[StreamUse, ...]
    words: dict[Phase, int]
    seconds: dict[Phase, float]
    idle: float
    asleep: float
    host: float

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.about.design.dfg.name

    @property
    def stalled(self) -> int:
        """Cycles in which it waited for streams and did nothing else."""
        return sum(stall.cycles for stall in self.stalls)

    @property
    def cycles(self) -> int:
        """All of them."""
        return self.active + self.stalled

    def lines(self) -> list[tuple[Place, int, int]]:
        """By source line, cycles in which something there waited, and those in which nothing else did."""
        found: Counter[Place] = Counter()
        alone: Counter[Place] = Counter()
        for stall in self.stalls:
            places = {Place(w.where.file, w.where.line) for w in stall.waiting} or {NO_PLACE}
            for place in places:
                found[place] += stall.cycles
                alone[place] += stall.cycles if len(places) == 1 else 0
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0].file, pair[0].line))
        return [(place, cycles, alone[place]) for place, cycles in ordered]


@dataclass(frozen=True, slots=True)
class ThreadWait:
    """What a thread waited for at a place; `text` is the stream as it stands there, or a kernel."""

    purpose: str
    text: str
    where: Place
    created: Place
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ThreadProfile:
    """A thread of the program."""

    number: int
    name: str
    seconds: float
    waits: tuple[ThreadWait, ...]

    @property
    def title(self) -> str:
        """As reports of deadlocks name it."""
        note = "main" if self.number == 1 else f"accessor {self.name}" if self.name else ""
        return f"thread {self.number}{f' ({note})' if note else ''}"

    def waited(self, *purposes: str) -> float:
        """Seconds of waits for one of these purposes."""
        return sum((wait.seconds for wait in self.waits if wait.purpose in purposes), 0.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """A run of a program that ended with `status`, or by the signal of that name.

    `lost` events are in no trace.
    """

    program: str
    mode: str
    status: int
    signal: str
    seconds: float
    kernels: tuple[KernelProfile, ...]
    threads: tuple[ThreadProfile, ...]
    unlogged_threads: int
    lost: int
    memory: Memory
    ended: int
