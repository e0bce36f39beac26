"""Stores that happen always, with the old value where nothing was stored."""

from macah.ir import Apply, Array, Assign, Const, DoWhile, If, Kernel, Load, Read, Store, Variable
from macah.passes.complete_stores import complete_stores
from macah.passes.find_sites import find_sites
from macah.show import show_kernel

I, X = Variable("i"), Variable("x")
A = Array("a", (16,))


def lines(*body):
    """The body of a loop over i after the pass."""
    step = Assign(I, Apply("add", (Read(I), Const(1))))
    loop = DoWhile((*body, step), Apply("slt", (Read(I), Const(8))))
    kernel = Kernel("k", (), (), (Assign(I, Const(0)), Assign(X, Const(5)), loop))
    return show_kernel(complete_stores(find_sites(kernel))).splitlines()[4:-2]


def at(offset):
    return Apply("add", (Read(I), Const(offset)))


def load(offset=0):
    return Load(A, (at(offset),))


def store(offset, value):
    return Store(A, (at(offset),), value)


def test_a_minimum():
    less = Apply("slt", (Read(X), load(1)))
    assert lines(If(less, (store(1, Read(X)),)), Assign(X, load())) == [
        "    a_new = a[(i + 1)]",
        "    a_at = (i + 1)",
        "    if (x < a[(i + 1)]):",
        "      a_new = x",
        "    a[a_at] = a_new",
        "    x = a[(i + 0)]",
    ]


def completed(*body):
    """Whether some store is done always."""
    return any("a_new" in line for line in lines(*body))


def test_where_the_old_value_is_not_known_or_nobody_waits():
    condition = Apply("slt", (Read(X), load(1)))
    last = If(condition, (store(1, Const(7)),))
    again = Assign(X, load())
    assert completed(last, again)
    assert not completed(
        store(1, Const(3)), If(Apply("slt", (Read(X), Const(3))), (store(1, Const(7)),)), again
    )
    assert not completed(Assign(X, load(1)), store(1, Const(3)), If(Read(X), (store(1, Const(7)),)), again)
    assert not completed(If(Read(X), (Assign(X, load(1)), store(1, Const(7)))), again)
    assert not completed(Assign(X, load(1)), If(Read(X), (store(1, Const(7)),)))
    assert not completed(If(condition, (store(1, Const(7)), Assign(X, load(1)))), again)
    assert not completed(If(condition, (store(1, Const(7)), store(1, Const(8)))), again)
