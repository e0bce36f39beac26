"""A profile from what a run has left in its memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from backend.dfg import Place

from .profile import (
    NO_PLACE,
    Iterations,
    KernelAbout,
    KernelProfile,
    LoopUse,
    Profile,
    Stalled,
    StreamUse,
    ThreadProfile,
    ThreadWait,
    Waiting,
    Work,
)
from .profile_memory import (
    FOR_KERNEL,
    FOR_RECEIVE,
    FOR_SEND,
    FOR_TIME,
    SLEEPS,
    Event,
    Memory,
    SimulatorLog,
    ThreadLog,
)
from .watching import Phase

PURPOSES = {FOR_SEND: "send", FOR_RECEIVE: "receive", FOR_KERNEL: "kernel", FOR_TIME: "time", 0: "other"}


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
    under_way = _under_way(log.events, ended)
    waits = []
    for number, site in enumerate(log.sites):
        if site.count:
            seconds = (site.time + under_way[number]) / 1e9
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
            found.add(Waiting(stream.shown, stream.sends, node.where or NO_PLACE))
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
        "" if work is not None else _reason(about, logs),
        tuple(_streams(about, logs, stalls)),
        {phase: sum(log.words[phase] for log in logs) for phase in Phase},
        seconds,
        idle,
        sum(log.asleep + _under_way(log.events, ended)[SLEEPS] for log in logs) / 1e9,
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
        under_way = _under_way(log.events, ended)
        for place, stall in log.stalls.items():
            if stall.cycles:
                waiting = waiting_of(about, log, place)
                cycles[waiting] += stall.cycles
                times[waiting] += stall.time + under_way[len(Phase) + place]
    return tuple(Stalled(waiting, count, times[waiting] / 1e9) for waiting, count in cycles.most_common())


def _under_way(events: Iterable[Event], ended: int) -> Counter[int]:
    """By what it is, nanoseconds since something began that went on when the program ended."""
    found: Counter[int] = Counter()
    for event in events:
        if not event.end:
            found[event.what] += max(0, ended - event.begin)
    return found


def _starting(log: SimulatorLog, ended: int) -> float:
    """Seconds from the simulator's start until it began the first execution."""
    return ((log.events[0].end or ended) - log.events[0].begin) / 1e9 if log.events else 0.0


def _times(log: SimulatorLog, ended: int) -> list[float]:
    """Seconds by phase, with what was under way."""
    under_way = _under_way(log.events, ended)
    return [(time + under_way[what]) / 1e9 for what, time in enumerate(log.time)]


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
    if not _agrees(about, logs):
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


def _agrees(about: KernelAbout, logs: Sequence[SimulatorLog]) -> bool:
    """Whether what counts has ended with the iteration with which the kernel has, if it may do otherwise."""
    loops, watch = len(about.loops), about.design.watch
    if watch is None or len(watch.counts) == loops:
        return True
    finished = sum(log.finished for log in logs)
    return finished <= sum(log.bodies[loops] for log in logs) <= sum(log.entries for log in logs)


def _reason(about: KernelAbout, logs: Sequence[SimulatorLog]) -> str:
    """Why loops are not counted."""
    if about.uncounted:
        return about.uncounted
    watch = about.design.watch
    if watch is None or watch.turn is None:
        return "the design does not have all values that it takes"
    if not _agrees(about, logs):
        return "values that the program leaves undefined decide how often it iterates"
    return "they ran in more combinations than there is room for"


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
            if (stream.shown, stream.sends) in ends:
                stalled += stall.cycles
                alone += stall.cycles if len(ends) == 1 else 0
                seconds += stall.seconds
        words, in_vain = sum(port[0] for port in ports), sum(port[1] for port in ports)
        found.append(StreamUse(stream.shown, stream.sends, words, stalled, alone, seconds, in_vain))
    return found
