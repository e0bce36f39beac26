"""Runs a program's one kernel at every stage of compilation on the same host state.

The host state is what host code would see: scalars and flattened arrays by name, as Python numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from backend.dfg import DFG, Word
from backend.mapping import Mapping
from backend.run_dfg import DFGRun, run_dfg
from backend.verilog import emit
from macah import ir
from macah.run import run_kernel
from macah.todfg import host_names
from sim.simulate import SimRun, simulate

Words = dict[int, list[int]]

RANGES = {
    "_Bool": (1, False),
    "signed char": (8, True),
    "unsigned char": (8, False),
    "short": (16, True),
    "unsigned short": (16, False),
    "int": (32, True),
    "unsigned": (32, False),
    "long long": (64, True),
    "unsigned long long": (64, False),
}


def converted(value: int, kind: str) -> int:
    """`value` converted to a C type."""
    if kind == "_Bool":
        return int(value != 0)
    bits, is_signed = RANGES[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


@dataclass
class Host:
    """Named objects with their types and shapes; streams as lists of numbers."""

    types: dict[str, str]
    shapes: dict[str, tuple[int, ...]]
    values: dict[str, list[int]]
    received: list[int]
    streams: dict[str, str]
    sent: list[int] = field(default_factory=list)

    def copy(self) -> Host:
        return Host(
            self.types,
            self.shapes,
            {n: list(v) for n, v in self.values.items()},
            list(self.received),
            self.streams,
        )

    def places(self, capture: ir.Capture) -> tuple[str, list[int]]:
        """The object and the flat positions that a capture stands for, in the capture's order."""
        name = re.match(r"\w+", capture.source)
        assert name, capture
        shape = self.shapes[name[0]]
        free = capture.what.shape if isinstance(capture.what, ir.Array) else ()
        places = [0]
        for extent, index in zip(shape, re.findall(r"\[([^]]*)\]", capture.source), strict=True):
            picked = range(extent) if "{" in index else [int(index)]
            places = [place * extent + i for place in places for i in picked]
        assert len(places) == (capture.what.size if free else 1), capture
        return name[0], places

    def read(self, capture: ir.Capture) -> list[int]:
        name, places = self.places(capture)
        values = [self.values[name][place] for place in places]
        if capture.half is not None:
            values = [v >> (32 * capture.half) for v in values]
        return [v & ((1 << capture.what.bits) - 1) for v in values]

    def write(self, capture: ir.Capture, words: list[int]) -> None:
        if not capture.out:
            return
        name, places = self.places(capture)
        for place, word in zip(places, words, strict=True):
            if capture.half is not None:
                other = self.values[name][place] & (0xFFFFFFFF << 32 * (1 - capture.half))
                word = other | word << 32 * capture.half
            self.values[name][place] = converted(word, self.types[name])

    def words(self, words: tuple[Word, ...]) -> list[tuple[int, ...]]:
        """The elements to receive, cut into words."""
        out = []
        for value in self.received:
            out.append(tuple((value >> 8 * w.offset) & ((1 << max(32, 8 * w.size)) - 1) for w in words))
        return out

    def joined(self, elements: list[tuple[int, ...]], words: tuple[Word, ...]) -> list[int]:
        return [
            converted(
                sum(v << 8 * w.offset for v, w in zip(element, words, strict=True)), self.streams["out"]
            )
            for element in elements
        ]


def run_ir(kernel: ir.Kernel, host: Host, limit: int = 2_000_000) -> Host:
    """The host's state after the kernel ran in the IR interpreter."""
    host = host.copy()
    # Elements of one array may share a name after scalarization, so give each captured object its own.
    scalars = {c.what.name: host.read(c)[0] for c in kernel.captured if isinstance(c.what, ir.Variable)}
    arrays = {c.what.name: host.read(c) for c in kernel.captured if isinstance(c.what, ir.Array)}
    streams = {c.source: c.stream for c in kernel.streams}
    inputs = {streams["in"].name: host.words(streams["in"].words)} if "in" in streams else {}
    ran = run_kernel(kernel, scalars, arrays, inputs, limit)
    for c in kernel.captured:
        values = ran.arrays[c.what.name] if isinstance(c.what, ir.Array) else [ran.scalars[c.what.name]]
        host.write(c, values)
    if "out" in streams:
        host.sent = host.joined(ran.outputs.get(streams["out"].name, []), streams["out"].words)
    return host


def simulated(mapping: Mapping, live_ins: list[int], inputs: Words, memories: Words) -> SimRun:
    """What the mapped design does with the words of a graph's run."""
    return simulate(emit(mapping), live_ins, inputs, memories, closed=list(inputs), limit=2_000_000)


def run_graph(kernel: ir.Kernel, dfg: DFG, host: Host, mapping: Mapping | None = None) -> Host:
    """The host's state after the graph ran in the graph interpreter, or mapped, in simulation."""
    host = host.copy()
    names = host_names(kernel)

    def capture(name: str) -> ir.Capture:
        found = names[name]
        assert isinstance(found, ir.Capture)
        return found

    live_ins = [host.read(capture(name))[0] for name in dfg.live_ins]
    memories = {m: host.read(capture(mem.name)) for m, mem in enumerate(dfg.memories) if mem.captured_in}
    inputs = {
        s: [w for element in host.words(port.words) for w in element]
        for s, port in enumerate(dfg.streams)
        if not port.sends
    }
    ran: DFGRun | SimRun
    if mapping is None:
        ran = run_dfg(dfg, live_ins, inputs, memories)
    else:
        ran = simulated(mapping, live_ins, inputs, memories)
    for index, name in enumerate(dfg.live_outs):
        host.write(capture(name), [ran.live_outs[index]])
    for m, memory in enumerate(dfg.memories):
        if memory.captured_out:
            host.write(capture(memory.name), list(ran.memories[m])[: memory.words])
    for s, port in enumerate(dfg.streams):
        if port.sends:
            words, k = list(ran.outputs.get(s, [])), len(port.words)
            elements = [tuple(words[i : i + k]) for i in range(0, len(words), k)]
            host.sent = host.joined(elements, port.words)
    return host
