"""Kernels that receive in several places, as one loop with one receive in each iteration."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import kernels
import pytest
from kernels import outcome, outcome_after, outcome_of_graph
from out_of_order import run_out_of_order
from test_lower import lowered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah import ir
from macah.passes.pipeline import PIPELINE, optimize
from macah.receives import MOST, lengthened, often_received
from macah.show import show_kernel
from macah.spread import spread
from macah.todfg import build_dfg
from macah.walk import statements

FABRIC = load_fabric("grid8x8")
WORDS = """int c = 0, k; c <? in;
  while (c) {
    while (c == 1 || c == 2) c <? in;
    for (k = 0; c && c != 1 && c != 2; k++) c <? in;
    if (k) { out <! k; n += k > 2; } }"""
TOKENS = """int c = 0; c <? in;
  for (;;) {
    int kind = 0, v = 0;
    while (c == 1) c <? in;
    if (!c) { out <! -1; break; }
    if (c >= 6) { kind = 1; while (c >= 6) { v = v * 31 + c; c <? in; } }
    else if (c == 5) { kind = 2; c <? in; while (c && c != 5) { v++; c <? in; } c <? in; }
    else if (c == 4) { c <? in; if (c == 4) { while (c && c != 2) c <? in; continue; } kind = 4; }
    else { kind = c; c <? in; }
    out <! kind; out <! v; }"""
TRAILERS = """int c = 0, d = 0; c <? in;
  while (c) {
    if (c < 4) { out <! c; c <? in; }
    else {
      int left = c >= 8 ? 3 : c >= 6 ? 2 : c >= 5 ? 1 : 0, v = c, bad = 0;
      if (left == 0) { out <! -5; c <? in; continue; }
      while (left > 0) {
        d <? in;
        if (d & 1) { bad = 1; break; }
        v = v * 8 + d; left--; }
      if (bad) { out <! -6; c = d; } else { out <! v; c <? in; } } }"""
MERGED = """int x = 1, y = 1; x <? in; y <? also;
  while (x > 0 && y > 0) {
    if (x <= y) { out <! x; x <? in; } else { out <! y; y <? also; } }
  while (x > 0) { out <! x; x <? in; }
  while (y > 0) { out <! y; y <? also; }
  out <! n;"""
TABLE = """int t[8] = {3, 1}, c = 1, k; c <? in;
  while (c > 0) {
    t[c & 7] += n; k <? in;
    while (t[k & 7] > 0 && k > 0) { t[k & 7] -= c; c <? in; k--; }
    out <! t[c & 7] + k; if (c == 3) { c = 0; c <? in; } else c--; }"""
RECORDS = """int tag = 0, size = 0, x = 0;
  for (;;) {
    tag <? in; if (tag <= 0) break;
    size <? in; int s = 0;
    for (int i = 0; i < (size & 3); i++) { x <? in; s += tag & 1 ? x : -x; }
    out <! tag; out <! s; }
  out <! x;"""
SKIPPED = """int c = 0, f = 0;
  do {
    if (f) { c <? in; f = 0; out <! c; }
    if (c & 1) c <? in; else f = 1;
    if (n-- < 0) break;
  } while (c != 2 && n > -20);
  out <! c;"""
TAIL = "int c = 1; while (c) { c <? in; if (c > 4) { c <? in; out <! c; } n++; } c <? in; out <! c; n += c;"
JOINED = """int x = 0, y = 0; x <? in; y <? also;
  while (x > 0 && y > 0) {
    if (x == y) { n += x * y; out <! x; x <? in; y <? also; }
    else if (x < y) x <? in;
    else y <? also; }
  out <! n;"""
CROSSED = """int x = 1, y = 1;
  while (x && y) {
    if (x & 1) { y <? also; n += y; x <? in; }
    else { x <? in; n ^= 5; y <? also; }
    if (y == 3) { x <? in; y += x; y <? also; }
    if (y == 4) { y <? in; y <? also; x--; }
    out <! n; }"""
BODIES = {
    "joined": JOINED,
    "crossed": CROSSED,
    "words": WORDS,
    "tokens": TOKENS,
    "trailers": TRAILERS,
    "merged": MERGED,
    "table": TABLE,
    "records": RECORDS,
    "skipped": SKIPPED,
    "tail": TAIL,
}
STOPPED = ("joined", "words", "tokens", "trailers", "merged", "records")
"""Those that receive nothing behind the zeros at the end."""


def kernel(body: str, ends: bool = True) -> ir.Kernel:
    """A kernel whose streams may end; then what is received keeps its value."""
    end = "void end(int stream s) { pstream_close(s); }" if ends else ""
    streams = "int stream in, int stream also, int stream out"
    return lowered(f"{end} void f({streams}, int n) {{ kernel {{ {body} }} }}")


def once(body: str, ends: bool = True) -> ir.Kernel:
    return replace(kernel(body, ends), once=True)


def bound(made: ir.Kernel) -> int:
    return minimum_interval(build_dfg(optimize(made), FABRIC), FABRIC).mii


def inputs(made: ir.Kernel, seed: int) -> dict[str, Any]:
    """Elements that end with zeros, for each stream."""
    chance = random.Random(seed)

    def words() -> list[tuple[int]]:
        likely = chance.choice(((1, 2, 3, 4, 5), (6, 7, 8, 9), (1, 4, 5, 6, 9), range(10)))
        return [(chance.choice(likely),) for _ in range(chance.choice((0, 1, 2, 40)))] + [(0,)] * 4

    names = [capture.stream.name for capture in made.streams if capture.stream.name != "out"]
    return {"scalars": {"n": chance.randint(0, 3)}, "arrays": {}, "inputs": {n: words() for n in names}}


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("name", "ends"), [*((name, True) for name in BODIES), *((name, False) for name in STOPPED)]
)
def test_it_does_the_same(name: str, ends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(BODIES[name], ends)
    final = optimize(replace(made, once=True))
    dfg = build_dfg(final)
    assert final != optimize(made)
    for seed in range(12):
        expected = outcome(made, inputs(made, seed))
        assert outcome_after(made, final, inputs(made, seed)) == expected
        assert outcome_of_graph(made, dfg, inputs(made, seed)) == expected
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "run_dfg", lambda dfg, *data: run_out_of_order(dfg, seed, *data))  # noqa: B023
            assert outcome_of_graph(made, dfg, inputs(made, seed)) == expected


@pytest.mark.parametrize("name", ["joined", "crossed", "merged"])
def test_iterations_with_one_of_their_elements_there_are_bubbles(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kernel(BODIES[name])
    dfg = build_dfg(optimize(replace(made, once=True, bubbles=True)))
    for seed in range(12):
        expected = outcome(made, inputs(made, seed))
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "run_dfg", lambda dfg, *data: run_out_of_order(dfg, seed, *data))  # noqa: B023
            assert outcome_of_graph(made, dfg, inputs(made, seed)) == expected


@pytest.mark.parametrize(
    ("name", "least"),
    [("words", 2), ("tokens", 5), ("trailers", 7), ("merged", 6), ("joined", 4), ("crossed", 7)],
)
def test_receives_in_other_places_hold_up_no_iteration(name: str, least: int) -> None:
    assert bound(once(BODIES[name])) <= least < bound(kernel(BODIES[name]))


def test_streams_without_end_are_received_from_in_one_place() -> None:
    """Whatever variable it is for: that need not keep its value."""
    assert bound(once(TRAILERS, ends=False)) <= 5
    for ends, places in ((True, 3), (False, 1)):
        stages: dict[str, ir.Kernel] = {}
        optimize(once(RECORDS, ends), lambda name, now: stages.update({name: now}))  # noqa: B023
        receives = [s for s in statements(stages["receive_once"].body) if isinstance(s, ir.Receive)]
        assert len(receives) == places


def test_it_is_chosen_where_it_saves_cycles() -> None:
    choice = spread(kernel(WORDS), FABRIC)
    assert choice is not None and choice.kernel.once and choice.bounds.mii == 2
    assert _count(choice.dfg, "recv") == 1
    paired = "for (int i = 0; i < n; i++) { int x, y; x <? in; y <? in; out <! x * y; }"
    choice = spread(kernel(paired), FABRIC)
    assert choice is not None and not choice.kernel.once


def test_tests_that_are_known_are_not_made() -> None:
    """A loop that tests for what the branch around it has just found runs at least once."""
    dfg = build_dfg(optimize(once(TOKENS)), FABRIC)
    assert _count(dfg, "slt") + _count(dfg, "sle") <= 2
    assert _count(dfg, "recv") == 1


def test_a_loop_without_end_has_no_other() -> None:
    body = "for (;;) { int c, d; c <? in; while (c > 0) { d <? in; out <! c + d; c--; } }"
    final = optimize(once(body))
    assert [stmt for stmt in final.body if isinstance(stmt, ir.DoWhile)]
    assert bound(once(body)) >= 1


def test_kernels_that_receive_in_one_place_stay_as_they_are() -> None:
    for body in (
        "for (int i = 0; i < n; i++) { int x; x <? in; out <! x; }",
        "int x, y; x <? in; y <? in; for (int i = 0; i < n; i++) out <! x + y;",
        "for (int i = 0; i < n; i++) { int x, w; w :: x <? in; if (!w) break; w :: x <? in; out <! x; }",
        "int x; for (int i = 0; i < n; i++) {" + "x <? in; out <! x;" * (MOST + 1) + "}",
    ):
        assert not often_received(kernel(body).body)
        assert show_kernel(optimize(once(body))) == show_kernel(optimize(kernel(body)))


def test_iterations_are_expected_for_each_receive() -> None:
    pairs = kernel("for (int i = 0; i < n; i++) { int x, y; x <? in; y <? in; out <! x + y; }")
    assert lengthened(pairs.body) == 2
    seldom = kernel("for (int i = 0; i < n; i++) { int x; x <? in; if (x) x <? in; out <! x; }")
    assert lengthened(seldom.body) == Fraction(3, 2)
    paired = "x <? in; n++; y <? also; out <! x + y + n;"
    assert lengthened(kernel(f"for (int i = 0; i < n; i++) {{ int x, y; {paired} {paired} }}").body) == 2
    assert lengthened(kernel(CROSSED).body) == Fraction(7, 2)
    bits = kernel("for (;;) { int b; b <? in; if (b == 2) break; if (!b) continue; b <? in; out <! b; }")
    assert lengthened(bits.body) == Fraction(3, 2)


def test_an_iteration_receives_from_several_streams_one_after_the_other() -> None:
    """In the order in which the program first does, so that who sends never waits for another one."""
    choice = spread(kernel(JOINED), FABRIC)
    assert choice is not None and choice.kernel.once and choice.bounds.mii <= 4
    assert _count(choice.dfg, "recv") == 2


def test_what_is_left_is_one_loop() -> None:
    stages: dict[str, ir.Kernel] = {}
    optimize(once(TRAILERS), lambda name, now: stages.update({name: now}))
    assert "receive_once" in [step.name for step in PIPELINE]
    loops = [stmt for stmt in statements(stages["receive_once"].body) if isinstance(stmt, ir.DoWhile)]
    assert len(loops) == 1


def _count(dfg: DFG, op: str) -> int:
    return [node.op for node in dfg.nodes].count(op)
