"""cocotb tests that run in the simulators which test_api_cocotb.py starts."""

from __future__ import annotations

import os
from itertools import cycle
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from sim import KernelAssertionError, KernelPorts, OverrunError, load_kernel

ITEMS = [(-3, 200, 1 << 30), (4, 0, -5), (-32768, 255, 7)] * 3
SUMS = [(k * (1 << 33) + a + b, c - b) for k, (a, b, c) in enumerate(ITEMS)]


@cocotb.test()
async def native_ports(dut: Any) -> None:
    """A kernel by itself, twice, and what goes wrong."""
    cocotb.start_soon(Clock(dut.clk, 2, "ns").start())
    ports = KernelPorts(load_kernel(os.environ["DESIGN"]), dut)
    for offset in (0, 1 << 33):
        result = await ports.run({"in": ITEMS, "first": offset})
        assert result["out"] == [(s + offset, d) for s, d in SUMS]
        assert (result["n"], result.closed) == (len(ITEMS), {"out"})
        assert result.cycles > len(ITEMS) and result.stalled == 0
        assert result.iterations is not None and result.iterations > len(ITEMS)
    try:
        await ports.run({"in": [(0, 0, 99)]})
    except KernelAssertionError as error:
        assert "c != 99" in str(error)
    else:
        raise AssertionError("no failure")
    await ports.reset()
    await ports.write({})
    await ports.start()
    task = ports.send("in", ITEMS[:1])
    await task
    try:
        await ports.finish(200)
    except OverrunError as error:
        assert "has not ended after 200 cycles" in str(error)
    else:
        raise AssertionError("no overrun")
    assert ports.sent["out"] in ([], SUMS[:1])  # a pipeline that is held up keeps what it has


@cocotb.test()
@cocotb.parametrize(pauses=[False, True])
async def axi_ports(dut: Any, pauses: bool) -> None:
    """The same kernel over AXI: an element is a transfer, tlast ends a stream, also by an empty transfer."""
    from cocotbext.axi import (
        AxiLiteBus,
        AxiLiteMaster,
        AxiStreamBus,
        AxiStreamFrame,
        AxiStreamSink,
        AxiStreamSource,
    )

    kernel = load_kernel(os.environ["DESIGN"])
    cocotb.start_soon(Clock(dut.aclk, 2, "ns").start())
    control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.aclk, dut.aresetn, False)
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_in"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_out"), dut.aclk, dut.aresetn, False)
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)
    if pauses:
        source.set_pause_generator(cycle([0, 1, 0, 0, 1, 1]))
        sink.set_pause_generator(cycle([1, 1, 0, 1, 0]))
    offset = 5
    for count in (len(ITEMS), 0, 1):
        for address, word in kernel.writes({"first": offset}):
            await control.write_dword(address & 0xFF000000 | (address & 0x3FFFFF) << 2, word)
        await control.write_dword(0xFF000000, 1)
        data = b"".join(encoded(kernel, item) for item in ITEMS[:count])
        size = kernel.inputs["in"].size
        # The empty transfer at the end of a frame without elements has no byte that counts.
        await source.send(AxiStreamFrame(data or bytes(size), tkeep=[int(bool(data))] * (len(data) or size)))
        frame = await sink.recv(compact=False)
        kept = bytes(b for b, keep in zip(frame.tdata, frame.tkeep or (), strict=False) if keep)
        found = [
            (
                int.from_bytes(kept[k : k + 8], "little", signed=True),
                int.from_bytes(kept[k + 8 : k + 12], "little", signed=True),
            )
            for k in range(0, len(kept), 16)
        ]
        assert found == [(s + offset, d) for s, d in SUMS[:count]], (count, found)
        while not await control.read_dword(0xFF000000) & 1:
            pass


def encoded(kernel: Any, item: Any) -> bytes:
    """The bytes of an element."""
    from sim.values import encode

    return encode(kernel.inputs["in"], item)
