"""The cocotb tests of fir_top.v, which run in the simulator; test_axi.py starts it."""

from __future__ import annotations

import os
import random
from itertools import cycle
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource

from sim import load_kernel

TAPS = [-77, -176, -192, 160, 1181, 2888, 4932, 7668, 7668, 4932, 2888, 1181, 160, -192, -176, -77]
CONTROL = 255 << 24
START, DONE = 1, 1


def filtered(samples: bytes) -> list[int]:
    """What comes out."""
    x = [0] * 15 + [(sample - 128) << 8 for sample in samples]
    return [sum(t * x[k + 15 - d] for d, t in enumerate(TAPS)) >> 15 for k in range(len(samples))]


@cocotb.test()
@cocotb.parametrize(pauses=[False, True])
async def filters(dut: Any, pauses: bool) -> None:
    """Samples go in and out over AXI4-Stream, parameters and start over AXI4-Lite; twice."""
    cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
    control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.aclk, dut.aresetn, False)
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, False)
    dut.aresetn.value = 0
    for _ in range(2):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    if pauses:
        source.set_pause_generator(cycle([0, 1, 1, 0, 1]))
        sink.set_pause_generator(cycle([1, 0, 1, 1, 0, 0, 0]))

    kernel = load_kernel(os.environ["DESIGN"])
    for seed in (1, 2):
        samples = random.Random(seed).randbytes(60)
        # A word at {region, offset} of the word port is at byte address {region, offset, 2'b00}.
        for address, word in kernel.writes({"n": len(samples), "coeff": TAPS}):
            await control.write_dword(address & 0xFF000000 | (address & 0x3FFFFF) << 2, word)
        await control.write_dword(CONTROL, START)
        await source.send(samples)
        received = bytearray()
        while len(received) < 2 * len(samples):
            frame = await sink.read(1)
            received += bytes(frame)
        words = [
            int.from_bytes(received[k : k + 2], "little", signed=True) for k in range(0, len(received), 2)
        ]
        assert words == filtered(samples)
        while not await control.read_dword(CONTROL) & DONE:
            pass
