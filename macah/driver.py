"""From a command line to its effect: the stages of compilation, in order."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from arch.describe import ArchitectureError, load_fabric
from arch.fabric import Fabric
from backend.dfg import DFG, show_dfg
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping, Shortage
from backend.show import show_mapping
from backend.verilog import Design, emit
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, SimulatorMissing, build_image
from sim.objects import compile_objects

from .adpc import given, pseudo_constants
from .choose import choose
from .diagnostic import MacahError, Note, Place
from .diff_modes import diff_modes
from .explain import explain
from .gcc_flags import dependencies, for_runtime, keeps_columns, notes
from .ir import Kernel
from .lint import warnings
from .lower import lower
from .messages import Messages, Stopped
from .optional import OPTIONAL
from .options import Options
from .parser import deep_recursion
from .passes.pipeline import PIPELINE, optimize, required
from .program import KernelSite, Program, read_program
from .report import report_json, report_text
from .show import show_kernel
from .stages import Stages
from .survey import as_in_c, host_mistakes, kernels_of
from .todfg import build_dfg
from .toolchain import check_output, compiler, compiler_command, run_compiler, workspace, write_whole
from .translate import HostKernel, to_c, to_host_c, translate
from .translate_prelude import LANGUAGE

# The values of pseudo-constants.
Adpc = dict[str, int]


@dataclass(frozen=True)
class Compiled:
    """A kernel after each stage."""

    site: KernelSite
    kernel: Kernel
    dfg: DFG
    mapping: Mapping
    design: Design


def perform(options: Options, messages: Messages) -> int:
    """Does what the command line asks; the status. Errors: MacahError, OSError, and Stopped if shown."""
    if options.action == "explain":
        write_output(options, explain(options.explain))
        return 0
    if options.action == "diff-modes":
        return diff_modes(options, lambda mode, warn: _executable(options, mode, warn, messages))
    executable = _compiled(options, messages)
    if executable is not None:
        messages.close()
        _become(executable, options)
    return 0


def _compiled(options: Options, messages: Messages) -> int | None:
    """Compiles; for `run`, the result is an open file of the executable."""
    stages = Stages(options.verbose)
    try:
        with deep_recursion(), stages.progress():
            executable = _act(options, stages, messages)
    except RecursionError:
        raise MacahError(f"{options.source}: the program is nested too deeply", code="too-deep") from None
    if options.time:
        sys.stderr.write(stages.table())
    return executable


def _executable(options: Options, mode: str, warn: bool, messages: Messages) -> int:
    """An open file of the program's executable in a mode."""
    if not warn:
        quiet = replace(options.messages.warnings, quiet=True)
        options = replace(options, messages=replace(options.messages, warnings=quiet))
        messages.options = options.messages
    executable = _compiled(replace(options, action="run", mode=mode), messages)
    assert executable is not None
    return executable


def _act(options: Options, stages: Stages, messages: Messages) -> int | None:
    """Compiles; for `run`, the result is an open file of the executable."""
    if options.mode == "dataflow":
        raise MacahError(
            "mode 'dataflow' is not there yet", hint="use --mode mapped or --mode c", code="usage"
        )
    _check_passes(options)
    if options.action == "compile" or options.output and str(options.output) != "-":
        check_output(options.output or Path("a.out"), options.source)
    with stages("read"):
        program = read_program(
            options.source,
            (*options.cpp, *dependencies(options.depend, options.output), *_warnings(options)),
            compiler(),
        )
    messages.source = str(options.source)
    messages.compiler(program.warnings)
    _check_ordered(program, options)
    with stages("choose pseudo-constants"):
        adpc = _adpc(program, options)
    with stages("check"):
        _check(program, adpc, options, messages)
    match options.action:
        case "emit":
            text = _emitted(program, adpc, options, stages)
            stages.hide()
            write_output(options, text)
        case "report":
            kernels = _compile_kernels(program, adpc, options, stages)
            show = report_json if options.json else report_text
            stages.hide()
            constants = pseudo_constants(program, adpc)
            write_output(options, show([(k.site.where, k.mapping) for k in kernels], constants))
        case action:
            with workspace() as directory:
                built = _build(program, adpc, options, stages, messages, directory)
                if action == "run":
                    return os.open(built, os.O_RDONLY | os.O_CLOEXEC)
                write_whole(options.output or Path("a.out"), built.read_bytes(), executable=True)
    return None


def _adpc(program: Program, options: Options) -> Adpc:
    """The values of all pseudo-constants: the user's, and for the others the compiler's own choice."""
    values = given(program, options.adpc)
    if not pseudo_constants(program, values):
        return values
    return choose(program, values, _fabric(options.arch))


def _warnings(options: Options) -> tuple[str, ...]:
    """What the C compiler is told about warnings and the form of messages."""
    return (*options.messages.warnings.for_compiler(), *options.messages.compiler_flags())


def _check(program: Program, adpc: Adpc, options: Options, messages: Messages) -> None:
    """Shows what is wrong with the program, and what may be; goes on only if there is no error."""
    kernels, found = kernels_of(program, adpc)
    in_c = options.mode == "c" or options.emit == "c"
    if in_c:
        found = as_in_c(found)
    errors = [diagnostic for diagnostic in found if diagnostic.severity == "error"]
    # In mode c the C compiler comes next anyway.
    if errors or not in_c and options.action != "emit" and program.kernels:
        found += host_mistakes(program, adpc, LANGUAGE, errors)
    if not errors:
        # A mapper's error says more than a warning that the arrays are too large.
        fabric = _fabric(options.arch) if in_c and program.kernels else None
        found += warnings(program, [k for k in kernels if k is not None], fabric, options.ordered)
    messages.show(found)
    if messages.errors:
        raise Stopped


def _check_passes(options: Options) -> None:
    known = [p.name for p in PIPELINE]
    for name in options.dump_after:
        if name not in ("all", "lower", *known):
            raise MacahError(
                f"there is no pass '{name}'",
                hint=f"passes: lower {' '.join(dict.fromkeys(known))}",
                code="usage",
            )
    for name in options.disable:
        if name not in OPTIONAL:
            problem = (
                f"--disable: no kernel can do without '{name}'"
                if name in required()
                else f"--disable: there is no optimisation '{name}'"
            )
            raise MacahError(problem, hint=f"optimisations: {' '.join(OPTIONAL)}", code="usage")


def _check_ordered(program: Program, options: Options) -> None:
    names = [site.name for site in program.kernels]
    for name in options.ordered:
        if name not in ("*", *names):
            hint = f"kernels: {' '.join(names)}" if names else "the program has no kernel"
            raise MacahError(f"--ordered-streams: there is no kernel '{name}'", hint=hint, code="usage")


def _emitted(program: Program, adpc: Adpc, options: Options, stages: Stages) -> str:
    """The text of one stage's result, for all kernels."""
    match options.emit:
        case "c":
            return to_c(program, adpc)
        case "ir":
            fronts = [_front(program, site, adpc, options, stages) for site in program.kernels]
            return "\n".join(map(show_kernel, fronts))
        case "dfg":
            fronts = [_front(program, site, adpc, options, stages) for site in program.kernels]
            return "\n".join(show_dfg(build_dfg(kernel)) for kernel in fronts)
    kernels = _compile_kernels(program, adpc, options, stages)
    match options.emit:
        case "host-c":
            return to_host_c(program, [HostKernel(k.site, k.kernel, k.dfg) for k in kernels], adpc)
        case "map":
            return "\n".join(show_mapping(k.mapping) for k in kernels)
    return "\n".join(k.design.text for k in kernels)


def _front(program: Program, site: KernelSite, adpc: Adpc, options: Options, stages: Stages) -> Kernel:
    """Lowers and optimises one kernel."""

    def watch(name: str, kernel: Kernel) -> None:
        if name in options.dump_after or "all" in options.dump_after:
            sys.stderr.write(f"; after {name}\n{show_kernel(kernel)}\n")

    with stages(f"lower {site.name}"):
        kernel = lower(program, site, adpc)
        if {site.name, "*"} & {*options.ordered}:
            kernel = replace(kernel, ordered=True)
        kernel = replace(kernel, without=frozenset(options.disable))
        watch("lower", kernel)
    with stages(f"optimize {site.name}"):
        return optimize(kernel, watch)


def _compile_kernels(program: Program, adpc: Adpc, options: Options, stages: Stages) -> list[Compiled]:
    fabric = _fabric(options.arch)
    fronts = [_front(program, site, adpc, options, stages) for site in program.kernels]
    return [
        _back(site, kernel, fabric, options, stages)
        for site, kernel in zip(program.kernels, fronts, strict=True)
    ]


def _back(site: KernelSite, kernel: Kernel, fabric: Fabric, options: Options, stages: Stages) -> Compiled:
    """Maps one kernel and emits its hardware."""
    with stages(f"graph {site.name}"):
        dfg = build_dfg(kernel)
    with stages(f"map {site.name}"):
        try:
            mapping = map_kernel(dfg, fabric, MapOptions(seed=options.seed), stages.say)
        except DoesNotFit as problem:
            raise _does_not_fit(problem, site, dfg, fabric) from None
    with stages(f"emit {site.name}"):
        return Compiled(site, kernel, dfg, mapping, emit(mapping))


def _fabric(name: str) -> Fabric:
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


def _build(
    program: Program, adpc: Adpc, options: Options, stages: Stages, messages: Messages, directory: Path
) -> Path:
    """Compiles the whole program to an executable in `directory`."""
    runtime, sources = list(RUNTIME_SOURCES), []
    if options.mode == "c" or not program.kernels:
        translation = translate(program, adpc, columns=keeps_columns(options.cc))
    else:
        kernels = _compile_kernels(program, adpc, options, stages)
        hosted = [HostKernel(k.site, k.kernel, k.dfg) for k in kernels]
        translation = translate(program, adpc, hosted, columns=keeps_columns(options.cc))
        with stages("build the simulation"):
            try:
                image = build_image([k.design for k in kernels], directory, compiler())
            except SimulatorMissing as error:
                raise MacahError(str(error), code="simulator") from None
        runtime += image.runtime
        sources += [str(source) for source in image.own]
    with stages("compile the host program"):
        host, object_file, built = (directory / name for name in ("program.c", "program.o", "program"))
        host.write_text(translation.text)
        flags = [
            *LANGUAGE,
            *translation.flags,
            *options.cc,
            *_warnings(options),
            *notes(options.cc, options.output, options.source),
        ]
        said = run_compiler(
            [*flags, "-c", str(host), "-o", str(object_file)],
            "the C compiler did not accept the host part of the program",
            options.verbose,
        )
        messages.compiler(said)
        # The runtime is ours: the user's warnings are not for it.
        debug = [flag for flag in options.cc if flag.startswith(("-g", "-fsanitize=thread"))]
        flags = [*LANGUAGE, "-O2", *debug]
        libraries = [*RUNTIME_FLAGS, *for_runtime(options.link)]

        def run(arguments: list[str]) -> None:
            problem = "the program could not be linked"
            messages.compiler(run_compiler(arguments, problem, options.verbose))

        objects = compile_objects(compiler_command(), [*flags, *libraries], runtime, directory, run)
        run([*flags, str(object_file), *map(str, objects), *sources, "-o", str(built), *libraries])
    return built


def write_output(options: Options, text: str) -> None:
    """Writes to the file of `-o`, or to standard output."""
    if options.output is None or str(options.output) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_whole(options.output, text.encode())


def _become(executable: int, options: Options) -> NoReturn:
    """Replaces this process by the program: its streams, signals and status are then its own.

    The executable's file is gone already; it lives as long as it is open.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(executable, [str(options.source.with_suffix("")), *options.arguments], os.environ)
