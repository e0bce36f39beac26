"""A kernel's ports inside a cocotb test of anyone's: its streams, its word port, its start and end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from backend.dfg import StreamPort

from .errors import KernelAssertionError, OverrunError
from .kernel import Kernel
from .result import Result
from .values import Elements, decode, encode


class KernelPorts:
    """Drives the ports of a kernel's module, or signals of the same names.

    `handle` has them (`clk`, `rst`, `start`, `s0_tdata`, …); the test drives `clk`. What the kernel has sent
    since its start is in `sent[name]`, as it comes, and the streams that it has closed are in `closed`.
    """

    def __init__(self, kernel: Kernel, handle: Any) -> None:
        self.kernel, self.handle = kernel, handle
        self.sent: dict[str, list[Any]] = {name: [] for name in kernel.outputs}
        self.closed: set[str] = set()
        self._values: Mapping[str, Any] = {}
        self._cycles = self._stalled = 0
        self._edge = RisingEdge(handle.clk)
        self._takers: list[Task[None]] = []

    async def reset(self) -> None:
        """Resets the kernel, for one cycle; streams offer and take nothing."""
        for name in ("start", "ctl_write", "ctl_address", "ctl_wdata"):
            getattr(self.handle, name).value = 0
        for stream in self.kernel.interface.streams:
            for signal in ("tready",) if stream.sends else ("tvalid", "tdata", "ended"):
                self._signal(stream.number, signal).value = 0
        self.handle.rst.value = 1
        await self._edge
        self.handle.rst.value = 0

    async def write(self, values: Mapping[str, Any]) -> None:
        """Gives variables their values, a word a cycle; those not named are 0. The kernel must not run."""
        self._values = values
        for address, word in self.kernel.writes(values):
            self.handle.ctl_write.value = 1
            self.handle.ctl_address.value = address
            self.handle.ctl_wdata.value = word
            await self._edge
        self.handle.ctl_write.value = 0

    def send(self, name: str, elements: Iterable[Any], close: bool = False) -> Task[None]:
        """Begins to send elements to a stream, one after the other, and to close it behind the last one."""
        stream = next(s for s in self.kernel.interface.streams if s.name == name and not s.sends)
        return cocotb.start_soon(self._send(stream.number, name, elements, close))

    async def start(self) -> None:
        """Starts the kernel, and takes what it sends from now on."""
        for taker in self._takers:  # of a run that did not end
            taker.cancel()
        self._cycles = self._stalled = 0
        self.sent = {name: [] for name in self.sent}
        self.closed = set()
        self.handle.start.value = 1
        await self._edge
        self.handle.start.value = 0
        outer = [s for s in self.kernel.interface.streams if s.sends and not s.inner]
        self._takers = [cocotb.start_soon(self._take(s.number, s.name)) for s in outer]

    async def finish(self, max_cycles: int = 1_000_000) -> Result:
        """Waits for the kernel's end and reads results. Errors: OverrunError, KernelAssertionError."""
        await self._edge
        while not int(self.handle.done.value):
            if int(self.handle.fail.value):
                text = self.kernel.dfg.assertions[int(self.handle.fail_index.value)]
                raise KernelAssertionError(text)
            if self._cycles + self._stalled >= max_cycles:
                raise OverrunError(
                    f"kernel '{self.kernel.name}' has not ended after {max_cycles} cycles,"
                    f" of them {self._stalled} stalled"
                )
            if int(self.handle.stalled.value):
                self._stalled += 1
            else:
                self._cycles += 1
            await self._edge
        words = await self._read(self.kernel.reads())
        iterations = self.kernel.iterations(self._cycles)
        if self.kernel.counter is not None:
            (iterations,) = await self._read([self.kernel.counter])
        return self._result(words, iterations)

    async def run(self, values: Mapping[str, Any], max_cycles: int = 1_000_000) -> Result:
        """All of it: reset, values of variables, elements of streams (as in `Kernel.run`), start, end."""
        await self.reset()
        await self.write({name: v for name, v in values.items() if name in self.kernel.variables})
        asks = {s.name: s.asks_end for s in self.kernel.interface.streams if not s.sends}
        tasks = [self.send(name, values[name], asks[name]) for name in self.kernel.inputs]
        await self.start()
        try:
            return await self.finish(max_cycles)
        finally:
            for task in tasks:
                task.cancel()

    def _signal(self, number: int, name: str) -> Any:
        return getattr(self.handle, f"s{number}_{name}")

    async def _send(self, number: int, name: str, elements: Iterable[Any], close: bool) -> None:
        port = self.kernel.dfg.streams[number]
        data, valid, ready = (self._signal(number, s) for s in ("tdata", "tvalid", "tready"))
        element = self.kernel.inputs[name]
        for value in elements:
            for word in _words(port, encode(element, value)):
                data.value, valid.value = word, 1
                await self._edge
                while not int(ready.value):
                    await self._edge
        valid.value = 0
        if close:
            self._signal(number, "ended").value = 1

    async def _take(self, number: int, name: str) -> None:
        port = self.kernel.dfg.streams[number]
        data, valid, ready, close = (self._signal(number, s) for s in ("tdata", "tvalid", "tready", "close"))
        element, words = self.kernel.outputs[name], list[int]()
        ready.value = 1
        while True:
            await self._edge
            if int(valid.value):
                words.append(int(data.value))
                if len(words) == len(port.words):
                    self.sent[name].append(decode(element, _element(port, words)))
                    words.clear()
            if int(close.value):
                self.closed.add(name)
            if int(self.handle.done.value):
                return

    async def _read(self, addresses: Iterable[int]) -> list[int]:
        words = []
        for address in addresses:
            self.handle.ctl_address.value = address
            await self._edge
            words.append(int(self.handle.ctl_rdata.value))
        return words

    def _result(self, words: list[int], iterations: int | None) -> Result:
        values: dict[str, Any] = {
            name: Elements(element, b"".join(encode(element, value) for value in self.sent[name]))
            for name, element in self.kernel.outputs.items()
        }
        values |= self.kernel.results(self._values, words)
        return Result(values, self._cycles, self._stalled, iterations, frozenset(self.closed), {})


def _words(port: StreamPort, data: bytes) -> Iterator[int]:
    """The words of an element, extended."""
    for word in port.words:
        part = data[word.offset : word.offset + word.size]
        yield int.from_bytes(part, "little", signed=word.signed) & 0xFFFFFFFF


def _element(port: StreamPort, words: list[int]) -> bytes:
    data = bytearray(port.size)
    for word, value in zip(port.words, words, strict=True):
        data[word.offset : word.offset + word.size] = value.to_bytes(4, "little")[: word.size]
    return bytes(data)
