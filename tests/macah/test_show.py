"""Kernels as text."""

from backend.dfg import Word
from macah import ir
from macah.ir import Apply, Array, Assign, Const, Label, Load, Read, Stream, Variable
from macah.show import show_body, show_kernel


def test_a_kernel_with_everything():
    x, other, wide = Variable("x"), Variable("x"), Variable("wide", 64)
    a, s, label = (
        Array("a", (2, 3), shiftable=(False, True)),
        Stream("s", 4, (Word(0, 4, True),), (2,)),
        Label("l"),
    )
    p = Array("p", (0,))
    f = ir.Function("f", (p, Variable("i")), (Variable("r"),), ())
    body = (
        Assign(x, Apply("add", (Read(other), Const(0xFFFFFFFF)))),
        Assign(x, Apply("smax", (Apply("neg", (Read(x),)), Load(a, (Const(0), Read(x)))))),
        ir.Store(a, (Const(0), Const(1)), Const(2), Read(x)),
        ir.Shift(a, (Const(1),), Const(1)),
        ir.Receive(s, (Const(0),), (x,), other, Read(x)),
        ir.Send(s, (Const(1),), (Read(x),)),
        ir.Close(s, (Const(1),)),
        ir.Ended(s, (Const(1),), x),
        ir.Assert(Read(x), "x", Read(other)),
        ir.Block(label, (ir.If(Read(x), (ir.Leave(label),), (Assign(x, Const(1)),), 0.25),)),
        ir.While((Assign(x, Const(2)),), Read(x), ()),
        ir.DoWhile((Assign(x, Const(3)),), Read(x), Read(other)),
        ir.Call(f, (ir.View(a, (Const(1), Const(0))), Read(x)), (x,)),
    )
    kernel = ir.Kernel(
        "k", (ir.Capture(x, "x", "int"), ir.Capture(wide, "w", "long")), (ir.StreamCapture(s, "q->s"),), body
    )
    assert (
        show_kernel(kernel)
        == """\
kernel k
  capture x in: x
  capture wide:64 in: w
  stream s[2]: q->s
  x = (x'2 + -1)
  x = smax(-x, a[0][x])
  a[0][1] = 2 if x
  a[1] shift 1
  x'2 :: x <? s[0] if x
  s[1] <! x
  close s[1]
  x = ended s[1]
  assert x 'x' if x'2
  block l:
    if x (expect 0.25):
      leave l
    else:
      x = 1
  loop:
    x = 2
  while x:
  do if x'2:
    x = 3
  while x
  x = f(&a[1][0], x)
function f(p[0], i) -> r
"""
    )


def test_unrolled_for():
    i = Variable("i")
    step = (Assign(i, Apply("add", (Read(i), Const(1)))),)
    loop = ir.UnrolledFor((Assign(i, Const(0)),), (), Apply("slt", (Read(i), Const(3))), (), step)
    assert show_body((loop,)) == "FOR:\n  i = 0\nbefore:\nwhile (i < 3):\nstep:\n  i = (i + 1)\n"
