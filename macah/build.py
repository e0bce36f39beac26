"""The executable of a program: its host part, the runtime, and the kernels' simulation, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backend.verilog_frame import Design
from sim.access import together
from sim.cosim import BENCHES, RUNTIME_FLAGS, RUNTIME_SOURCES, SimulatorMissing, build_image
from sim.objects import compile_objects
from sim.wave import Wave, layout

from .bridge import check_bridge
from .compile import Adpc, Simulated
from .diagnostic import MacahError
from .gcc_flags import for_runtime, keeps_columns, notes
from .messages import Messages
from .options import Options
from .program import Program
from .stages import Stages
from .toolchain import compiler, compiler_command, run_compiler, write_whole
from .translate import HostKernel, translate
from .translate_prelude import LANGUAGE


def build(
    program: Program,
    adpc: Adpc,
    kernels: Sequence[Simulated],
    options: Options,
    stages: Stages,
    messages: Messages,
    directory: Path,
) -> Path:
    """Compiles a program to an executable in `directory`, with its kernels; without any, all of it is C."""
    runtime, sources = list(RUNTIME_SOURCES), []
    if not kernels:
        translation = translate(program, adpc, columns=keeps_columns(options.cc))
    else:
        for kernel in kernels:
            check_bridge(kernel.site, kernel.dfg)
        hosted = [HostKernel(k.site, k.kernel, k.dfg) for k in kernels]
        translation = translate(program, adpc, hosted, columns=keeps_columns(options.cc))
        with stages("build the simulation"):
            try:
                designs = [k.design for k in kernels]
                image = build_image(
                    designs,
                    directory,
                    compiler(),
                    options.lockstep,
                    options.stall_cycles,
                    _wave(options),
                    options.simulator,
                    [design.watch for design in designs] if options.profile else None,
                )
                _write_layouts(designs, _wave(options), options.simulator)
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
            *warning_flags(options),
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


def _wave(options: Options) -> Wave | None:
    """What is recorded. The program may be started anywhere, so the file's name is absolute."""
    return None if options.wave is None else Wave(options.wave.absolute(), *options.wave_cycles)


def _write_layouts(designs: Sequence[Design], wave: Wave | None, simulator: str) -> None:
    """Writes, beside each waveform that there will be, how GTKWave is to show it."""
    if wave is None:
        return
    groups = together(designs)
    for group in groups:
        design = designs[group[0]]
        own = wave.of(design.top, len(groups) > 1)
        write_whole(own.path.with_suffix(".gtkw"), layout(design, own, BENCHES[simulator]).encode())


def warning_flags(options: Options) -> tuple[str, ...]:
    """What the C compiler is told about warnings and the form of messages."""
    return (*options.messages.warnings.for_compiler(), *options.messages.compiler_flags())
