"""Kernels on Icarus Verilog: vvp with cocotb as the control plane and a VPI module as the data plane."""

from __future__ import annotations

import os
import re
import shlex
import sys
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from backend.watch import Watch

from .bench import BENCH, DesignLike, bench_text
from .icarus_version import check_cocotb, check_icarus
from .objects import reuse
from .parallel import run_all
from .simulator import (
    CONTROL_FD,
    DATA_PLANE,
    DESIGN_FD,
    MODULE_FD,
    RUNTIME,
    Simulation,
    SimulatorMissing,
    find_tool,
    run_compiler,
    run_tool,
)
from .twins import twin_lines, twin_texts
from .wave import Wave, file_names

_CONTROL = Path(__file__).resolve().parent / "control.py"


def build_icarus(
    groups: Sequence[Sequence[DesignLike]],
    directory: Path,
    compiler: str,
    waves: Sequence[Wave | None],
    watches: Sequence[Watch | None],
) -> Simulation:
    """Compiles the simulation of each group of kernels in `directory`. Errors: SimulatorMissing."""
    command, environment = _simulator()
    if waves and waves[0] is not None:
        command[-1] = "-fst" if waves[0].is_fst else "-vcd"
        environment["MACAH_WAVE"] = file_names(waves)
    module, control = directory / "module.vpi", directory / "control.zip"
    bases = [directory / f"kernel{k}" for k in range(len(groups))]
    designs = [partial(_compile_design, *each) for each in zip(groups, bases, waves, watches, strict=True)]
    _, *compiled = run_all([partial(_compile_module, module, compiler), *designs])
    with zipfile.ZipFile(control, "w") as archive:
        # Without times: the same program is the same bytes.
        archive.writestr(zipfile.ZipInfo("macah_control.py"), _CONTROL.read_bytes())
        # What is imported at start does not go away again; control.py has the collector on afterwards.
        archive.writestr(zipfile.ZipInfo("sitecustomize.py"), "import gc\ngc.disable()\n")
    return Simulation(tuple(command), environment, tuple(compiled), module, control)


def check_icarus_tools(compiler: str) -> None:
    """Errors: SimulatorMissing, if something is missing or too old."""
    _simulator()


def compile_verilog(sources: Sequence[Path], top: str, output: Path) -> None:
    """Compiles Verilog for vvp, where it is, to the same bytes in each run. Errors: SimulatorMissing."""
    command = [find_tool("iverilog", "iverilog"), "-g2005", "-s", top, "-o", output.name]
    names = [os.path.relpath(source, output.parent) for source in sources]
    run_tool([*command, *names], f"iverilog on {top}", output.parent)
    numbers: dict[bytes, bytes] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return found[1] or numbers.setdefault(found[0], b"0x%x" % len(numbers))

    # Labels, which are no text, are addresses in iverilog's memory.
    output.write_bytes(re.sub(rb'("(?:[^"\\]|\\.)*")|0x[0-9a-f]{6,}', number, output.read_bytes()))


def _compile_design(group: Sequence[DesignLike], base: Path, wave: Wave | None, watch: Watch | None) -> Path:
    kernel, bench = base.with_suffix(".v"), base.with_suffix(".bench.v")
    beside = group if watch is not None else ()
    kernel.write_text("\n".join([group[0].text, *twin_texts(beside)]))
    bench.write_text(bench_text(group, wave, watch, tuple(twin_lines(beside))))
    compiled = base.with_suffix(".vvp")
    compile_verilog([kernel, bench], BENCH, compiled)
    return compiled


def _vpi_include() -> Path:
    """The directory of vpi_user.h."""
    iverilog = Path(find_tool("iverilog", "iverilog")).resolve()
    for directory in (iverilog.parent.parent / "include/iverilog", Path("/usr/include/iverilog")):
        if (directory / "vpi_user.h").exists():
            return directory
    raise SimulatorMissing(f"vpi_user.h, a part of Icarus Verilog, was not found near {iverilog}")


def _compile_module(output: Path, compiler: str) -> Path:
    flags = [
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
        f"-I{_vpi_include()}",
        "-pthread",
    ]
    sources = [str(source) for source in (RUNTIME / "vpi.c", *DATA_PLANE)]
    command = shlex.split(compiler)

    def make() -> None:
        run_compiler(command, [*flags, *sources, "-o", str(output)], "compiling the VPI module")

    reuse([*flags, *sources], command, RUNTIME, [output], make)
    return output


def _simulator() -> tuple[list[str], dict[str, str]]:
    """The simulator's command and cocotb's environment for it."""
    vvp = find_tool("vvp", "iverilog")
    check_icarus([find_tool("iverilog", "iverilog"), vvp])
    check_cocotb()
    try:
        import cocotb_tools.config as cocotb
        import find_libpython
    except ImportError:
        raise SimulatorMissing("cocotb was not found; install it (pip install 'cocotb>=2,<3')") from None
    libpython = find_libpython.find_libpython()
    if libpython is None:
        raise SimulatorMissing("this Python has no shared library libpython; install one that has")
    command = [
        vvp,
        "-n",
        "-m",
        str(cocotb.lib_name_path("vpi", "icarus")),
        "-m",
        f"/proc/self/fd/{MODULE_FD}",
    ]
    packages = [p for p in sys.path if p and Path(p).is_dir()]
    return [*command, f"/proc/self/fd/{DESIGN_FD}", "-none"], {
        "GPI_USERS": f"{libpython};{cocotb.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([f"/proc/self/fd/{CONTROL_FD}", *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COCOTB_TEST_MODULES": "macah_control",
        "COCOTB_REWRITE_ASSERTION_FILES": "",  # which would load all of pytest's plugins
        "COCOTB_TOPLEVEL": BENCH,
        "COCOTB_RESULTS_FILE": "/dev/null",
        "COCOTB_LOG_LEVEL": "ERROR",
        "GPI_LOG_LEVEL": "ERROR",
        "TOPLEVEL_LANG": "verilog",
    }
