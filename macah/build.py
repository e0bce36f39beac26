"""The executable of a program: its host part, the runtime, and the kernels' simulation, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backend.verilog_frame import Design
from sim.cosim import Image, SimulatorMissing, build_image, check_simulator, write_layouts
from sim.wave import Wave

from .compile import Simulated
from .diagnostic import MacahError
from .host import Host
from .options import Options
from .stages import Stages
from .toolchain import compiler
from .translate_host import HostKernel


def build(kernels: Sequence[Simulated], host: Host, options: Options, stages: Stages) -> Path:
    """Makes the executable of a host part and its kernels; without any, all of it is C."""
    image = None
    if kernels:
        with stages("build the simulation"):
            image = _simulation([k.design for k in kernels], options, host.directory)
    host.compile([HostKernel(k.site, k.kernel, k.dfg) for k in kernels])
    return host.link(image.runtime, image.own) if image else host.link((), ())


def check_tools(options: Options) -> None:
    """Refuses, before the work, what could not be simulated then. Errors: MacahError."""
    try:
        check_simulator(options.simulator, compiler())
    except SimulatorMissing as error:
        raise MacahError(str(error), code="simulator") from None


def _simulation(designs: Sequence[Design], options: Options, directory: Path) -> Image:
    wave = _wave(options)
    try:
        image = build_image(
            designs,
            directory,
            compiler(),
            options.lockstep,
            options.stall_cycles,
            wave,
            options.simulator,
            [design.watch for design in designs] if options.profile else None,
        )
    except SimulatorMissing as error:
        raise MacahError(str(error), code="simulator") from None
    if wave is not None:
        write_layouts(designs, wave, options.simulator)
    return image


def _wave(options: Options) -> Wave | None:
    """What is recorded. The program may be started anywhere, so the file's name is absolute."""
    return None if options.wave is None else Wave(options.wave.absolute(), *options.wave_cycles)
