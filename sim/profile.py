"""What a profiled run says of a program: where each kernel's cycles went, and what its threads waited for.

Everything is exact but for what ends with the program: cycles are counted one by one in the simulator, times
are those of the wall clock. A kernel's cycles are active or stalled; stalled ones are parted by what waited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.dfg import Place
from backend.verilog_frame import Design
from backend.watch import Loop

from .profile_memory import (
    FOR_KERNEL,
    FOR_RECEIVE,
    FOR_SEND,
    FOR_TIME,
    SLEEPS,
    Memory,
    SimulatorLog,
    ThreadLog,
)
from .watching import Phase

NO_PLACE = Place("?", 0)
PURPOSES = {FOR_SEND: "send", FOR_RECEIVE: "receive", FOR_KERNEL: "kernel", FOR_TIME: "time", 0: "other"}


@dataclass(frozen=True, slots=True)
class KernelAbout:
    """A kernel as it was built: `window` iterations may overlap in mode dataflow; 0 in mode mapped."""

    where: Place
    design: Design
    window: int = 0
    loops: tuple[Loop, ...] = ()


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


def make_profile(
    program: str,
    mode: str,
    kernels: Sequence[KernelAbout],
    memory: Memory,
    ended: int,
    status: int,
    signal: str,
) -> Profile:
    """What `memory` says of a program that ended at `ended` (nanoseconds)."""
    threads = tuple(_thread(log, ended) for log in memory.threads)
    logs = [[log for log in memory.simulators if log.kernel == k] for k in range(len(kernels))]
    return Profile(
        program,
        mode,
        status,
        signal,
        (ended - memory.began) / 1e9,
        tuple(_kernel(about, found, threads, ended) for about, found in zip(kernels, logs, strict=True)),
        threads,
        memory.unlogged,
        sum(log.lost for log in memory.simulators) + sum(log.lost for log in memory.threads),
        memory,
        ended,
    )


def _thread(log: ThreadLog, ended: int) -> ThreadProfile:
    open_for = {event.what: ended - event.begin for event in log.events if not event.end}
    waits = []
    for number, site in enumerate(log.sites):
        if site.count:
            seconds = (site.time + max(0, open_for.get(number, 0))) / 1e9
            where, created = Place(site.file, site.line), Place(site.created_file, site.created_line)
            waits.append(ThreadWait(PURPOSES[site.kind], site.text, where, created, site.count, seconds))
    return ThreadProfile(log.number, log.name, ((log.ended or ended) - log.began) / 1e9, tuple(waits))


def waiting_of(about: KernelAbout, log: SimulatorLog, place: int) -> tuple[Waiting, ...]:
    """The operations that waited in the cycles of a table's entry; none where that is not known."""
    stall, watch, dfg = log.stalls.get(place), about.design.watch, about.design.dfg
    found = set()
    for number in stall.waiting if stall and watch else ():
        assert stall is not None and watch is not None
        nodes = watch.waits[number].nodes
        where = nodes.get(None, nodes.get(stall.slot))
        node = None if where is None else dfg.nodes[where]
        if node is not None and node.stream is not None:
            stream = dfg.streams[node.stream]
            found.add(Waiting(stream.name, stream.sends, node.where or NO_PLACE))
    return tuple(sorted(found, key=lambda w: (w.where.file, w.where.line, w.stream, w.sends)))


def _kernel(
    about: KernelAbout, logs: Sequence[SimulatorLog], threads: Sequence[ThreadProfile], ended: int
) -> KernelProfile:
    seconds = dict.fromkeys(Phase, 0.0)
    idle = 0.0
    for log in logs:
        for phase, time in zip(Phase, _times(log, ended), strict=True):
            seconds[phase] += time
        starting = _starting(log, ended)
        idle += seconds[Phase.STARTS] - starting
        seconds[Phase.STARTS] = starting
    name, stalls, work = about.design.dfg.name, _stalls(about, logs, ended), _work(about, logs)
    return KernelProfile(
        about,
        len(logs),
        sum(log.entries for log in logs),
        sum(log.finished for log in logs),
        sum(log.active for log in logs),
        stalls,
        replace(_iterations(about, logs), useful=None if work is None else _useful(about, work)),
        None if work is None else _loops(about, logs),
        () if work is None else tuple(work),
        tuple(_streams(about, logs, stalls)),
        {phase: sum(log.words[phase] for log in logs) for phase in Phase},
        seconds,
        idle,
        sum(log.asleep + _open_for(log, SLEEPS, ended) for log in logs) / 1e9,
        sum(
            (w.seconds for t in threads for w in t.waits if w.purpose == "kernel" and w.text == name),
            0.0,
        ),
    )


def _stalls(about: KernelAbout, logs: Sequence[SimulatorLog], ended: int) -> tuple[Stalled, ...]:
    """By what waited, the longest first."""
    cycles: Counter[tuple[Waiting, ...]] = Counter()
    times: Counter[tuple[Waiting, ...]] = Counter()
    for log in logs:
        for place, stall in log.stalls.items():
            if stall.cycles:
                waiting = waiting_of(about, log, place)
                cycles[waiting] += stall.cycles
                times[waiting] += stall.time + _open_for(log, len(Phase) + place, ended)
    return tuple(Stalled(waiting, count, times[waiting] / 1e9) for waiting, count in cycles.most_common())


def _open_for(log: SimulatorLog, what: int, ended: int) -> int:
    """Nanoseconds since something began that went on when the program ended."""
    return sum(max(0, ended - event.begin) for event in log.events if event.what == what and not event.end)


def _starting(log: SimulatorLog, ended: int) -> float:
    """Seconds from the simulator's start until it began the first execution."""
    return ((log.events[0].end or ended) - log.events[0].begin) / 1e9 if log.events else 0.0


def _times(log: SimulatorLog, ended: int) -> list[float]:
    """Seconds by phase, with what was under way."""
    return [(time + _open_for(log, what, ended)) / 1e9 for what, time in enumerate(log.time)]


def _iterations(about: KernelAbout, logs: Sequence[SimulatorLog]) -> Iterations:
    design = about.design
    if about.window:
        complete = sum(log.iterations for log in logs)
        begun = sum(log.entries - log.finished for log in logs)
        return Iterations(complete + begun if about.window == 1 else None, complete)
    started = complete = 0
    for log in logs:
        finished, rest = log.finished, log.active - log.finished_active
        done = finished + (log.finished_active - finished * design.length) // design.interval
        complete += done + max(0, (rest - design.length) // design.interval + 1)
        started += done + finished * (-(-design.length // design.interval) - 1) - (-rest // design.interval)
    return Iterations(started, complete)


def _loops(about: KernelAbout, logs: Sequence[SimulatorLog]) -> tuple[LoopUse, ...]:
    found = []
    for k, loop in enumerate(about.loops):
        iterations = sum(count for log in logs for bits, count, _ in log.turns[1:] if bits >> k & 1)
        found.append(LoopUse(loop.where, loop.innermost, sum(log.bodies[k] for log in logs), iterations))
    return tuple(found)


def _work(about: KernelAbout, logs: Sequence[SimulatorLog]) -> list[Work] | None:
    """By which innermost loops ran, the most cycles first; None if that is not counted."""
    watch = about.design.watch
    if watch is None or watch.turn is None or any(log.turns[0][1] for log in logs if log.turns):
        return None
    iterations: Counter[tuple[Place, ...]] = Counter()
    cycles: Counter[tuple[Place, ...]] = Counter()
    for log in logs:
        for bits, count, active in log.turns[1:]:
            ran = {loop.where for k, loop in enumerate(about.loops) if loop.innermost and bits >> k & 1}
            places = tuple(sorted(ran, key=lambda place: (place.file, place.line, place.column)))
            iterations[places] += count
            cycles[places] += active if about.window else count * about.design.interval
    return [Work(places, iterations[places], count) for places, count in cycles.most_common()]


def _useful(about: KernelAbout, work: Sequence[Work]) -> int:
    """Iterations in which some innermost loop's body ran; all of them if there is no loop."""
    return sum(part.iterations for part in work if part.loops or not about.loops)


def _streams(about: KernelAbout, logs: Sequence[SimulatorLog], stalls: Sequence[Stalled]) -> list[StreamUse]:
    found = []
    for s, stream in enumerate(about.design.dfg.streams):
        ports = [log.ports[s] for log in logs]
        stalled, alone, seconds = 0, 0, 0.0
        for stall in stalls:
            ends = {(w.stream, w.sends) for w in stall.waiting}
            if (stream.name, stream.sends) in ends:
                stalled += stall.cycles
                alone += stall.cycles if len(ends) == 1 else 0
                seconds += stall.seconds
        words, in_vain = sum(port[0] for port in ports), sum(port[1] for port in ports)
        found.append(StreamUse(stream.name, stream.sends, words, stalled, alone, seconds, in_vain))
    return found
