"""What a profiled program and its simulators leave in their shared memory, as runtime/profile.h has it."""

from __future__ import annotations

import mmap
import os
from array import array
from dataclasses import dataclass

from .watching import Phase

SITES, THREAD_EVENTS, KERNEL_EVENTS, STALL_WORDS, LOOPS, TURNS, PORTS = (
    128,
    1 << 15,
    1 << 16,
    1 << 13,
    64,
    64,
    64,
)
FOR_SEND, FOR_RECEIVE, FOR_KERNEL, FOR_TIME = 1, 2, 3, 4
"""What a thread waits for, as runtime/host.h has it."""

MOST_LOGS = 1 << 16
"""More are not read, as a program may write over their list."""
_MOST_BYTES = 1 << 16
"""Of a text."""
_PHASES = len(Phase)
SLEEPS = _PHASES + STALL_WORDS
"""What a simulator does that waits for streams without being stalled."""
ARENA_PROFILE = 8 * (2 + 5 + 64)
"""Where the arena names the profile: behind the capacity, the clock and the bells (runtime/channel.h)."""


@dataclass(frozen=True, slots=True)
class Event:
    """From `begin` to `end`, in nanoseconds; 0 if it went on when the program ended."""

    begin: int
    end: int
    what: int
    cycle: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Site:
    """A place of the program where a thread has waited; 0 and "" are unknown."""

    kind: int
    file: str
    line: int
    text: str
    created_file: str
    created_line: int
    count: int
    time: int


@dataclass(frozen=True, slots=True)
class ThreadLog:
    """`what` of an event is the number of a site; site 0 stands for those that were too many."""

    number: int
    name: str
    began: int
    ended: int
    lost: int
    sites: tuple[Site, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Stall:
    """Cycles in one slot in which just the operations `waiting` waited (their numbers in the `Watch`).

    `time` is in nanoseconds.
    """

    cycles: int
    time: int
    slot: int
    waiting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SimulatorLog:
    """What one simulator of a kernel did.

    `what` of an event is a phase; behind those (`Phase`), the number of a stall; or `SLEEPS`. `asleep` are
    nanoseconds without being stalled. `words` and `time` (nanoseconds) are by phase; `ports` are words moved
    and cycles asked in vain; `bodies` and `turns` are about the loops that are counted, the latter as (bits
    of loops whose bodies ran, iterations with just these, their cycles).
    """

    kernel: int
    ordinal: int
    entries: int
    finished: int
    finished_active: int
    active: int
    iterations: int
    words: tuple[int, ...]
    time: tuple[int, ...]
    asleep: int
    lost: int
    bodies: tuple[int, ...]
    turns: tuple[tuple[int, int, int], ...]
    ports: tuple[tuple[int, int], ...]
    stalls: dict[int, Stall]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """All of it, in the order in which threads and simulators began."""

    began: int
    threads: tuple[ThreadLog, ...]
    simulators: tuple[SimulatorLog, ...]
    unlogged: int


def read_memory(file: int) -> Memory | None:
    """Reads an open file; None if no program has made it the memory of its profile."""
    if os.fstat(file).st_size < mmap.PAGESIZE:
        return None
    with mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
        reader = _Reader(memory)
        start = reader.word(ARENA_PROFILE)
        if not start:
            return None
        began, thread, simulator, unlogged = reader.words(start, 4)
        threads: list[ThreadLog] = []
        simulators: list[SimulatorLog] = []
        while thread and len(threads) < MOST_LOGS:
            threads.append(reader.thread(thread))
            thread = reader.word(thread)
        while simulator and len(simulators) < MOST_LOGS:
            simulators.append(reader.simulator(simulator))
            simulator = reader.word(simulator)
        return Memory(began, tuple(reversed(threads)), tuple(reversed(simulators)), unlogged)


class _Reader:
    """Reads words and what is made of them."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def words(self, offset: int, count: int) -> array[int]:
        return array("Q", self._memory[offset : offset + 8 * count])

    def word(self, offset: int) -> int:
        return self.words(offset, 1)[0]

    def text(self, offset: int) -> str:
        if not offset:
            return ""
        return os.fsdecode(self._memory[offset : offset + _MOST_BYTES].split(b"\0", 1)[0])

    def _events(self, offset: int, count: int) -> tuple[Event, ...]:
        words = self.words(offset, 5 * count)
        return tuple(Event(*words[k : k + 5]) for k in range(0, len(words), 5))

    def thread(self, offset: int) -> ThreadLog:
        _, number, name, began, ended, sites, events, lost = self.words(offset, 8)
        first = offset + 8 * 8
        return ThreadLog(
            number,
            self.text(name),
            began,
            ended,
            lost,
            tuple(self._site(first + 64 * k) for k in range(min(sites, SITES))),
            self._events(first + 64 * SITES, min(events, THREAD_EVENTS)),
        )

    def _site(self, offset: int) -> Site:
        kind, file, line, text, created, created_line, count, time = self.words(offset, 8)
        where = self.text(file), line, self.text(text)
        return Site(kind, *where, self.text(created), created_line, count, time)

    def simulator(self, offset: int) -> SimulatorLog:
        at = offset

        def take(count: int) -> array[int]:
            nonlocal at
            at += 8 * count
            return self.words(at - 8 * count, count)

        _, kernel, ordinal, entries, finished, finished_active, active, _, iterations = take(9)
        words, time = tuple(take(_PHASES)), tuple(take(_PHASES))
        stride, used, asleep, turns, events, lost = take(6)
        bodies = tuple(take(LOOPS))
        ways = take(3 * TURNS)
        ports = take(2 * PORTS)
        table = take(STALL_WORDS)
        return SimulatorLog(
            kernel,
            ordinal,
            entries,
            finished,
            finished_active,
            active,
            iterations,
            words,
            time,
            asleep,
            lost,
            bodies,
            tuple((ways[k], ways[k + 1], ways[k + 2]) for k in range(0, 3 * min(turns, TURNS), 3)),
            tuple(zip(ports[::2], ports[1::2], strict=True)),
            _stalls(table, stride, min(used, STALL_WORDS)),
            self._events(at, min(events, KERNEL_EVENTS)),
        )


def _stalls(table: array[int], stride: int, used: int) -> dict[int, Stall]:
    """The entries of the table by their place in it."""
    found = {}
    for place in range(0, used, stride or 1):
        cycles, time, slot, *bits = table[place : place + stride]
        waiting = (64 * k + b for k, word in enumerate(bits) for b in range(64) if word >> b & 1)
        found[place] = Stall(cycles, time, slot, tuple(waiting))
    return found
