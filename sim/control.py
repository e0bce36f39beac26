"""The control plane, a cocotb test inside the simulator: runs the design once for each request of the host.

It is packed into the image (see cosim.py), so it imports nothing of this project. Words and streams do not
pass through it: runtime/vpi.c moves them. The host waits for eight bytes: whether an assertion failed,
and which.
"""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import traceback
from typing import Any

import cocotb
from cocotb.triggers import Timer

SOCKET = 3


async def serve(dut: Any, host: socket.socket) -> None:
    """Answers requests until the host has gone."""
    phase = 0
    await Timer(
        1, "ns"
    )  # the bench's variables get their first values, which must not be taken for an answer
    while host.recv(1):
        phase ^= 1
        dut.go.value = phase
        await dut.finished.value_change
        failed = int(dut.fail.value)
        host.sendall(struct.pack("=II", failed, int(dut.fail_index.value) if failed else 0))


@cocotb.test()
async def run(dut: Any) -> None:
    """Serves one host. What goes wrong is told to the log, which the host shows, and ends the simulator."""
    gc.freeze()
    gc.enable()  # which is off while Python starts
    try:
        with socket.socket(fileno=SOCKET) as host:
            await serve(dut, host)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    if "MACAH_WAVE" not in os.environ:  # which needs an orderly end
        os._exit(0)
