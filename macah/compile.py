"""The kernels of a program, one by one: from the source through all stages to hardware."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import EFFORTS, DoesNotFit, MapOptions, Mapping, Shortage
from backend.relays import HEAVY, SPANS, kept, relayed
from backend.rows import NoHardware
from backend.solved import spare_with_words
from backend.verilog import Design, emit
from backend.verilog_fabric import hardware
from backend.watch import Loop

from .answers import answered
from .bolder import longest
from .deep import deep_recursion
from .diagnostic import MacahError, Note
from .fabrics import fabric_of
from .forms import Front, smaller, smaller_first, ungrown
from .ir import Kernel
from .lint import flow_of
from .lint_kernels import MORE_MEMORY
from .loop_counts import Counted, count_loops
from .lower import lower
from .optional import GROWING, OPTIONAL
from .options import Options
from .passes.pipeline import optimize
from .program import KernelSite, Program
from .rare import with_turns
from .roll import rollings
from .show import show_kernel
from .spread import MOST_NODES, spread
from .stages import Stages
from .todfg import build_dfg
from .unrolling import NONE, read_unrolling

# The values of pseudo-constants.
Adpc = dict[str, int]


@dataclass(frozen=True)
class Simulated:
    """A kernel in its final form, its graph, and the Verilog that is simulated."""

    site: KernelSite
    kernel: Kernel
    dfg: DFG
    design: Design
    loops: tuple[Loop, ...] = field(default=(), kw_only=True)  # whose bodies the design counts
    uncounted: str = field(default="", kw_only=True)  # why it counts none


@dataclass(frozen=True)
class Compiled(Simulated):
    """A kernel after each stage, mapped."""

    lowered: Kernel
    mapping: Mapping


_CROWDED = frozenset({Shortage.REGISTERS, Shortage.ROUTES, Shortage.INTERVAL})


def fronts(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Front]:
    """Lowers and optimises all kernels."""
    bubbles = {*options.bubbles}
    with stages("find lock-step"):
        flow = flow_of(program)
    if not options.no_bubbles and "*" not in {*bubbles, *options.ordered}:
        bubbles |= flow.lock_step - {*options.ordered}
    options = replace(options, bubbles=tuple(sorted(bubbles)))
    made: list[Front] = []
    for site in program.kernels:
        with deep_recursion(site.where):
            made.append(_front(program, site, adpc, options, stages, site.name in flow.one_way))
    return made


def _front(
    program: Program, site: KernelSite, adpc: Adpc, options: Options, stages: Stages, one_way: bool
) -> Front:
    fabric = fabric_of(options.arch)

    def watch(name: str, kernel: Kernel) -> None:
        if name in options.dump_after or "all" in options.dump_after:
            sys.stderr.write(f"; after {name}\n{show_kernel(kernel)}\n")

    with stages(f"lower {site.name}"):
        plain = lower(program, site, adpc, alone=options.alone)
        if {site.name, "*"} & {*options.ordered}:
            plain = replace(plain, ordered=True)
        if {site.name, "*"} & {*options.bubbles}:
            plain = replace(plain, bubbles=True)
        unroll = read_unrolling(program, options.unroll).of(plain)
        without = frozenset(OPTIONAL if "all" in options.disable else options.disable)
        plain = replace(plain, without=without, unroll=unroll)
        plain = replace(plain, one_way=one_way, words=fabric.largest_memory)
        watch("lower", plain)

    def made() -> Front:
        with stages(f"weigh rare branches of {site.name}"):
            lowered = with_turns(plain, fabric)
        with stages(f"spread {site.name}"):
            choice = spread(lowered, fabric, NONE not in options.unroll, jobs=options.jobs)
        if choice is not None and not options.dump_after:
            return Front.of(site, plain, choice)
        lowered = lowered if choice is None else choice.kernel
        with stages(f"optimize {site.name}"):
            kernel = optimize(lowered, watch)
        with stages(f"graph {site.name}"):
            return Front(site, plain, lowered, kernel, build_dfg(kernel, fabric))

    if options.dump_after or not options.keep:
        return made()
    return answered("front", (plain, fabric.digest, NONE in options.unroll), (site, fabric), made)


def compile_kernels(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Compiled]:
    """Maps all kernels of a program."""
    return map_fronts(fronts(program, adpc, options, stages), options, stages)


def map_fronts(made: Sequence[Front], options: Options, stages: Stages) -> list[Compiled]:
    """Maps all kernels that the front end is done with."""
    fabric = fabric_of(options.arch)
    kernels = [mapped(front, fabric, options, stages) for front in made]
    return loaded(kernels, fabric, stages) if options.netlist == "generic" else kernels


def loaded(kernels: Sequence[Compiled], fabric: Fabric, stages: Stages) -> list[Compiled]:
    """The kernels on the fabric itself, which they are loaded into in turns. Errors: MacahError."""
    found = []
    with stages("emit the fabric"):
        try:
            made = hardware(fabric) if kernels else None
        except NoHardware as problem:
            raise MacahError(f"there is no generic netlist: {problem}", code="does-not-fit") from None
        for kernel in kernels:
            assert made is not None
            try:
                design = made.load(kernel.mapping).with_twin(kernel.design)
                found.append(replace(kernel, design=design))
            except NoHardware as problem:
                message = f"kernel '{kernel.site.name}' cannot be loaded into {fabric.name}: {problem}"
                raise MacahError(message, kernel.site.where, code="does-not-fit") from None
    return found


def mapped(front: Front, fabric: Fabric, options: Options, stages: Stages) -> Compiled:
    """Maps one kernel and emits its hardware."""
    with stages(f"map {front.site.name}"):
        front, mapping = map_front(front, fabric, options, stages)
    with stages(f"emit {front.site.name}"):
        counted = counted_loops(front, fabric, options)
        # Beside a fabric, its module must not have the name of one of the fabric's.
        name = f"{fabric.name}_beside_{front.dfg.name}" if options.netlist == "generic" else ""
        design = emit(mapping, counted.shadow, name)
        return Compiled(
            front.site,
            front.kernel,
            front.dfg,
            design,
            front.lowered,
            mapping,
            loops=counted.loops,
            uncounted=counted.reason,
        )


def map_front(front: Front, fabric: Fabric, options: Options, stages: Stages) -> tuple[Front, Mapping]:
    """A mapping of what was chosen, or of a bolder choice if that has one and is faster then."""
    if options.time_limit or not options.keep:
        return _map_front(front, fabric, options, stages)
    about = (front.plain, fabric.digest, NONE in options.unroll, replace(options.mapping(), jobs=1))
    made = partial(_map_front, front, fabric, options, stages)
    return answered("map", about, (front.site, fabric), made)


def _map_front(front: Front, fabric: Fabric, options: Options, stages: Stages) -> tuple[Front, Mapping]:
    chosen, mapping = _map_chosen(front, fabric, options, stages)
    wanted = options.mapping()
    if chosen is not front or mapping.late or wanted.interval or wanted.time_limit:
        return chosen, mapping
    if front.choice is None or (bolder := front.choice.bolder) is None:
        return chosen, mapping
    most = longest(front.choice, bolder, mapping.interval)
    most = min(most, wanted.max_interval or most)
    with suppress(DoesNotFit, KeyboardInterrupt):  # then the first mapping is the result
        # What is not mapped soon seldom is, and there is a mapping already.
        wanted = replace(wanted, max_interval=most, effort=min(wanted.effort, EFFORTS["low"]))
        made = map_kernel(bolder.dfg, fabric, wanted, stages.say)
        return Front.of(front.site, front.plain, bolder), made
    return chosen, mapping


def _map_chosen(front: Front, fabric: Fabric, options: Options, stages: Stages) -> tuple[Front, Mapping]:
    """A mapping; if the kernel has grown too large while it was made faster, of what it was before that."""
    wanted = options.mapping()
    heavy = kept(front.dfg) > HEAVY * fabric.registers
    if heavy and (found := _in_stages(front, fabric, wanted, stages)):
        return found
    if spare_with_words(fabric) and (found := smaller_first(front, fabric, wanted, stages)):
        return found
    try:
        mapping = map_kernel(front.dfg, fabric, wanted, stages.say)
    except DoesNotFit as problem:
        unstaged = problem.shortage in _CROWDED and not heavy
        if unstaged and (found := _in_stages(front, fabric, wanted, stages)):
            return found
        if problem.shortage in _CROWDED and (found := _chosen_again(front, fabric, options, stages)):
            return found
        without = front.plain.without | GROWING
        lowered = replace(front.plain, without=without, rolled=front.lowered.rolled)
        small = smaller(front, lowered, fabric) if problem.shortage in _CROWDED else None
        if small is not None and small.dfg.bare() != front.dfg.bare():
            with suppress(DoesNotFit):
                return small, map_kernel(small.dfg, fabric, wanted, stages.say)
        raise _does_not_fit(problem, front.site, front.dfg, fabric) from None
    crowded = (
        len(front.dfg.nodes) <= MOST_NODES and mapping.interval > minimum_interval(front.dfg, fabric).mii
    )
    if crowded and not (mapping.late or wanted.interval or wanted.time_limit):
        wanted = replace(wanted, max_interval=mapping.interval - 1)
        with suppress(DoesNotFit, KeyboardInterrupt):  # then the first mapping is the result
            if found := _in_stages(front, fabric, wanted, stages):
                return found
            if (small := ungrown(front, fabric)) is not None:
                return small, map_kernel(small.dfg, fabric, wanted, stages.say)
    return front, mapping


def _chosen_again(
    front: Front, fabric: Fabric, options: Options, stages: Stages
) -> tuple[Front, Mapping] | None:
    """A mapping with fewer copies of loops' bodies, if there were some that nobody asked for, or of FORs'."""
    while front.lowered.unroll != front.plain.unroll or rollings(front.plain, everywhere=True):
        nodes = len(front.dfg.nodes)
        choice = spread(
            with_turns(front.plain, fabric), fabric, NONE not in options.unroll, nodes // 2, options.jobs
        )
        if choice is None or len(choice.dfg.nodes) >= nodes:
            return None
        front = Front.of(front.site, front.plain, choice)
        with suppress(DoesNotFit):
            return front, map_kernel(front.dfg, fabric, options.mapping(), stages.say)
    return None


def _in_stages(
    front: Front, fabric: Fabric, wanted: MapOptions, stages: Stages
) -> tuple[Front, Mapping] | None:
    """A mapping with stages for what is kept over many iterations, if there is one."""
    for span in SPANS:
        if (dfg := relayed(front.dfg, span)) is not None:
            with suppress(DoesNotFit):
                return replace(front, dfg=dfg), map_kernel(dfg, fabric, wanted, stages.say)
    return None


def counted_loops(front: Front, fabric: Fabric, options: Options) -> Counted:
    """For a profile: the loops of a kernel whose bodies can be counted beside its design."""
    if not options.profile:
        return Counted()
    return count_loops(front.lowered, front.kernel, front.dfg, fabric)


_HINTS = {
    Shortage.INTERVAL: "shorten the chain of operations from one iteration to the next, or split the kernel",
    Shortage.MEMORIES: MORE_MEMORY,
}


def _does_not_fit(problem: DoesNotFit, site: KernelSite, dfg: DFG, fabric: Fabric) -> MacahError:
    """The user's view: which resource, how much of it, and which source lines need it."""
    places = dict.fromkeys(w for n in problem.nodes if (w := dfg.nodes[n].where) is not None)
    notes = tuple(Note("needed here", place) for place in list(places)[:4])
    if problem.shortage is Shortage.TIME:
        message = f"kernel '{site.name}' is not mapped on {fabric.name}: {problem}"
        hint = (
            "allow more with --time-limit, try less with --effort low, or choose a larger array with --arch"
        )
        return MacahError(message, site.where, hint=hint, code="does-not-fit")
    return MacahError(
        f"kernel '{site.name}' does not fit on {fabric.name}: {problem}"
        f" ({problem.shortage.value}: {problem.needed} needed, {problem.available} available)",
        site.where,
        notes,
        hint=_HINTS.get(
            problem.shortage,
            "choose a larger array with --arch, such as grid:16x16, or make the kernel smaller",
        ),
        code="does-not-fit",
    )
