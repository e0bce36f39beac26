"""Stored values handed on to later loads: what becomes of a small kernel, and that nothing else changes."""

import random
from dataclasses import replace

import pytest
from affine_kernels import SIZE, Maker
from kernels import seldom_shortened
from out_of_order import run_out_of_order
from random_kernels import random_kernel, run_random
from test_lower import lowered

from backend.dfg import DFG
from macah import ir
from macah.capacity import GRID
from macah.dependence import Distances
from macah.forward import binding_memory, forwarded
from macah.ir import Apply, Array, Assign, Const, DoWhile, Load, Read, Variable
from macah.passes.forward_stores import _forwarded, _Forwarder, forward_stores
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg, graph_of
from macah.walk import arrays_written

SWAP = "for (int i = 0; i < 64; i++) { j = (j + s[i] + %d) & 63; int t = s[i]; s[i] = s[j]; s[j] = t; }"
SEQUENCE = f"""void f(int s[64]) {{ kernel {{ int j = 0; {"".join(SWAP % k for k in (1, 5, 9))} }} }}"""

I, X = Variable("i"), Variable("x")
H = Array("h", (16,))
STREAM = ir.Stream("s", 4, (ir.Word(0, 4, False),))


def histogram() -> ir.Kernel:
    """h[x] = h[x] + 1 for every x that comes."""
    more = Apply("slt", (Read(I), Const(40)))
    body = (
        ir.Receive(STREAM, (), (X,)),
        ir.Store(H, (Read(X),), Apply("add", (Load(H, (Read(X),)), Const(1)))),
        Assign(I, Apply("add", (Read(I), Const(1)))),
    )
    captures = (ir.Capture(H, "h", "int", True, True),)
    streams = (ir.StreamCapture(STREAM, "s"),)
    return ir.Kernel("histogram", captures, streams, (Assign(I, Const(0)), DoWhile(body, more)))


def test_a_small_kernel() -> None:
    forwarded = forward_stores(histogram(), H, 1, Distances())
    assert forwarded is not None
    assert show_kernel(forwarded).splitlines()[3:] == [
        "  i = 0",
        "  h_at = -1",
        "  do:",
        "    x <? s",
        "    h_at'2 = x",
        "    h_new = (select((x == h_at), h_new'2, h[x]) + 1)",
        "    h[x] = h_new",
        "    i = (i + 1)",
        "    h_at = h_at'2",
        "    h_new'2 = h_new",
        "  while (i < 40)",
    ]


def test_a_histogram_takes_two_cycles_and_any_order_is_right() -> None:
    dfg = build_dfg(optimize(histogram()))
    assert binding_memory(graph_of(optimize(histogram())), GRID)[0] == 4
    assert binding_memory(dfg, GRID)[0] <= 2
    for seed in range(20):
        source = random.Random(seed)
        words = [source.randrange(3) * source.randrange(5) for _ in range(40)]
        run = run_out_of_order(dfg, seed, (), {0: words})
        assert run.memories[0] == [words.count(x) for x in range(16)]


def with_another(kernel: ir.Kernel, name: str) -> ir.Kernel:
    """The kernel with another histogram, of x ^ 5."""
    start, loop = kernel.body
    other, place = Array(name, (16,)), Apply("xor", (Read(X), Const(5)))
    store = ir.Store(other, (place,), Apply("add", (Load(other, (place,)), Const(2))))
    assert isinstance(loop, DoWhile)
    body = (start, replace(loop, body=(*loop.body[:-1], store, loop.body[-1])))
    return replace(kernel, captured=(*kernel.captured, ir.Capture(other, name, "int", True, True)), body=body)


def test_arrays_that_bind_alike_are_handed_on_together() -> None:
    """Banks are many, and a graph for each more that is handed on says nothing before the last."""
    kernel = histogram()
    for name in "abcdef":
        kernel = with_another(kernel, name)
    intervals: list[int] = []

    def build(made: ir.Kernel) -> DFG:
        dfg = graph_of(made)
        intervals.append(binding_memory(dfg, GRID)[0])
        return dfg

    forwarded(optimize(kernel), build, GRID)
    assert intervals[:2] == [4, 3]


def test_two_histograms_take_two_cycles() -> None:
    """Where each holds up as much as the other, handing on the values of one alone is no gain."""
    dfg = build_dfg(optimize(with_another(histogram(), "g")))
    assert binding_memory(dfg, GRID)[0] <= 2
    for seed in range(10):
        source = random.Random(seed)
        words = [source.randrange(3) * source.randrange(5) for _ in range(40)]
        run = run_out_of_order(dfg, seed, (), {0: words})
        found = {memory.name: run.memories[m] for m, memory in enumerate(dfg.memories)}
        assert found["h"] == [words.count(x) for x in range(16)]
        assert found["g"] == [2 * words.count(x ^ 5) for x in range(16)]


def agrees(dfg: DFG, run, scalars, arrays, seed: int) -> None:
    live_ins = [scalars[name] for name in dfg.live_ins]
    memories = {m: arrays[memory.name] for m, memory in enumerate(dfg.memories)}
    made = run_out_of_order(dfg, seed, live_ins, None, memories)
    assert [run.arrays[memory.name] for memory in dfg.memories] == list(made.memories.values()), seed
    assert [run.scalars[name] for name in dfg.live_outs] == made.live_outs, seed


def nests(first: int, joined: bool) -> int:
    """Compares twenty nests before and after; in how many loads have one comparison for several stores."""
    changed = 0
    for seed in range(first, first + 20):
        kernel = optimize(seldom_shortened(Maker(seed).kernel(), seed))
        source = random.Random(seed)
        arrays = {name: [source.randrange(8) for _ in range(SIZE)] for name in "ab"}
        scalars = {name: source.randrange(6) for name in "xyn"}
        # Elements may be captured on their own.
        scalars |= {f"{name}[{k}]": word for name, words in arrays.items() for k, word in enumerate(words)}
        run = run_kernel(kernel, scalars, arrays)
        for array in sorted(arrays_written(kernel.body), key=lambda array: array.name):
            forwarder = _Forwarder(array, 1 + seed % 3, Distances(), joined)
            forwarded = _forwarded(kernel, forwarder)
            if forwarded is not None:
                changed += len(forwarder.histories) < len(forwarder.stores) if joined else 1
                assert run_kernel(forwarded, scalars, arrays) == run, seed
                agrees(graph_of(forwarded), run, scalars, arrays, seed)
    return changed


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_nests_with_affine_subscripts(first: int) -> None:
    assert nests(first, joined=False) > 10


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", (20, 40, 60, 100, 120, 140))
def test_stores_of_loops_in_sequence_are_compared_together(first: int) -> None:
    assert nests(first, joined=True) > 0


def test_many_stores_in_sequence_are_not_too_many() -> None:
    """Of three loops that swap elements, only one is at work in an iteration."""
    kernel = optimize(lowered(SEQUENCE))
    array = max(arrays_written(kernel.body), key=lambda array: array.size)
    assert _forwarded(kernel, _Forwarder(array, 2, Distances(), joined=False)) is None
    assert forward_stores(kernel, array, 2, Distances()) is not None


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_addresses_that_are_not_known(first: int) -> None:
    changed = 0
    for seed in range(first, first + 20):
        kernel = optimize(random_kernel(seed))
        if not isinstance(kernel.body[-1], DoWhile):
            continue
        expected = run_random(kernel, seed)
        for array in sorted(arrays_written(kernel.body), key=lambda array: array.name):
            forwarded = forward_stores(kernel, array, 1 + seed % 2, Distances())
            if forwarded is not None:
                changed += 1
                assert run_random(forwarded, seed) == expected, seed
    assert changed
