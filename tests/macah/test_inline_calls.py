"""Functions take the place of their calls."""

import pytest
from kernels import Maker, outcome, outcome_after

from backend.dfg import Word
from macah import ir
from macah.check import check_kernel
from macah.diagnostic import MacahError
from macah.ir import Apply, Array, Assign, Const, Label, Load, Read, Stream, Variable
from macah.passes.inline_calls import inline_calls
from macah.show import show_body, show_kernel

INT = (Word(0, 4, True),)


def inlined(*body, captured=()):
    captures = tuple(ir.Capture(c, c.name, "int", True, True) for c in captured)
    kernel = inline_calls(ir.Kernel("k", captures, (), body))
    check_kernel(kernel, frozenset({ir.Call}))
    return show_body(kernel.body)


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_run_alike(seed):
    maker = Maker(seed, wide=seed % 2 == 0)
    kernel = maker.kernel(6, 3)
    result = inline_calls(kernel)
    check_kernel(result, frozenset({ir.Call}))
    data = maker.data()
    assert outcome_after(kernel, result, data) == outcome(kernel, data), show_kernel(kernel)


def test_indices_of_views_are_evaluated_once_at_the_call():
    p, x = Array("p", (0,)), Variable("x")
    a, i = Array("a", (2, 3)), Variable("i")
    body = (Assign(i, Const(2)), ir.Store(p, (Read(x),), Load(p, (Const(0),))))
    call = ir.Call(ir.Function("f", (p, x), (), body), (ir.View(a, (Const(1), Read(i))), Read(i)))
    text = inlined(Assign(i, Const(0)), call, captured=[i, a])
    assert text == ("i = 0\np_index = i\nx = i\ni = 2\na[1][(p_index + x)] = a[1][p_index]\n")


def test_calls_in_calls_and_two_calls_have_variables_of_their_own():
    x, r = Variable("x"), Variable("r")
    inner = ir.Function("inner", (x,), (r,), (Assign(r, Apply("add", (Read(x), Const(1)))),))
    y, s = Variable("y"), Variable("s")
    twice = (ir.Call(inner, (Read(y),), (s,)), ir.Call(inner, (Read(s),), (s,)))
    outer = ir.Function("outer", (y,), (s,), twice)
    out = Variable("out")
    assert inlined(ir.Call(outer, (Const(5),), (out,)), captured=[out]) == (
        "y = 5\nx = y\nr = (x + 1)\ns = r\nx'2 = s\nr'2 = (x'2 + 1)\ns = r'2\nout = s\n"
    )


def test_early_returns_have_blocks_of_their_own():
    r, back = Variable("r"), Label("return")
    f = ir.Function("f", (), (r,), (ir.Block(back, (Assign(r, Const(1)), ir.Leave(back))),))
    out = Variable("out")
    text = inlined(ir.Call(f, (), (out,)), ir.Call(f, (), (out,)), captured=[out])
    assert "block return:" in text and "leave return'2" in text


def test_constant_tables_are_shared_and_other_local_arrays_are_not():
    table, local, r = Array("t", (2,), initial=(1, 2)), Array("l", (2,)), Variable("r")
    value = Apply("add", (Load(table, (Const(0),)), Load(local, (Const(0),))))
    f = ir.Function("f", (), (r,), (Assign(r, value),))
    out = Variable("out")
    text = inlined(ir.Call(f, (), (out,)), ir.Call(f, (), (out,)), captured=[out])
    assert text == "r = (t[0] + l[0])\nout = r\nr'2 = (t[0] + l'2[0])\nout = r'2\n"


def test_streams_are_passed():
    s, many = Stream("s", 4, INT), Stream("many", 4, INT, (3,))
    f = ir.Function("f", (s,), (), (ir.Send(s, (), (Const(1),)),))
    body = (ir.Call(f, (ir.StreamView(many, (Const(2),)),)),)
    kernel = ir.Kernel("k", (), (ir.StreamCapture(many, "many[{0}]"),), body)
    assert show_body(inline_calls(kernel).body) == "many[2] <! 1\n"


def test_shifts_of_rows_are_passed_and_others_refused():
    p = Array("p", (4,), shiftable=(True,))
    f = ir.Function("f", (p,), (), (ir.Shift(p, (), Const(1)),))
    rows = Array("rows", (2, 4), shiftable=(False, True))
    assert inlined(ir.Call(f, (ir.View(rows, (Const(1), Const(0))),))) == "rows[1] shift 1\n"
    with pytest.raises(MacahError, match="a part of 'rows'"):
        inlined(ir.Call(f, (ir.View(rows, (Const(1), Const(2))),)))
    fixed = Array("fixed", (2, 4), shiftable=(True, False))
    with pytest.raises(MacahError, match="dimension 1 of 'fixed' is not shiftable"):
        inlined(ir.Call(f, (ir.View(fixed, (Const(1), Const(0))),)))
