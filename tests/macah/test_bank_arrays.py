"""Arrays are spread over memories, and kernels do what they did."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from control_kernels import count, i, j, kernel, let, n, op, send, t, text, x, y
from random_kernels import IN, LIMIT, OUT, TRY, Choices, random_kernel
from stage_runner import at

from macah import ir
from macah.check import check_kernel
from macah.ir import Array, Const, Load, Read
from macah.offsets import Offsets
from macah.passes.bank_arrays import bank_arrays
from macah.passes.bank_plan import Survey
from macah.passes.banks import Spread
from macah.passes.invert_loops import invert_loops
from macah.passes.remove_leaves import remove_leaves
from macah.run import KernelRun, run_kernel
from macah.walk import arrays_read, arrays_written

ONE_PORT = ir.Room(memories=1000, ports=1, interval=1, odd=True)
NO_PORTS = replace(ONE_PORT, interval=1000)
"""More than enough, so that there are no banks."""
TWO_PORTS = ir.Room(memories=32, ports=2, interval=1, odd=True)


def banked(made: ir.Kernel, room: ir.Room = ONE_PORT) -> ir.Kernel:
    """The kernel with banks; each captured array is called by its name in the host."""
    captured = tuple(
        replace(c, source=c.what.name + "".join(f"[{{{d}}}]" for d in range(len(c.what.shape))))
        if isinstance(c.what, Array)
        else c
        for c in made.captured
    )
    made = invert_loops(remove_leaves(replace(made, captured=captured, room=room)))
    result = bank_arrays(made)
    check_kernel(result, frozenset({ir.Leave, ir.Block, ir.While}))
    return result


def ran(made: ir.Kernel, scalars: dict[str, int], memory: dict[str, int], inputs: dict) -> object:
    """What a run sends and leaves in the host's variables and memory, which is known by lvalues."""
    arrays = {c.what.name: [memory[p] for p in places(c)] for c in made.captured if isinstance(c.what, Array)}
    elements = {c.what.name: at(c.source, ()) for c in made.captured if c.source[-1:] == "]"}
    scalars = scalars | {name: memory[place] for name, place in elements.items() if name not in arrays}
    run: KernelRun = run_kernel(made, scalars, arrays, inputs, limit=1_000_000)
    left = dict(memory)
    for capture in made.captured:
        if isinstance(capture.what, Array) and capture.out:
            left |= dict(zip(places(capture), run.arrays[capture.what.name], strict=True))
    out = {
        c.what.name: run.scalars[c.what.name] for c in made.captured if c.out and c.what.name in run.scalars
    }
    for name in [name for name in out if name in elements]:
        left[elements[name]] = out.pop(name)
    return left, out, run.outputs, run.closed


def places(capture: ir.Capture) -> list[str]:
    return [at(capture.source, index) for index in product(*map(range, capture.what.shape))]


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_random_kernels_run_alike(first: int) -> None:
    run_alike(first)


def test_random_kernels_with_blocks_run_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def best(self: Survey, array: Array, *_: object) -> Spread | None:
        return None if array.name.endswith("]") else Spread(array, 0, 2, 2 << len(array.name) % 2)

    monkeypatch.setattr(Survey, "best", best)
    run_alike(200)


@pytest.mark.parametrize("words", [1, 3, 5])
def test_random_kernels_with_arrays_too_large_for_a_memory_run_alike(words: int) -> None:
    run_alike(300, words)


def run_alike(first: int, words_of_memory: int | None = None) -> None:
    spread = 0
    for seed in range(first, first + 50):
        made = random_kernel(seed, Choices(size=25))
        source = random.Random(seed)
        words = [source.choice((0, 1, 2, 3, 7, 100, 0xFFFFFFFF)) for _ in range(24)]
        inputs = {"in": [(w,) for w in words[:10]], "try": [(w,) for w in words[10:14]]}
        scalars = {**dict(zip("abc", words[14:17], strict=True)), LIMIT.name: source.randrange(6)}
        memory = {f"A[{place}]": word for place, word in enumerate(words[16:24])}
        small = replace(made, words=words_of_memory)
        result = banked(small) if words_of_memory is None else banked(small, NO_PORTS)
        if words_of_memory is not None:
            touched = arrays_read(result.body) | arrays_written(result.body)
            assert max([array.size for array in touched], default=0) <= words_of_memory
        spread += result.body != banked(made, replace(ONE_PORT, ports=1000)).body
        plain = banked(made, replace(ONE_PORT, ports=1000))
        assert ran(result, scalars, memory, inputs) == ran(plain, scalars, memory, inputs), (
            seed,
            text(result),
        )
    assert spread > 20
    assert {IN, OUT, TRY} == {c.stream for c in made.streams}


A = Array("A", (10,))


def quads(*body: ir.Stmt) -> ir.Body:
    """`for (i = 0; i < 8; i += 4) body`."""
    step = let(i, op("add", i, 4))
    return (let(i, 0), ir.While((), op("slt", i, 8), (*body, step)))


def test_lanes_have_banks_of_their_own_and_share_the_place_in_them() -> None:
    lanes = tuple(ir.Store(A, (op("add", i, lane),), Const(lane)) for lane in range(4))
    made = banked(kernel(*quads(*lanes), out=(A,)))
    assert text(made) == (
        "i = 0\n"
        "do:\n"
        "  A[4n][(i >> 2)] = 0\n"
        "  A[4n+1][(i >> 2)] = 1\n"
        "  A[4n+2][(i >> 2)] = 2\n"
        "  A[4n+3][(i >> 2)] = 3\n"
        "  i = (i + 4)\n"
        "while (i < 8)\n"
    )
    assert [c.what.shape for c in made.captured] == [(3,), (3,), (2,), (2,)]
    assert made.captured[1].source == "A[({0} * 4 + 1)]"


def test_two_ports_need_half_of_the_banks_and_what_suffices_stays() -> None:
    lanes = tuple(ir.Store(A, (op("add", i, lane),), Const(lane)) for lane in range(4))
    assert len(banked(kernel(*quads(*lanes), out=(A,)), TWO_PORTS).captured) == 2
    assert len(banked(kernel(*quads(*lanes[:2]), out=(A,)), TWO_PORTS).captured) == 1
    assert len(banked(kernel(*quads(*lanes), out=(A,)), replace(TWO_PORTS, memories=1)).captured) == 1
    assert len(banked(kernel(*quads(*lanes), out=(A,)), replace(TWO_PORTS, interval=2)).captured) == 1


def test_neighbours_before_the_first_lane_are_a_word_further_down() -> None:
    lanes = tuple(send(Load(A, (op("add", i, lane & 0xFFFFFFFF),))) for lane in (-1, 0, 1, 2))
    found = text(banked(kernel(*quads(*lanes), into=(A,))))
    assert "A[4n+3][((i + -4) >> 2)]" in found and "A[4n+2][(i >> 2)]" in found


def test_the_dimension_that_tells_the_banks_is_spread() -> None:
    b = Array("B", (6, 8))
    row = tuple(send(Load(b, (Read(j), op("add", i, lane)))) for lane in range(2))
    made = banked(kernel(*count(j, 6, *quads(*row)), into=(b,)))
    assert [c.what.shape for c in made.captured] == [(6, 4), (6, 4)]
    column = tuple(send(Load(b, (op("add", i, lane), Read(j)))) for lane in range(2))
    made = banked(kernel(*count(j, 8, *quads(*column)), into=(b,)))
    assert [c.what.name for c in made.captured] == ["B[2n][]", "B[2n+1][]"]


def test_banks_of_tables_are_tables() -> None:
    table = Array("t", (2, 4), initial=(1, 2, 3, 4, 5, 6))
    loads = tuple(send(Load(table, (op("and", i, 1), op("add", op("shl", j, 1), lane)))) for lane in range(2))
    made = banked(kernel(*count(j, 2, *loads), into=(i,)))
    tables = {load.array for stmt in made.body[1].body if isinstance(stmt, ir.Send) for load in stmt.values}
    assert sorted((t.shape, t.initial) for t in tables) == [((2, 2), (1, 3, 5, 0)), ((2, 2), (2, 4, 6, 0))]


def test_a_copy_of_a_counter_is_no_copy_any_more_when_that_has_stepped() -> None:
    body = (let(x, i), let(i, op("add", i, 2)), send(Load(A, (Read(x),))), send(Load(A, (op("add", x, 1),))))
    made = banked(kernel(let(i, 0), ir.While((), op("slt", i, 10), body), into=(A,)))
    assert "A[2n][(x >> 1)]" in text(made)


def test_an_index_of_which_less_is_known_costs_selects_and_tests() -> None:
    lanes = (*(send(Load(A, (op("add", i, lane),))) for lane in range(2)), ir.Store(A, (Read(n),), Const(5)))
    found = text(banked(kernel(*count(j, 2, *quads(*lanes)), into=(A, n), out=(A,))))
    assert (
        "A[2n][(n >> 1)] = 5 if ((n & 1) == 0)\n" in found
        and "A[2n+1][(n >> 1)] = 5 if ((n & 1) == 1)" in found
    )


BUTTERFLY = (
    let(x, op("add", i, j)),
    let(y, op("add", x, 4)),
    let(t, Load(A, (Read(x),))),
    ir.Store(A, (Read(x),), Load(A, (Read(y),))),
    ir.Store(A, (Read(y),), Read(t)),
)


def test_which_bank_is_stored_to_is_known_before_the_first_one_changes() -> None:
    made = kernel(
        *quads(ir.Store(A, (op("and", Load(A, (op("or", i, 1),)), 7),), op("add", x, i))),
        *quads(ir.Store(A, (Read(i),), Const(1), op("eq", Load(A, (Const(2),)), 3))),
        into=(A, x),
        out=(A,),
    )
    spread = banked(made)
    assert len(spread.captured) > len(made.captured)
    for first, value in product(range(8), range(4)):
        memory = {f"A[{place}]": (5 * place + first) % 8 for place in range(10)}
        whole = ran(banked(made, NO_PORTS), {"x": value}, memory, {})
        assert ran(spread, {"x": value}, memory, {}) == whole


def test_blocks_are_apart_where_neighbours_would_not_be() -> None:
    a = let(i, op("add", i, 8))
    body = (let(i, 0), ir.While((), op("slt", i, 16), (*count(j, 4, *BUTTERFLY), a)))
    found = text(banked(kernel(*body, into=(A,), out=(A,)), TWO_PORTS))
    place = "(((x >> 3) << 2) + (x & 3))"
    assert f"t = A[8n+0..3][{place}]" in found
    assert f"A[8n+4..7][{place}] = t" in found


@pytest.mark.parametrize(
    ("size", "count", "block"),
    [
        (10, 2, 4),
        (7, 4, 2),
        (64, 2, 16),
        (9, 2, 1),
        (33, 8, 4),
        (10, 3, 1),
        (45, 3, 15),
        (70, 5, 6),
        (9, 6, 1),
    ],
)
def test_every_element_is_in_one_bank(size: int, count: int, block: int) -> None:
    array = Array("A", (size,), initial=tuple(range(100, 100 + size)))
    spread = Spread(array, 0, count, block)
    found: list[tuple[str, int]] = []
    for number in range(spread.bank_of_last + 1):
        bank = spread.bank(number)
        source = ir.Capture(bank, f"A[{spread.source(number, '{0}')}]", "int")
        found += zip(places(source), bank.initial, strict=True)
        for place in range(size):
            inside = spread.inside(Const(place))
            assert isinstance(inside, Const)
            if spread.bank_of(place) == number:
                assert spread.which(Const(place)) == Const(number)
                assert spread.place(Const(place), number, Offsets()) == inside
                assert bank.initial[inside.value] == 100 + place
    assert sorted(found) == sorted((f"A[{place}]", 100 + place) for place in range(size))


def triples(*offsets: int) -> tuple[ir.Stmt, ...]:
    """Stores to A[3 * i + offset]."""
    return tuple(ir.Store(A, (op("add", op("mul", i, 3), offset),), Const(offset)) for offset in offsets)


def test_three_neighbours_are_in_three_banks_at_the_place_of_the_triple() -> None:
    found = text(banked(kernel(*count(i, 3, *triples(0, 1, 2)), out=(A,))))
    assert "A[3n][i] = 0" in found and "A[3n+1][i] = 1" in found and "A[3n+2][i] = 2" in found


def test_a_counter_in_steps_of_three_is_multiplied_with_the_inverse() -> None:
    lanes = tuple(ir.Store(A, (op("add", i, lane),), Const(lane)) for lane in range(3))
    body = (let(i, 0), ir.While((), op("slt", i, 9), (*lanes, let(i, op("add", i, 3)))))
    found = text(banked(kernel(*body, out=(A,))))
    place = f"(i * {pow(3, -1, 1 << 32) - (1 << 32)})"
    assert all(f"A[3n{name}][{place}]" in found for name in ("", "+1", "+2"))


def test_other_numbers_are_taken_only_where_powers_of_two_do_not_do() -> None:
    made = kernel(*count(i, 3, *triples(0, 1, 2)), out=(A,))
    assert len(banked(made, replace(ONE_PORT, odd=False)).captured) == 1
    four = tuple(ir.Store(A, (op("add", op("mul", i, 4), lane),), Const(lane)) for lane in range(4))
    assert "A[4n+3]" in text(banked(kernel(*count(i, 2, *four), out=(A,))))


def test_a_loop_that_may_run_for_ever_leaves_the_array_before_its_index_wraps() -> None:
    into = kernel(*count(i, n, *triples(0, 1, 2)), into=(n,), out=(A,))
    assert "A[3n+1][i] = 1" in text(banked(into))
    rarely = ir.If(op("slt", 5, n), triples(0, 1, 2), ())
    assert "A[3n" not in text(banked(kernel(*count(i, n, rarely), into=(n,), out=(A,))))
    chosen = [op("select", n, Load(A, (op("add", op("mul", i, 3), lane),)), 0) for lane in range(3)]
    loads = kernel(*count(i, n, *map(send, chosen)), into=(n, A))
    assert "A[3n" not in text(banked(loads))


def test_parts_of_any_length_are_banks() -> None:
    wide = Array("W", (45,))
    parts = tuple(ir.Store(wide, (op("add", i, 15 * part),), Const(part)) for part in range(3))
    found = text(banked(kernel(*count(i, 15, *parts), out=(wide,))))
    assert "W[45n+0..14][i] = 0" in found and "W[45n+30..44][i] = 2" in found


def test_six_banks_are_the_half_of_a_place_that_three_would_have() -> None:
    body = tuple(ir.Store(A, (op("add", op("mul", i, 6), lane),), Const(lane)) for lane in range(6))
    made = banked(kernel(*count(i, 1, *body), out=(A,)))
    assert [c.what.shape for c in made.captured] == [(2,), (2,), (2,), (2,), (1,), (1,)]
