"""FOR loops become straight-line code, or errors."""

import pytest
from kernels import Maker, outcome, outcome_after

from backend.dfg import Place
from macah import ir
from macah.check import check_kernel
from macah.diagnostic import MacahError
from macah.ir import Apply, Array, Assign, Const, Label, Load, Read, Variable
from macah.passes.inline_calls import inline_calls
from macah.passes.unroll_for import unroll_for
from macah.propagate import Propagator
from macah.show import show_body, show_kernel

I, J, X, A = Variable("i"), Variable("j"), Variable("x"), Array("a", (9,))


def loop(variable, limit, *body, start=0, before=()):
    step = (Assign(variable, Apply("add", (Read(variable), Const(1)))),)
    more = Apply("slt", (Read(variable), limit))
    where = Place("f.macah", 3, 1)
    return ir.UnrolledFor((Assign(variable, Const(start)),), before, more, body, step, where)


def unrolled(*body, captured=(X, A)):
    captures = tuple(ir.Capture(c, c.name, "int", True, True) for c in captured)
    kernel = unroll_for(ir.Kernel("k", captures, (), body))
    check_kernel(kernel, frozenset({ir.UnrolledFor}))
    return show_body(kernel.body)


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_run_alike(seed):
    maker = Maker(seed, wide=seed % 2 == 0)
    kernel = maker.kernel(6, 3)
    result = unroll_for(inline_calls(kernel))
    check_kernel(result, frozenset({ir.UnrolledFor}))
    data = maker.data()
    assert outcome_after(kernel, result, data) == outcome(kernel, data), show_kernel(kernel)


def test_nested_bounds_and_indices_are_constants():
    inner = loop(J, Read(I), ir.Store(A, (Apply("add", (Read(I), Read(J))),), Const(7)))
    text = unrolled(loop(I, Const(3), inner, start=1))
    assert [line for line in text.splitlines() if "7" in line] == ["a[1] = 7", "a[2] = 7", "a[3] = 7"]
    assert text.endswith("i = 3\n")


def test_break_and_continue():
    outer, inner = Label("break"), Label("continue")
    body = (
        ir.Block(inner, (ir.If(Read(X), (ir.Leave(inner),)), ir.Store(A, (Read(I),), Const(1)))),
        ir.If(Load(A, (Read(I),)), (ir.Leave(outer),)),
    )
    text = unrolled(ir.Block(outer, (loop(I, Const(2), *body),)))
    assert text.count("block continue") == 2 and text.count("leave break") == 2


def test_a_break_with_a_known_condition_ends_the_copies():
    out = Label("break")
    stop = ir.If(Apply("eq", (Read(I), Const(2))), (ir.Leave(out),))
    text = unrolled(ir.Block(out, (loop(I, Const(100), stop, ir.Store(A, (Read(I),), Const(1))),)))
    assert text.count("a[") == 2


def test_a_break_may_be_the_only_end():
    out = Label("break")
    stop = ir.If(Apply("eq", (Read(I), Const(2))), (ir.Leave(out),))
    step = (Assign(I, Apply("add", (Read(I), Const(1)))),)
    body = (stop, ir.Store(A, (Read(I),), Const(1)))
    endless = ir.UnrolledFor((Assign(I, Const(0)),), (), Const(1), body, step)
    assert unrolled(ir.Block(out, (endless,))).count("a[") == 2


def test_branches_on_loop_variables_are_decided():
    choice = ir.If(Read(I), (ir.Store(A, (Const(1),), Const(1)),), (ir.Store(A, (Const(0),), Const(0)),))
    assert [s for s in unrolled(loop(I, Const(2), choice)).splitlines() if s[0] == "a"] == [
        "a[0] = 0",
        "a[1] = 1",
    ]


def test_bounds_may_come_from_constants_assigned_before_but_not_in_a_loop():
    n = Variable("n")
    assert unrolled(Assign(n, Const(1)), loop(I, Read(n), Assign(X, Read(I)))).count("x = 0") == 1
    change = ir.While((), Read(X), (loop(I, Read(n)), Assign(n, Apply("add", (Read(n), Const(1))))))
    with pytest.raises(MacahError, match="trip count"):
        unrolled(Assign(n, Const(1)), change)


def test_an_unknown_trip_count_is_an_error_with_its_place():
    with pytest.raises(MacahError) as caught:
        unrolled(loop(I, Read(X)))
    (diagnostic,) = caught.value.diagnostics
    assert "trip count" in diagnostic.message and diagnostic.where == Place("f.macah", 3, 1)
    assert "'x'" in diagnostic.notes[0].message and diagnostic.notes[0].where == diagnostic.where


def test_a_loop_that_counts_the_wrong_way_is_refused_before_its_body_is_copied(monkeypatch):
    body = (Assign(X, Read(I)),)
    step = (Assign(I, Apply("sub", (Read(I), Const(1)))),)
    backwards = ir.UnrolledFor((Assign(I, Const(0)),), (), Apply("slt", (Read(I), Const(16))), body, step)
    monkeypatch.setattr("macah.passes.unroll_for.Unroller.statement", _refuse_copies_of(body))
    with pytest.raises(MacahError, match="65536 copies"):
        unrolled(backwards)


def _refuse_copies_of(body):
    original = Propagator.statement

    def statement(self, stmt, out):
        assert stmt not in body
        original(self, stmt, out)

    return statement


def test_many_statements_in_few_copies_are_refused(monkeypatch):
    monkeypatch.setattr("macah.passes.unroll_for.STATEMENTS", 20)
    body = [Assign(X, Apply("add", (Read(X), Read(J)))) for _ in range(7)]
    with pytest.raises(MacahError, match="20 statements"):
        unrolled(loop(I, Const(4), *body))


def test_endless_unrolling_is_an_error():
    with pytest.raises(MacahError, match="never ends"):
        unrolled(ir.UnrolledFor((), (), Const(1), (), ()))
