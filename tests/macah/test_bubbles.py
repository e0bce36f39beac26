"""Receives that become bubbles: what a kernel does stays the same whenever elements come, and nobody waits.

Programs in which the host or another kernel waits for each answer run mapped, with streams of any depth.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kernels import seldom_shortened
from random_kernels import IN, TRY, Choices, observable, random_kernel

from arch.describe import load_fabric
from backend import run_dfg as graph_interpreter
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah import ir
from macah.lint import flow_of
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program, read_program
from macah.run import run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg
from macah.walk import flat_map

CASES = Path(__file__).parent.parent / "cases/bubbles"
LOCK_STEP, NO_ELEMENT = CASES / "lock_step.macah", CASES / "no_such_element.macah"
SERVERS = CASES / "servers.macah"

EXAMPLE = """void f(int stream out, int stream in) {
  int a = 1, x = 0;
  kernel { do { out <! a; x <? in; a = a + x; } while (a < 9); }
}
"""
LONG = """void f(int stream out, int stream in) {
  kernel { for (int i = 0; i < 99; i++) { int x = 0; x <? in; out <! x * x / (x | 1); } }
}
"""


def lowered(text: str) -> ir.Kernel:
    program = parse_program(text, Path("t.macah"))
    return replace(lower(program, program.kernels[0]), bubbles=True)


def with_receives(seed: int, choices: Choices | None = None) -> ir.Kernel:
    """A random kernel with more blocking receives than others have."""
    kernel, chance = random_kernel(seed, choices), Random(seed)

    def change(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(stmt, ir.Receive) and chance.random() < 0.6:
            return (replace(stmt, worked=None),)
        if isinstance(stmt, ir.Assign) and chance.random() < 0.25:
            return (stmt, ir.Receive(chance.choice((IN, IN, TRY)), (), (stmt.variable,)))
        return (stmt,)

    return replace(kernel, body=flat_map(kernel.body, change))


class Input:
    """What random kernels are run on."""

    def __init__(self, seed: int) -> None:
        source = Random(seed)
        words = [source.choice((0, 1, 2, 3, 7, 100, 0xFFFFFFFF)) for _ in range(25)]
        self.streams = {"in": [(w,) for w in words[:10]], "try": [(w,) for w in words[10:14]]}
        self.array = words[16:24]
        self.scalars = {**dict(zip("abc", words[13:16], strict=True)), "limit": source.randrange(6)}
        self.scalars |= {f"A[{i}]": word for i, word in enumerate(self.array)}

    def run(self, kernel: ir.Kernel, late: Callable[[], bool] = lambda: False) -> tuple[object, ...]:
        run = run_kernel(kernel, self.scalars, {"A": self.array}, self.streams, 3_000_000, late)
        return observable(kernel, run)

    def run_graph(self, dfg: DFG, late: Callable[[], bool] = lambda: False) -> graph_interpreter.DFGRun:
        live_ins = [self.scalars.get(name, 0) for name in dfg.live_ins]
        inputs = {s: self.streams[p.name] for s, p in enumerate(dfg.streams) if not p.sends}
        words = {s: [word for (word,) in elements] for s, elements in inputs.items()}
        memories = {m: self.array for m, memory in enumerate(dfg.memories) if memory.captured_in}
        return graph_interpreter.run_dfg(dfg, live_ins, words, memories, 20_000, late)


@pytest.mark.quick(20)
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(60))
def test_a_kernel_does_the_same_whenever_elements_come(seed: int) -> None:
    kernel, given = seldom_shortened(with_receives(seed), seed), Input(seed)
    expected: Any = given.run(optimize(kernel))
    final = optimize(replace(kernel, bubbles=True))
    dfg = build_dfg(final)
    chance = Random(seed)
    for late in (lambda: False, lambda: chance.random() < 0.5):
        assert given.run(final, late) == expected
        run = given.run_graph(dfg, late)
        assert {p.name: run.outputs[s] for s, p in enumerate(dfg.streams) if run.outputs.get(s)} == {
            name: [word for (word,) in sent] for name, sent in expected[2].items()
        }
        scalars = dict(zip(dfg.live_outs, run.live_outs, strict=True))
        assert scalars.items() <= expected[0].items()
        for m, memory in enumerate(dfg.memories):
            if memory.captured_out:
                assert run.memories[m] == expected[1][memory.name]


@pytest.mark.quick(20)
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(60))
def test_an_element_may_depend_on_all_that_was_sent_before(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the program sends before it receives an element leaves while that is not there yet."""
    kernel, given = seldom_shortened(with_receives(seed), seed), Input(seed)
    stream: Callable[..., tuple[int, ...]] = graph_interpreter.Machine.stream
    needed: dict[str, list[int]] = {"in": [], "try": []}
    sent, received = 0, {"in": 0, "try": 0}

    def watched(machine: Any, node: Any, number: int, operands: list[int]) -> tuple[int, ...]:
        nonlocal sent
        name = machine.dfg.streams[number].name
        if operands[-1] and node.op == "recv":
            needed[name].append(sent)
        if operands[-1] and node.op == "await":
            if sent < needed[name][received[name]]:
                return operands[0], 0
            received[name] += 1
        sent += operands[-1] != 0 and node.op in ("send", "try_send")
        return stream(machine, node, number, operands)

    monkeypatch.setattr(graph_interpreter.Machine, "stream", watched)
    expected = given.run_graph(build_dfg(optimize(replace(kernel, ordered=True))))
    sent = 0
    found = given.run_graph(build_dfg(optimize(replace(kernel, bubbles=True))))
    assert found.outputs == expected.outputs
    assert received == {name: len(elements) for name, elements in needed.items()}


def test_the_example_of_the_pass() -> None:
    text = show_kernel(optimize(lowered(EXAMPLE)))
    assert (
        text[text.index("  fresh") :]
        == """\
  fresh = 1
  do:
    a'2 = a
    out <! a if fresh
    go or wait :: x <? in
    a = (a + x)
    again = (a < 9)
    a = select(go, a, a'2)
    fresh = go
  while ((go ^ 1) | again)
"""
    )


def test_the_price_does_not_grow_with_what_is_computed() -> None:
    """As the order of streams makes it do."""
    fabric, kernel = load_fabric("grid8x8"), lowered(LONG)
    plain, ordered, bubbles = (
        minimum_interval(build_dfg(optimize(made)), fabric).mii
        for made in (replace(kernel, bubbles=False), replace(kernel, bubbles=False, ordered=True), kernel)
    )
    assert plain < bubbles <= 3 < 10 < ordered


def test_kernels_in_lock_step_are_found() -> None:
    program = read_program(LOCK_STEP)
    found = flow_of(program).lock_step
    assert found == {"filter", "echo", "serve", "chase"}  # and the pragma stands before another


@pytest.mark.slow
@pytest.mark.sweep(2)
@pytest.mark.parametrize("depth", [1, 2, 7])
def test_programs_in_lock_step_run_mapped(depth: int) -> None:
    command = [sys.executable, "-m", "macah", "run", "-w", f"-DDEPTH={depth}", str(LOCK_STEP), "--mode"]
    outputs = []
    for mode in ("c", "mapped", "dataflow"):
        done = subprocess.run([*command, mode], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert len({*outputs}) == 1 and outputs[0].count("\n") == 4


@pytest.mark.slow
def test_servers_send_their_last_answers_before_anybody_sends_more() -> None:
    command = [sys.executable, "-m", "macah", "run", "-w", str(SERVERS), "--mode"]
    outputs = [
        subprocess.run([*command, mode], capture_output=True, text=True, timeout=200, check=True).stdout
        for mode in ("c", "mapped")
    ]
    assert outputs[0] == outputs[1] and outputs[0].count("\n") == 7


ASKED = """#include <pthread.h>
static int stream a, b;
static void *serve(void *p) {{ int x = 0; serve: kernel {{ {} }} return p; }}
static void *feed(void *p) {{ for (;;) a <! 1; }}
int main(void) {{
  pthread_t t, u;
  int x = 0, got = 0, w;
  a = stream_create(int, 32), b = stream_create(int, 32);
  pthread_create(&t, 0, serve, 0);
  {}
}}"""
FOR_EVER = "for (;;) { x <? a; b <! x; }"
UNTIL_TOLD = "do { x <? a; b <! x; } while (x);"
COUNTED = "for (int i = 0; i < 20; i++) { x <? a; b <! x; }"
TO_THE_END = "while (!pstream_ended(a)) { x <? a; b <! x; }"
SEND, TAKE = "for (int i = 0; i < 20; i++) a <! i;", "for (int i = 0; i < 20; i++) x <? b;"
POLL = "while (got < 20) { w :: a <! got; w :: x <? b; if (!w) continue; got++; }"
LEAVE = "for (;;) { w :: a <! got; w :: x <? b; if (w) got++; if (got == 20) break; }"


@pytest.mark.parametrize(
    ("kernel", "host", "waits"),
    [
        (FOR_EVER, SEND + TAKE, True),
        (COUNTED, SEND + TAKE, False),
        (UNTIL_TOLD, SEND + "a <! 0;" + TAKE, False),
        # nobody says that it is over; somebody waits until it is
        (UNTIL_TOLD, SEND + TAKE, True),
        (UNTIL_TOLD, SEND + TAKE + "pthread_join(t, 0);", False),
        # it is said when the answers are there
        (UNTIL_TOLD, SEND + TAKE + "a <! 0;", True),
        (UNTIL_TOLD, POLL + "a <! 0;", True),
        (UNTIL_TOLD, LEAVE + "a <! 0;", True),
        (TO_THE_END, SEND + TAKE + "pstream_close(a);", True),
        (TO_THE_END, SEND + "pstream_close(a);" + TAKE, False),
        (TO_THE_END, POLL + "pstream_close(a);", True),
        # eight are always under way, but not when the end comes
        (COUNTED, SEND + "for (int i = 0; i < 12; i++) x <? b; a <! 0;", False),
        (COUNTED, SEND + "for (int i = 0; i < 13; i++) x <? b; a <! 0;", True),
        # there is always one more
        (FOR_EVER, "pthread_create(&u, 0, feed, 0);" + TAKE, False),
    ],
)
def test_kernels_that_hold_back_what_is_waited_for_are_found(
    kernel: str, host: str, waits: bool, tmp_path: Path
) -> None:
    source = tmp_path / "t.macah"
    source.write_text(ASKED.format(kernel, host))
    assert flow_of(read_program(source)).lock_step == ({"serve"} if waits else set())


@pytest.mark.slow
def test_what_stays_where_nothing_is_received_may_be_no_element() -> None:
    command = [sys.executable, "-m", "macah", "run", "-w", "--bubbles", str(NO_ELEMENT), "--mode"]
    outputs = [
        subprocess.run([*command, mode], capture_output=True, text=True, timeout=100, check=True).stdout
        for mode in ("c", "dataflow")
    ]
    assert outputs == ["00010002\n00030004\n00050006\n00000007\n"] * 2


def test_a_receive_that_never_happens_passes() -> None:
    kernel = lowered("void f(int stream s) { int x = 0; kernel { if (x > x) x <? s; x <? s; } }")
    assert [node.op for node in build_dfg(optimize(kernel)).nodes].count("await") == 1


def test_the_pragma_asks_for_bubbles() -> None:
    text = "void f(int stream s) {{ int x;\n{}\nkernel {{ x <? s; }} }}"
    for line, asked in (("#pragma macah bubbles", True), ("#pragma macah ordered", False), ("", False)):
        assert parse_program(text.format(line), Path("t.macah")).kernels[0].bubbles == asked
