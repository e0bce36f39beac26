"""Loops get copies of their bodies, and arrays banks, where that saves cycles, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah import ir, shorten
from macah.capacity import Capacity
from macah.loop_trips import Streams, loop_trips
from macah.lower import lower
from macah.passes.inline_calls import inline_calls
from macah.passes.pipeline import optimize
from macah.passes.unroll_for import unroll_for
from macah.program import parse_program
from macah.show import show_with_sizes
from macah.spread import MOST_NODES, spread
from macah.todfg import build_dfg
from macah.trials import Trials

FABRIC = load_fabric("grid8x8")
SMALL = load_fabric("grid4x4")


def lowered(body: str) -> ir.Kernel:
    program = parse_program(
        f"""void f(int a[1000], int b[1000], int c[1000], int stream in, int stream out, int n) {{
  kernel {{ int x = 0;
{body}
  }} }}""",
        Path("t.macah"),
    )
    return lower(program, program.kernels[0])


def chosen(body: str, automatic: bool = True) -> tuple[list[int], bool]:
    """The factors of the loops, and whether arrays are to be spread."""
    choice = spread(lowered(body), FABRIC, automatic)
    assert choice is not None
    kernel = choice.kernel
    return [factor for _, factor in kernel.unroll], kernel.room is not None


def test_a_sum_of_vectors_uses_more_of_the_array() -> None:
    body = "for (int i = 0; i < 1000; i++) c[i] = a[i] + b[i];"
    (factor,), banks = chosen(body)
    assert factor >= 8 and banks
    assert chosen(body, automatic=False) == ([], False)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < 1000; i++) { x <? in; out <! x; }",
        "for (int i = 0; i < n && a[i]; i++) c[i] = a[i];",
        "for (int i = 0; i < n; i++) { x <? in; c[i] = x; }",
        "for (int i = 0; i < 1000; i++) x = a[x & 255] ^ x; out <! x;",
        "while (n != 1) n = n & 1 ? 3 * n + 1 : n / 2;",
    ],
)
def test_nothing_is_gained_or_told_of(body: str) -> None:
    assert chosen(body)[0] == []


def test_a_loop_gets_copies_whose_trips_are_known_when_it_begins() -> None:
    """Four elements a cycle instead of one; their places in the banks are known to be different."""
    choice = spread(lowered("for (int i = 0; i < n; i++) c[i] = a[i] + b[i];"), FABRIC)
    assert choice is not None and choice.interval == 1
    assert [factor for _, factor in choice.kernel.unroll] == [4]
    assert choice.bounds.recurrence == 1


@pytest.mark.slow
def test_a_loop_in_others_of_unknown_trips_may_make_iterations_longer_with_copies() -> None:
    product = """for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        x = 0; for (int k = 0; k < n; k++) x += a[i * 8 + k] * b[k * 8 + j];
        out <! x; }"""
    receiving = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { x <? in; a[i * 8 + j] = x; }"
    alone, after = (spread(lowered(body), FABRIC) for body in (product, f"{receiving} {product}"))
    assert alone is not None and after is not None
    for choice in (alone, after):
        ((_, factor),) = choice.kernel.unroll
        assert choice.interval < factor


@pytest.mark.slow
def test_copies_cost_a_loop_nothing_that_runs_nobody_knows_how_often() -> None:
    clearing = "for (int i = 0; i < 256; i++) a[i] = 0;"
    counting = "for (int i = 0; i < n; i++) { x <? in; a[x & 255]++; }"
    choice = spread(lowered(f"{clearing} {counting}"), FABRIC)
    assert choice is not None and choice.interval == 2


def test_what_needs_ports_alone_gets_banks() -> None:
    body = "for (int i = 0; i < 1000; i += 4) out <! a[i] + a[i + 1] + a[i + 2] + a[i + 3];"
    assert chosen(body) == ([], True)


def test_accesses_are_at_ports_and_crowd_no_units() -> None:
    body = """for (int s = 0; s < 512; s += 32) for (int k = 0; k < 16; k++) {
        int i = s + k, j = i + 16, p = a[j] * c[k] - b[j] * c[k + 16], q = a[j] * c[k + 16] + b[j] * c[k];
        short x = a[i] ^ n, y = b[i] ^ n;
        a[i] = x + (p >> 4); b[j] = y - (q >> 4); b[i] = y + (q >> 4); a[j] = x - (p >> 4); }"""
    choice = spread(lowered(body), FABRIC, automatic=False)
    assert choice is not None and len(choice.dfg.nodes) > len(FABRIC.units_for("add")) // 2
    assert minimum_interval(choice.dfg, FABRIC).mii == 1


def test_trips_of_a_nest() -> None:
    body = """for (int i = 0; i < 7; i++) {
        for (int j = 9; j > 0; j -= 2) out <! j;
        while (x < n) x++;
        for (int k = i; k >= 0; k--) { x <? in; out <! x; }
        for (int k = 2; k < 4 * i; k += 3) for (int l = k + i; l < 9; l++) x += l;
        for (int k = 0; k < n; k++) { out <! x; if (x == k) break; out <! k; }
        for (int k = a[i]; k < 9; k++) { x += k; if (x) { out <! k; break; } }
    }"""
    (outer,) = loop_trips(unroll_for(inline_calls(lowered(body))))
    assert (outer.trips, outer.triangular, outer.streams) == (7, False, Streams.MIXED)
    assert [(loop.trips, loop.triangular, loop.streams) for loop in outer.loops] == [
        (5, False, Streams.ALIKE),
        (None, False, Streams.NONE),
        (None, True, Streams.MIXED),
        (None, True, Streams.NONE),
        (None, False, Streams.ALIKE),
        (None, False, Streams.LAST),
    ]
    assert [loop.triangular for loop in outer.loops[3].loops] == [True]
    assert [loop.rows for loop in outer.loops] == [
        (),
        (),
        (1, 2, 3, 4, 5, 6, 7),
        (0, 1, 2, 4, 5, 6, 8),
        (),
        (),
    ]
    first = [9 - (k + i) for i in range(7) for k in range(2, 4 * i, 3)]
    assert outer.loops[3].loops[0].rows == tuple(max(0, trips) for trips in first)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("for (int i = 63; i > 0; i--) for (int j = 0; j < i; j++) a[j] = 0;", range(63, 0, -1)),
        ("for (int i = 0; i < 5; i++) for (int j = i; j < 9; j += 2) a[j] = 0;", (5, 4, 4, 3, 3)),
        (
            "for (int i = 0; i < 3; i++) for (int k = 0; k < 2; k++) for (int j = i; j; j--) a[j] = k;",
            (0, 0, 1, 1, 2, 2),
        ),
        (
            "for (int i = 0; i < 3; i++) for (int k = 0; k < i; k++) for (int j = 0; j <= k; j++) a[j] = k;",
            (1, 1, 2),
        ),
        # what is changed in between, what takes too long to go through, and what depends on data
        ("for (int i = 0; i < 9; i++) for (int j = i * n; j < 9; j++) a[j] = 0;", ()),
        ("for (int i = 0; i < 5000; i++) for (int j = 0; j < i; j++) a[j] = 0;", ()),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) a[j] = 0;", ()),
        ("int m = 9; for (int i = 0; i < m; i++, m--) for (int j = 0; j < i; j++) a[j] = 0;", ()),
    ],
)
def test_rows_whose_lengths_follow_from_counters_are_known(body: str, rows: Iterable[int]) -> None:
    kernel = unroll_for(inline_calls(lowered(body)))
    for by_row, expected in ((True, tuple(rows)), (False, ())):
        loops = loop_trips(kernel, by_row)
        while loops[0].loops:
            loops = loops[0].loops
        assert loops[0].rows == expected


@pytest.mark.slow
def test_copies_are_chosen_by_the_rows_there_are() -> None:
    """Rows of 1 to 3 iterations, or of 1 to 60: only the longer ones are worth copies."""
    nest = "for (int i = 1; i < {}; i++) for (int j = 0; j < i; j++) a[j] += b[j + i];"
    short, long = (spread(lowered(nest.format(most)), FABRIC) for most in (4, 61))
    assert short is not None and long is not None
    assert max((factor for _, factor in short.kernel.unroll), default=1) < 4
    assert max((factor for _, factor in long.kernel.unroll), default=1) >= 4


EDITS = """int dp[2][65];
    for (int j = 0; j <= 26; j++) dp[0][j] = j;
    for (int i = 1; i <= 25; i++) {
        int now = i & 1;
        dp[now][0] = i;
        for (int j = 1; j <= 26; j++) {
            int best = dp[1 - now][j - 1] + (a[i - 1] != b[j - 1]);
            if (dp[1 - now][j] + 1 < best) best = dp[1 - now][j] + 1;
            if (dp[now][j - 1] + 1 < best) best = dp[now][j - 1] + 1;
            dp[now][j] = best;
        }
    }
    out <! dp[1][26];"""
"""The distance of two texts: iterations wait for each other, and ports bind, too."""


def test_copies_that_a_recurrence_holds_up_are_not_tried_and_no_graph_is_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    def noted(kernel: ir.Kernel, fabric: Fabric, **limits: int | None) -> DFG:
        made.append(show_with_sizes(kernel))
        return build_dfg(kernel, fabric, **limits)  # type: ignore[arg-type]

    monkeypatch.setattr("macah.trials.build_dfg", noted)
    kernel = lowered(EDITS)
    monkeypatch.setattr("macah.spread.SIZES", (256, 64, 16))
    choice = spread(kernel, FABRIC)
    assert choice is not None
    assert [factor for _, factor in choice.kernel.unroll] == [2]
    assert len(set(made)) == len(made) <= 8


@pytest.mark.slow
def test_loops_deeper_than_one_of_unknown_trips_get_copies_though_its_iterations_take_longer() -> None:
    unknown = "int n = 0; unsigned v; v <? in; while (!(v >> 30) && n < 31) { v = v * 3 ^ n; n++; }"
    row = "int s = 0; for (int i = k; i < 160; i++) s += a[i] * a[i - k]; b[k] = s + n;"
    choice = spread(lowered(f"{unknown} for (int k = 0; k < 9; k++) {{ {row} }}"), FABRIC)
    assert choice is not None
    assert [factor for _, factor in choice.kernel.unroll] == [8]


def test_more_copies_are_not_tried_where_each_waits_for_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = set()

    def noted(kernel: ir.Kernel, watch: Callable[[str, ir.Kernel], None]) -> ir.Kernel:
        tried.update(factor for _, factor in kernel.unroll)
        return optimize(kernel, watch)

    monkeypatch.setattr("macah.trials.optimize", noted)
    choice = spread(lowered("for (int i = 0; i < 400; i++) n = n >> 8 ^ a[(n ^ b[i & 255]) & 255];"), FABRIC)
    assert choice is not None
    assert choice.kernel.unroll == ()
    assert tried == {2, 4}


SEARCH = """unsigned r[3]; for (int d = 0; d < 3; d++) r[d] = d;
    for (int i = 0; i < n; i++) {{
        x <? in;
        for (int d = 1; d < 3; d++) r[d] = r[d] << 1 | r[d - 1] & a[x & 255];
        for (int d = 0; d < 3; d++) {{ if (r[d] >> 7 & 1) {{ {} }} }}
    }} out <! r[2];"""


RECEIVED = "int r[4]; for (int k = 0; k < 4; k++) r[k] <? in;"
KNOWN = "FOR (int k = 0; k < 4; k++) r[k] = a[i & 255] >> k;"
SORTED = """for (int i = 0; i < 3; i++) for (int j = 0; j < 3 - i; j++)
    if (r[j] > r[j + 1]) { int t = r[j]; r[j] = r[j + 1]; r[j + 1] = t; }"""


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("body", "factors", "within"),
    [
        # that only they index the array makes it scalars; who sends and leaves sends no more than before
        (SEARCH.format("out <! d; break;"), [0, 0, 0], 64 * 3),
        (SEARCH.format("x += d;"), [0, 0, 0], 64),
        # what the last loop sends would wait for what is received in the same iteration
        (SEARCH.format("out <! d;"), [0, 0], None),
        (SEARCH.format("out <! d; if (x) break;"), [0, 0], None),
        # the inner loop is one iteration, of which the outer one then has copies
        (
            "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) x += a[j] * b[8 * i + j]; n = x;",
            [0, 4],
            8,
        ),
        # a loop in no other one is left, and so is one whose trips are not known
        ("for (int i = 0; i < 8; i++) x = a[x & 255] ^ i; out <! x;", [], None),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) x = n % (x + j); out <! x;", [], None),
        # how often an inner loop runs is known once the one around it is unrolled
        (f"for (int i = 0; i < n; i++) {{ int r[4]; {KNOWN} {SORTED} out <! r[1]; }}", [0, 0], 64),
        (
            f"{{ {RECEIVED} for (int i = 1; i < 5; i++) for (int j = 0; j < i * n; j++) x ^= r[j & 3]; }}",
            [16],
            None,
        ),
    ],
)
def test_short_loops_in_others_are_unrolled_completely(
    body: str, factors: list[int], within: int | None
) -> None:
    check_unrolled(lowered(body), factors, within)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("body", "factors", "within"),
    [
        (f"for (int i = 0; i < n; i++) {{ {RECEIVED} out <! r[0] ^ r[3] * r[1]; }}", [], 64 * 4),
        # who serves two streams in turn may not be able to wait
        ("for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) { x <? in; out <! x + j; }", [], None),
        (SEARCH.format("x <? in; out <! x;"), [2], None),
        (SEARCH.format("x :: out <! d;"), [0, 0], None),
        (SEARCH.format("out <! d;"), [0, 0, 0], 64 * 3),
        (SEARCH.format("out <! d; if (x) break;"), [0, 0, 0], 64 * 3),
        (f"for (int i = 0; i < n; i++) {{ {RECEIVED} {SORTED} out <! r[1]; }}", [0, 0, 0], 64 * 4),
    ],
)
def test_short_loops_of_one_stream_are_where_nothing_has_to_be_sent_for_its_elements_to_come(
    body: str, factors: list[int], within: int | None
) -> None:
    kernel = lowered(body)
    check_unrolled(replace(kernel, one_way=True), factors, within)
    if factors.count(0) > 2:  # the loop that receives or sends is one of them
        check_unrolled(replace(kernel, bubbles=True), factors, None)
        choice = spread(kernel, FABRIC)
        assert choice is not None
        assert [factor for _, factor in choice.kernel.unroll] != factors


NEAREST = """int s[5], m = 0;
    for (int k = 0; k < 5; k++) s[k] = b[k] * n;
    for (int i = 0; i < n; i++) {
        x <? in;
        int best = 1000, m = 0;
        for (int k = 0; k < 5; k++) { int d = (x - c[k]) * (x + k); if (d < best) { best = d; m = k; } }
        s[m] += x;
    }
    out <! s[n & 3];"""
BLOCKS = """unsigned char p[8][8], q[8][8];
    for (int i = 0; i < 40; i++) {
        for (int y = 0; y < 8; y++) for (int k = 0; k < 8; k++) { p[y][k] <? in; }
        for (int y = 0; y < 8; y++) for (int k = 0; k < 8; k++) { q[y][k] <? in; }
        for (int d = 0; d < 8; d++) {
            x = 0;
            for (int y = 0; y < 8; y++) for (int k = 0; k < 8; k++) x += abs(p[y][k] - q[y][k + d & 7]);
            out <! x;
        }
    }"""
REVERSED = """int d[32];
    for (int i = 0; i < 32; i++) {
        unsigned r = 0, y = i;
        for (int k = 0; k < 5; k++) { r = r << 1 | y & 1; y >>= 1; }
        x <? in;
        d[r] = x;
    }
    for (int h = 1; h < n; h <<= 1)
        for (int base = 0; base < n; base += 2 * h)
            for (int k = 0; k < h; k++) { int t = d[base + k + h & 31]; d[base + k & 31] += t ^ k; }
    out <! d[3];"""


def lines(kernel: ir.Kernel) -> set[int]:
    """The lines of the loops that get copies of their bodies; the first line of what was lowered is 3."""
    choice = spread(kernel, FABRIC)
    assert choice is not None
    return {place.line for place, _ in choice.kernel.unroll}


def test_what_is_done_once_is_not_unrolled_beside_what_is_done_again_and_again() -> None:
    assert lines(lowered(NEAREST)) == {8}


@pytest.mark.slow
def test_loops_that_receive_are_not_unrolled_where_their_stream_would_hold_up_all_others() -> None:
    assert lines(replace(lowered(BLOCKS), one_way=True)) == {9}


@pytest.mark.slow
def test_short_loops_are_unrolled_beside_loops_that_nobody_knows_how_often_they_run() -> None:
    assert lines(lowered(REVERSED)) == {6, 12}


SORT = """for (int b = 0; b + 8 <= n; b += 8) {
        int v[8];
        for (int i = 0; i < 8; i++) v[i] <? in;
        for (int i = 0; i < 8; i++) for (RANGE) {
            int lo = min(v[j], v[j + 1]), hi = max(v[j], v[j + 1]);
            v[j] = lo; v[j + 1] = hi;
        }
        for (int i = 0; i < 8; i++) out <! v[i];
    }"""


@pytest.mark.quick(1)
@pytest.mark.parametrize("loop", ["int j = 0; j < 7 - i; j++", "int j = i & 1; j < 7; j += 2"])
def test_networks_that_two_loops_say_become_one_iteration(loop: str) -> None:
    kernel = replace(lowered(SORT.replace("RANGE", loop)), one_way=True)
    choice = spread(kernel, FABRIC)
    assert choice is not None and [factor for _, factor in choice.kernel.unroll] == [0] * 4
    assert choice.bounds.mii == 8


def check_unrolled(kernel: ir.Kernel, factors: list[int], within: int | None) -> None:
    choice = spread(kernel, FABRIC)
    assert choice is not None
    assert [factor for _, factor in choice.kernel.unroll] == factors
    assert within is None or choice.cycles <= within


@pytest.mark.slow
def test_a_loop_that_the_user_named_is_not_unrolled_completely() -> None:
    kernel = lowered(SEARCH.format("x += d;"))
    named = next(loop.where for loop in loop_trips(unroll_for(inline_calls(kernel))) if loop.trips == 3)
    assert named is not None
    choice = spread(replace(kernel, unroll=((named, 1),)), FABRIC)
    assert choice is not None and dict(choice.kernel.unroll)[named] == 1


CIPHER = """unsigned char st[4][4];
for (int i = 0; i < 16; i++) st[i / 4][i % 4] = a[i];
for (int round = 0; round < 10; round++) {
  for (int r = 0; r < 4; r++) for (int k = 0; k < 4; k++) st[r][k] = b[st[r][k]];
  for (int k = 0; k < 4; k++) {
    unsigned char p = st[0][k], q = st[1][k], u = st[2][k], v = st[3][k], all = p ^ q ^ u ^ v;
    st[0][k] ^= all ^ ((p ^ q) << 1 ^ ((p ^ q) & 128 ? 27 : 0));
    st[1][k] ^= all ^ ((q ^ u) << 1 ^ ((q ^ u) & 128 ? 27 : 0));
    st[2][k] ^= all ^ ((u ^ v) << 1 ^ ((u ^ v) & 128 ? 27 : 0));
    st[3][k] ^= all ^ ((v ^ p) << 1 ^ ((v ^ p) & 128 ? 27 : 0));
  }
  for (int i = 0; i < 16; i++) st[i / 4][i % 4] ^= c[i];
}
for (int i = 0; i < 16; i++) c[i] = st[i / 4][i % 4];"""


@pytest.mark.slow
def test_larger_graphs_are_chosen_where_they_leave_a_quarter_of_the_cycles() -> None:
    plain = spread(lowered(CIPHER), FABRIC, automatic=False)
    choice = spread(lowered(CIPHER), FABRIC)
    assert plain is not None and choice is not None
    assert choice.cycles <= plain.cycles / 4
    assert len(choice.dfg.nodes) > MOST_NODES
    small = spread(lowered(CIPHER), SMALL)
    assert small is not None
    assert len(small.dfg.nodes) <= MOST_NODES


def test_banks_of_a_word_each_are_variables() -> None:
    body = """int w[8] = {0};
    for (int i = 0; i < n; i++) {
        int m = 0; w[i & 7] <? in;
        FOR (int k = 0; k < 8; k++) m = max(m, w[k]);
        out <! m;
    }"""
    choice = spread(lowered(body), FABRIC)
    assert choice is not None and choice.bounds.mii == 1 and not choice.dfg.memories


@pytest.mark.slow
def test_empty_iterations_between_rows_come_before_copies_where_these_wait_for_each_row() -> None:
    """Of Durbin's recursion, whose rows wait for a division: iterations with copies took 18 cycles."""
    choice = spread(
        lowered(
            """int alpha = -a[0], beta = 256;
            b[0] = alpha;
            for (int k = 1; k < 24; k++) {
              beta = beta - ((alpha * alpha * beta) >> 16);
              int sum = 0;
              for (int i = 0; i < k; i++) sum += a[k - i - 1] * b[i];
              alpha = -((a[k] + sum) / (beta | 1)) & 255;
              for (int i = 0; i < k; i++) c[i] = b[i] + (alpha * b[k - i - 1] >> 8);
              for (int i = 0; i < k; i++) b[i] = c[i];
              b[k] = alpha;
            }"""
        ),
        FABRIC,
    )
    assert choice is not None
    assert not choice.kernel.unroll and choice.kernel.delay
    assert choice.bounds.mii <= 3
    rows = 3 * sum(k + choice.kernel.delay for k in range(1, 24))
    assert abs(choice.cycles - choice.interval * rows) <= 2 * choice.interval


CHAINED = """for (int k = 0; k < 24; k++) {
    for (int i = 0; i < 24; i++) x = a[x & 255] ^ i;
    for (int j = 0; j < 24; j++) c[24 * k + j] = b[j] + x;
} n = x;"""


def test_copies_far_slower_than_no_copies_are_not_made_better(monkeypatch: pytest.MonkeyPatch) -> None:
    slowest: list[int] = []
    shortest = shorten._shortest

    def noted(dfg: DFG, capacity: Capacity) -> DFG:
        slowest.append(shorten.bound(dfg, capacity))
        return shortest(dfg, capacity)

    monkeypatch.setattr(shorten, "_shortest", noted)
    kernel = lowered(CHAINED)
    loops = loop_trips(unroll_for(inline_calls(kernel)))
    chain = loops[0].loops[0].where
    assert chain is not None
    unrolled = Trials(kernel, loops, FABRIC, MOST_NODES).made(replace(kernel, unroll=((chain, 0),)))
    assert unrolled.bounds.recurrence == 24 * 4
    assert slowest == [5]
