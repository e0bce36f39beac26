"""Small kernels that every control pass is tried on, and a short way to write them."""

from __future__ import annotations

from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Label, Load, Read, Stmt, Stream, Variable, Word
from macah.passes.convert_ifs import convert_ifs
from macah.passes.flatten_loops import flatten_loops
from macah.passes.fuse_loops import fuse_loops
from macah.passes.invert_loops import invert_loops
from macah.passes.remove_leaves import remove_leaves
from macah.show import show_body

_WORD = (Word(0, 4, True),)
IN, OUT = Stream("in", 4, _WORD), Stream("out", 4, _WORD)
A, B, C = (Array(name, (8, 8)) for name in "ABC")
i, j, k, n, m, t, x, y, acc = (Variable(name) for name in ("i", "j", "k", "n", "m", "t", "x", "y", "acc"))
PASSES = (remove_leaves, invert_loops, fuse_loops, convert_ifs, flatten_loops)

Term = Variable | int | Expr


def term(value: Term) -> Expr:
    """A variable, a number or an expression as an expression."""
    if isinstance(value, Variable):
        return Read(value)
    return Const(value) if isinstance(value, int) else value


def op(name: str, *args: Term) -> Expr:
    return Apply(name, tuple(term(arg) for arg in args))


def let(variable: Variable, value: Term) -> Assign:
    return Assign(variable, term(value))


def receive(variable: Variable) -> Stmt:
    return ir.Receive(IN, (), (variable,))


def send(value: Term) -> Stmt:
    return ir.Send(OUT, (), (term(value),))


def loop(condition: Expr, *body: Stmt) -> Stmt:
    return ir.While((), condition, body)


def count(variable: Variable, bound: Term, *body: Stmt) -> Body:
    """`for (variable = 0; variable < bound; variable++) body`."""
    step = let(variable, op("add", variable, 1))
    return (let(variable, 0), loop(op("slt", variable, bound), *body, step))


def kernel(
    *body: Stmt, into: tuple[Variable | Array, ...] = (), out: tuple[Variable | Array, ...] = ()
) -> ir.Kernel:
    things = dict.fromkeys((*into, *out))
    captures = tuple(ir.Capture(thing, thing.name, "int", thing in into, thing in out) for thing in things)
    streams = (ir.StreamCapture(IN, "in"), ir.StreamCapture(OUT, "out"))
    return ir.Kernel("k", captures, streams, body)


def after(name: str, made: ir.Kernel) -> ir.Kernel:
    """The kernel after all passes up to the named one."""
    for step in PASSES:
        made = step(made)
        if step.__name__ == name:
            break
    return made


def text(made: ir.Kernel) -> str:
    """The body of a kernel as text."""
    return show_body(made.body)


# --- The kernels

fir = kernel(*count(i, n, receive(x), let(acc, op("add", acc, x)), send(acc)), into=(n, acc))

total = kernel(*count(i, n, receive(x), let(acc, op("add", acc, x))), into=(n, acc), out=(acc,))

_product = op("mul", Load(A, (Read(i), Read(k))), Load(B, (Read(k), Read(j))))


def matmul(bound: Term) -> ir.Kernel:
    inner = count(k, bound, let(acc, op("add", acc, _product)))
    row = count(j, bound, let(acc, 0), *inner, ir.Store(C, (Read(i), Read(j)), Read(acc)))
    into = (A, B, bound) if isinstance(bound, Variable) else (A, B)
    return kernel(*count(i, bound, *row), into=into, out=(C,))


def copy_through(array: Array = A) -> ir.Kernel:
    """Two loops in sequence that use the same counter."""
    place = (Const(0), Read(i))
    fill = count(i, 8, receive(x), ir.Store(array, place, Read(x)))
    return kernel(*fill, *count(i, 8, send(Load(array, place))))


triangle = kernel(*count(i, n, *count(j, i, send(op("add", i, j)))), into=(n,))

_done = Label("done")
until_zero = kernel(
    ir.Block(_done, (loop(ir.TRUE, receive(x), ir.If(op("eq", x, 0), (ir.Leave(_done),)), send(x)),))
)

ALL = {
    "fir": fir,
    "total": total,
    "matmul": matmul(8),
    "matmul_n": matmul(n),
    "copy_through": copy_through(),
    "triangle": triangle,
    "until_zero": until_zero,
}
