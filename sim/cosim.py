"""Programs with simulated kernels: the image of the simulations, linked into the executable.

The executable carries everything that is the program's own: each kernel's compiled simulation, the VPI
module and the control plane. What belongs to the machine (vvp, Python, cocotb) is found now and named in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.dfg import DFG
from backend.watch import Watch

from .access import DesignLike, access_of, together
from .bench import BENCH
from .icarus import build_icarus, check_icarus_tools
from .simulator import RUNTIME as RUNTIME
from .simulator import Simulation
from .simulator import SimulatorMissing as SimulatorMissing
from .verilator import build_verilator, check_verilator_tools
from .verilator_glue import SCOPE
from .wave import Wave, layout
from .workspace import write_whole

RUNTIME_SOURCES = tuple(
    RUNTIME / name
    for name in (
        "streams.c",
        "batch.c",
        "ends.c",
        "threads.c",
        "waits.c",
        "tasks.c",
        "watcher.c",
        "calls.c",
        "report.c",
        "fault.c",
        "trace.c",
        "host_trace.c",
        "heap.c",
    )
)
"""What every program needs."""
_WRAPPED = (
    "pthread_create",
    "pthread_mutex_lock",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_barrier_wait",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "sem_wait",
)
LINK_FLAGS = tuple(f"-Wl,--wrap={name},-u,{name}" for name in _WRAPPED)
"""Without which deadlocks are only found where a thread waits for a stream (runtime/watcher.c), and reports
do not tell where threads wait for each other (runtime/calls.c)."""
RUNTIME_FLAGS = (f"-I{RUNTIME}", "-pthread", *LINK_FLAGS)
_COSIM_SOURCES = tuple(
    RUNTIME / name
    for name in (
        "arena.c",
        "launch.c",
        "converse.c",
        "overlap.c",
        "lockstep.c",
        "rest.c",
        "turns.c",
        "sharers.c",
        "cosim.c",
        "waves.c",
        "host_profile.c",
    )
)

MAX_STREAMS = 64
SIMULATORS = {"icarus": build_icarus, "verilator": build_verilator}
_CHECKS = {"icarus": check_icarus_tools, "verilator": check_verilator_tools}
BENCHES = {"icarus": BENCH, "verilator": f"{SCOPE}.{BENCH}"}
"""Where the bench is in waveforms."""


@dataclass(frozen=True)
class Image:
    """C sources to compile besides RUNTIME_SOURCES: more of the runtime, and the program's own."""

    runtime: tuple[Path, ...]
    own: tuple[Path, ...]

    @property
    def sources(self) -> tuple[Path, ...]:
        """All of them."""
        return (*self.runtime, *self.own)


def build_image(
    designs: Sequence[DesignLike],
    directory: Path,
    compiler: str = "cc",
    lockstep: bool = False,
    stall_cycles: int = 0,
    wave: Wave | None = None,
    simulator: str = "icarus",
    watches: Sequence[Watch | None] | None = None,
) -> Image:
    """Compiles each kernel's simulation in `directory`. Errors: SimulatorMissing.

    In lock step, simulated time does not pass while the host computes. A kernel that moves no element for
    `stall_cycles` (0: any time) ends the program. `wave` says what to record, `simulator` which of SIMULATORS
    runs, `watches` what of each design a profile is made from.
    """
    assert all(len(design.dfg.streams) <= MAX_STREAMS for design in designs)
    numbers = together(designs)
    groups = [[designs[k] for k in group] for group in numbers]
    waves = [wave and wave.of(group[0].top, len(groups) > 1) for group in groups]
    watched = [_watch([watches[k] for k in group]) if watches else None for group in numbers]
    simulation = SIMULATORS[simulator](groups, directory, compiler, waves, watched)
    source = directory / "image.c"
    source.write_text(_image_source(designs, numbers, simulation, lockstep, stall_cycles))
    return Image(_COSIM_SOURCES, (source,))


def _watch(watches: Sequence[Watch | None]) -> Watch | None:
    """What a profile is made from where kernels take turns on a design: they differ in what they count."""
    return max(watches, key=lambda watch: len(watch.counts) if watch is not None else -1)


def write_layouts(designs: Sequence[DesignLike], wave: Wave, simulator: str) -> None:
    """Writes, beside each waveform that there will be, how GTKWave is to show it. Errors: OSError."""
    groups = together(designs)
    for group in groups:
        own = wave.of(designs[group[0]].top, len(groups) > 1)
        text = layout([designs[k] for k in group], own, BENCHES[simulator])
        write_whole(own.path.with_suffix(".gtkw"), text.encode())


def check_simulator(simulator: str, compiler: str = "cc") -> None:
    """Says ahead of all work what `build_image` would miss. Errors: SimulatorMissing."""
    _CHECKS[simulator](compiler)


def empty_image(directory: Path) -> Image:
    """An image without any kernel: what a program can be linked with on trial."""
    nothing, source = directory / "empty", directory / "empty.c"
    nothing.write_bytes(b"")
    source.write_text(_image_source((), (), Simulation((), {}, (), nothing, nothing), False, 0))
    return Image(_COSIM_SOURCES, (source,))


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
        rows.append(f"  {{{_text(stream.shown)}, {_text(texts)}, {int(stream.sends)}}},\n")
    return f"static const struct macah_port port{k}[] = {{\n{''.join(rows)}}};\n" if rows else ""


def _kernel_source(k: int, design: DesignLike) -> str:
    dfg, configuration = design.dfg, access_of(design).configuration
    parts = [_strings(f"assertions{k}", _assertions(dfg))]
    if configuration:
        pairs = ",\n".join(f"  {address}u, {word}u" for address, word in configuration)
        parts.append(f"static const uint32_t configuration{k}[] = {{\n{pairs}}};\n")
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


def _kernel_row(k: int, design: DesignLike, hardware: int, number: int) -> str:
    dfg, configuration = design.dfg, access_of(design).configuration
    counts = ", ".join(str(len(x)) for x in (dfg.live_ins, dfg.live_outs, dfg.streams, dfg.memories))
    memory = f"memory{k}" if dfg.memories else "NULL"
    file = f"macah_design{hardware}, macah_design{hardware}_end"
    ports = f"port{k}" if dfg.streams else "NULL"
    assertions = f"assertions{k}, {len(dfg.assertions)}"
    place = f"{hardware}, {number}, {f'configuration{k}' if configuration else 'NULL'}, {len(configuration)}"
    return f"  {{{_text(dfg.name)}, {file}, {counts}, {memory}, {assertions}, {ports}, {place}}},\n"


def _image_source(
    designs: Sequence[DesignLike],
    groups: Sequence[Sequence[int]],
    simulation: Simulation,
    lockstep: bool,
    stall_cycles: int,
) -> str:
    places = {k: (g, number) for g, group in enumerate(groups) for number, k in enumerate(group)}
    rows = "".join(_kernel_row(k, design, *places[k]) for k, design in enumerate(designs))
    return "".join(
        [
            '#include "cosim.h"\n',
            _included("macah_module", simulation.module),
            _included("macah_control", simulation.control),
            _strings("macah_simulator_command", simulation.command),
            _strings("macah_simulator_environment", [f"{k}={v}" for k, v in simulation.environment.items()]),
            *(_included(f"macah_design{g}", path) for g, path in enumerate(simulation.designs)),
            *(_kernel_source(k, design) for k, design in enumerate(designs)),
            f"const struct macah_kernel macah_kernels[] = {{\n{rows}}};\n",
            f"const unsigned macah_kernel_count = {len(designs)};\n",
            f"const int macah_lockstep = {int(lockstep)};\n",
            f"const unsigned long long macah_stall_cycles = {stall_cycles};\n",
        ]
    )
