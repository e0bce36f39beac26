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
    """The call that says what to look at."""
    signals = [_signal(watch.slot), _signal(watch.complete)]
    signals += [_waiting(k, wait) for k, wait in enumerate(watch.waits)]
    return f"$macah_watch({', '.join(signals)});"


def watch_names(watch: Watch) -> tuple[list[str], str, str]:
    """Outputs of a bench for its harness: of what waits, of the slot and of `complete`."""
    return [f"watch_{k}" for k in range(len(watch.waits))], "watch_slot", "watch_complete"


def watch_outputs(watch: Watch) -> Iterator[str]:
    """What these outputs, of 32 bits each, show."""
    waits, slot, complete = watch_names(watch)
    yield from watch_declarations(watch)
    for k, wait in enumerate(watch.waits):
        yield f"assign {waits[k]} = {_waiting(k, wait)};"
    yield f"assign {slot} = {_signal(watch.slot)};"
    yield f"assign {complete} = {_signal(watch.complete)};"


def begins(phase: Phase) -> str:
    """The call at the beginning of a phase; the run is between `$macah_begin` and `$macah_end`."""
    return f"$macah_phase({phase.value});"


def _signal(name: str | None) -> str:
    return "0" if name is None else f"kernel.{name}"


def _waiting(k: int, wait: Wait) -> str:
    return f"kernel.{wait.on}" if wait.unless is None else f"wait_{k}"
