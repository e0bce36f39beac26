"""What recurrences of minima and maxima add is summed up beside them, with the same results."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph

from backend.dfg import DFG
from macah import ir
from macah.capacity import GRID
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.shorten import bound
from macah.todfg import build_dfg

HEADER = """void f(short stream in, int stream out, const short t[64], const int w[64], int n)
{ kernel { """
LOOP = "for (int i = 0; i < 50; i++) {"


def lowered(body: str, directory: Path) -> ir.Kernel:
    source = directory / "p.macah"
    source.write_text(HEADER + body + "} }\n")
    program = read_program(source)
    (site,) = program.kernels
    return lower(program, site)


def graphs(body: str, directory: Path) -> tuple[DFG, DFG]:
    """The graphs with slopes and without, if nothing else shortens recurrences; both do what the kernel does.

    That includes words as large as a short has them.
    """
    original = lowered(body, directory)
    found = []
    for without in ({"shorten"}, {"shorten", "slopes"}):
        dfg = build_dfg(optimize(replace(original, without=frozenset(without))))
        for seed in range(3):
            data = given(seed, original)
            assert outcome_of_graph(original, dfg, data) == outcome(original, data)
        found.append(dfg)
    return found[0], found[1]


def given(seed: int, kernel: ir.Kernel) -> dict[str, object]:
    chance = random.Random(seed)
    size = (5, 200, 32767)[seed]

    def words(count: int, most: int) -> list[int]:
        found = [chance.choice((most, -most - 1, chance.randint(-most - 1, most))) for _ in range(count)]
        return [word % (1 << 32) for word in found]

    data = {"t": words(64, size), "w": words(64, (1 << 31) - 1), "n": 50}
    captured = {capture.what.name for capture in kernel.captured}
    inputs = {"in": [(word,) for word in words(200, size)]}
    return {
        "scalars": {"n": 50} if "n" in captured else {},
        "arrays": {name: data[name] for name in ("t", "w") if name in captured},
        "inputs": inputs if any(s.stream.name == "in" for s in kernel.streams) else {},
    }


@pytest.mark.parametrize(
    "body",
    [
        "int y = 0; LOOP y = max(y - 3, (int)t[i]); out <! y; }",
        "int y = 9; LOOP y = min(t[i], y) + 5; out <! y; }",
        "int y = 0; LOOP y -= 3; if (t[i] > y) y = t[i]; out <! y; }",
        "int y = 0; LOOP short x; x <? in; y = max(y + x, 0); out <! y; }",
        "int y = 0, b = -100; LOOP short x; x <? in; y = max(y, 0) + x; b = max(b, y); } out <! b;",
        "int y = 0; LOOP short x; x <? in; y = max(y - x - t[i], 7) - 2; out <! y; }",
        "int a = 0, b = 3; LOOP int c = max(a - 2, (int)t[i]); b = max(max(b, c) - 2, a + t[i]); a = c;"
        " out <! a + b; }",
        "int a = 0, b = 0; LOOP int c = max(b, (int)t[i]) + 1; b = max(a, b) + 1; a = c; out <! a * b; }",
        "int y = 0, at = 0; LOOP y -= 3; if (t[i] >= y) { y = t[i]; at = i; } out <! at; }",
        "int h[6]; FOR (int l = 0; l < 6; l++) h[l] = 0;"
        "int best = 0; LOOP int up = 0, corner = 0; FOR (int l = 0; l < 6; l++) {"
        " int score = corner + (l == t[i] ? 3 : -2); corner = h[l];"
        " up = max(max(score, 0), max(h[l], up) - 2); h[l] = up; best = max(best, up); } } out <! best;",
    ],
)
def test_recurrences_that_begin_in_every_cycle(body: str, tmp_path: Path) -> None:
    with_slopes, without = graphs(body.replace("LOOP", LOOP), tmp_path)
    assert bound(with_slopes, GRID) == 1
    assert bound(without, GRID) > 1


def test_choices_between_what_is_on_the_slope(tmp_path: Path) -> None:
    text = "int y = 0; LOOP short x; x <? in; y = x & 1 ? max(y, 0) + 4 : min((int)x, y) + 4; out <! y; }"
    with_slopes, without = graphs(text.replace("LOOP", LOOP), tmp_path)
    assert (bound(with_slopes, GRID), bound(without, GRID)) == (2, 3)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("int y = 0; LOOP y = max(y - 3, w[i]); out <! y; }", id="any words"),
        pytest.param("int y = n; LOOP y = max(y - 3, (int)t[i]); out <! y; }", id="begins with any word"),
        pytest.param(
            "int y = 0; LOOP y = max(y - 50000000, (int)t[i]); out <! y; }", id="falls by far too much"
        ),
        pytest.param("int y = 0; LOOP y = min(y + 5, max((int)t[i], y - 5)); out <! y; }", id="two sums"),
        pytest.param("int y = 0; LOOP y = min(2 * y + 5, (int)t[i]); out <! y; }", id="a product"),
        pytest.param(
            "int y = 0; for (int i = 0; i < n; i += 1 + (i > 40)) { y = max(y - 3, (int)t[i]); out <! y; }",
            id="no counter",
        ),
    ],
)
def test_recurrences_that_may_wrap_around_or_add_different_sums(body: str, tmp_path: Path) -> None:
    with_slopes, without = graphs(body.replace("LOOP", LOOP), tmp_path)
    assert with_slopes == without


def test_a_slope_that_is_not_worth_its_operations_is_left_out(tmp_path: Path) -> None:
    """Two words of a stream in an iteration take two cycles anyway."""
    body = f"int y = 0; {LOOP} short x; x <? in; y = max(y - 3, (int)x); out <! y; out <! y; }}"
    with_slopes, without = graphs(body, tmp_path)
    assert with_slopes == without


def test_sends_that_exclude_each_other_beside_a_slope(tmp_path: Path) -> None:
    """They are made one send once, though two graphs are made of the kernel."""
    body = (
        f"int y = 0; {LOOP} short x; x <? in; y = max(y - 3, (int)x); if (x & 1) out <! y; else out <! -y; }}"
    )
    with_slopes, without = graphs(body, tmp_path)
    assert (bound(with_slopes, GRID), bound(without, GRID)) == (1, 2)


def random_body(seed: int) -> str:
    """Variables that all go up by the same, at random, on most ways round."""
    chance = random.Random(seed)
    names = ["a", "b", "c", "d"][: chance.randint(1, 4)]
    step = chance.choice(("3", "-2", "x", "-x", "t[i]", "x - 7", "1"))

    def other() -> str:
        return chance.choice(("x", "t[i]", "0", "17", "-40", "(x & 15)", "t[x & 63]", "i"))

    def choice(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice((*names, *names, f"({other()})"))
        a, b = choice(depth - 1), choice(depth - 1)
        match chance.randrange(6):
            case 0:
                return f"(x > {chance.randrange(9)} ? {a} : {b})"
            case 1:
                return f"({a} < {b} ? {b} : {a})"
            case 2 if chance.random() < 0.5:
                return f"({a} + {chance.choice(('1', '-5', 'x'))})"
        return f"{chance.choice(('min', 'max'))}({a}, {b})"

    lines = [f"{v} = {choice(chance.randint(1, 3))} + ({step});" for v in names for _ in range(1)]
    chance.shuffle(lines)
    if chance.random() < 0.5:
        lines.append(f"best = max(best, max({', '.join((names * 2)[:2])}));")
    begins = ", ".join(f"{v} = {chance.choice((0, 0, 5, -100))}" for v in names)
    sent = " ^ ".join([*names, "best"])
    return f"int {begins}, best = 0; {LOOP} short y; y <? in; int x = y; {' '.join(lines)} out <! {sent}; }}"


@pytest.mark.quick(3)
@pytest.mark.parametrize("first", range(0, 240, 16))
def test_random_recurrences_with_slopes(first: int, tmp_path: Path) -> None:
    applied = 0
    for seed in range(first, first + 16):
        with_slopes, without = graphs(random_body(seed), tmp_path)
        applied += with_slopes != without
    assert applied > 1
