"""Stores that happen always, with the old value where nothing was stored."""

from macah.ir import Apply, Array, Assign, Const, DoWhile, If, Kernel, Load, Read, Store, Variable
from macah.passes.complete_stores import complete_stores
from macah.passes.convert_ifs import convert_ifs
from macah.passes.find_sites import find_sites
from macah.show import show_kernel

I, X = Variable("i"), Variable("x")
A = Array("a", (16,))


def lines(*body):
    """The body of a loop over i after the pass."""
    step = Assign(I, Apply("add", (Read(I), Const(1))))
    loop = DoWhile((*body, step), Apply("slt", (Read(I), Const(8))))
    kernel = Kernel("k", (), (), (Assign(I, Const(0)), Assign(X, Const(5)), loop))
    return show_kernel(complete_stores(convert_ifs(find_sites(kernel)))).splitlines()[4:-1]


def load(offset=0):
    return Load(A, (Apply("add", (Read(I), Const(offset))),))


def store(offset, value):
    return Store(A, (Apply("add", (Read(I), Const(offset))),), value)


def test_a_minimum():
    less = Apply("slt", (Read(X), load(1)))
    assert lines(If(less, (store(1, Read(X)),)), Assign(X, load())) == [
        "    a_old = a[(i + 1)]",
        "    a_at = (i + 1)",
        "    if = (x < a[(i + 1)])",
        "    a[a_at] = select((if != 0), x, a_old)",
        "    x = a[(i + 0)]",
        "    i = (i + 1)",
    ]


def guarded(*body):
    """Whether the last store of a body keeps its guard."""
    (line,) = [line for line in lines(*body) if " = 7" in line or "7," in line]
    return line.endswith("if if") or "if path" in line


def test_where_the_old_value_is_not_known_or_nobody_waits():
    condition = Apply("slt", (Read(X), load(1)))
    last = If(condition, (store(1, Const(7)),))
    again = Assign(X, load())
    assert not guarded(last, again)
    assert guarded(store(1, Const(3)), If(Apply("slt", (Read(X), Const(3))), (store(1, Const(7)),)), again)
    assert guarded(Assign(X, load(1)), store(1, Const(3)), If(Read(X), (store(1, Const(7)),)), again)
    assert guarded(If(Read(X), (Assign(X, load(1)), store(1, Const(7)))), again)
    assert guarded(Assign(X, load(1)), If(Read(X), (store(1, Const(7)),)))
