"""Each invariant of the kernel IR is refused when broken."""

import pytest

from backend.dfg import Word
from macah import ir
from macah.check import check_kernel
from macah.ir import Array, Assign, Const, Label, Load, Read, Stream, Variable

X, WIDE, TABLE = Variable("x"), Variable("wide", 64), Array("t", (2,), initial=(1, 2))
STREAM = Stream("s", 4, (Word(0, 4, True),), (2,))
LABEL = Label("label")
FUNCTION = ir.Function("f", (Variable("p"),), (), ())


def kernel(*body, captured=()):
    return ir.Kernel("k", tuple(ir.Capture(c, c.name, "int") for c in captured), (), body)


@pytest.mark.parametrize(
    "body",
    [
        (ir.Leave(LABEL),),
        (ir.Block(LABEL, ()), ir.Leave(LABEL)),
        (ir.Block(LABEL, ()), ir.Block(LABEL, ())),
        (Assign(X, Load(TABLE, ())),),
        (ir.Store(TABLE, (Const(0),), Const(0)),),
        (ir.Shift(Array("a", (2,), shiftable=(False,)), (), Const(1)),),
        (ir.Receive(STREAM, (), (X,)),),
        (ir.Receive(STREAM, (Const(0),), (X,), X),),
        (ir.Receive(STREAM, (Const(0),), (WIDE,)),),
        (ir.Send(STREAM, (Const(0),), (Const(0, 64),)),),
        (ir.Call(FUNCTION, ()),),
        (ir.Call(FUNCTION, (Read(WIDE),)),),
        (ir.Call(FUNCTION, (ir.View(TABLE),)),),
    ],
)
def test_refused(body):
    with pytest.raises(AssertionError):
        check_kernel(kernel(*body))


def test_absent_classes_and_widths_are_refused_anywhere():
    loop = ir.While((), Const(0), (Assign(WIDE, Read(WIDE)),))
    check_kernel(kernel(loop))
    with pytest.raises(AssertionError):
        check_kernel(kernel(ir.If(Const(1), (loop,))), frozenset({ir.While}))
    with pytest.raises(AssertionError):
        check_kernel(kernel(loop), widths=(32,))


def test_nothing_is_captured_twice():
    with pytest.raises(AssertionError):
        check_kernel(kernel(captured=(X, X)))
