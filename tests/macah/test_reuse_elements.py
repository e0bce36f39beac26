"""Elements that an iteration knows are not loaded again, and stores that it overwrites vanish."""

from macah.ir import Apply, Array, Assign, Capture, Const, DoWhile, If, Kernel, Load, Read, Store, Variable
from macah.passes.convert_ifs import convert_ifs
from macah.passes.find_sites import find_sites
from macah.passes.reuse_elements import reuse_elements
from macah.show import show_kernel

I, X, Y = Variable("i"), Variable("x"), Variable("y")
A = Array("a", (16,))


def at(offset):
    return Apply("add", (Read(I), Const(offset))) if offset else Read(I)


def load(offset=0):
    return Load(A, (at(offset),))


def store(value, offset=0):
    return Store(A, (at(offset),), value)


def lines(*body, step=1):
    """The body of a loop over i after the pass."""
    count = Assign(I, Apply("add", (Read(I), Const(step))))
    loop = DoWhile((*body, count), Apply("slt", (Read(I), Const(8))))
    captures = tuple(Capture(v, v.name, "int", out=True) for v in (X, Y, A))
    kernel = Kernel("k", captures, (), (Assign(I, Const(0)), loop))
    shown = show_kernel(reuse_elements(convert_ifs(find_sites(kernel)))).splitlines()
    return [line.strip() for line in shown[6:-2]]


def test_what_was_stored_or_loaded_is_known():
    assert lines(store(Read(X)), Assign(Y, Apply("add", (load(), Const(1)))), store(Read(Y))) == [
        "a_kept = x",
        "y = (a_kept + 1)",
        "a[i] = y",
    ]
    assert lines(Assign(X, load()), store(Const(1), 1), Assign(Y, load())) == [
        "a_kept = a[i]",
        "x = a_kept",
        "a[(i + 1)] = 1",
        "y = a_kept",
    ]


def test_until_a_store_that_may_be_to_it():
    anywhere = Store(A, (Read(Y),), Const(3))
    assert lines(store(Read(X)), anywhere, Assign(Y, load()))[-1] == "y = a[i]"
    assert lines(store(Read(X)), If(Read(X), (store(Const(2)),)), Assign(Y, load()))[-1] == "y = a[i]"
    assert lines(If(Read(X), (store(Const(2)),)), Assign(Y, load()))[-1] == "y = a[i]"


def test_stores_that_nobody_sees():
    anywhere = Assign(Y, Load(A, (Read(Y),)))
    assert lines(store(Const(1)), store(Const(2), 1), store(Const(3))) == ["a[(i + 1)] = 2", "a[i] = 3"]
    assert len(lines(store(Const(1)), anywhere, store(Const(3)))) == 3
    assert len(lines(store(Const(1)), If(Read(X), (store(Const(2)),)))) == 3
