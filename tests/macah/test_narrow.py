"""Ranges of a loop's values, and what they make of its operations."""

from dataclasses import replace

import pytest
from kernels import outcome, outcome_of_graph

from backend.dfg import Word, show_dfg
from macah import ir
from macah.ir import Apply, Array, Assign, Const, ElementType, Load, Read, Stream, Variable
from macah.todfg import build_dfg

I, N, X, Y = (Variable(name) for name in "inxy")
BYTES, WORDS = Stream("s", 1, (Word(0, 1, False),)), Stream("w", 4, (Word(0, 4, True),))
OUT = Stream("out", 4, (Word(0, 4, True),))
TABLE = Array("t", (4,), ElementType(8, True), initial=(3, 0xFFFFFFFF, 4, 1))


def apply(op, *args):
    return Apply(
        op, tuple(Const(a) if isinstance(a, int) else Read(a) if isinstance(a, Variable) else a for a in args)
    )


def counting(value, limit, step=1):
    """i = 0; do { s receives x; w receives y; out <! value; i += step; } while (i < limit)"""
    body = (
        ir.Receive(BYTES, (), (X,)),
        ir.Receive(WORDS, (), (Y,)),
        ir.Send(OUT, (), (value,)),
        Assign(I, apply("add", I, step)),
    )
    captured = (ir.Capture(N, "n", "int"),)
    streams = tuple(ir.StreamCapture(s, s.name) for s in (BYTES, WORDS, OUT))
    return ir.Kernel("k", captured, streams, (Assign(I, Const(0)), ir.DoWhile(body, apply("slt", I, limit))))


def sent(value, limit=64, step=1):
    """The operations that the graph has for a value, in order; its results are checked."""
    kernel = counting(value, limit, step)
    plain = [node.op for node in build_dfg(counting(Read(I), limit, step)).nodes]
    dfg = build_dfg(kernel)
    words = [(word & 0xFFFFFFFF,) for word in (0, 1, -1, 2**31 - 1, -(2**31), 1000, -1000, 99)]
    data = {"scalars": {"n": 9}, "arrays": {}, "inputs": {"s": [(0,), (255,), (128,), (7,)], "w": words}}
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
    ops = [node.op for node in dfg.nodes]
    for op in plain:
        ops.remove(op)
    return ops


TEN = apply("udiv", I, 10)


@pytest.mark.parametrize(
    ("value", "ops"),
    [
        (apply("and", I, 63), []),
        (apply("and", I, 31), ["and"]),
        (apply("zext8", I), []),
        (apply("sext8", apply("add", I, 64)), ["add"]),
        (apply("sext8", apply("add", I, 65)), ["add", "sext8"]),
        (apply("sle", 0, I), []),
        (apply("abs", I), []),
        (apply("smin", I, 63), []),
        (apply("smin", I, 62), ["smin"]),
        (apply("sar", I, 2), ["shr"]),
        (apply("sdiv", I, 8), ["shr"]),
        (apply("srem", I, 8), ["and"]),
        (apply("sdiv", I, 10), ["umulh"]),
        (apply("srem", I, 10), ["umulh", "muladd"]),
        (apply("udiv", X, 255), ["ule"]),
        (apply("urem", X, 200), ["add", "umin"]),
        (apply("srem", I, 32), ["and"]),
        (apply("srem", I, 40), ["add", "umin"]),
        (apply("urem", I, 63), ["eq", "select"]),
        (
            apply("zext8", apply("urem", apply("add", apply("urem", Y, 200), apply("and", X, 127)), 200)),
            ["umulh", "shr", "muladd", "and", "add", "add", "umin"],
        ),
        (apply("srem", Y, 8), ["sar", "shr", "add", "and", "sub"]),
        (apply("sdiv", Y, 2), ["shr", "add", "sar"]),
        (apply("eq", apply("srem", Y, 8), 0), ["and", "eq"]),
        (apply("srem", Y, 1), []),
        (apply("srem", Y, 0xFFFFFFFD), ["smulh", "sar", "sub", "muladd"]),
        (apply("add", TEN, apply("urem", I, 10)), ["umulh", "muladd", "add"]),
        (apply("zext8", X), []),
        (apply("sext8", X), ["sext8"]),
        (apply("sext16", X), []),
        (apply("sext8", Load(TABLE, (apply("and", I, 3),))), ["and", "load"]),
        (apply("smulh", X, X), []),
        (apply("select", apply("slt", X, I), apply("sub", I, X), apply("sub", X, I)), ["absdiff"]),
        (
            apply("select", apply("slt", Y, I), apply("sub", I, Y), apply("sub", Y, I)),
            ["sub", "slt", "sub", "select"],
        ),
        (apply("ult", apply("add", X, I), I), []),
        (apply("ult", apply("add", Y, I), I), ["add", "ult"]),
    ],
)
def test_what_ranges_simplify(value, ops):
    assert sorted(sent(value)) == sorted(ops)


def test_what_is_compared_bounds_the_arms_of_a_choice():
    clamped = apply("select", apply("ult", Y, 100), Y, 7)
    assert sent(apply("zext8", clamped)) == ["ult", "select"]
    assert sorted(sent(apply("zext8", apply("select", apply("slt", Y, 100), Y, 7)))) == [
        "select",
        "slt",
        "zext8",
    ]


def test_either_of_two_conditions_bounds_the_arms_of_a_choice():
    def limited(last):
        either = apply("or", apply("ult", Y, 100), apply("eq", Y, last))
        return apply("zext8", apply("select", either, Y, 7))

    assert "zext8" not in sent(limited(200))
    assert "zext8" in sent(limited(256))
    # Y & Y + 1 is 0 for 1, too, where neither is.
    neither = apply("select", apply("and", Y, apply("add", Y, 1)), 0, Y)
    assert "slt" in sent(apply("slt", 0, neither))


def test_a_counter_that_starts_anew_at_the_end_of_its_type_does_not_wrap():
    """As that of a run-length encoder: i = 0 < i & (x != y | i == 255) ? 1 : zext8(i + 1)."""

    def extensions(last):
        full = apply("or", apply("ne", X, Y), apply("eq", I, last))
        kept = Apply("select", (apply("and", apply("slt", 0, I), full), Const(0), Read(I)))
        body = (
            ir.Receive(BYTES, (), (X,)),
            ir.Receive(WORDS, (), (Y,)),
            Assign(I, apply("zext8", apply("add", kept, 1))),
            ir.Send(OUT, (), (Read(I),)),
        )
        streams = tuple(ir.StreamCapture(s, s.name) for s in (BYTES, WORDS, OUT))
        loop = ir.DoWhile((*body, Assign(N, apply("add", N, 1))), apply("slt", N, 600))
        kernel = ir.Kernel("k", (), streams, (Assign(I, Const(0)), Assign(N, Const(0)), loop))
        dfg = build_dfg(kernel)
        data = {"scalars": {}, "arrays": {}, "inputs": {"s": [(7,)] * 600, "w": [(7,)] * 600}}
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
        return [node.op for node in dfg.nodes].count("zext8")

    assert extensions(255) == 0
    assert extensions(256) > 0


def test_a_counter_that_a_live_in_bounds_does_not_wrap():
    kernel = counting(apply("sle", 0, I), N)
    assert [node.op for node in build_dfg(kernel).nodes].count("sle") == 0
    kernel = counting(apply("sle", 0, I), N, 2)
    assert [node.op for node in build_dfg(kernel).nodes].count("sle") == 1


def test_a_nest_of_counters():
    """j counts to 5, and then i by one: as flattened loops do."""
    j, again = Variable("j"), Variable("again")
    body = (
        ir.Send(OUT, (), (apply("and", apply("add", apply("shl", I, 3), j), 127),)),
        Assign(again, apply("slt", j, 4)),
        Assign(I, apply("select", again, I, apply("add", I, 1))),
        Assign(j, apply("select", again, apply("add", j, 1), 0)),
    )
    start = (Assign(I, Const(0)), Assign(j, Const(0)))
    streams = (ir.StreamCapture(OUT, "out"),)
    kernel = ir.Kernel("k", (), streams, (*start, ir.DoWhile(body, apply("slt", I, 16))))
    data = {"scalars": {}, "arrays": {}, "inputs": {}}
    plain = build_dfg(replace(kernel, without=frozenset({"shorten"})))
    assert "and" not in [node.op for node in plain.nodes if node.variable != "alive"]
    shorter = build_dfg(kernel)
    assert " 127" not in show_dfg(shorter)  # it decides with more conditions, but has no mask either
    for dfg in (plain, shorter):
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)


def test_long_delay_lines_settle():
    d = [Variable(f"d{k}") for k in range(300)]
    shift = [Assign(d[k], Read(d[k - 1])) for k in range(299, 0, -1)]
    body = (
        *shift,
        ir.Receive(BYTES, (), (d[0],)),
        ir.Send(OUT, (), (apply("zext8", d[299]),)),
        Assign(I, apply("add", I, 1)),
    )
    start = (*(Assign(v, Const(0)) for v in d), Assign(I, Const(0)))
    streams = tuple(ir.StreamCapture(s, s.name) for s in (BYTES, OUT))
    kernel = ir.Kernel("k", (), streams, (*start, ir.DoWhile(body, apply("slt", I, 9))))
    assert "zext8" not in [node.op for node in build_dfg(kernel).nodes]
