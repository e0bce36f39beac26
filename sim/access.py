"""Which words go between the memory shared with the host and a design's word port, and where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from backend.dfg import DFG
from backend.verilog_frame import Access, FabricDesign, own_access


class DesignLike(Protocol):
    """What the simulation needs of a `backend.verilog.Design`: its text, top module and graph."""

    @property
    def top(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def dfg(self) -> DFG: ...
    @property
    def interval(self) -> int: ...
    @property
    def length(self) -> int: ...


def access_of(design: DesignLike) -> Access:
    """Where a kernel's words and streams are."""
    return design.access if isinstance(design, FabricDesign) else own_access(design.dfg)


def together(designs: Sequence[DesignLike]) -> list[list[int]]:
    """The numbers of those that share one simulator: kernels on a fabric; any other design is by itself."""
    found: dict[object, list[int]] = {}
    for k, design in enumerate(designs):
        found.setdefault(design.text if isinstance(design, FabricDesign) else k, []).append(k)
    return list(found.values())


def memory_is_refilled(dfg: DFG, m: int) -> bool:
    """Whether a table's first contents must be written again at each entry, as the kernel changes them."""
    return bool(dfg.memories[m].initial) and any(n.op == "store" and n.memory == m for n in dfg.nodes)


def _memory_bases(dfg: DFG) -> list[int]:
    """Where each memory begins among the words of an execution: after live-ins and live-outs."""
    bases, base = [], len(dfg.live_ins) + len(dfg.live_outs)
    for memory in dfg.memories:
        bases.append(base)
        base += memory.words
    return bases


@dataclass(frozen=True)
class Transfer:
    """Words that go between the word port, from `address` on, and those of an execution, from `index` on."""

    address: int
    index: int
    count: int
    once: bool = False  # only at the first execution since another kernel's

    def statement(self, task: str) -> str:
        """The same in Verilog."""
        call = f"{task}(32'h{self.address:08x}, {self.index}, {self.count});"
        return f"if (first) {call}" if self.once else call


def stores(design: DesignLike) -> Iterator[Transfer]:
    """Fills live-ins and memories. Memories that nobody fills are zeroed once, as X would spread."""
    dfg, access = design.dfg, access_of(design)
    yield from _joined(Transfer(at, k, 1) for k, places in enumerate(access.live_ins) for at in places)
    for m, (memory, base) in enumerate(zip(dfg.memories, _memory_bases(dfg), strict=True)):
        always = memory.captured_in or memory_is_refilled(dfg, m)
        yield Transfer(access.memories[m], base, memory.words, once=not always)


def fetches(design: DesignLike) -> Iterator[Transfer]:
    """Takes live-outs and memories."""
    dfg, access = design.dfg, access_of(design)
    first = len(dfg.live_ins)
    yield from _joined(Transfer(at, first + k, 1) for k, at in enumerate(access.live_outs))
    for m, (memory, base) in enumerate(zip(dfg.memories, _memory_bases(dfg), strict=True)):
        if memory.captured_out:
            yield Transfer(access.memories[m], base, memory.words)


def _joined(transfers: Iterable[Transfer]) -> Iterator[Transfer]:
    """The same, with those that continue others as one."""
    found: list[Transfer] = []
    for each in transfers:
        last = found[-1] if found else None
        if last and (last.address + last.count, last.index + last.count) == (each.address, each.index):
            found[-1] = replace(last, count=last.count + each.count)
        else:
            found.append(each)
    yield from found
