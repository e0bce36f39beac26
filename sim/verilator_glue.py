"""What is around a verilated design: its bench, and the C++ that shows it to runtime/harness.c."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from backend.watch import Watch

from .access import DesignLike, Transfer, access_of, fetches, stores
from .bench import BENCH, Pin, instance, patience, pins, stream_ports
from .twins import WHICH, twin_lines
from .watching import SINGLE, watch_lists, watch_names, watch_outputs
from .wave import Wave

PREFIX = "Vdesign"
"""Of Verilator's classes and files."""

SCOPE = "top"
"""What is around the bench in waveforms."""

_CYCLE = Pin("cycle", 32, True)
"""Of the bench, for waveforms."""

_WHICH = Pin(WHICH, 32, True)
"""Of the bench, for twins."""


def bench_text(group: Sequence[DesignLike], wave: Wave | None, watch: Watch | None) -> str:
    """The bench: the design, whose ports are the bench's own, under the names that it has on Icarus."""
    design, beside = group[0], list(twin_lines(group)) if watch is not None else []
    ports = [
        f"{'input' if p.enters else 'output'} [{p.bits - 1}:0] {p.name}"
        for p in _bench_pins(group, wave, watch)
    ]
    if watch is not None:
        ports += [f"output [31:0] {name}" for name in watch_names(watch)]
    head = f"`timescale 1ns/1ns\nmodule {BENCH} (\n  " + ",\n  ".join(ports) + "\n);"
    shown = watch_outputs(watch) if watch is not None else ()
    lines = (*instance(design), *beside, *shown)
    return "\n".join([head, *(f"  {line}" for line in lines), "endmodule\n"])


def _bench_pins(group: Sequence[DesignLike], wave: Wave | None, watch: Watch | None) -> list[Pin]:
    chosen = [_WHICH] if watch is not None and watch.beside else []
    return [*pins(group[0].dfg, stream_ports(group[0])), *([_CYCLE] if wave is not None else []), *chosen]


def glue_text(group: Sequence[DesignLike], made: Path, wave: Wave | None, watch: Watch | None) -> str:
    """C++ that shows the harness kernels on a design, which is C++ of Verilator in the directory `made`."""
    return "\n".join(_glue(group, made, wave, watch)) + "\n"


def _glue(group: Sequence[DesignLike], made: Path, wave: Wave | None, watch: Watch | None) -> Iterator[str]:
    for source in sorted(made.glob(f"{PREFIX}*.cpp")):
        yield f'#include "{source.relative_to(made.parent)}"'
    yield '#include "harness.h"'
    yield f"static {PREFIX} *model;"
    yield f"static struct design designs[{len(group)}];"
    for k, design in enumerate(group):
        yield from _stream_tables(k, design)
        yield from _table(f"stores{k}", list(stores(design)))
        yield from _table(f"fetches{k}", list(fetches(design)))
    yield "double sc_time_stamp() { return 0; }"
    yield "void vl_fatal(const char *, int, const char *, const char *message) { design_failed(message); }"
    yield 'extern "C" {'
    yield "const struct design *create_designs(unsigned *kernels) {"
    if wave is not None:
        yield "  Verilated::traceEverOn(true);"
    yield f'  model = new {PREFIX}("{SCOPE}");'
    yield from (f"  model->{pin.name} = 0;" for pin in _bench_pins(group, wave, watch) if pin.enters)
    for k, design in enumerate(group):
        yield from _design(k, design)
    if watch is not None:
        yield from _watching(watch, len(group))
    yield f"  *kernels = {len(group)};"
    yield "  return designs;"
    yield "}"
    yield "void settle(void) { model->eval(); }"
    yield from _recording(wave)
    yield "}"


def _design(k: int, design: DesignLike) -> Iterator[str]:
    """Statements that show the pins and tables of a kernel."""
    yield from (f"  designs[{k}].{pin.name} = &model->{pin.name};" for pin in pins(design.dfg, ()))
    for s, (port, stream) in enumerate(zip(access_of(design).ports, design.dfg.streams, strict=True)):
        flag = "close" if stream.sends else "ended"
        for field, name in (("data", "tdata"), ("valid", "tvalid"), ("ready", "tready"), ("flag", flag)):
            yield f"  streams{k}[{s}].{field} = &model->{port}_{name};"
    for field, table, many in _TABLES:
        yield f"  designs[{k}].{field} = {table}{k};"
        yield f"  designs[{k}].{many} = sizeof {table}{k} / sizeof *{table}{k} - 1;"


_TABLES = (("stream", "streams", "streams"), ("store", "stores", "stores"), ("fetch", "fetches", "fetches"))


def _watching(watch: Watch, kernels: int) -> Iterator[str]:
    """Statements that show what a profile is made from."""
    lists = watch_lists(watch)
    for field, names in lists.items():
        pointers = "".join(f"&model->{name}, " for name in names)
        yield f"  static void *{field}s[] = {{{pointers}nullptr}};"
    for k in range(kernels):
        for name in SINGLE:
            yield f"  designs[{k}].{name} = &model->watch_{name};"
        for field, names in lists.items():
            yield f"  designs[{k}].{field} = {field}s;"
            yield f"  designs[{k}].{field}s = {len(names)};"
        if watch.beside:
            yield f"  designs[{k}].{WHICH} = &model->{WHICH};"


def _stream_tables(k: int, design: DesignLike) -> Iterator[str]:
    """The streams' tables, which end in an entry of zeros, as none can be empty."""
    patient = dict(patience(design))
    rows = []
    for s, stream in enumerate(design.dfg.streams):
        words = ", ".join(f"{{{w.offset}, {w.size}, {int(w.signed)}}}" for w in stream.words)
        yield f"static const struct word words{k}_{s}[] = {{{words}}};"
        counts = f"{stream.size}, {patient.get(s, 0)}, {len(stream.words)}"
        rows.append(f"{{{int(stream.sends)}, nullptr, nullptr, nullptr, nullptr, {counts}, words{k}_{s}}}, ")
    yield f"static struct stream_pins streams{k}[] = {{{''.join(rows)}{{}}}};"


def _table(name: str, transfers: Sequence[Transfer]) -> Iterator[str]:
    rows = "".join(f"{{{t.address}u, {t.index}u, {t.count}u, {int(t.once)}}}, " for t in transfers)
    yield f"static const struct transfer {name}[] = {{{rows}{{}}}};"


def _recording(wave: Wave | None) -> Iterator[str]:
    """Functions that record a waveform, with the times that it has on Icarus: three for each cycle."""
    names = ("record", "cycle_ends", "flush_wave", "end_wave")
    if wave is None:
        yield "void begin_wave(uint32_t) {}"
        yield from (f"void {name}(void) {{}}" for name in names)
        return
    yield f"static Verilated{'Fst' if wave.is_fst else 'Vcd'}C *wave;"
    yield "static uint64_t now;"
    yield "static bool wanted() {"
    last = f" && model->cycle <= {wave.last}u" if wave.last is not None else ""
    yield f"  return wave && model->cycle >= {wave.first}u{last};"
    yield "}"
    stem, suffix = json.dumps(str(wave.path.with_suffix(""))), json.dumps(wave.path.suffix)
    yield "void begin_wave(uint32_t ordinal) {"
    yield f"  std::string name = {stem};"
    yield '  if (ordinal) name += "." + std::to_string(ordinal + 1);'
    yield f"  name += {suffix};"
    yield f"  wave = new Verilated{'Fst' if wave.is_fst else 'Vcd'}C;"
    yield "  model->trace(wave, 99);"
    yield "  wave->open(name.c_str());"
    yield '  if (!wave->isOpen()) VL_FATAL_MT(name.c_str(), 0, "", "the waveform cannot be written");'
    yield "}"
    yield "void record(void) { if (wanted()) wave->dump(now); now++; }"
    yield "void cycle_ends(void) { model->cycle++; }"
    yield "void flush_wave(void) { wave->flush(); }"
    yield "void end_wave(void) { if (wave) wave->close(); wave = nullptr; }"
