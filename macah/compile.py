"""The kernels of a program, one by one: from the source through all stages to hardware."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from arch.describe import ArchitectureError, load_fabric
from arch.fabric import Fabric
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping, Shortage
from backend.verilog import Design, emit

from .copies import with_copies
from .diagnostic import MacahError, Note, Place
from .ir import Kernel
from .lint import lock_step
from .lower import lower
from .options import Options
from .passes.pipeline import optimize
from .program import KernelSite, Program
from .rare import with_turns
from .show import show_kernel
from .spread import spread
from .stages import Stages
from .todfg import build_dfg
from .unrolling import NONE, read_unrolling

# The values of pseudo-constants.
Adpc = dict[str, int]


@dataclass(frozen=True)
class Compiled:
    """A kernel after each stage."""

    site: KernelSite
    lowered: Kernel
    kernel: Kernel
    dfg: DFG
    mapping: Mapping
    design: Design


GROWING = frozenset({"copies", "forward", "join_loops", "run_ahead", "shorten"})
"""Optimisations that pay for shorter intervals with operations and registers."""

_CROWDED = frozenset({Shortage.REGISTERS, Shortage.ROUTES, Shortage.INTERVAL})


def fronts(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Kernel]:
    """Lowers and optimises all kernels."""
    return [kernel for _, kernel in _fronts(program, adpc, options, stages)]


def _fronts(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[tuple[Kernel, Kernel]]:
    """All kernels when they have been lowered, and in their final form."""
    bubbles = {*options.bubbles}
    if not options.no_bubbles and "*" not in {*bubbles, *options.ordered}:
        with stages("find lock-step"):
            bubbles |= lock_step(program) - {*options.ordered}
    options = replace(options, bubbles=tuple(sorted(bubbles)))
    return [_front(program, site, adpc, options, stages) for site in program.kernels]


def _front(
    program: Program, site: KernelSite, adpc: Adpc, options: Options, stages: Stages
) -> tuple[Kernel, Kernel]:
    """A kernel when it has been lowered, and in its final form."""

    def watch(name: str, kernel: Kernel) -> None:
        if name in options.dump_after or "all" in options.dump_after:
            sys.stderr.write(f"; after {name}\n{show_kernel(kernel)}\n")

    with stages(f"lower {site.name}"):
        kernel = lower(program, site, adpc)
        if {site.name, "*"} & {*options.ordered}:
            kernel = replace(kernel, ordered=True)
        if {site.name, "*"} & {*options.bubbles}:
            kernel = replace(kernel, bubbles=True)
        unroll = read_unrolling(program, options.unroll).of(kernel)
        kernel = replace(kernel, without=frozenset(options.disable), unroll=unroll)
        watch("lower", kernel)
    with stages(f"weigh rare branches of {site.name}"):
        kernel = with_turns(kernel, fabric_of(options.arch))
    with stages(f"spread {site.name}"):
        kernel = spread(kernel, fabric_of(options.arch), NONE not in options.unroll)
    with stages(f"optimize {site.name}"):
        return kernel, optimize(kernel, watch)


def compile_kernels(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Compiled]:
    """Maps all kernels of a program."""
    fabric = fabric_of(options.arch)
    made = _fronts(program, adpc, options, stages)
    return [
        _back(site, lowered, kernel, fabric, options, stages)
        for site, (lowered, kernel) in zip(program.kernels, made, strict=True)
    ]


def _back(
    site: KernelSite, lowered: Kernel, kernel: Kernel, fabric: Fabric, options: Options, stages: Stages
) -> Compiled:
    """Maps one kernel and emits its hardware.

    One that has grown too large while it was made faster is mapped as it was before that.
    """
    with stages(f"graph {site.name}"):
        dfg = with_copies(kernel, build_dfg(kernel), fabric)
    with stages(f"map {site.name}"):
        try:
            mapping = map_kernel(dfg, fabric, MapOptions(seed=options.seed), stages.say)
        except DoesNotFit as problem:
            smaller = replace(lowered, without=lowered.without | GROWING)
            if smaller == lowered or problem.shortage not in _CROWDED:
                raise _does_not_fit(problem, site, dfg, fabric) from None
            try:
                kernel = optimize(smaller)
                mapping = map_kernel(build_dfg(kernel), fabric, MapOptions(seed=options.seed), stages.say)
                lowered, dfg = smaller, mapping.dfg
            except DoesNotFit:
                raise _does_not_fit(problem, site, dfg, fabric) from None
    with stages(f"emit {site.name}"):
        return Compiled(site, lowered, kernel, dfg, mapping, emit(mapping))


def fabric_of(name: str) -> Fabric:
    """The architecture that `--arch` names."""
    try:
        return load_fabric(name)
    except ArchitectureError as error:
        if error.line:
            raise MacahError(error.message, Place(error.file, error.line), code="architecture-file") from None
        raise MacahError(f"architecture '{name}': {error.message}", code="architecture-file") from None


def _does_not_fit(problem: DoesNotFit, site: KernelSite, dfg: DFG, fabric: Fabric) -> MacahError:
    """The user's view: which resource, how much of it, and which source lines need it."""
    places = dict.fromkeys(w for n in problem.nodes if (w := dfg.nodes[n].where) is not None)
    notes = tuple(Note("needed here", place) for place in list(places)[:4])
    return MacahError(
        f"kernel '{site.name}' does not fit on {fabric.name}: {problem}"
        f" ({problem.shortage.value}: {problem.needed} needed, {problem.available} available)",
        site.where,
        notes,
        hint="shorten the chain of operations from one iteration to the next, or split the kernel"
        if problem.shortage is Shortage.INTERVAL
        else "choose a larger array with --arch, such as grid:16x16, or make the kernel smaller",
        code="does-not-fit",
    )
