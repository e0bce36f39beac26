"""What a program's kernel is given: captured values and elements of streams, from a run in mode `c`.

The kernel must run once. A stream is made in a variable that has the name that the kernel has for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from macah import ir
from macah.program import read_program

Elements = list[tuple[int, ...]]


@dataclass(frozen=True)
class Inputs:
    """The arguments of `macah.run.run_kernel`, by the names of variables, arrays and streams."""

    scalars: dict[str, int]
    arrays: dict[str, list[int]]
    streams: dict[str, Elements]


def inputs(source: Path, kernel: ir.Kernel) -> Inputs:
    """Runs a program with a record of what its kernel captures before the kernel."""
    program = read_program(source)
    span = program.span_of(program.kernels[0].node)
    assert span is not None
    start, end = span
    text = program.text
    with tempfile.TemporaryDirectory() as name:
        copy, built, traces = (Path(name) / file for file in ("copy.macah", "built", "traces"))
        copy.write_text(f"{text[:start]}{{ {_record(kernel)} {text[start:end]} }}{text[end:]}")
        command = [sys.executable, "-m", "macah", "--mode", "c", "-w", copy, "-o", built]
        subprocess.run(command, check=True)
        environment = {**os.environ, "MACAH_TRACE": str(traces)}
        done = subprocess.run([built], check=True, capture_output=True, text=True, env=environment)
        streams = {s.stream.name: _elements(traces, source, s.stream) for s in kernel.streams}
    return Inputs(*_values(done.stderr, kernel), streams)


def _record(kernel: ir.Kernel) -> str:
    """C that writes each captured array or scalar to a line of standard error, as numbers."""
    parts: list[str] = []
    for capture in kernel.captured:
        shape = capture.what.shape if isinstance(capture.what, ir.Array) else ()
        names = [f"at_{dimension}" for dimension in range(len(shape))]
        parts += [f"for (int {at} = 0; {at} < {n}; {at}++)" for at, n in zip(names, shape, strict=True)]
        parts.append(f'fprintf(stderr, "%lld ", (long long)({capture.source.format(*names)}));')
        parts.append('fprintf(stderr, "\\n");')
    return " ".join(parts)


def _values(recorded: str, kernel: ir.Kernel) -> tuple[dict[str, int], dict[str, list[int]]]:
    scalars: dict[str, int] = {}
    arrays: dict[str, list[int]] = {}
    for capture, line in zip(kernel.captured, recorded.splitlines(), strict=True):
        shift, mask = 32 * (capture.half or 0), (1 << capture.what.bits) - 1
        words = [int(word) >> shift & mask for word in line.split()]
        if isinstance(capture.what, ir.Array):
            arrays[capture.what.name] = words
        else:
            (scalars[capture.what.name],) = words
    return scalars, arrays


def _elements(traces: Path, source: Path, stream: ir.Stream) -> Elements:
    """All that was sent to a stream, which is nothing if nobody ever sent."""
    lines = source.read_text().splitlines()
    made = [n for n, line in enumerate(lines, 1) if re.search(rf"\b{stream.name} = pstream_create", line)]
    assert len(made) == 1, stream.name
    trace = traces / f"{source.name}-{made[0]}-0.txt"
    sent = trace.read_text().splitlines()[1:] if trace.exists() else []
    masks = [(1 << max(32, 8 * word.size)) - 1 for word in stream.words]
    rows = [[int(number) for number in re.findall(r"-?\d+", line)] for line in sent]
    return [tuple([n & mask for n, mask in zip(row, masks, strict=True)]) for row in rows]
