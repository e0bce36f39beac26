"""Programs with simulated kernels: the image of the simulations, linked into the executable.

The executable carries everything that is the program's own: each kernel's compiled simulation, the VPI
module and the control plane. What belongs to the machine (vvp, Python, cocotb) is found now and named in it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from backend.dfg import DFG

from .bench import BENCH, DesignLike, bench_text
from .objects import reuse
from .wave import Wave

_HERE = Path(__file__).resolve().parent
RUNTIME = _HERE / "runtime"
RUNTIME_SOURCES = tuple(
    RUNTIME / name
    for name in (
        "streams.c",
        "batch.c",
        "ends.c",
        "threads.c",
        "waits.c",
        "tasks.c",
        "report.c",
        "fault.c",
        "trace.c",
        "host_trace.c",
        "heap.c",
    )
)
"""What every program needs."""
RUNTIME_FLAGS = (f"-I{RUNTIME}", "-pthread")
_COSIM_SOURCES = tuple(
    RUNTIME / name for name in ("arena.c", "launch.c", "overlap.c", "lockstep.c", "cosim.c")
)

_MODULE_FD, _DESIGN_FD, _CONTROL_FD = 6, 5, 7  # as in runtime/cosim.h
MAX_STREAMS = 64


class SimulatorMissing(Exception):
    """A tool that simulation needs is not installed, or did not do its work; says what to do."""


@dataclass(frozen=True)
class Image:
    """C sources to compile besides RUNTIME_SOURCES: more of the runtime, and the program's own."""

    runtime: tuple[Path, ...]
    own: tuple[Path, ...]

    @property
    def sources(self) -> tuple[Path, ...]:
        """All of them."""
        return (*self.runtime, *self.own)


def host_link_inputs(mode: str) -> tuple[tuple[Path, ...], tuple[str, ...], tuple[str, ...]]:
    """C files, flags and libraries of a program in mode `c`; in others the image's sources come on top."""
    assert mode in ("c", "mapped", "dataflow"), mode
    return RUNTIME_SOURCES, RUNTIME_FLAGS, ("-pthread",)


def build_image(
    designs: Sequence[DesignLike],
    directory: Path,
    compiler: str = "cc",
    lockstep: bool = False,
    stall_cycles: int = 0,
    wave: Wave | None = None,
) -> Image:
    """Compiles each kernel's simulation in `directory`. Errors: SimulatorMissing.

    In lock step, simulated time does not pass while the host computes. A kernel that moves no element for
    `stall_cycles` (0: any time) ends the program. `wave` says what to record.
    """
    command, environment = _simulator()
    if wave is not None:
        command[-1] = wave.dumper
        environment["MACAH_WAVE"] = "1"
    waves = [wave and wave.of(design.top, len(designs) > 1) for design in designs]
    with ThreadPoolExecutor() as pool:
        module = pool.submit(_compile_module, directory / "module.vpi", compiler)
        compiled = [
            pool.submit(_compile_design, design, directory / f"kernel{k}", waves[k])
            for k, design in enumerate(designs)
        ]
        for work in (module, *compiled):
            work.result()
    with zipfile.ZipFile(directory / "control.zip", "w") as archive:
        archive.write(_HERE / "control.py", "macah_control.py")
    source = directory / "image.c"
    source.write_text(_image_source(designs, directory, command, environment, lockstep, stall_cycles))
    return Image(_COSIM_SOURCES, (source,))


def find_tool(name: str, package: str) -> str:
    """Where a tool is. Errors: SimulatorMissing."""
    path = shutil.which(name)
    if path is None:
        raise SimulatorMissing(f"'{name}' was not found; install it (on Debian: apt-get install {package})")
    return path


def run_tool(command: Sequence[str], what: str) -> None:
    """Runs a tool that is expected to succeed. Errors: SimulatorMissing, with what it said."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise SimulatorMissing(f"{what} failed:\n{(done.stderr + done.stdout).strip()}")


def compile_verilog(sources: Sequence[Path], top: str, output: Path) -> None:
    """Compiles Verilog for vvp. Errors: SimulatorMissing."""
    tool = find_tool("iverilog", "iverilog")
    run_tool([tool, "-g2005", "-s", top, "-o", str(output), *map(str, sources)], f"iverilog on {top}")


def _compile_design(design: DesignLike, base: Path, wave: Wave | None) -> None:
    assert len(design.dfg.streams) <= MAX_STREAMS, design.top
    kernel, bench = base.with_suffix(".v"), base.with_suffix(".bench.v")
    kernel.write_text(design.text)
    bench.write_text(bench_text(design, wave))
    compile_verilog([kernel, bench], BENCH, base.with_suffix(".vvp"))


def _vpi_include() -> Path:
    """The directory of vpi_user.h."""
    iverilog = Path(find_tool("iverilog", "iverilog")).resolve()
    for directory in (iverilog.parent.parent / "include/iverilog", Path("/usr/include/iverilog")):
        if (directory / "vpi_user.h").exists():
            return directory
    raise SimulatorMissing(f"vpi_user.h, a part of Icarus Verilog, was not found near {iverilog}")


def _compile_module(output: Path, compiler: str) -> None:
    flags = [
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
        f"-I{_vpi_include()}",
        "-pthread",
    ]
    sources = [str(RUNTIME / name) for name in ("vpi.c", "ports.c", "naps.c", "ticks.c", "trace.c")]
    command = shlex.split(compiler)

    def make() -> None:
        try:
            run_tool([*command, *flags, *sources, "-o", str(output)], "compiling the VPI module")
        except FileNotFoundError:
            raise SimulatorMissing(f"the C compiler '{compiler}' was not found") from None

    reuse([*flags, *sources], command, RUNTIME, [output], make)


def _simulator() -> tuple[list[str], dict[str, str]]:
    """The simulator's command and cocotb's environment for it."""
    vvp = find_tool("vvp", "iverilog")
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
        f"/proc/self/fd/{_MODULE_FD}",
    ]
    packages = [p for p in sys.path if p and Path(p).is_dir()]
    return [*command, f"/proc/self/fd/{_DESIGN_FD}", "-none"], {
        "GPI_USERS": f"{libpython};{cocotb.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([f"/proc/self/fd/{_CONTROL_FD}", *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COCOTB_TEST_MODULES": "macah_control",
        "COCOTB_TOPLEVEL": BENCH,
        "COCOTB_RESULTS_FILE": "/dev/null",
        "COCOTB_LOG_LEVEL": "ERROR",
        "GPI_LOG_LEVEL": "ERROR",
        "TOPLEVEL_LANG": "verilog",
    }


def _text(value: str) -> str:
    """A C string literal."""
    return json.dumps(value, ensure_ascii=False).replace("\\u007f", "\\177").replace("?", "\\?")


def _strings(name: str, values: Sequence[str]) -> str:
    items = "".join(f"  {_text(value)},\n" for value in values)
    return f"const char *const {name}[] = {{\n{items}  NULL,\n}};\n"


def _included(symbol: str, path: Path) -> str:
    """A file's bytes as a symbol and its end."""
    file = _text(json.dumps(str(path)))
    return (
        f'__asm__(".section .rodata\\n.global {symbol}\\n{symbol}:\\n.incbin " {file}\n'
        f'        "\\n.global {symbol}_end\\n{symbol}_end:\\n.previous\\n");\n'
        f"extern const char {symbol}[], {symbol}_end[];\n"
    )


def _assertions(dfg: DFG) -> list[str]:
    """What to print for each assertion: its place and its text."""
    places = {n.index: n.where for n in dfg.nodes if n.op == "fail" and n.where is not None}
    texts = []
    for index, message in enumerate(dfg.assertions):
        place = f"{places[index].file}:{places[index].line}: " if index in places else ""
        texts.append(f"{place}{message}")
    return texts


def _ports(k: int, dfg: DFG) -> str:
    """What reports say of a kernel's streams."""
    rows = []
    for s, stream in enumerate(dfg.streams):
        places = {n.where: None for n in dfg.nodes if n.stream == s and n.where is not None}
        texts = ", ".join(dict.fromkeys(f"{place.file}:{place.line}" for place in places))
        rows.append(f"  {{{_text(stream.name)}, {_text(texts)}, {int(stream.sends)}}},\n")
    return f"static const struct macah_port port{k}[] = {{\n{''.join(rows)}}};\n" if rows else ""


def _kernel_source(k: int, dfg: DFG, path: Path) -> str:
    parts = [_included(f"macah_design{k}", path), _strings(f"assertions{k}", _assertions(dfg))]
    parts.append(_ports(k, dfg))
    rows = []
    for m, memory in enumerate(dfg.memories):
        initial = "NULL"
        if memory.initial:
            initial = f"initial{k}_{m}"
            words = ", ".join(f"{value}u" for value in memory.initial)
            parts.append(f"static const uint32_t {initial}[] = {{{words}}};\n")
        flags = f"{int(memory.captured_in)}, {int(memory.captured_out)}"
        rows.append(f"  {{{memory.words}, {flags}, {initial}, {len(memory.initial)}}},\n")
    if rows:
        parts.append(f"static const struct macah_memory memory{k}[] = {{\n{''.join(rows)}}};\n")
    return "".join(parts)


def _kernel_row(k: int, dfg: DFG) -> str:
    counts = ", ".join(str(len(x)) for x in (dfg.live_ins, dfg.live_outs, dfg.streams, dfg.memories))
    memory = f"memory{k}" if dfg.memories else "NULL"
    design = f"macah_design{k}, macah_design{k}_end"
    ports = f"port{k}" if dfg.streams else "NULL"
    assertions = f"assertions{k}, {len(dfg.assertions)}"
    return f"  {{{_text(dfg.name)}, {design}, {counts}, {memory}, {assertions}, {ports}}},\n"


def _image_source(
    designs: Sequence[DesignLike],
    directory: Path,
    command: Sequence[str],
    environment: dict[str, str],
    lockstep: bool,
    stall_cycles: int,
) -> str:
    rows = "".join(_kernel_row(k, design.dfg) for k, design in enumerate(designs))
    return "".join(
        [
            '#include "cosim.h"\n',
            _included("macah_module", directory / "module.vpi"),
            _included("macah_control", directory / "control.zip"),
            _strings("macah_simulator_command", command),
            _strings("macah_simulator_environment", [f"{k}={v}" for k, v in environment.items()]),
            *(_kernel_source(k, d.dfg, directory / f"kernel{k}.vvp") for k, d in enumerate(designs)),
            f"const struct macah_kernel macah_kernels[] = {{\n{rows}}};\n",
            f"const unsigned macah_kernel_count = {len(designs)};\n",
            f"const int macah_lockstep = {int(lockstep)};\n",
            f"const unsigned long long macah_stall_cycles = {stall_cycles};\n",
        ]
    )
