"""A profile as a trace in Chrome's JSON form, which Perfetto shows: threads, kernels, one time axis.

Each thread of the program has a row with its time in kernels and its waits; each simulator of a kernel has
one with the phases of executions, and inside its runs what they stall for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .profile import Profile
from .profile_make import PURPOSES, waiting_of
from .profile_memory import FOR_KERNEL, SLEEPS, Event, SimulatorLog, Site, ThreadLog
from .watching import Phase

_PROGRAM, _KERNELS = 1, 2
_PHASES = {
    Phase.STARTS: "start of the simulator",
    Phase.CONFIGURES: "configuration",
    Phase.FILLS: "scalars and arrays in",
    Phase.RUNS: "run",
    Phase.FETCHES: "scalars and arrays out",
}


def trace_json(profile: Profile) -> str:
    """The text of one object; times are microseconds since the program began."""
    events = [
        *_named(_PROGRAM, f"program {profile.program}"),
        *_named(_KERNELS, "kernels"),
    ]
    shown: list[dict[str, Any]] = []
    for log in profile.memory.threads:
        title = next(t.title for t in profile.threads if t.number == log.number)
        events += _named(_PROGRAM, title, log.number)
        shown += _thread(profile, log)
    for row, simulator in enumerate(profile.memory.simulators, 1):
        name = profile.kernels[simulator.kernel].name
        number = f", simulator {simulator.ordinal + 1}" if simulator.ordinal else ""
        events += _named(_KERNELS, f"kernel {name}{number}", row)
        shown += _simulator(profile, simulator, row)
    shown.sort(key=lambda event: (event["ts"], -event["dur"]))
    found = {
        "traceEvents": [*events, *shown],
        "displayTimeUnit": "ns",
        "otherData": {"program": profile.program, "mode": profile.mode, "lost_events": profile.lost},
    }
    return json.dumps(found) + "\n"


def _named(process: int, name: str, thread: int | None = None) -> list[dict[str, Any]]:
    kind = "process_name" if thread is None else "thread_name"
    return [{"ph": "M", "pid": process, "tid": thread or 0, "name": kind, "args": {"name": name}}]


def _span(
    profile: Profile, event: Event, name: str, category: str, row: tuple[int, int], args: dict[str, Any]
) -> dict[str, Any]:
    """A box from begin to end, which may be the program's."""
    begin = event.begin - profile.memory.began
    end = max(event.begin, event.end or profile.ended) - profile.memory.began
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": row[0],
        "tid": row[1],
        "ts": begin / 1000,
        "dur": (end - begin) / 1000,
        "args": args if event.end else {**args, "unfinished": True},
    }


def _thread(profile: Profile, log: ThreadLog) -> Iterator[dict[str, Any]]:
    whole = Event(log.began, log.ended, 0, 0, 0)
    row = (_PROGRAM, log.number)
    yield _span(profile, whole, "runs", "thread", row, {})
    for event in log.events:
        site = log.sites[event.what]
        kind = "kernel" if site.kind == FOR_KERNEL else "wait"
        yield _span(profile, event, _title(site), kind, row, _places(site))


def _title(site: Site) -> str:
    purpose = PURPOSES[site.kind]
    match purpose:
        case "kernel":
            return f"in kernel {site.text}"
        case "send" | "receive":
            return f"waits to {purpose}: {site.text}"
    return "waits"


def _places(site: Site) -> dict[str, Any]:
    places = {}
    if site.line:
        places["at"] = f"{site.file}:{site.line}"
    if site.created_line:
        places["stream created at"] = f"{site.created_file}:{site.created_line}"
    return places


def _simulator(profile: Profile, log: SimulatorLog, thread: int) -> Iterator[dict[str, Any]]:
    row = (_KERNELS, thread)
    for event in log.events:
        if event.what < len(Phase):
            phase = Phase(event.what)
            args = {"cycles": event.cycles} if phase is Phase.RUNS and event.end else {}
            yield _span(profile, event, _PHASES[phase], "kernel", row, args)
        elif event.what == SLEEPS:
            yield _span(profile, event, "sleeps until a stream changes", "sleep", row, _cycles(event))
        else:
            yield _span(profile, event, *_stall(profile, log, event), row, _cycles(event))


def _cycles(event: Event) -> dict[str, Any]:
    return {"first cycle": event.cycle, **({"cycles": event.cycles} if event.end else {})}


def _stall(profile: Profile, log: SimulatorLog, event: Event) -> tuple[str, str]:
    about = profile.kernels[log.kernel].about
    waiting = waiting_of(about, log, event.what - len(Phase))
    texts = [f"{w.text} ({w.where.file}:{w.where.line})" for w in waiting]
    return f"stalled: {' and '.join(texts) or 'unknown'}", "stall"
