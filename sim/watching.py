"""What a bench does for a profile: it shows the runtime what waits, and when each phase begins."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from backend.watch import Wait, Watch


class Phase(IntEnum):
    """What a simulator does for an execution, as runtime/profile.h has it."""

    STARTS = 0
    CONFIGURES = 1
    FILLS = 2
    RUNS = 3
    FETCHES = 4


def watch_declarations(watch: Watch) -> Iterator[str]:
    """A wire for each operation that waits unless something else holds."""
    for k, wait in enumerate(watch.waits):
        if wait.unless is not None:
            yield f"wire wait_{k} = kernel.{wait.on} && !kernel.{wait.unless};"


def watch_task(watch: Watch) -> str:
    """The calls that say what to look at."""
    signals = [_signal(watch.slot), _signal(watch.complete)]
    signals += [_waiting(k, wait) for k, wait in enumerate(watch.waits)]
    call = f"$macah_watch({', '.join(signals)});"
    if watch.turn is None:
        return call
    return f"{call} $macah_loops({', '.join(_counters(watch))});"


SINGLE = ("slot", "complete", "turn")
"""What a bench shows once."""


def watch_lists(watch: Watch) -> dict[str, list[str]]:
    """A bench's outputs for its harness of which there are several: what waits, and what is counted."""
    return {
        "wait": [f"watch_wait_{k}" for k in range(len(watch.waits))],
        "count": [f"watch_count_{k}" for k in range(len(watch.counts))],
    }


def watch_names(watch: Watch) -> list[str]:
    """All of these outputs."""
    return [
        *(f"watch_{name}" for name in SINGLE),
        *(n for names in watch_lists(watch).values() for n in names),
    ]


def watch_outputs(watch: Watch) -> Iterator[str]:
    """What these outputs, of 32 bits each, show."""
    yield from watch_declarations(watch)
    turn, *counts = _counters(watch)
    shown = [_signal(watch.slot), _signal(watch.complete), turn]
    shown += [_waiting(k, wait) for k, wait in enumerate(watch.waits)]
    shown += counts
    for name, signal in zip(watch_names(watch), shown, strict=True):
        yield f"assign {name} = {signal};"


def begins(phase: Phase) -> str:
    """The call at the beginning of a phase; the run is between `$macah_begin` and `$macah_end`."""
    return f"$macah_phase({phase.value});"


def _signal(name: str | None) -> str:
    return "0" if name is None else f"kernel.{name}"


def _counters(watch: Watch) -> list[str]:
    names = (watch.turn, *watch.counts)
    return [name if watch.beside and name is not None else _signal(name) for name in names]


def _waiting(k: int, wait: Wait) -> str:
    return f"kernel.{wait.on}" if wait.unless is None else f"wait_{k}"
