"""Kernels whose streams are ordered: operations stay in program order, from lowering to the schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernels import seldom_shortened
from random_kernels import random_kernel

from arch.describe import load_fabric
from arch.ops import STREAM_OPS
from backend import run_dfg as graph_interpreter
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.schedule import schedule
from macah import ir
from macah import run as interpreter
from macah.lower import lower
from macah.orders import LEAD
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.todfg import build_dfg

TRANSFERS = {"recv", "try_recv", "send", "try_send", "close"}
SCALARS = {"a": 3, "b": 100, "c": 1, "limit": 4}
INPUTS = {"in": [5, 0, 7, 1, 2, 9, 4, 4, 1, 3], "try": [6, 8, 2, 1]}

LOCK_STEP = """void f(int stream out, int stream in, int stream log, int n) {
  int x = 0;
  for (int round = 0; round < 1; round++)
#pragma macah ordered
    kernel { for (int i = 0; i < n; i++) { out <! x; x <? in; log <! x + i; } }
  kernel { for (int i = 0; i < n; i++) { out <! x; x <? in; log <! x + i; } }
}
"""


def lowered(text: str, index: int) -> ir.Kernel:
    program = parse_program(text, Path("t.macah"))
    return lower(program, program.kernels[index])


def transfers_of(kernel: ir.Kernel, monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, str]]:
    """What a kernel does in the interpreter, in order: whether it sends, and where."""
    log: list[tuple[bool, str]] = []
    effect: Callable[[Any, ir.Stmt], None] = interpreter._State.effect

    def logged(state: Any, stmt: ir.Stmt) -> None:
        if isinstance(stmt, ir.Send | ir.Receive):
            log.append((isinstance(stmt, ir.Send), stmt.stream.name))
        effect(state, stmt)

    monkeypatch.setattr(interpreter._State, "effect", logged)
    inputs = {name: [(word,) for word in words] for name, words in INPUTS.items()}
    interpreter.run_kernel(kernel, SCALARS, {}, inputs)
    monkeypatch.undo()
    return log


def transfers_of_graph(dfg: DFG, monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, str]]:
    log: list[tuple[bool, str]] = []
    stream: Callable[..., tuple[int, ...]] = graph_interpreter.Machine.stream

    def logged(machine: Any, node: Any, number: int, operands: list[int]) -> tuple[int, ...]:
        if node.op in TRANSFERS and operands[-1]:
            log.append((dfg.streams[number].sends, dfg.streams[number].name))
        return stream(machine, node, number, operands)

    monkeypatch.setattr(graph_interpreter.Machine, "stream", logged)
    inputs = {s: INPUTS[port.name] for s, port in enumerate(dfg.streams) if not port.sends}
    graph_interpreter.run_dfg(dfg, [SCALARS.get(name, 0) for name in dfg.live_ins], inputs)
    monkeypatch.undo()
    return log


@pytest.mark.parametrize("seed", range(60))
def test_operations_on_all_streams_keep_their_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = seldom_shortened(replace(random_kernel(seed), ordered=True), seed)
    expected = transfers_of(kernel, monkeypatch)
    final = optimize(kernel)
    assert transfers_of(final, monkeypatch) == expected
    assert transfers_of_graph(build_dfg(final), monkeypatch) == expected


@pytest.mark.parametrize("seed", range(12))
def test_no_two_operations_share_a_cycle_or_change_places_in_a_schedule(seed: int) -> None:
    dfg = build_dfg(optimize(replace(random_kernel(seed + 100), ordered=True)))
    fabric = load_fabric("grid8x8")
    found = next(s for i in range(minimum_interval(dfg, fabric).mii, 200) if (s := schedule(dfg, fabric, i)))
    starts = [found.start[node.id] for node in dfg.nodes if node.op in STREAM_OPS]
    in_time = [start + i * found.interval for i in range(3) for start in starts]
    assert in_time == sorted(set(in_time))


def test_the_pragma_orders_the_kernel_behind_it_and_no_other() -> None:
    ordered, other = (lowered(LOCK_STEP, index) for index in (0, 1))
    assert ordered.ordered and not other.ordered
    assert len(build_dfg(optimize(ordered)).orders) == 3
    # Its two outputs run ahead of each other, but not far.
    assert [(o.distance, o.delay) for o in build_dfg(optimize(other)).orders] == [(LEAD, 1), (LEAD, 1)]


def test_the_price_is_a_longer_interval() -> None:
    fabric = load_fabric("grid4x4")
    ordered, other = (build_dfg(optimize(lowered(LOCK_STEP, index))) for index in (0, 1))
    assert minimum_interval(other, fabric).mii == 1
    # Send, receive, the addition that the second send waits for, and that send.
    assert minimum_interval(ordered, fabric).mii == 4
