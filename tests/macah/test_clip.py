"""Carried values that are replaced by smaller or larger ones of their size: as minima and maxima."""

import random

import pytest
from kernels import outcome, outcome_of_graph
from test_flatten_loops import shortest_interval

from arch.ops import OPS, evaluate
from backend.dfg import Word
from macah import ir
from macah.ir import Apply, Assign, Const, If, Read, Stream, Variable
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg

M, X, Y = (Variable(name) for name in "mxy")
IN, OUT = (Stream(name, 4, (Word(0, 4, True),)) for name in ("in", "out"))
NUMBERS = (
    0,
    1,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32 - 128,
    2**32 - 129,
)


def extreme(comparison, smaller, extension, guarded, start):
    """for (...) { in >> x, y; if (guard && x < m) m = (short) x; out << m; }"""
    operands = (Read(X), Read(M)) if smaller else (Read(M), Read(X))
    change: ir.Stmt = If(Apply(comparison, operands), (Assign(M, Apply(extension, (Read(X),))),), ())
    if guarded:
        change = If(Apply("and", (Read(Y), Const(3))), (change,), ())
    i = Variable("i")
    body = (
        *(ir.Receive(IN, (), (v,)) for v in (X, Y)),
        change,
        Assign(i, Apply("add", (Read(i), Const(1)))),
    )
    captured = (ir.Capture(M, "m", "int", False, True),)
    loop = ir.DoWhile(body, Apply("slt", (Read(i), Const(40))))
    begun = (Assign(M, Const(evaluate(extension, 32, start))), Assign(i, Const(0)))
    return ir.Kernel("k", captured, (ir.StreamCapture(IN, "in"),), (*begun, loop))


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("extension", ["zext8", "sext8", "zext16", "sext16"])
@pytest.mark.parametrize("smaller", [True, False])
@pytest.mark.parametrize("comparison", ["slt", "sle", "ult", "ule"])
def test_extremes(comparison, smaller, extension, guarded):
    chosen = random.Random(comparison + extension)
    for start in (0, 2**32 - 1, 100):
        kernel = optimize(extreme(comparison, smaller, extension, guarded, start))
        graph = build_dfg(kernel)
        words = [(chosen.choice(NUMBERS),) for _ in range(80)]
        data = {"scalars": {}, "arrays": {}, "inputs": {"in": words}}
        assert outcome_of_graph(kernel, graph, data) == outcome(kernel, data)


def test_the_smallest_byte_takes_a_cycle_to_be_found():
    kernel = extreme("slt", True, "zext16", True, 2**32 - 1)
    assert {"smin"} == {n.op for n in build_dfg(optimize(kernel)).nodes} & {
        name for name in OPS if "min" in name
    }
    assert shortest_interval(build_dfg(optimize(kernel))) == 2  # both are received from one stream
