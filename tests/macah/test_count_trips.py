from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from control_kernels import count, i, j, kernel, let, loop, n, op, send, text, x

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes.count_trips import count_trips
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import LimitExceeded, run_kernel
from macah.spread import spread
from macah.todfg import build_dfg


def rows(end: ir.Expr, guarded: bool = True, step: int = 1) -> ir.Kernel:
    """Rows from j on, for j = 0, 4, 8, 12."""
    again = op("slt", i, end)
    row = ir.DoWhile((send(i), let(i, op("add", i, step))), again, again if guarded else ir.TRUE)
    outer = ir.DoWhile((let(i, j), row, let(j, op("add", j, 4))), op("slt", j, 16))
    return kernel(let(j, 0), outer, send(i), into=(n,))


def test_a_loop_from_a_start_that_is_no_constant_counts_from_0() -> None:
    assert text(count_trips(rows(op("add", j, 4)))) == (
        "j = 0\n"
        "do:\n"
        "  i = j\n"
        "  i_first = j\n"
        "  i_trip = 0\n"
        "  do:\n"
        "    i = (i_first + i_trip)\n"
        "    out <! i\n"
        "    i_trip = (i_trip + 1)\n"
        "  while (i_trip != 4)\n"
        "  i = (i_first + 4)\n"
        "  j = (j + 4)\n"
        "while (j < 16)\n"
        "out <! i\n"
    )  # fmt: skip


def while_rows(*body: ir.Stmt, step: int = 1) -> ir.Kernel:
    """The same rows as loops that test first, of 4 elements at most."""
    row = loop(op("slt", i, op("add", j, 4)), *body, let(i, op("add", i, step)))
    return kernel(*count(j, 16, let(i, j), row, send(i)))


def test_loops_that_test_first_count_from_0() -> None:
    assert text(count_trips(while_rows(send(i)))) == (
        "j = 0\n"
        "loop:\n"
        "while (j < 16):\n"
        "  i = j\n"
        "  i_first = j\n"
        "  i_trip = 0\n"
        "  loop:\n"
        "  while (i_trip != 4):\n"
        "    i = (i_first + i_trip)\n"
        "    out <! i\n"
        "    i_trip = (i_trip + 1)\n"
        "  i = (i_first + 4)\n"
        "  out <! i\n"
        "  j = (j + 1)\n"
    )


LEFT, SKIPPED = ir.Label("left"), ir.Label("skipped")


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(
    "body",
    [
        (send(i),),
        (ir.Block(SKIPPED, (ir.If(op("eq", i, 5), (ir.Leave(SKIPPED),), ()), send(i))),),
        (ir.If(op("eq", i, 9), (ir.Leave(LEFT),), ()), send(i)),
        (send(i), let(x, op("mul", i, i)), ir.If(op("eq", x, 49), (ir.Leave(LEFT),), ()), send(x)),
    ],
)
def test_loops_that_are_left_do_the_same(body: ir.Body, step: int) -> None:
    plain = while_rows(*body, step=step)
    (first, outer) = plain.body
    assert isinstance(outer, ir.While)
    inside = ir.Block(LEFT, outer.body[:2])
    made = replace(plain, body=(first, replace(outer, body=(inside, *outer.body[2:]))))
    counted = count_trips(made)
    assert counted != made
    assert run_kernel(counted) == run_kernel(made)


def test_what_is_behind_the_step_reads_the_counter() -> None:
    row = loop(op("slt", i, op("add", j, 4)), let(i, op("add", i, 1)), let(x, i), send(x))
    made = kernel(*count(j, 16, let(i, j), row, send(i)))
    counted = count_trips(made)
    assert "i = (i + 1)" in text(counted)
    assert run_kernel(counted) == run_kernel(made)


def test_a_counter_that_the_body_changes_stays() -> None:
    made = while_rows(ir.If(op("eq", i, 5), (let(i, 7),), ()), send(i))
    assert count_trips(made) == made


def test_upper_halves_of_wide_words_are_not_taken_for_the_same() -> None:
    wide, more = ir.Variable("wide", 64), ir.Variable("more", 64)

    def upper(word: ir.Variable) -> ir.Expr:
        shifted = ir.Apply("shr", (ir.Read(word), ir.Const(32)), 64)
        return op("and", ir.Apply("trunc", (shifted,)), 255)

    start = let(wide, ir.Apply("zext32", (ir.Read(j),), 64))
    above = let(more, ir.Apply("add", (ir.Read(wide), ir.Const(1 << 32, 64)), 64))
    row = loop(op("slt", i, op("add", upper(more), 3)), send(i), let(i, op("add", i, 1)))
    made = kernel(*count(j, 2, start, above, let(i, upper(wide)), row))
    assert run_kernel(count_trips(made)) == run_kernel(made)


@pytest.mark.parametrize(("more", "step"), [(4, 1), (5, 2), (1, 3), (7, 3)])
@pytest.mark.parametrize("guarded", [True, False])
def test_it_does_the_same(more: int, step: int, guarded: bool) -> None:
    made = rows(op("add", j, more), guarded, step)
    counted = count_trips(made)
    assert counted != made
    assert run_kernel(counted) == run_kernel(made)


@pytest.mark.parametrize(
    "made",
    [
        rows(op("add", j, n)),  # for an unknown number of times
        rows(op("add", n, 4)),
        rows(op("add", j, 0)),  # never
        rows(op("add", j, 0x7FFFFFFF)),  # it would wrap around
    ],
)
def test_other_loops_stay(made: ir.Kernel) -> None:
    assert count_trips(made) == made


def test_a_test_without_signs_of_a_start_below_0_stays() -> None:
    again = op("ult", i, op("add", j, 8))
    row = ir.DoWhile((let(i, op("add", i, 3)), send(i)), again, again)
    start = let(i, op("add", j, 0xFFFFFFFE))
    outer = ir.DoWhile((start, row, let(j, op("add", j, 1))), op("ne", j, 16))
    made = kernel(let(j, 0), outer, send(i))
    assert count_trips(made) == made


KERNEL = """
enum { N = 16, B = 4 };
static int a[N][N], b[N][N], c[N][N], sum[N];
int main(void) { kernel { %s } }
"""


ROWS = "for (int y = 0; y < N; y++) { int s = 0; for (int x = y; x < y + 8; x++) s += a[0][x]; sum[y] = s; }"
BLOCKS = (
    "for (int k = 0; k < N; k += B) for (int j = 0; j < N; j += B)"
    " for (int i = 0; i < N; i++) for (int x = j; x < j + B; x++) {"
    " int s = c[i][x]; for (int y = k; y < k + B; y++) s += a[i][y] * b[y][x]; c[i][x] = s; }"
)


IN_BLOCKS = (
    "for (int bi = 0; bi < N; bi += B) for (int bj = 0; bj < N; bj += B) for (int bk = 0; bk < N; bk += B)"
    " for (int i = bi; i < bi + B; i++) for (int j = bj; j < bj + B; j++) {"
    " int s = c[i][j]; for (int k = bk; k < bk + B; k++) s += a[i][k] * b[k][j]; c[i][j] = s; }"
)


@pytest.mark.parametrize("body", [ROWS, BLOCKS, IN_BLOCKS])
def test_such_nests_take_a_cycle_for_each_iteration(tmp_path: Path, body: str) -> None:
    path = tmp_path / "p.macah"
    path.write_text(KERNEL % body)
    program = read_program(path)
    fabric = load_fabric("grid8x8")
    made = optimize(lower(program, program.kernels[0], {}))
    assert minimum_interval(build_dfg(made, fabric), fabric).mii == 1


def test_blocks_are_unrolled_by_themselves(tmp_path: Path) -> None:
    path = tmp_path / "p.macah"
    path.write_text(KERNEL % IN_BLOCKS)
    program = read_program(path)
    made = spread(lower(program, program.kernels[0], {}), load_fabric("grid8x8"))
    assert made is not None
    assert made.cycles <= 512  # of 4,096 products


def random_blocks(seed: int) -> str:
    """A nest of loops over blocks, with all that may come between."""
    random = Random(seed)
    kinds = ("int", "int", "unsigned", "short", "unsigned char", "long long")

    def inner(depth: int, outer: str) -> str:
        i = f"i{depth}"
        size, step, off = random.randint(1, 6), random.choice((1, 1, 2, 3)), random.choice((0, 0, 1, -2))
        to = random.choice(
            (f"{i} < {outer} + {size}", f"{i} <= {outer} + {size}", f"{i} != {outer} + {off} + {size * step}")
        )
        start = random.choice((outer, f"{outer} + {off}")) if "!=" not in to else f"{outer} + {off}"
        kind = random.choice(kinds)
        last = f"s = s * 7 + {i};" if random.random() < 0.3 else ""
        body = inner(depth + 1, i) if depth < 2 and random.random() < 0.6 else ""
        extra = random.choice(
            (
                "", "", f"if (s % 5 == {i} % 3) continue;", "if ((s & 31) == 7) break;",
                f"a[{i} & 31] += s;", f"s ^= a[{i} & 31];", f"if (s & 1) s += {i};",
            )
        )  # fmt: skip
        text = f"{{ {extra} {body} s = s * 3 + {i}; }}"
        loops = (
            f"for ({i} = {start}; {to}; {i} += {step}) {text}",
            f"{i} = {start}; while ({to}) {{ {text.replace('continue', 's++')} {i} += {step}; }}",
            f"{i} = {start}; do {{ {text.replace('continue', 's--')} {i} += {step}; }} while ({to});",
        )
        return f"{kind} {i}; {random.choice(loops)} {last}"

    trips, by = random.randint(1, 5), random.choice((1, 2, 4, 5))
    start = f"{random.choice(kinds)} b = {random.choice((0, 0, 3))}"
    return f"for ({start}; b < {trips * by}; b += {by}) {{ {inner(0, 'b')} }}"


@pytest.mark.sweep(8)
@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(40))
def test_random_blocks_do_the_same(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "p.macah"
    path.write_text(f"int a[32], s; int main(void) {{ kernel {{ {random_blocks(seed)} }} }}")
    program = read_program(path)
    plain = lower(program, program.kernels[0], {})
    chosen = spread(plain, load_fabric("grid8x8"))
    finals = [optimize(plain), *([chosen.final] if chosen else [])]
    for scalar in (0, 6, -3):
        given = ({"s": scalar}, {"a": [5 * n % 13 for n in range(32)]})
        try:
            expected = run_kernel(plain, *given, limit=20_000)
        except LimitExceeded:
            continue  # a counter that misses its end
        assert [run_kernel(final, *given) for final in finals] == [expected] * len(finals)
