"""What the bridge between the host and simulated kernels can address."""

from __future__ import annotations

from backend.dfg import DFG
from sim.bench import MAX_MEMORIES, MAX_WORDS
from sim.cosim import MAX_STREAMS

from .diagnostic import MacahError
from .program import KernelSite


def check_bridge(site: KernelSite, dfg: DFG) -> None:
    """Errors: MacahError, if the kernel has more than the bridge to the host can address."""
    for what, count, most in _sizes(dfg):
        if count > most:
            message = f"kernel '{site.name}' cannot be simulated: {what}: {count}, at most {most}"
            hint = "make arrays smaller, or split the kernel"
            raise MacahError(message, site.where, hint=hint, code="does-not-fit")


def _sizes(dfg: DFG) -> list[tuple[str, int, int]]:
    words = [(f"words of array '{memory.name}'", memory.words, MAX_WORDS) for memory in dfg.memories]
    streams = ("ends of streams", len(dfg.streams), MAX_STREAMS)
    return [streams, ("arrays", len(dfg.memories), MAX_MEMORIES), *words]
