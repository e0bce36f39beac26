"""Kernels said more simply, with the same results."""

import random
import time

import pytest
from kernels import BINARY, COMPARE, INTERESTING, NARROW, SHIFTS, UNARY, Maker, outcome, outcome_after

from arch.ops import COMPARISONS, OPS, evaluate
from backend.dfg import Word
from macah import ir
from macah.check import check_kernel
from macah.fold import CONVERSIONS, fold
from macah.ir import FALSE, TRUE, Apply, Array, Assign, Const, Label, Load, Read, Stream, Variable
from macah.passes.inline_calls import inline_calls
from macah.passes.simplify import simplify
from macah.passes.unroll_for import unroll_for
from macah.show import show_body, show_kernel
from macah.walk import map_expr, subexpressions

A, B, P, Q = Variable("a"), Variable("b"), Variable("p"), Variable("q")
OUT = Stream("out", 4, (Word(0, 4, True),))
LESS, MORE = Apply("slt", (Read(A), Read(B))), Apply("slt", (Read(B), Read(A)))
ZERO = Const(0)
MINUS = Apply("sub", (Read(A), Read(B)))


def simplified(*body, captured=(A, B, P, Q)):
    captures = tuple(ir.Capture(c, c.name, "int", True, False) for c in captured)
    kernel = ir.Kernel("k", captures, (ir.StreamCapture(OUT, "out"),), body)
    result = simplify(kernel)
    check_kernel(result)
    return show_body(result.body)


def sent(expr):
    return ir.Send(OUT, (), (expr,))


@pytest.mark.parametrize("seed", range(120))
def test_random_kernels_run_alike(seed):
    maker = Maker(seed, wide=seed % 2 == 0, divisions=seed % 3 == 0)
    kernel = maker.kernel(7, 3)
    result = simplify(unroll_for(inline_calls(kernel)))
    check_kernel(result)
    data = maker.data()
    assert outcome_after(kernel, result, data) == outcome(kernel, data), show_kernel(kernel)


def value(expr, given):
    match expr:
        case Const(number):
            return number
        case Read(variable):
            return given[variable]
        case Apply(op, args, bits):
            width = args[0].bits if op in COMPARISONS or op in CONVERSIONS else bits
            return evaluate(op, width, *[value(arg, given) for arg in args])
        case Load(array, (place,)):
            return array.initial[value(place, given)]


@pytest.mark.parametrize("seed", range(40))
def test_folding_keeps_values(seed):
    rng = random.Random(seed)
    variables = {32: [Variable("a"), Variable("b")], 64: [Variable("c", 64)]}

    def expr(depth, bits):
        if depth == 0 or rng.random() < 0.1:
            return rng.choice([*map(Read, variables[bits]), Const(rng.choice(INTERESTING), bits)])
        match rng.randrange(6):
            case 0:
                return Apply(rng.choice(UNARY + NARROW), (expr(depth - 1, bits),), bits)
            case 1:
                count = Const(rng.choice(INTERESTING))
                return Apply(rng.choice(SHIFTS), (expr(depth - 1, bits), count), bits)
            case 2:
                arms = expr(depth - 1, bits), expr(depth - 1, bits)
                return Apply("select", (expr(depth - 1, 32), *arms), bits)
            case 3:
                width = rng.choice((32, 64))
                args = expr(depth - 1, width), expr(depth - 1, width)
                result = Apply(rng.choice(COMPARE), args)
                return result if bits == 32 else Apply("zext32", (result,), 64)
            case 4:
                op = rng.choice([n for n, o in OPS.items() if o.pure and o.arity == 2 and n not in COMPARE])
                return Apply(op, (expr(depth - 1, bits), expr(depth - 1, bits)), bits)
            case _:
                arms = expr(depth - 1, bits), expr(depth - 1, bits)
                return Apply(rng.choice(BINARY), arms, bits)

    for _ in range(150):
        before = expr(rng.randrange(1, 5), rng.choice((32, 64)))
        after = map_expr(before, fold)
        assert len(list(subexpressions(after))) <= 3 * len(list(subexpressions(before)))
        for _ in range(4):
            given = {
                v: rng.choice((rng.choice(INTERESTING), rng.getrandbits(v.bits)))
                for vs in variables.values()
                for v in vs
            }
            assert value(before, given) == value(after, given), (before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Apply("add", (Const(2), Const(3))), "5"),
        (Apply("add", (Const(2), Read(A))), "(a + 2)"),
        (Apply("sub", (Apply("add", (Read(A), Const(3))), Const(3))), "a"),
        (Apply("mul", (Read(A), Const(8))), "(a << 3)"),
        (Apply("udiv", (Read(A), Const(8))), "(a >> 3)"),
        (Apply("urem", (Read(A), Const(8))), "(a & 7)"),
        (Apply("ne", (LESS, ZERO)), "(a < b)"),
        (Apply("eq", (LESS, ZERO)), "(b <= a)"),
        (Apply("and", (LESS, TRUE)), "(a < b)"),
        (Apply("and", (LESS, FALSE)), "0"),
        (Apply("select", (LESS, TRUE, FALSE)), "(a < b)"),
        (Apply("select", (LESS, FALSE, TRUE)), "(b <= a)"),
        (Apply("select", (LESS, MORE, FALSE)), "((a < b) & (b < a))"),
        (Apply("select", (Read(P), Read(A), Read(A))), "a"),
        (Apply("select", (Apply("eq", (Read(P), ZERO)), Read(A), Read(B))), "select(p, b, a)"),
        (Apply("select", (LESS, Read(A), Read(B))), "smin(a, b)"),
        (Apply("select", (MORE, Read(A), Read(B))), "smax(b, a)"),
        (Apply("abs", (MINUS,)), "absdiff(a, b)"),
        (Apply("select", (Apply("slt", (Read(A), ZERO)), Apply("neg", (Read(A),)), Read(A))), "abs(a)"),
        (Apply("sext8", (Apply("sext8", (Read(A),)),)), "sext8(a)"),
        (Apply("zext16", (Apply("zext8", (Read(A),)),)), "zext8(a)"),
        (Apply("not", (Apply("not", (Read(A),)),)), "a"),
    ],
)
def test_identities(before, after):
    assert simplified(sent(before)) == f"out <! {after}\n"


def test_constants_and_copies_are_put_in_and_their_assignments_go():
    x, y = Variable("x"), Variable("y")
    body = (Assign(x, Const(3)), Assign(y, Read(A)), sent(Apply("add", (Read(y), Read(x)))))
    assert simplified(*body) == "out <! (a + 3)\n"


def test_a_copy_ends_where_the_original_changes():
    y = Variable("y")
    body = (Assign(y, Read(A)), Assign(A, Const(1)), sent(Read(y)))
    assert simplified(*body) == "y = a\nout <! y\n"


def test_what_a_loop_changes_is_not_known_in_it():
    x = Variable("x")
    step = (sent(Read(x)), Assign(x, Apply("add", (Read(x), Const(1)))))
    body = (Assign(x, Const(0)), ir.While((), Apply("slt", (Read(x), Const(3))), step))
    assert simplified(*body) == "x = 0\nloop:\nwhile (x < 3):\n  out <! x\n  x = (x + 1)\n"


def test_branches_are_decided_and_empty_ones_go():
    x = Variable("x")
    dead = ir.If(Read(P), (Assign(x, Const(1)),))
    assert simplified(ir.If(Const(2), (sent(Const(1)),), (sent(Const(2)),)), dead) == "out <! 1\n"
    turned = ir.If(Read(P), (Assign(x, Const(1)),), (sent(Const(2)),))
    assert simplified(turned) == "if (p == 0):\n  out <! 2\n"


def test_both_ways_into_a_point_must_agree():
    x, label = Variable("x"), Label("l")
    leave = ir.If(Read(P), (ir.Leave(label),))
    body = (Assign(x, Const(1)), ir.Block(label, (leave, Assign(x, Const(2)))), sent(Read(x)))
    assert simplified(*body).endswith("out <! x\n")
    body = (Assign(x, Const(1)), ir.Block(label, (leave, Assign(x, Const(1)))), sent(Read(x)))
    assert simplified(*body).endswith("out <! 1\n")


def test_effects_that_never_happen_go_and_others_stay():
    a = Array("a", (4,))
    never = ir.Send(OUT, (), (Const(1),), guard=Apply("and", (Read(P), ZERO)))
    assert simplified(never, ir.Store(a, (Const(1),), Const(2))) == ""
    body = (ir.Store(a, (Read(P),), Const(2)), sent(Load(a, (Read(Q),))))
    assert simplified(*body) == "a[p] = 2\nout <! a[q]\n"


def test_a_hundred_thousand_statements_take_seconds():
    x = [Variable(f"x{i}") for i in range(1000)]
    rng = random.Random(1)
    body = [
        Assign(rng.choice(x), Apply("add", (Read(rng.choice(x)), Read(rng.choice(x)))))
        for _ in range(100_000)
    ]
    start = time.process_time()
    simplify(ir.Kernel("k", tuple(ir.Capture(v, v.name, "int", True, True) for v in x), (), tuple(body)))
    assert time.process_time() - start < 20
