"""What the names in a kernel's graph are captured from."""

from __future__ import annotations

from collections.abc import Container

from macah import ir
from macah.ir import Stream
from macah.walk import statements


def host_names(kernel: ir.Kernel) -> dict[str, ir.Capture | ir.StreamCapture]:
    """What the names in the graph (live-ins, live-outs, memories, streams) are captured from."""
    names: dict[str, ir.Capture | ir.StreamCapture] = {}
    for capture in kernel.captured:
        names[unused_name(capture.what.name, names)] = capture
    for stream in kernel.streams:
        names[unused_name(stream.stream.name, names)] = stream
    for stream in _both_ways(kernel):
        names[unused_name(f"{stream.stream.name}_sent", names)] = stream
    return names


def _both_ways(kernel: ir.Kernel) -> list[ir.StreamCapture]:
    """The streams that the kernel sends to and receives from: these have two ports."""
    received, sent = set[Stream](), set[Stream]()
    for stmt in statements(kernel.body):
        match stmt:
            case ir.Receive() | ir.Ended():
                received.add(stmt.stream)
            case ir.Send() | ir.Close():
                sent.add(stmt.stream)
            case _:
                pass
    return [c for c in kernel.streams if c.stream in received and c.stream in sent]


def unused_name(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it if it is taken."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique
