"""What is around a verilated design: its bench, and the C++ that shows it to runtime/harness.c."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from backend.watch import Watch

from .bench import BENCH, DesignLike, Pin, Transfer, fetches, instance, patience, pins, stores
from .watching import SINGLE, watch_lists, watch_names, watch_outputs
from .wave import Wave

PREFIX = "Vdesign"
"""Of Verilator's classes and files."""

SCOPE = "top"
"""What is around the bench in waveforms."""

_CYCLE = Pin("cycle", 32, True)
"""Of the bench, for waveforms."""


def bench_text(design: DesignLike, wave: Wave | None, watch: Watch | None) -> str:
    """The bench: the design, whose ports are the bench's own, under the names that it has on Icarus."""
    ports = [
        f"{'input' if p.enters else 'output'} [{p.bits - 1}:0] {p.name}" for p in _bench_pins(design, wave)
    ]
    if watch is not None:
        ports += [f"output [31:0] {name}" for name in watch_names(watch)]
    head = f"`timescale 1ns/1ns\nmodule {BENCH} (\n  " + ",\n  ".join(ports) + "\n);"
    shown = watch_outputs(watch) if watch is not None else ()
    return "\n".join([head, *(f"  {line}" for line in (*instance(design), *shown)), "endmodule\n"])


def _bench_pins(design: DesignLike, wave: Wave | None) -> list[Pin]:
    return [*pins(design.dfg), *([_CYCLE] if wave is not None else [])]


def glue_text(design: DesignLike, made: Path, wave: Wave | None, watch: Watch | None) -> str:
    """C++ that shows the harness a design, of which Verilator has made C++ in the directory `made`."""
    return "\n".join(_glue(design, made, wave, watch)) + "\n"


def _glue(design: DesignLike, made: Path, wave: Wave | None, watch: Watch | None) -> Iterator[str]:
    dfg = design.dfg
    for source in sorted(made.glob(f"{PREFIX}*.cpp")):
        yield f'#include "{source}"'
    yield '#include "harness.h"'
    yield f"static {PREFIX} *model;"
    yield "static struct design design;"
    yield from _stream_tables(design)
    yield from _table("stores", list(stores(dfg)))
    yield from _table("fetches", list(fetches(dfg)))
    yield "double sc_time_stamp() { return 0; }"
    yield 'extern "C" {'
    yield "const struct design *create_design(void) {"
    if wave is not None:
        yield "  Verilated::traceEverOn(true);"
    yield f'  model = new {PREFIX}("{SCOPE}");'
    yield from (f"  model->{pin.name} = 0;" for pin in _bench_pins(design, wave) if pin.enters)
    names = [pin.name for pin in pins(dfg) if not re.match(r"s\d+_", pin.name)]
    yield from (f"  design.{name} = &model->{name};" for name in names)
    for s, stream in enumerate(dfg.streams):
        flag = "close" if stream.sends else "ended"
        for field, port in (("data", "tdata"), ("valid", "tvalid"), ("ready", "tready"), ("flag", flag)):
            yield f"  streams[{s}].{field} = &model->s{s}_{port};"
    for field, table, many in _TABLES:
        yield f"  design.{field} = {table};"
        yield f"  design.{many} = sizeof {table} / sizeof *{table} - 1;"
    if watch is not None:
        yield from _watching(watch)
    yield "  return &design;"
    yield "}"
    yield "void settle(void) { model->eval(); }"
    yield from _recording(wave)
    yield "}"


_TABLES = (("stream", "streams", "streams"), ("store", "stores", "stores"), ("fetch", "fetches", "fetches"))


def _watching(watch: Watch) -> Iterator[str]:
    """Statements that show what a profile is made from."""
    for name in SINGLE:
        yield f"  design.{name} = &model->watch_{name};"
    for field, names in watch_lists(watch).items():
        pointers = "".join(f"&model->{name}, " for name in names)
        yield f"  static void *{field}s[] = {{{pointers}nullptr}};"
        yield f"  design.{field} = {field}s;"
        yield f"  design.{field}s = {len(names)};"


def _stream_tables(design: DesignLike) -> Iterator[str]:
    """The streams' tables, which end in an entry of zeros, as none can be empty."""
    patient = dict(patience(design))
    rows = []
    for s, stream in enumerate(design.dfg.streams):
        words = ", ".join(f"{{{w.offset}, {w.size}, {int(w.signed)}}}" for w in stream.words)
        yield f"static const struct word words{s}[] = {{{words}}};"
        counts = f"{stream.size}, {patient.get(s, 0)}, {len(stream.words)}"
        rows.append(f"{{{int(stream.sends)}, nullptr, nullptr, nullptr, nullptr, {counts}, words{s}}}, ")
    yield f"static struct stream_pins streams[] = {{{''.join(rows)}{{}}}};"


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
