"""A profile as JSON; docs/profile.md says what the keys mean, and they stay what they are."""

from __future__ import annotations

import json
from typing import Any

from backend.dfg import Place

from .profile import KernelProfile, LoopUse, Profile, StreamUse, ThreadProfile, ThreadWait, Waiting
from .watching import Phase

VERSION = 1


def profile_json(profile: Profile) -> str:
    """The text of one object."""
    found = {
        "version": VERSION,
        "program": profile.program,
        "mode": profile.mode,
        "ended": {"status": profile.status, "signal": profile.signal or None},
        "seconds": profile.seconds,
        "kernels": [_kernel(kernel) for kernel in profile.kernels],
        "threads": [_thread(thread) for thread in profile.threads],
        "unlogged_threads": profile.unlogged_threads,
        "lost_events": profile.lost,
    }
    return json.dumps(found, indent=2) + "\n"


def _place(place: Place) -> dict[str, Any]:
    known = place.line > 0
    return {"file": place.file if known else None, "line": place.line if known else None}


def _kernel(kernel: KernelProfile) -> dict[str, Any]:
    design, iterations = kernel.about.design, kernel.iterations
    return {
        "name": kernel.name,
        **_place(kernel.about.where),
        "interval": None if kernel.about.window else design.interval,
        "length": None if kernel.about.window else design.length,
        "simulators": kernel.simulators,
        "executions": {"begun": kernel.begun, "finished": kernel.finished},
        "cycles": {"total": kernel.cycles, "active": kernel.active, "stalled": kernel.stalled},
        "iterations": {
            "started": iterations.started,
            "complete": iterations.complete,
            "useful": iterations.useful,
        },
        "loops": None if kernel.loops is None else [_loop(loop) for loop in kernel.loops],
        "uncounted": kernel.uncounted or None,
        "work": [
            {
                "loops": [_place(place) for place in part.loops],
                "iterations": part.iterations,
                "cycles": part.cycles,
            }
            for part in kernel.work
        ],
        "streams": [_stream(stream) for stream in kernel.streams],
        "stalls": [
            {
                "cycles": stall.cycles,
                "seconds": stall.seconds,
                "waiting": [_waiting(w) for w in stall.waiting],
            }
            for stall in kernel.stalls
        ],
        "lines": [
            {**_place(place), "stalled": stalled, "stalled_alone": alone}
            for place, stalled, alone in kernel.lines()
        ],
        "transfers": {
            key: {"words": kernel.words[phase], "seconds": kernel.seconds[phase]}
            for key, phase in (
                ("configuration", Phase.CONFIGURES),
                ("in", Phase.FILLS),
                ("out", Phase.FETCHES),
            )
        },
        "seconds": {
            "start": kernel.seconds[Phase.STARTS],
            "run": kernel.seconds[Phase.RUNS],
            "asleep": kernel.asleep,
            "idle": kernel.idle,
            "host": kernel.host,
        },
    }


def _loop(loop: LoopUse) -> dict[str, Any]:
    return {
        **_place(loop.where),
        "innermost": loop.innermost,
        "bodies": loop.bodies,
        "iterations": loop.iterations,
    }


def _direction(sends: bool) -> str:
    return "out" if sends else "in"


def _stream(stream: StreamUse) -> dict[str, Any]:
    return {
        "name": stream.name,
        "direction": _direction(stream.sends),
        "words": stream.words,
        "waits_while": "full" if stream.sends else "empty",
        "stalled": stream.stalled,
        "stalled_alone": stream.stalled_alone,
        "seconds_stalled": stream.seconds,
        "in_vain": stream.in_vain,
    }


def _waiting(waiting: Waiting) -> dict[str, Any]:
    return {"stream": waiting.stream, "direction": _direction(waiting.sends), **_place(waiting.where)}


def _thread(thread: ThreadProfile) -> dict[str, Any]:
    return {
        "number": thread.number,
        "accessor": thread.name or None,
        "seconds": thread.seconds,
        "seconds_in_kernels": thread.waited("kernel"),
        "seconds_waiting": thread.waited("send", "receive"),
        "waits": [_wait(wait) for wait in thread.waits],
    }


def _wait(wait: ThreadWait) -> dict[str, Any]:
    return {
        "for": wait.purpose,
        "of": wait.text or None,
        **_place(wait.where),
        "created": _place(wait.created),
        "count": wait.count,
        "seconds": wait.seconds,
    }
