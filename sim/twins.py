"""Beside a fabric, for a profile: its kernels by themselves, which do in each cycle what it does.

The two netlists of a mapping are equal cycle for cycle, and only the one with the kernel's own names can
count its loops. So the twin gets the fabric's clock, words and streams; what it says to them, nobody hears.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.verilog_frame import Design, FabricDesign, own_access
from backend.watch import TWIN_TURN, twin_count

from .access import DesignLike, access_of
from .bench import pins

WHICH = "which"
"""What is in the bench the number of the kernel that runs."""

_NOWHERE = "32'hffffffff"


def twins_of(kernels: Sequence[DesignLike]) -> dict[int, tuple[FabricDesign, Design]]:
    """The kernels of a fabric that have a twin, and that."""
    return {
        k: (kernel, kernel.twin)
        for k, kernel in enumerate(kernels)
        if isinstance(kernel, FabricDesign) and kernel.twin is not None
    }


def twin_texts(kernels: Sequence[DesignLike]) -> Iterator[str]:
    """The modules of all twins."""
    for _, twin in twins_of(kernels).values():
        yield twin.text


def twin_lines(kernels: Sequence[DesignLike]) -> Iterator[str]:
    """What is in a bench of all twins: instances, and the counts of that whose kernel runs."""
    found = twins_of(kernels)
    if not found:
        return
    for k, (kernel, twin) in found.items():
        yield from _instance(k, kernel, twin)
    # A change of any is a turn of the one that runs.
    turns = [f"twin_{k}.{twin.watch.turn}" for k, (_, twin) in found.items() if twin.watch]
    yield f"wire {TWIN_TURN} = ^{{{', '.join(turns)}}};"
    counts = {k: twin.watch.counts for k, (_, twin) in found.items() if twin.watch}
    for place in range(max(map(len, counts.values()))):
        yield f"wire [31:0] {twin_count(place)} ="
        for k, names in counts.items():
            if place < len(names):
                yield f"    {WHICH} == {k} ? twin_{k}.{names[place]} :"
        yield "    0;"


def _instance(k: int, kernel: FabricDesign, twin: Design) -> Iterator[str]:
    yield f"wire [31:0] twin_{k}_address ="
    yield from _addresses(kernel, twin)
    yield f"    {_NOWHERE};"
    ports = {f"s{s}": port for s, port in enumerate(kernel.access.ports)}
    given = {
        "start": f"start && {WHICH} == {k}",
        "ctl_write": f"ctl_write && twin_{k}_address != {_NOWHERE}",
        "ctl_address": f"twin_{k}_address",
    }
    yield f"{twin.top} twin_{k} ("
    connections = []
    for pin in pins(twin.dfg):
        stream, _, signal = pin.name.rpartition("_")
        theirs = f"{ports[stream]}_{signal}" if stream in ports else pin.name
        if pin.enters:
            connections.append(f"    .{pin.name}({given.get(pin.name, theirs)})")
    yield ",\n".join(connections)
    yield ");"


def _addresses(kernel: FabricDesign, twin: Design) -> Iterator[str]:
    """Where the twin has the word that the fabric has at the bench's address."""
    there, here = access_of(kernel), own_access(twin.dfg)
    for places, own in zip(there.live_ins, here.live_ins, strict=True):
        for place in places[:1]:
            yield f"    ctl_address == 32'h{place:08x} ? 32'h{own[0]:08x} :"
    for memory, first, own_first in zip(twin.dfg.memories, there.memories, here.memories, strict=True):
        offset = f"ctl_address - 32'h{first:08x}"
        yield f"    {offset} < {memory.words} ? 32'h{own_first:08x} + ({offset}) :"
