"""How a kernel is run under Python, and what that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cosim import SIMULATORS


@dataclass(frozen=True)
class RunOptions:
    """How a kernel is run.

    `depth` is how many elements streams hold, `depths` that of single ones. `close` names the streams that
    are closed behind their last element; None: those whose end the kernel asks for. In `time` "lockstep" no
    simulated time passes while Python computes, so every run takes the same cycles; "free" is faster. A run
    may take `max_cycles`, stalled ones included, and `stall_cycles` without an element moved (0: any number).
    `wave` is a file for a waveform, `.vcd` or `.fst`. `simulator` is "icarus" or "verilator".
    """

    depth: int = 16
    depths: Mapping[str, int] = field(default_factory=dict)
    close: Iterable[str] | None = None
    time: str = "lockstep"
    max_cycles: int = 1_000_000
    stall_cycles: int = 0
    wave: Path | None = None
    wave_cycles: tuple[int, int | None] = (0, None)
    simulator: str = "icarus"

    def __post_init__(self) -> None:
        if self.time not in ("lockstep", "free"):
            raise ValueError(f"time '{self.time}' is none of 'lockstep', 'free'")
        if self.simulator not in SIMULATORS:
            raise ValueError(f"simulator '{self.simulator}' is none of {', '.join(SIMULATORS)}")
        if self.max_cycles < 1 or self.stall_cycles < 0:
            raise ValueError("numbers of cycles are positive")
        if min([self.depth, *self.depths.values()]) < 1:
            raise ValueError("a stream holds at least one element")


@dataclass(frozen=True)
class Result:
    """What a run left: `result["name"]` is what was collected of a stream, or the value of a variable.

    `cycles` are those in which the kernel worked, `stalled` those in which it waited. `iterations` counts the
    iterations of its loop. `closed` are the streams that it closed, and `left` says how many of the elements
    sent to a stream it did not receive.
    """

    values: Mapping[str, Any]
    cycles: int
    stalled: int
    iterations: int | None
    closed: frozenset[str]
    left: Mapping[str, int]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Schedule:
    """An iteration takes `length` cycles and starts `interval` after the one before."""

    interval: int
    length: int

    def iterations(self, cycles: int) -> int:
        """How many iterations take so many cycles."""
        return (cycles - self.length) // self.interval + 1
