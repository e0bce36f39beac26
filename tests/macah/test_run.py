"""What the interpreter of the kernel IR makes of each construct."""

import pytest

from backend.dfg import Word
from macah import ir
from macah.check import check_kernel
from macah.ir import Apply, Array, Assign, Const, ElementType, Label, Load, Read, Stream, Variable
from macah.run import AssertionFailed, LimitExceeded, run_kernel

WORDS = (Word(0, 4, True),)


def kernel(body, *captured, streams=()):
    result = ir.Kernel(
        "k",
        tuple(ir.Capture(c, c.name, "int", out=True) for c in captured),
        tuple(ir.StreamCapture(s, s.name) for s in streams),
        tuple(body),
    )
    check_kernel(result)
    return result


def plus(a, b):
    return Apply("add", (a, b))


def test_leave_ends_its_block_only():
    x, outer, inner = Variable("x"), Label("outer"), Label("inner")
    step = Assign(x, plus(Read(x), Const(1)))
    body = [
        ir.Block(outer, (step, ir.Block(inner, (step, ir.Leave(inner), step)), step, ir.Leave(outer), step))
    ]
    assert run_kernel(kernel(body, x)).scalars == {"x": 3}


def test_while_evaluates_before_each_time_and_do_while_its_guard_once():
    i, n = Variable("i"), Variable("n")
    once = Assign(n, plus(Read(n), Const(1)))
    loop = ir.While((once,), Apply("slt", (Read(i), Const(3))), (Assign(i, plus(Read(i), Const(1))),))
    assert run_kernel(kernel([loop], i, n)).scalars == {"i": 3, "n": 4}
    guarded = ir.DoWhile(loop.body, Apply("slt", (Read(i), Const(3))), guard=Read(n))
    assert run_kernel(kernel([guarded], i, n)).scalars == {"i": 0, "n": 0}
    assert run_kernel(kernel([guarded], i, n), {"n": 1, "i": 7}).scalars == {"i": 8, "n": 1}


@pytest.mark.parametrize(
    ("amount", "expected"), [(1, [0, 0, 1, 2]), (-1, [1, 2, 3, 3]), (4, [0, 1, 2, 3]), (-7, [0, 1, 2, 3])]
)
def test_shift_moves_elements_upwards_by_amount(amount, expected):
    a = Array("a", (4,), shiftable=(True,))
    shift = ir.Shift(a, (), Const(amount & 0xFFFFFFFF))
    assert run_kernel(kernel([shift], a), arrays={"a": [0, 1, 2, 3]}).arrays["a"] == expected


def test_shift_of_the_second_dimension_for_all_or_one_row():
    a = Array("a", (2, 3), shiftable=(False, True))
    given = {"a": [1, 2, 3, 4, 5, 6]}
    every = ir.Shift(a, (), Const(1))
    assert run_kernel(kernel([every], a), arrays=given).arrays["a"] == [1, 1, 2, 4, 4, 5]
    one = ir.Shift(a, (Const(1),), Const(1))
    assert run_kernel(kernel([one], a), arrays=given).arrays["a"] == [1, 2, 3, 4, 4, 5]


def test_streams_end_after_their_elements():
    s, x, worked, over = Stream("s", 4, WORDS), Variable("x"), Variable("worked"), Variable("over")
    body = [
        ir.Receive(s, (), (x,)),
        ir.Receive(s, (), (x,), worked),
        ir.Ended(s, (), over),
        ir.Receive(s, (), (x,), guard=ir.FALSE),
    ]
    run = run_kernel(kernel(body, x, worked, over, streams=[s]), inputs={"s": [(5,)]})
    assert run.scalars == {"x": 5, "worked": 0, "over": 1}


def test_sends_to_an_element_of_an_array_of_streams_and_close():
    s, worked = Stream("s", 4, WORDS, (2,)), Variable("worked")
    body = [ir.Send(s, (Const(1),), (Const(7),), worked), ir.Close(s, (Const(0),))]
    run = run_kernel(kernel(body, worked, streams=[s]))
    assert run.outputs == {"s[1]": [(7,)]} and run.scalars == {"worked": 1} and run.closed == {"s[0]"}


def test_indices_out_of_range_do_nothing_and_tables_have_their_values():
    a, t, x = Array("a", (2,)), Array("t", (3,), ElementType(8, False), initial=(4, 5)), Variable("x")
    body = [
        ir.Store(a, (Const(2),), Const(9)),
        ir.Store(a, (Const(0xFFFFFFFF),), Const(9)),
        Assign(x, plus(Load(t, (Const(1),)), Load(t, (Const(2),)))),
    ]
    run = run_kernel(kernel(body, a, x))
    assert run.arrays["a"] == [0, 0] and run.scalars["x"] == 5


def test_calls_see_their_arguments_through_views():
    p, i, result = Array("p", (0,)), Variable("i"), Variable("result")
    body = (ir.Store(p, (Read(i),), Const(9)), Assign(result, Load(p, (Const(0),))))
    function = ir.Function("f", (p, i), (result,), body)
    a, x = Array("a", (2, 3)), Variable("x")
    call = ir.Call(function, (ir.View(a, (Const(1), Const(1))), Const(1)), (x,))
    run = run_kernel(kernel([call], a, x), arrays={"a": range(6)})
    assert run.arrays["a"] == [0, 1, 2, 3, 4, 9] and run.scalars == {"x": 4}


def test_what_an_expression_has_in_many_places_is_computed_once():
    x = Variable("x")
    value = Read(x)
    for _ in range(100):  # 2 ** 100 places
        value = plus(value, plus(value, Const(1)))
    body = (Assign(x, value), Assign(x, plus(value, Read(x))))
    captured = ir.Capture(x, "x", "int", out=True)
    expected = 7
    for _ in range(100):
        expected = 2 * expected + 1
    following = expected
    for _ in range(100):
        following = 2 * following + 1
    run = run_kernel(ir.Kernel("k", (captured,), (), body), {"x": 7})
    assert run.scalars == {"x": (expected + following) % 2**32}


def test_failures_are_reported():
    with pytest.raises(AssertionFailed, match="oops"):
        run_kernel(kernel([ir.Assert(Const(0), "oops")]))
    run_kernel(kernel([ir.Assert(Const(0), "oops", guard=Const(0))]))
    with pytest.raises(LimitExceeded):
        run_kernel(kernel([ir.While((), Const(1), ())]), limit=100)
