"""Waveforms of kernels: what a bench records, in which file, and a layout for GTKWave beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .access import DesignLike, access_of
from .bench import BENCH

SUFFIXES = (".vcd", ".fst")
SMALL = 16
"""Arrays of so many words are recorded word by word."""
_REGISTER = re.compile(r"^ *reg (?:\[(\d+):0\] )?(\w+)(?: \[0:(\d+)\])?;", re.MULTILINE)
_HEX, _BIT, _TEXT = "@22", "@28", "@200"


@dataclass(frozen=True)
class Wave:
    """What to record: cycles `first` to `last` (to the end if None), counted in each simulator."""

    path: Path
    first: int = 0
    last: int | None = None

    @property
    def is_fst(self) -> bool:
        """Whether the file's form is FST; else it is VCD."""
        return self.path.suffix == ".fst"

    def of(self, kernel: str, several: bool) -> Wave:
        """The same for one kernel, which has a file of its own if there are several."""
        name = f"{self.path.stem}.{kernel}{self.path.suffix}" if several else self.path.name
        return Wave(self.path.with_name(name), self.first, self.last)

    def start(self, design: DesignLike) -> Iterator[str]:
        """Verilog that begins to record. A kernel's second simulator writes `FILE.2.vcd`, and so on."""
        stem = str(self.path.with_suffix("")).replace("%", "%%")
        numbered = f"{stem}.%0d{self.path.suffix}"
        yield "integer cycle = 0, ordinal;"
        yield f"reg [{8 * (len(numbered.encode()) + 12)}:1] file;"
        yield "initial begin"
        yield "  $macah_ordinal(ordinal);"
        yield f"  if (ordinal == 0) $dumpfile({_string(str(self.path))});"
        yield f"  else begin $sformat(file, {_string(numbered)}, ordinal + 1); $dumpfile(file); end"
        yield f"  $dumpvars(0, {BENCH});"
        for _, name, last in _registers(design):
            if last is not None and last < SMALL:
                words = ", ".join(f"{BENCH}.kernel.{name}[{k}]" for k in range(last + 1))
                yield f"  $dumpvars(0, {words});"
        if self.first:
            yield "  $dumpoff;"
        yield "end"

    def step(self) -> Iterator[str]:
        """Verilog after each cycle."""
        yield "cycle = cycle + 1;"
        if self.first:
            yield f"if (cycle == {self.first}) $dumpon;"
        if self.last is not None:
            yield f"if (cycle == {self.last + 1}) $dumpoff;"


def file_names(waves: Sequence[Wave | None]) -> str:
    """What the runtime is told of the files that kernels' first simulators write: a name in each line."""
    return "\n".join(str(wave.path) for wave in waves if wave is not None)


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _registers(design: DesignLike) -> Iterator[tuple[int, str, int | None]]:
    """Width, name, and the last index of an array, of the design's own; a fabric has others in its tiles."""
    own = design.text.partition("\nendmodule")[0]
    for high, name, last in _REGISTER.findall(own):
        yield int(high or 0) + 1, name, int(last) if last else None


def layout(kernels: Sequence[DesignLike], wave: Wave, bench: str = BENCH) -> str:
    """A save file for GTKWave: control, streams under their names, and the program's variables.

    `kernels` take turns on one design; `bench` is where the bench is in the hierarchy of the waveform.
    """
    design = kernels[0]
    lines = [f'[dumpfile] "{wave.path}"', _HEX, f"{bench}.cycle[31:0]"]
    lines += [_BIT, f"{bench}.kernel.running", f"{bench}.stalled"]
    registers = list(_registers(design))
    for width, name, last in registers:
        if name in ("slot", "valid", "iteration") and last is None:
            lines += [_HEX, _signal(bench, name, width)]
    for kernel in kernels:
        of = f" of kernel {kernel.dfg.name}" if len(kernels) > 1 else ""
        for port, stream in zip(access_of(kernel).ports, kernel.dfg.streams, strict=True):
            flag = "close" if stream.sends else "ended"
            lines += [_TEXT, f"-{'to' if stream.sends else 'from'} stream {stream.shown}{of}"]
            lines += [_HEX, f"{bench}.{port}_tdata[31:0]", _BIT]
            lines += [f"{bench}.{port}_{name}" for name in ("tvalid", "tready", flag)]
    lines += [_TEXT, "-variables", _HEX]
    variables = {
        re.sub(r"\W", "_", node.variable, flags=re.ASCII) for node in design.dfg.nodes if node.variable
    }
    variables |= {f"{name}_in" for name in design.dfg.live_ins}
    for width, name, last in registers:
        # One name may stand for several values, which are numbered.
        if last is None and {name, re.sub(r"_\d*$", "", name)} & variables:
            lines.append(_signal(bench, name, width))
    return "\n".join(lines) + "\n"


def _signal(bench: str, name: str, width: int) -> str:
    return f"{bench}.kernel.{name}" + (f"[{width - 1}:0]" if width > 1 else "")
