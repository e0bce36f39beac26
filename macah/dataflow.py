"""Mode `dataflow`: kernels as circuits straight from their graphs, without fabric and mapping."""

from __future__ import annotations

from collections.abc import Sequence

from arch.fabric import Fabric
from backend.verilog_dataflow import emit_dataflow

from .bridge import check_bridge
from .compile import Adpc, Simulated, counted_loops, fronts
from .fabrics import fabric_of
from .forms import Front
from .options import Options
from .program import Program
from .stages import Stages


def dataflow_kernels(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Simulated]:
    """The circuits of all kernels; operations take as long as on the architecture. Errors: MacahError."""
    return circuits(fronts(program, adpc, options, stages), options, stages)


def circuits(made: Sequence[Front], options: Options, stages: Stages) -> list[Simulated]:
    """The circuits of all kernels that the front end is done with. Errors: MacahError."""
    fabric = fabric_of(options.arch)
    return [circuit(front, fabric, options, stages) for front in made]


def circuit(front: Front, fabric: Fabric, options: Options, stages: Stages) -> Simulated:
    """One kernel's circuit. Errors: MacahError."""
    check_bridge(front.site, front.dfg)
    with stages(f"emit {front.site.name}"):
        counted = counted_loops(front, fabric, options)
        counts = options.alone  # for who has nothing else to tell iterations by
        design = emit_dataflow(front.dfg, fabric.latency, options.window, counted.shadow, counts)
    about = front.site, front.kernel, front.dfg, design
    return Simulated(*about, loops=counted.loops, uncounted=counted.reason)
