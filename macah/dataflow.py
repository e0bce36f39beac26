"""Mode `dataflow`: kernels as circuits straight from their graphs, without fabric and mapping."""

from __future__ import annotations

from arch.fabric import Fabric
from backend.dfg import DFG
from backend.verilog_dataflow import emit_dataflow
from sim.bench import MAX_MEMORIES, MAX_WORDS
from sim.cosim import MAX_STREAMS

from .compile import Adpc, Front, Simulated, counted_loops, fabric_of, fronts
from .diagnostic import MacahError
from .options import Options
from .program import Program
from .stages import Stages


def dataflow_kernels(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Simulated]:
    """The circuits of all kernels; operations take as long as on the architecture. Errors: MacahError."""
    fabric = fabric_of(options.arch)
    return [circuit(front, fabric, options, stages) for front in fronts(program, adpc, options, stages)]


def circuit(front: Front, fabric: Fabric, options: Options, stages: Stages) -> Simulated:
    """One kernel's circuit. Errors: MacahError."""
    _check_bridge(front)
    with stages(f"emit {front.site.name}"):
        counted = counted_loops(front, fabric, options)
        design = emit_dataflow(front.dfg, fabric.latency, options.window, counted.shadow)
    return Simulated(front.site, front.kernel, front.dfg, design, loops=counted.loops)


def _check_bridge(front: Front) -> None:
    """Errors: MacahError, if the kernel has more than the bridge to the host can address."""
    for what, count, most in _sizes(front.dfg):
        if count > most:
            message = f"kernel '{front.site.name}' cannot be simulated: {what}: {count}, at most {most}"
            hint = "make arrays smaller, or split the kernel"
            raise MacahError(message, front.site.where, hint=hint, code="does-not-fit")


def _sizes(dfg: DFG) -> list[tuple[str, int, int]]:
    words = [(f"words of array '{memory.name}'", memory.words, MAX_WORDS) for memory in dfg.memories]
    streams = ("ends of streams", len(dfg.streams), MAX_STREAMS)
    return [streams, ("arrays", len(dfg.memories), MAX_MEMORIES), *words]
