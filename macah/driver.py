"""From a command line to its effect: what is compiled, and what is written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from arch.describe import fabric_file
from backend.bitstream import show_bits
from backend.dfg import show_dfg
from backend.kernel_json import write_kernel
from backend.show import show_mapping
from backend.verilog_frame import FabricDesign
from sim.workspace import write_whole

from .adpc import given, pseudo_constants
from .build import build, check_tools
from .choose import choose
from .compile import Adpc, Compiled, Simulated, compile_kernels, fronts, map_fronts
from .dataflow import circuits, dataflow_kernels
from .deep import deep_recursion
from .diagnostic import MacahError
from .diff_modes import diff_modes
from .explain import explain
from .fabrics import fabric_of
from .gcc_flags import dependencies
from .host import Host, warning_flags
from .interface import design_json, verilog_text
from .lint import warnings
from .messages import Messages, Stopped
from .optional import OPTIONAL
from .options import Options
from .passes.pipeline import PIPELINE, required
from .program import Program, read_program
from .report import report_json, report_text
from .report_facts import Account
from .show import show_kernel
from .stages import Stages
from .survey import as_in_c, host_mistakes, kernels_of, without_consequences
from .toolchain import check_outputs, compiler, workspace
from .translate import to_c, to_host_c
from .translate_host import HostKernel
from .translate_prelude import LANGUAGE
from .unrolling import NONE, read_unrolling


def perform(options: Options, messages: Messages) -> int:
    """Does what the command line asks; the status. Errors: MacahError, OSError, and Stopped if shown."""
    if options.action == "explain":
        write_output(options, explain(options.explain))
        return 0
    if options.action == "diff-modes":
        return diff_modes(options, lambda mode, warn: _executable(options, mode, warn, messages))
    made = _compiled(options, messages)
    if made is not None:
        messages.close()
        if options.profile:
            from .profiled import run_profiled

            run_profiled(made.file, made.kernels, options)
        _become(made.file, options)
    return 0


@dataclass(frozen=True)
class Made:
    """An open file of an executable, and the kernels that it simulates."""

    file: int
    kernels: Sequence[Simulated]


def _compiled(options: Options, messages: Messages) -> Made | None:
    """Compiles; the result is for `run`."""
    stages = Stages(options.verbose)
    try:
        with deep_recursion(), stages.progress():
            made = _act(options, stages, messages)
    except RecursionError:
        raise MacahError(f"{options.source}: the program is nested too deeply", code="too-deep") from None
    if options.time:
        sys.stderr.write(stages.table())
    return made


def _executable(options: Options, mode: str, warn: bool, messages: Messages) -> int:
    """An open file of the program's executable in a mode."""
    if not warn:
        quiet = replace(options.messages.warnings, quiet=True)
        options = replace(options, messages=replace(options.messages, warnings=quiet))
        messages.options = options.messages
    made = _compiled(replace(options, action="run", mode=mode), messages)
    assert made is not None
    return made.file


def _act(options: Options, stages: Stages, messages: Messages) -> Made | None:
    """Compiles; the result is for `run`."""
    _check_passes(options)
    if options.profile:
        from .profiled import check_targets

        check_targets(options)
    outputs = [path for path in (options.save_report, options.wave) if path is not None]
    if options.action == "compile" or options.output and str(options.output) != "-":
        outputs.insert(0, options.output or Path("a.out"))
    check_outputs(outputs, (options.source, fabric_file(options.arch)))
    with stages("read"):
        program = read_program(
            options.source,
            (*options.cpp, *dependencies(options.depend, options.output), *warning_flags(options)),
            compiler(),
        )
    messages.source = str(options.source)
    messages.compiler(program.warnings)
    _check_names(program, "--ordered-streams", options.ordered)
    _check_names(program, "--bubbles", options.bubbles)
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
            kernels = compile_kernels(program, adpc, options, stages)
            text = _report(program, adpc, kernels, options, as_json=options.json)
            stages.hide()
            write_output(options, text)
        case action:
            with workspace() as directory:
                host = Host(program, adpc, options, stages, messages, directory)
                simulated, mapped = _simulated(program, adpc, options, stages, host)
                built = build(simulated, host, options, stages)
                if options.save_report is not None:
                    write_whole(
                        options.save_report, _report(program, adpc, mapped, options, as_json=True).encode()
                    )
                if action == "run":
                    return Made(os.open(built, os.O_RDONLY | os.O_CLOEXEC), simulated)
                write_whole(options.output or Path("a.out"), built.read_bytes(), executable=True)
    return None


def _simulated(
    program: Program, adpc: Adpc, options: Options, stages: Stages, host: Host
) -> tuple[Sequence[Simulated], Sequence[Compiled]]:
    """The kernels that run on a simulator, and those of them that are mapped, once the host is in order."""
    if options.mode == "c" or not program.kernels:
        return (), ()
    with stages("look for the simulator"):
        check_tools(options)
    made = fronts(program, adpc, options, stages)
    host.check([HostKernel(front.site, front.kernel, front.dfg) for front in made])
    if options.mode == "dataflow":
        return circuits(made, options, stages), ()
    mapped = map_fronts(made, options, stages)
    return mapped, mapped


def _report(
    program: Program, adpc: Adpc, kernels: Sequence[Compiled], options: Options, as_json: bool
) -> str:
    """What became of the kernels."""
    show = report_json if as_json else report_text
    automatic = NONE not in options.unroll
    accounts = [Account(k.site.where, k.lowered, k.mapping, automatic, options.keep) for k in kernels]
    return show(accounts, pseudo_constants(program, adpc))


def _adpc(program: Program, options: Options) -> Adpc:
    """The values of all pseudo-constants: the user's, and for the others the compiler's own choice."""
    values = given(program, options.adpc)
    if not pseudo_constants(program, values):
        return values
    return choose(program, values, fabric_of(options.arch))


def _check(program: Program, adpc: Adpc, options: Options, messages: Messages) -> None:
    """Shows what is wrong with the program, and what may be; goes on only if there is no error."""
    kernels, found = kernels_of(program, adpc)
    in_c = options.mode == "c" or options.emit == "c"
    if in_c:
        found = as_in_c(found)
    errors = [diagnostic for diagnostic in found if diagnostic.severity == "error"]
    # In mode c the C compiler comes next anyway.
    if errors or not in_c and options.action != "emit" and program.kernels:
        flags = (*LANGUAGE, *options.messages.warnings.for_compiler())
        found = without_consequences([*found, *host_mistakes(program, adpc, flags, errors)])
    if not errors:
        lowered = [k for k in kernels if k is not None]
        read_unrolling(program, options.unroll).check(lowered)
        # A mapper's error says more than a warning that the arrays are too large.
        fabric = fabric_of(options.arch) if in_c and program.kernels else None
        safe = (*options.ordered, *options.bubbles)
        found += warnings(program, lowered, fabric, safe, not options.no_bubbles)
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
        if name not in ("all", *OPTIONAL):
            problem = (
                f"--disable: no kernel can do without '{name}'"
                if name in required()
                else f"--disable: there is no optimisation '{name}'"
            )
            raise MacahError(problem, hint=f"optimisations: all {' '.join(OPTIONAL)}", code="usage")


def _check_names(program: Program, option: str, given: Sequence[str]) -> None:
    names = [site.name for site in program.kernels]
    for name in given:
        if name not in ("*", *names):
            hint = f"kernels: {' '.join(names)}" if names else "the program has no kernel"
            raise MacahError(f"{option}: there is no kernel '{name}'", hint=hint, code="usage")


def _emitted(program: Program, adpc: Adpc, options: Options, stages: Stages) -> str:
    """The text of one stage's result, for all kernels."""
    match options.emit:
        case "c":
            return to_c(program, adpc)
        case "ir":
            return "\n".join(show_kernel(f.kernel) for f in fronts(program, adpc, options, stages))
        case "graph":
            return "\n".join(write_kernel(f.dfg) for f in fronts(program, adpc, options, stages))
        case "dfg":
            return "\n".join(show_dfg(f.dfg) for f in fronts(program, adpc, options, stages))
        case "map":
            return "\n".join(show_mapping(k.mapping) for k in compile_kernels(program, adpc, options, stages))
    make = dataflow_kernels if options.mode == "dataflow" else compile_kernels
    kernels = make(program, adpc, options, stages)
    if options.emit == "host-c":
        return to_host_c(program, [HostKernel(k.site, k.kernel, k.dfg) for k in kernels], adpc)
    if options.emit == "design":
        return design_json(kernels, options.arch, "dataflow" if make is dataflow_kernels else "mapped")
    if options.emit == "bits":
        return "\n".join(show_bits(k.design) for k in kernels if isinstance(k.design, FabricDesign))
    return verilog_text(kernels, options.axi_stream)


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
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores, and the program would, too
    os.execve(executable, [str(options.source.with_suffix("")), *options.arguments], os.environ)
