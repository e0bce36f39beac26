"""The distances that the dependence test claims: never more than the real ones, and often no less."""

import random
from dataclasses import replace

import pytest
from affine_kernels import SIZE, Maker, Watch
from kernels import seldom_shortened
from nest_checks import lowered
from out_of_order import run_out_of_order

from backend.run_dfg import run_dfg
from macah.affine import extent
from macah.dependence import FARTHEST, Distances, least_distance
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.site import Affine, Loop, Rows, Site, Symbol
from macah.todfg import build_dfg


def site(order, loops, constant, *factors):
    """An address in loops, with a factor for each."""
    terms = tuple((loop, factor) for loop, factor in zip(loops, factors, strict=True) if factor)
    return Site(tuple(loops), Affine(constant, terms), order)


def test_elements_of_neighbouring_iterations():
    (i,) = loops = [Loop(8, 8)]
    store, load = site(2, loops, 3, 1), site(1, loops, 0, 1)
    assert least_distance(store, load) == 3
    assert least_distance(load, store) is None
    assert least_distance(store, store) is None
    i.trips = 3
    assert least_distance(store, load) is None


def test_an_outer_iteration_is_as_many_as_the_inner_ones():
    loops = [Loop(8, 8, 8), Loop(8, 8)]
    store = site(2, loops, 0, 8, 1)
    assert least_distance(store, site(1, loops, -8, 8, 1)) == 8
    assert least_distance(store, site(1, loops, -9, 8, 1)) == 9
    assert least_distance(store, site(1, loops, -7, 8, 1)) == 7
    assert least_distance(store, site(1, loops, 64, 8, 1)) is None


def test_strided_elements_and_halves_never_meet():
    loops = [Loop(None)]
    x, y = Symbol(1), Symbol(0, 0, 7)
    assert least_distance(site(1, loops, 0, 8), site(2, loops, 1, 8)) is None
    any_even = Site(tuple(loops), Affine(0, ((x, 2),)), 1)
    assert least_distance(any_even, Site(tuple(loops), Affine(1, ((x, 4),)), 2)) is None
    assert least_distance(any_even, any_even) == 1
    low = Site(tuple(loops), Affine(0, ((y, 1),)), 1)
    assert least_distance(low, Site(tuple(loops), Affine(8, ((Symbol(1, 0, 7), 1),)), 2)) is None
    assert least_distance(low, Site(tuple(loops), Affine(3, ((y, 1),)), 2)) is None


def test_loops_in_sequence_are_in_different_iterations():
    outer, first, second = Loop(4, 4, 8), Loop(8, 8), Loop(8, 8)
    a, b = site(1, [outer, first], 0, 8, 1), site(2, [outer, second], 0, 8, 1)
    assert least_distance(a, b) == 1 + 7
    assert least_distance(b, a) is None
    before = site(0, [outer], 3, 8)
    assert least_distance(before, a) == 3
    assert least_distance(a, site(3, [outer], 3, 8)) == 4


def test_empty_iterations_before_an_inner_loop_come_on_top():
    outer, inner = Loop(4, 4, 8), Loop(8, 8)
    rows = Rows(3)

    def part(order, loops, inside, of=rows):
        return replace(site(order, loops, 5, *([0] * len(loops))), rows=of, inside=inside)

    before, body, behind = part(1, [outer], False), part(2, [outer, inner], True), part(3, [outer], False)
    least = Distances().in_flat_loop
    assert (least(before, body), least(behind, body)) == (0 + 3, 1 + 3)
    assert (least(body, body), least(body, behind), least(behind, before)) == (1, 0, 1)
    assert least(before, part(2, [outer, inner], True, Rows(3))) == 0


def claims(seed, two_sided=False):
    """The real and the claimed distances of a random kernel's accesses."""
    return claims_of(Maker(seed, two_sided).kernel(), seed)


def claims_of(kernel, seed):
    """The same of any kernel."""
    found = []
    optimize(kernel, lambda name, kernel: found.append(kernel) if name == "find_sites" else None)
    watch = Watch(200_000, {}, lambda: False)
    watch.start()
    source = random.Random(seed)
    for capture in found[0].captured:
        if capture.what in (arrays := [c.what for c in found[0].captured if hasattr(c.what, "shape")]):
            watch.memory(capture.what)[:] = [source.randrange(8) for _ in range(SIZE)]
        else:
            watch.variables[capture.what] = source.randrange(6)
    assert arrays
    watch.body(found[0].body)
    distances = Distances()
    for (a, b), real in watch.nearest.items():
        yield real, distances.in_flat_loop(a, b)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_no_claim_exceeds_what_happens(first):
    total = right = 0
    for seed in range(first, first + 100):
        for real, claimed in claims(seed):
            assert claimed is not None, seed
            assert claimed <= real, seed
            total += 1
            right += claimed == min(real, FARTHEST)
    assert right > 0.4 * total


def test_a_test_in_front_of_a_loop_is_one_of_words(tmp_path):
    """With i of 0, -1 as an unsigned number is not less than 4: that row is empty."""
    nest = """for (int r = 0; r < 5; r++) for (int i = 0; i < 6; i++) for (unsigned k = i - 1; k < 4; k++)
      a[i * 4 + (int)k] = a[i * 4 + (int)k + 15] * 3 + r;"""
    found = list(claims_of(lowered(nest, tmp_path), 0))
    assert found and all(claimed is not None and claimed <= real for real, claimed in found), found


def agrees(kernel, seed):
    """The same as below, of a random kernel with random data."""
    source = random.Random(seed)
    arrays = {name: [source.randrange(8) for _ in range(SIZE)] for name in "ab"}
    agrees_in_any_order(kernel, {name: source.randrange(6) for name in "xyn"}, arrays, seed)


def agrees_in_any_order(kernel, scalars, arrays, seed):
    """The graph leaves what the kernel does, in its own order and in three random ones."""
    run = run_kernel(kernel, scalars, arrays)
    dfg = build_dfg(optimize(kernel))
    # an element that a loop keeps in a variable is one of them, too
    elements = {f"{name}[{k}]": word for name, words in arrays.items() for k, word in enumerate(words)}
    live_ins = [(scalars | elements)[name] for name in dfg.live_ins]
    memories = {m: arrays[memory.name] for m, memory in enumerate(dfg.memories)}
    for made in (
        run_dfg(dfg, live_ins, None, memories),
        *(run_out_of_order(dfg, k, live_ins, None, memories) for k in range(3)),
    ):
        assert [run.arrays[memory.name] for memory in dfg.memories] == list(made.memories.values()), seed
        assert [run.scalars[name] for name in dfg.live_outs] == made.live_outs, seed


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_any_order_that_the_graph_allows_gives_the_same(first):
    for seed in range(first, first + 20):
        agrees(seldom_shortened(Maker(seed).kernel(), seed), seed)


def test_both_sides_of_a_branch_are_in_different_iterations():
    loops, branch, inner = [Loop(8, 8)], object(), object()

    def within(order, *arms):
        return replace(site(order, loops, 3, 0), arms=arms)

    least = Distances().in_flat_loop
    then, orelse = within(1, (branch, True)), within(2, (branch, False), (inner, True))
    assert (least(then, orelse), least(orelse, then)) == (1, 1)
    assert least(orelse, within(3, (branch, False), (inner, False))) == 1
    assert least(orelse, within(3, (branch, False))) == least(then, within(3, (object(), False))) == 0
    assert least(within(0), orelse) == 0
    elsewhere = replace(orelse, loops=(*loops, Loop(1, 1)))
    assert least(then, elsewhere) == 0


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_claim_exceeds_what_happens_in_branches(first):
    found = [(seed, *pair) for seed in range(first, first + 20) for pair in claims(seed, two_sided=True)]
    assert all(claimed is not None and claimed <= real for _, real, claimed in found), found
    assert any(claimed > 0 for _, _, claimed in found)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_any_order_gives_the_same_with_branches(first):
    for seed in range(first, first + 20):
        kernel = seldom_shortened(Maker(seed, two_sided=True).kernel(), seed)
        agrees(replace(kernel, delay=seed % 3), seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1060, 20))
def test_any_order_gives_the_same_with_empty_iterations(first):
    for seed in range(first, first + 20):
        kernel = seldom_shortened(Maker(seed).kernel(), seed)
        agrees(replace(kernel, delay=1 + seed % 5), seed)


def test_ranges_of_forms():
    i, x = Loop(5), Symbol(0, -3, 3)
    assert extent(Affine(1, ((i, -2), (x, 3)))) == (1 - 8 - 9, 1 + 9)
