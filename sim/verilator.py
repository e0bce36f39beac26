"""Kernels on Verilator: an executable for each design, the harness of runtime/harness.c around it.

It has the same streams, memory and requests as a simulation on Icarus, so a program notices no difference
but the speed, and does without Python. Designs are compiled by us and not by Verilator's makefile; its own
runtime and ours are kept from one compilation to the next.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backend.watch import Watch

from .bench import BENCH, DesignLike
from .objects import compile_objects, reuse
from .parallel import run_all
from .simulator import (
    DATA_PLANE,
    DESIGN_FD,
    RUNTIME,
    Simulation,
    SimulatorMissing,
    failure_of,
    find_tool,
    run_compiler,
    run_tool,
)
from .twins import twin_texts
from .verilator_glue import PREFIX, bench_text, glue_text
from .wave import SMALL, Wave, file_names

_OLDEST = (4, 210)
_HINT = "install one of 5.006 or newer (on Debian: apt-get install verilator)"
_C_FLAGS = ("-std=gnu11", "-O2", f"-I{RUNTIME}", "-pthread")


@dataclass(frozen=True)
class _Tools:
    """Verilator, the directory of its runtime, and the compilers of C and C++."""

    verilator: str
    include: Path
    c: tuple[str, ...]
    cxx: tuple[str, ...]


def build_verilator(
    groups: Sequence[Sequence[DesignLike]],
    directory: Path,
    compiler: str,
    waves: Sequence[Wave | None],
    watches: Sequence[Watch | None],
) -> Simulation:
    """Compiles the simulation of each group of kernels in `directory`. Errors: SimulatorMissing."""
    tools = _find(compiler)
    bases = [directory / f"kernel{k}" for k in range(len(groups))]
    made = run_all(
        partial(_verilate, *each, tools) for each in zip(groups, bases, waves, watches, strict=True)
    )
    compiling = [partial(_compile, *each, tools) for each in zip(groups, bases, waves, strict=True)]
    parts, *objects = run_all([partial(_parts, directory, tools), *compiling])
    # Waveforms take more of Verilator's runtime; all kernels have them, or none.
    runtime = [*_runtime(made[0], directory, tools), *parts] if made else []
    programs = run_all(
        partial(_link, base, [*own, *runtime], waves[0], tools)
        for base, own in zip(bases, objects, strict=True)
    )
    nothing = directory / "nothing"
    nothing.write_bytes(b"")
    environment = {"MACAH_WAVE": file_names(waves)} if waves and waves[0] else {}
    return Simulation((f"/proc/self/fd/{DESIGN_FD}",), environment, tuple(programs), nothing, nothing)


def check_verilator_tools(compiler: str) -> None:
    """Errors: SimulatorMissing, if something is missing or too old."""
    _find(compiler)


def _find(compiler: str) -> _Tools:
    try:
        verilator = find_tool("verilator", "verilator")
        cxx = shlex.split(os.environ.get("CXX", "")) or ["g++"]
        cxx[0] = find_tool(cxx[0], "g++")
    except SimulatorMissing as missing:
        raise SimulatorMissing(f"{missing}, or leave out --simulator verilator") from None
    said = _ask([verilator, "--version"])
    version = re.match(r"Verilator (\d+)\.(\d+)", said)
    if version is not None and (int(version[1]), int(version[2])) < _OLDEST:
        raise SimulatorMissing(f"Verilator {version[1]}.{version[2]} is too old; {_HINT}")
    include = Path(_ask([verilator, "--getenv", "VERILATOR_ROOT"]).strip()) / "include"
    if not (include / "verilated.h").exists():
        raise SimulatorMissing(f"verilated.h, a part of Verilator, was not found in {include}; {_HINT}")
    return _Tools(verilator, include, tuple(shlex.split(compiler)), tuple(cxx))


def _ask(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = failure_of(done.returncode, done.stderr + done.stdout, command[0])
        raise SimulatorMissing(f"'{shlex.join(command)}' failed; {_HINT}\n{said}")
    return done.stdout


def _verilate(
    group: Sequence[DesignLike], base: Path, wave: Wave | None, watch: Watch | None, tools: _Tools
) -> Path:
    """The directory of the C++ that Verilator makes of a design."""
    kernel, bench = base.with_suffix(".v"), base.with_suffix(".bench.v")
    kernel.write_text("\n".join([group[0].text, *twin_texts(group if watch is not None else ())]))
    bench.write_text(bench_text(group, wave, watch))
    command = [tools.verilator, "--cc", "--top-module", BENCH, "--prefix", PREFIX, "--Mdir", base.name]
    command += ["-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
    if wave is not None:
        form = "--trace-fst" if wave.is_fst else "--trace"
        command += [form, "--trace-max-array", str(SMALL), "--trace-max-width", "64"]
    run_tool([*command, bench.name, kernel.name], f"verilator on {group[0].top}", base.parent)
    base.with_suffix(".cpp").write_text(glue_text(group, base, wave, watch))
    return base


def _compile(group: Sequence[DesignLike], base: Path, wave: Wave | None, tools: _Tools) -> list[Path]:
    target = base.with_suffix(".o")
    source = base.with_suffix(".cpp")
    run_tool(
        [*tools.cxx, *_cxx_flags(wave, tools), "-c", source.name, "-o", target.name],
        f"compiling {group[0].top}",
        base.parent,
    )
    return [target]


def _cxx_flags(wave: Wave | None, tools: _Tools) -> list[str]:
    traces = (("", wave), ("_VCD", wave and not wave.is_fst), ("_FST", wave and wave.is_fst))
    defines = [f"-DVM_TRACE{form}={int(bool(on))}" for form, on in traces]
    include = [f"-I{tools.include}", f"-I{tools.include / 'vltstd'}", f"-I{RUNTIME}"]
    optimised = any(word.startswith("-O") for word in tools.cxx)
    return [
        "-std=gnu++17",
        *([] if optimised else ["-O2"]),
        "-faligned-new",
        "-DVM_COVERAGE=0",
        "-DVM_SC=0",
        "-DVL_USER_FATAL",  # Verilator's own function waits for ever if a waveform cannot be written
        *defines,
        *include,
        "-pthread",
    ]


def _parts(directory: Path, tools: _Tools) -> list[Path]:
    """The harness and what it shares with the VPI module."""

    def run(arguments: list[str]) -> None:
        run_compiler(tools.c, arguments, "compiling the harness")

    target = directory / "harness"
    target.mkdir()
    return compile_objects(tools.c, _C_FLAGS, [RUNTIME / "harness.c", *DATA_PLANE], target, run)


def _runtime(made: Path, directory: Path, tools: _Tools) -> list[Path]:
    """The objects of Verilator's own runtime, of which a design's list of classes says what it needs."""
    classes = (made / f"{PREFIX}_classes.mk").read_text()
    lists = re.findall(r"VM_GLOBAL_(?:FAST|SLOW) \+=((?:\s*\\\n\s*\w+)*)", classes)
    names = re.findall(r"\w+", "".join(lists))
    target = [directory / f"{name}.o" for name in names]
    flags = [flag for flag in _cxx_flags(None, tools) if not flag.startswith("-DVM_TRACE")]

    def make() -> None:
        run_all(partial(compile_one, *each) for each in zip(names, target, strict=True))

    def compile_one(name: str, made: Path) -> None:
        source = str(tools.include / f"{name}.cpp")
        run_tool([*tools.cxx, *flags, "-c", source, "-o", str(made)], "compiling Verilator's runtime")

    reuse([*flags, *names], tools.cxx, tools.include, target, make)
    return target


def _link(base: Path, objects: Sequence[Path], wave: Wave | None, tools: _Tools) -> Path:
    program = base.with_suffix(".exe")
    libraries = ["-pthread", "-latomic", *(["-lz"] if wave is not None and wave.is_fst else [])]
    run_tool(
        [*tools.cxx, *map(str, objects), "-o", str(program), *libraries, "-s"],
        "linking a kernel",
    )
    return program
