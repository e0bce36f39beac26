"""Arrays with constant indices become scalars or banks, streams of arrays streams, shifts moves or rings."""

import pytest
from kernels import Maker, outcome, outcome_after

from backend.dfg import Place, Word
from macah import ir
from macah.check import check_kernel
from macah.diagnostic import MacahError
from macah.ir import Apply, Array, Assign, Const, ElementType, Load, Read, Stream, Variable
from macah.passes.inline_calls import inline_calls
from macah.passes.rotate_arrays import rotate_arrays
from macah.passes.scalarize_arrays import scalarize_arrays
from macah.passes.separate_streams import separate_streams
from macah.passes.unroll_for import unroll_for
from macah.run import run_kernel
from macah.show import show_body, show_kernel
from macah.sources import piece_name

X, I = Variable("x"), Variable("i")


def kernel(*body, captured=()):
    captures = tuple(ir.Capture(c, source(c), "int", True, True) for c in captured)
    return ir.Kernel("k", captures, (), body)


def source(what):
    return what.name + "".join(f"[{{{d}}}]" for d in range(len(getattr(what, "shape", ()))))


@pytest.mark.parametrize("seed", range(100))
def test_random_kernels_run_alike(seed):
    maker = Maker(seed, wide=seed % 4 == 0)
    kernel = maker.kernel(6, 3)
    result = unroll_for(inline_calls(kernel))
    for step in (scalarize_arrays, rotate_arrays, scalarize_arrays):
        result = step(result)
        check_kernel(result, frozenset({ir.Call, ir.UnrolledFor}))
        data = maker.data()
        assert outcome_after(kernel, result, data) == outcome(kernel, data), show_kernel(kernel)
    check_kernel(result, frozenset({ir.Shift}))


def test_a_shifted_array_with_constant_indices_is_a_chain_of_moves():
    d = Array("d", (4,), shiftable=(True,))
    body = (ir.Shift(d, (), Const(1)), ir.Store(d, (Const(0),), Read(X)), Assign(X, Load(d, (Const(3),))))
    assert show_body(scalarize_arrays(kernel(*body, captured=[X])).body) == (
        "d[3] = d[2]\nd[2] = d[1]\nd[1] = d[0]\nd[0] = x\nx = d[3]\n"
    )
    body = (ir.Shift(d, (), Const(0xFFFFFFFE)),)
    assert show_body(scalarize_arrays(kernel(*body)).body) == "d[0] = d[2]\nd[1] = d[3]\n"


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("amount", [1, 0xFFFFFFFF])
def test_a_shift_in_parts_reads_its_operands_before_the_first_part(first, amount):
    """a[a[1][first & 1][0] & 1] is shifted, in three banks; the vacated places are filled again."""
    a = Array("a", (2, 2, 3), shiftable=(False, True, False))
    row = Apply("and", (Load(a, (Const(1), Const(first & 1), Const(0))), Const(1)))
    vacated = Const(0 if amount == 1 else 1)
    fill = [ir.Store(a, (Read(I), vacated, Const(d)), Const(50 + d)) for d in range(3)]
    turn = Apply("xor", (Read(I), Const(1)))
    whole = kernel(ir.Shift(a, (row,), Const(amount)), *fill, Assign(I, turn), *fill, captured=[a, I])
    data = {
        "scalars": {"i": first & 1},
        "arrays": {"a": [n * 5 % 7 + first // 2 for n in range(12)]},
        "inputs": {},
    }
    result = whole
    for step in (scalarize_arrays, rotate_arrays, scalarize_arrays):
        result = step(result)
        assert outcome_after(whole, result, data) == outcome(whole, data), step.__name__


def test_pieces_of_what_is_made_of_pieces_have_names():
    assert piece_name("a", {1: 2}, 2) == "a[][2]"
    assert piece_name("a[][2]", {0: 1}, 1) == "a[1][2]"
    assert piece_name("a[][2][]_base", {0: 1}, 1) == "a[][2][]_base[1]"


def test_captured_elements_are_captured_alone_and_only_where_they_are_used():
    a = Array("a", (2, 3))
    body = (ir.Store(a, (Const(1), Const(2)), Load(a, (Const(0), Const(1)))),)
    result = scalarize_arrays(kernel(*body, captured=[a]))
    assert [(c.what.name, c.source, c.into, c.out) for c in result.captured] == [
        ("a[0][1]", "a[0][1]", True, False),
        ("a[1][2]", "a[1][2]", True, True),
    ]


def test_a_dimension_with_constant_indices_makes_banks():
    a = Array("a", (8, 2))
    body = (ir.Store(a, (Read(I), Const(1)), Load(a, (Read(I), Const(0)))),)
    result = scalarize_arrays(kernel(*body, captured=[I, a]))
    assert show_body(result.body) == "a[][1][i] = a[][0][i]\n"
    assert [c.source for c in result.captured] == ["i", "a[{0}][0]", "a[{0}][1]"]


def test_elements_of_tables_are_constants_and_banks_of_them_tables():
    t = Array("t", (2, 2), ElementType(8, False), initial=(5, 6, 7))
    x = Assign(X, Load(t, (Const(1), Const(0))))
    assert show_body(scalarize_arrays(kernel(x)).body) == "x = 7\n"
    bank = scalarize_arrays(kernel(Assign(X, Load(t, (Read(I), Const(1)))), captured=[X]))
    (stmt,) = bank.body
    assert stmt.value.array.initial == (6, 0)


def test_constant_indices_out_of_range():
    a = Array("a", (2,))
    body = (ir.Store(a, (Const(2),), Const(9)), Assign(X, Load(a, (Const(0xFFFFFFFF),))))
    assert show_body(scalarize_arrays(kernel(*body)).body) == "x = 0\n"


def test_large_arrays_stay_in_memory():
    a = Array("a", (65,))
    body = (ir.Store(a, (Const(64),), Const(9)),)
    assert show_body(scalarize_arrays(kernel(*body, captured=[a])).body) == "a[64] = 9\n"


def ring(extent, amount, *more, out=True):
    a = Array("a", (extent,), shiftable=(True,))
    stmt = Assign(X, Load(a, (Read(I),)))
    captures = (ir.Capture(X, "x", "int", True, True), ir.Capture(a, "a[{0}]", "int", True, out))
    return a, ir.Kernel("k", captures, (), (ir.Shift(a, (), amount), stmt, *more))


def test_a_shift_by_a_constant_moves_a_base():
    _, shifted = ring(8, Const(1), out=False)
    assert show_body(rotate_arrays(shifted).body) == (
        "a_base = 0\na_base = (a_base + -1)\nx = a[((a_base + i) & 7)]\n"
    )


@pytest.mark.parametrize("extent", [1, 4, 5, 7])
@pytest.mark.parametrize("amount", [0, 1, 3, -1, -4, 5, 100, -100])
def test_rings_agree_with_moves(extent, amount):
    amount_in = Variable("n")
    a, shifted = ring(extent, Read(amount_in))
    capture = ir.Capture(amount_in, "n", "int")
    shifted = ir.Kernel("k", (*shifted.captured, capture), (), shifted.body)
    given = {"scalars": {"n": amount & 0xFFFFFFFF}, "arrays": {"a": list(range(10, 10 + extent))}}
    moved, turned = run_kernel(shifted, **given), run_kernel(rotate_arrays(shifted), **given)
    for place in range(extent):
        if 0 <= place - amount < extent:
            assert turned.arrays["a"][place] == moved.arrays["a"][place]


def test_stores_out_of_range_of_a_ring_do_nothing():
    a, shifted = ring(4, Const(1))
    store = ir.Store(a, (Read(I),), Const(99))
    shifted = ir.Kernel("k", shifted.captured, (), (Assign(I, Const(5)), *shifted.body, store))
    assert 99 not in run_kernel(rotate_arrays(shifted), arrays={"a": [1, 2, 3, 4]}).arrays["a"]


STREAMS = Stream("s", 4, (Word(0, 4, True),), (2, 2))


def sends(*index):
    send = ir.Send(STREAMS, index, (Const(1),), where=Place("f.macah", 7))
    return ir.Kernel("k", (), (ir.StreamCapture(STREAMS, "box->s[{0}][{1}]"),), (send,))


def test_elements_of_arrays_of_streams_are_streams():
    result = separate_streams(sends(Const(1), Const(0)))
    check_kernel(result)
    assert [(c.stream.name, c.source, c.stream.shape) for c in result.streams] == [
        ("s[1][0]", "box->s[1][0]", ())
    ]


def test_other_indices_into_streams_are_errors():
    with pytest.raises(MacahError, match="not known at compile time"):
        separate_streams(sends(Read(I), Const(0)))
    with pytest.raises(MacahError, match="out of range") as caught:
        separate_streams(sends(Const(0), Const(2)))
    assert caught.value.diagnostics[0].where == Place("f.macah", 7)


@pytest.mark.parametrize(
    ("out", "size", "scalars"), [(True, 8, 8), (True, 9, 0), (False, 64, 64), (False, 65, 0)]
)
def test_captured_arrays_become_scalars_if_small_or_only_read(out, size, scalars):
    array = Array("a", (size,))
    loads = tuple(Assign(X, Load(array, (Const(k),))) for k in range(size))
    body = (*loads, ir.Store(array, (Const(0),), Read(X))) if out else loads
    made = ir.Kernel("k", (ir.Capture(array, "a[{0}]", "int", True, out),), (), body)
    found = scalarize_arrays(made).captured
    assert sum(isinstance(capture.what, Variable) for capture in found) == scalars
