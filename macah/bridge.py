"""What the bridge between the host and simulated kernels can address."""

from __future__ import annotations

from backend.dfg import DFG
from sim.bench import MAX_MEMORIES, MAX_WORDS
from sim.cosim import MAX_STREAMS

from .diagnostic import MacahError
from .program import KernelSite


def check_bridge(site: KernelSite, dfg: DFG) -> None:
    """Errors: MacahError, if the kernel has more than the bridge to the host can address."""
    for what, count, most, hint in _sizes(dfg):
        if count > most:
            message = f"kernel '{site.name}' cannot be simulated: {what}: {count}, at most {most}"
            raise MacahError(message, site.where, hint=hint, code="does-not-fit")


def _sizes(dfg: DFG) -> list[tuple[str, int, int, str]]:
    """What there is, how many of it, how many there may be, and what to do if these are too many."""
    smaller = "make it smaller, or split the kernel"
    words = [(f"words of array '{memory.name}'", memory.words, MAX_WORDS, smaller) for memory in dfg.memories]
    arrays = "arrays", len(dfg.memories), MAX_MEMORIES, "split the kernel"
    ends = "send through fewer streams, or split the kernel"
    return [("ends of streams", len(dfg.streams), MAX_STREAMS, ends), arrays, *words]
