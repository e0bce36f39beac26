"""64-bit values in halves."""

import random

import pytest
from kernels import BINARY, COMPARE, DIVISIONS, NARROW, SHIFTS, UNARY, Maker, outcome, outcome_after

from backend.dfg import Word
from macah import ir
from macah.check import check_kernel
from macah.ir import Apply, Array, Assign, Const, ElementType, Read, Stream, Variable
from macah.passes.inline_calls import inline_calls
from macah.passes.rotate_arrays import rotate_arrays
from macah.passes.scalarize_arrays import scalarize_arrays
from macah.passes.split_wide import split_wide
from macah.passes.unroll_for import unroll_for
from macah.run import run_kernel
from macah.show import show_kernel

X, Y, Z, N = (Variable(name, 64) for name in "xyzn")
EDGES = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def captured(*variables):
    return tuple(ir.Capture(v, v.name, "long", True, True) for v in variables)


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_run_alike(seed):
    maker = Maker(seed, wide=True)
    kernel = maker.kernel(5, 3)
    result = kernel
    for step in (inline_calls, unroll_for, scalarize_arrays, rotate_arrays, split_wide):
        result = step(result)
    check_kernel(result, widths=(32,))
    data = maker.data()
    assert outcome_after(kernel, result, data) == outcome(kernel, data), show_kernel(kernel)


def run_both(expr, x, y):
    target = Z if expr.bits == 64 else Variable("z")
    kernel = ir.Kernel("k", captured(X, Y, target), (), (Assign(target, expr),))
    data = {"scalars": {"x": x, "y": y}, "arrays": {}, "inputs": {}}
    result = split_wide(kernel)
    check_kernel(result, widths=(32,))
    assert outcome_after(kernel, result, data) == outcome(kernel, data), (expr, hex(x), hex(y))


@pytest.mark.parametrize("op", sorted({*BINARY, *COMPARE, *DIVISIONS, *SHIFTS}))
def test_operations_on_two_values(op):
    rng = random.Random(op)
    bits = 32 if op in COMPARE else 64
    for x in EDGES:
        for y in [*rng.sample(EDGES, 4), 0, (1 << 64) - 1, rng.getrandbits(64), rng.randrange(64), 32]:
            run_both(Apply(op, (Read(X), Read(Y)), bits), x, y)


@pytest.mark.parametrize("op", [*SHIFTS, "mul", "udiv", "urem", "slt", "eq", "add"])
@pytest.mark.parametrize("constant", [0, 1, 31, 32, 33, 63, 64, (1 << 64) - 3])
def test_operations_with_constants(op, constant):
    bits = 32 if op in COMPARE else 64
    for x in EDGES:
        run_both(Apply(op, (Read(X), Const(constant, 64)), bits), x, 0)


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize(
    "divisor", [3, 7, 10, 641, 48000, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 10**12, 2**62 + 1]
)
def test_divisions_by_constants(op, divisor):
    rng = random.Random(divisor)
    for number in (divisor, -divisor, 2**63 - divisor):
        constant = Const(number % 2**64, 64)
        multiples = [constant.value * rng.randrange(2**20) + step for step in (-1, 0, 1)]
        words = (*EDGES, *multiples, -divisor, 1 - divisor, rng.getrandbits(64))
        for x in sorted({word % 2**64 for word in words}):
            run_both(Apply(op, (Read(X), constant), 64), x, 0)
            for extension in ("sext32", "zext32"):
                short = Apply(extension, (Apply("trunc", (Read(X),)),), 64)
                run_both(Apply(op, (short, constant), 64), x, 0)


@pytest.mark.parametrize("op", DIVISIONS)
def test_only_divisors_that_vary_need_a_loop(op):
    for divisor, loops in ((Const(10, 64), 0), (Read(Y), 1)):
        kernel = ir.Kernel("k", captured(X, Y), (), (Assign(X, Apply(op, (Read(X), divisor), 64)),))
        assert sum(isinstance(stmt, ir.DoWhile) for stmt in split_wide(kernel).body) == loops


@pytest.mark.parametrize("op", [*UNARY, *NARROW])
def test_operations_on_one_value(op):
    for x in [*EDGES, 0x80, 0x8000, 0xFF7F]:
        run_both(Apply(op, (Read(X),), 64), x, 0)


@pytest.mark.parametrize("extension", ["sext32", "zext32"])
def test_products_of_extended_values_take_one_multiplication_for_each_half(extension):
    product = Apply("mul", tuple(Apply(extension, (Apply("trunc", (Read(v),)),), 64) for v in (X, Y)), 64)
    for x in EDGES:
        for y in EDGES:
            run_both(product, x, y)
    result = split_wide(ir.Kernel("k", captured(X, Y, Z), (), (Assign(Z, product),)))
    assert show_kernel(result).count("*") == 1


def test_an_assignment_to_itself_reads_both_halves_first():
    swap = Apply("rotl", (Read(X), Const(32)), 64)
    kernel = split_wide(ir.Kernel("k", captured(X), (), (Assign(X, swap),)))
    assert run_kernel(kernel, {"x.lo": 1, "x.hi": 2}).scalars == {"x.lo": 2, "x.hi": 1}


def test_captures_and_words_become_two():
    w = Array("w", (2,), ElementType(64, True))
    stream = Stream("s", 16, (Word(0, 8, True), Word(8, 2, False)))
    body = (ir.Receive(stream, (), (X, Variable("y"))), ir.Store(w, (Const(0),), Read(X)))
    captures = (*captured(X), ir.Capture(w, "w[{0}]", "long", True, True))
    result = split_wide(ir.Kernel("k", captures, (ir.StreamCapture(stream, "s"),), body))
    assert [(c.what.name, c.source, c.half) for c in result.captured] == [
        ("x.lo", "x", 0),
        ("x.hi", "x", 1),
        ("w.lo", "w[{0}]", 0),
        ("w.hi", "w[{0}]", 1),
    ]
    assert result.streams[0].stream.words == (Word(0, 4, False), Word(4, 4, True), Word(8, 2, False))


def test_conditions_of_loops_are_evaluated_each_time():
    more = Apply("slt", (Read(X), Read(N)))
    step = (Assign(X, Apply("add", (Read(X), Const(1, 64)), 64)),)
    for loop in (ir.While((), more, step), ir.DoWhile(step, more)):
        kernel = split_wide(ir.Kernel("k", captured(X, N), (), (loop,)))
        check_kernel(kernel, widths=(32,))
        run = run_kernel(kernel, {"x.lo": 0xFFFFFFFE, "n.hi": 1, "n.lo": 1})
        assert (run.scalars["x.lo"], run.scalars["x.hi"]) == (1, 1)
