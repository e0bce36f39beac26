"""Plain loops get copies of their bodies, and do what they did."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from control_kernels import count, i, kernel, let, n, op, send, text, x
from random_kernels import Choices, observable, random_kernel, run_random

from arch.ops import evaluate, word
from backend.dfg import Place
from macah import ir
from macah.check import check_kernel
from macah.diagnostic import MacahError
from macah.ir import Body, Const, Label, Read, Stmt
from macah.lower import lower
from macah.passes.inline_calls import inline_calls
from macah.passes.trips import trip_count
from macah.passes.unroll_loops import unroll_loops
from macah.program import parse_program
from macah.run import run_kernel
from macah.unrolling import loops_of, read_unrolling
from macah.walk import flat_map, statements


def placed(made: ir.Kernel) -> ir.Kernel:
    """The kernel with a place of its own for each loop."""
    lines = iter(range(1, 1000))

    def place(stmt: Stmt) -> Body:
        loops = isinstance(stmt, ir.While | ir.DoWhile)
        return (replace(stmt, where=Place("f", next(lines))) if loops else stmt,)

    return replace(made, body=flat_map(made.body, place))


def unrolled(made: ir.Kernel, factor: int) -> ir.Kernel:
    made = placed(made)
    result = unroll_loops(replace(made, unroll=tuple((place, factor) for place in loops_of(made))))
    check_kernel(result)
    return result


@pytest.mark.parametrize("factor", [2, 3, 7])
@pytest.mark.parametrize("first", range(0, 120, 40))
def test_random_kernels_run_alike(factor: int, first: int) -> None:
    for seed in range(first, first + 40):
        made = random_kernel(seed, Choices(size=30))
        assert run_random(unrolled(made, factor), seed) == run_random(made, seed), seed


def counting(seed: int) -> ir.Kernel:
    """A loop with a random counter, that sends it, may go on to the next or break, and is read at the end."""
    choice = random.Random(seed)
    bits = 32
    near = choice.choice([0, 0, 0, 1 << 31, (1 << 31) - 40, 0xFFFFFFF0])
    start, bound = ((near + choice.randrange(-20, 20)) % (1 << bits) for _ in range(2))
    step = choice.choice([1, 1, 1, 2, 3, 5, -1, -1, -2, -7, 1 << 30]) % (1 << bits)
    compare = choice.choice(["slt", "sle", "ult", "ule", "ne"])
    terms = [Read(i), Read(n) if choice.random() < 0.3 else Const(bound)]
    if choice.random() < 0.4:
        terms.reverse()
    out, on = Label("break"), Label("continue")
    body: Body = (send(i),)
    if choice.random() < 0.4:
        body = (ir.If(op("eq", i, start + 3 * step & 0xFFFFFFFF), (ir.Leave(out),)), *body)
    if choice.random() < 0.4:
        body = (ir.Block(on, (ir.If(op("and", i, 1), (ir.Leave(on),)), *body)),)
    # 50 rounds at most, whatever the counter does
    body = (let(x, op("add", x, 1)), ir.If(op("slt", 50, x), (ir.Leave(out),)), *body)
    step_at = choice.randrange(len(body) + 1)
    body = (*body[:step_at], let(i, op("add", i, step)), *body[step_at:])
    condition = op(compare, *terms)
    loop = ir.While((), condition, body) if choice.random() < 0.7 else ir.DoWhile(body, condition)
    return kernel(let(i, start), let(x, 0), let(n, bound), ir.Block(out, (loop,)), send(i))


@pytest.mark.parametrize("factor", [2, 3, 4, 8, 60])
def test_counters_of_all_kinds_count_alike(factor: int) -> None:
    for seed in range(300):
        made = counting(seed)
        run = run_kernel(made, {}, {}, {}, limit=10_000)
        again = run_kernel(unrolled(made, factor), {}, {}, {}, limit=10_000)
        assert observable(made, again) == observable(made, run), (seed, text(unrolled(made, factor)))


def test_a_multiple_of_the_factor_needs_no_test() -> None:
    assert text(unrolled(kernel(*count(i, 6, send(i))), 3)) == (
        "i = 0\n"
        "i_first = 0\n"
        "loop:\n"
        "while (i_first < 6):\n"
        "  i_now = i_first\n"
        "  i_first = (i_first + 3)\n"
        "  i = i_now\n"
        "  out <! i_now\n"
        "  i = (i_now + 1)\n"
        "  out <! i\n"
        "  i = (i_now + 2)\n"
        "  out <! i\n"
        "  i = (i_now + 3)\n"
    )


def test_other_known_trips_need_one_test() -> None:
    found = text(unrolled(kernel(*count(i, 1000, send(i))), 7))
    assert found.count("if (") == 1 and "leave" not in found


def test_unknown_trips_need_a_test_before_each_copy() -> None:
    found = text(unrolled(kernel(*count(i, n, send(i)), into=(n,)), 4))
    assert found.count("leave") == 3 and "while (i_first < n)" in found


@pytest.mark.parametrize("factor", [0, 6, 9])
def test_few_trips_leave_no_loop(factor: int) -> None:
    made = unrolled(kernel(*count(i, 6, send(i))), factor)
    assert not any(isinstance(stmt, ir.While) for stmt in statements(made.body))
    assert [stmt.values[0] for stmt in made.body if isinstance(stmt, ir.Send)] == [Const(v) for v in range(6)]


def test_complete_unrolling_needs_known_trips() -> None:
    with pytest.raises(MacahError, match="the trip count of this loop cannot be computed"):
        unrolled(kernel(*count(i, n, send(i)), into=(n,)), 0)


@pytest.mark.parametrize("seed", range(100))
def test_trips_are_as_many_as_there_are(seed: int) -> None:
    choice = random.Random(seed)
    for _ in range(50):
        # multiples of 2**24, so that all ways around are short
        start, bound, step, more = (
            word(32, choice.choice([choice.randrange(256), choice.randrange(-9, 9)]) << 24) for _ in "abcd"
        )
        more *= choice.randrange(2)
        counted = op("add", i, more) if more else i
        compare, turned = choice.choice(["slt", "sle", "ult", "ule", "ne"]), choice.random() < 0.5
        operands = (bound, counted) if turned else (counted, bound)
        told = trip_count(op(compare, *operands), i, start, step)
        value, trips = word(32, start + more), 0
        while trips <= 300 and evaluate(compare, 32, *((bound, value) if turned else (value, bound))):
            value, trips = word(32, value + step), trips + 1
        assert told in (None, trips), (compare, turned, start, bound, step)


TEXT = """void f(int stream out, int n) {
  kernel {
#pragma macah unroll 3
    for (int a = 0; a < n; a++)
      out <! a;
#pragma macah unroll all
    for (int b = 0; b < 4; b++) out <! b;
    while (n > 0) out <! n--;
  }
}
"""


def test_pragmas_and_options_name_loops() -> None:
    program = parse_program(TEXT, Path("dir/t.macah"))
    made = lower(program, program.kernels[0])
    lines = {place.line: factor for place, factor in read_unrolling(program, ()).of(made)}
    assert lines == {4: 3, 7: 0}
    options = ("t.macah:4=5", "dir/t.macah:8=2", "none")
    lines = {place.line: factor for place, factor in read_unrolling(program, options).of(made)}
    assert lines == {4: 5, 7: 0, 8: 2}
    hints = {
        "t.macah:5=2": "lines where loops begin: 4, 7, 8",
        "u.macah:4=2": "no kernel has a loop in 'u.macah'",
        "r/t.macah:4=2": "no kernel has a loop in 'r/t.macah'",
    }
    for wrong, hint in hints.items():
        with pytest.raises(MacahError, match="no loop of a kernel begins there") as caught:
            read_unrolling(program, (wrong,)).check([made])
        assert caught.value.diagnostics[0].hint == hint
    for wrong in ("t.macah:4", "4=2", "t.macah:4=0", "t.macah:4=-1", "t.macah:x=2"):
        with pytest.raises(MacahError, match="not of the form FILE:LINE=K"):
            read_unrolling(program, (wrong,))
    found = unroll_loops(inline_calls(replace(made, unroll=read_unrolling(program, ()).of(made))))
    assert sum(isinstance(stmt, ir.Send) for stmt in statements(found.body)) == 3 + 4 + 1
