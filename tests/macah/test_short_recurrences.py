"""What loops of the source need from one iteration to the next, once their recurrences are shortened."""

from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
HEAD = "int f(unsigned stream in, unsigned stream out, unsigned s, unsigned t, int n, unsigned x) { kernel {"


def interval(body: str, tmp_path: Path) -> int:
    source = tmp_path / "p.macah"
    source.write_text(f"{HEAD} {body} }} return x; }}\n")
    program = read_program(source)
    return minimum_interval(build_dfg(optimize(lower(program, program.kernels[0])), FABRIC), FABRIC).mii


@pytest.mark.parametrize(
    ("body", "most"),
    [
        # two rotations, one operation on both, the sum: what is added for a new round is chosen beforehand
        (
            "for (int b = 0; b < n; b++) { unsigned e = s; for (int i = 0; i < 9; i++) {"
            " unsigned y; y <? in; e = (e >> 6 | e << 26) ^ (e >> 11 | e << 21); e += y; } s += e; } x = s;",
            3,
        ),
        # the length of a run: a counter that needs no mask, as it starts anew at 255
        (
            "unsigned char length = 0, last = 0; for (int i = 0; i < n; i++) { unsigned y; y <? in;"
            " if (length > 0 && (y != last || length == 255)) { out <! length; length = 0; }"
            " last = y; length++; } x = length;",
            2,
        ),
        # which of several is the least is known before it is compared with the least so far
        (
            "int best = 0x7fffffff, at = 0; for (int i = 0; i < n; i++) { int y; y <? in;"
            " FOR (int k = 0; k < 8; k++) { int d = (y ^ k * 77) * k;"
            " if (d < best) { best = d; at = 8 * i + k; } } } x = at;",
            2,
        ),
        # a row starts with a product of 0: the factor is chosen, and early
        (
            "for (int b = 0; b < n; b++) { int p = 0, q = 0; for (int i = 0; i < 64; i++) { int y; y <? in;"
            " int r = y + ((int)t * p >> 14) - q; q = p; p = r; } x += p ^ q; }",
            4,
        ),
        # what starts anew where a word is not 0: two iterations at a time
        ("int m = 0; for (int i = 0; i < n; i++) { int y; y <? in; m = y & 6 ? y : m + y; out <! m; }", 1),
        (
            "int m = 0; for (int i = 0; i < n; i++) { int y; y <? in; m = y & 6 ? y : max(m, y); out <! m; }",
            1,
        ),
        ("int m = 0; for (int i = 0; i < n; i++) { int y; y <? in; m = y & 6 ? 0 : m + 1; out <! m; }", 1),
        # an index of a ring is never negative: a mask, and no division of signed words
        ("int p = 0; for (int i = 0; i < n; i++) { int y; y <? in; out <! y ^ p; p = (p + 1) % 8; }", 1),
        # nor is what wraps around masked where it is carried
        (
            "unsigned q = 3; for (int i = 0; i < n; i++) { int y; y <? in; out <! q; q = (q * 5 + y) & 31; }",
            2,
        ),
        (
            "unsigned char c = 9;"
            " for (int i = 0; i < n; i++) { int y; y <? in; if (y & 4) c -= y; out <! c; }",
            1,
        ),
        # what is divided is rounded by its sign, which is known before it
        ("int a = 0; for (int i = 0; i < n; i++) { int y; y <? in; a += (y - a) / 16; out <! a; }", 3),
        ("int a = 0; for (int i = 0; i < n; i++) { int y; y <? in; a = (7 * a + y) / 8; out <! a; }", 4),
        ("int a = 0; for (int i = 0; i < n; i++) { int y; y <? in; a = (a * 13 + y) % 64; out <! a; }", 4),
        # a sign kept as a number, a code made bit by bit, and a small table of what it changes
        (
            "const int by[4] = {-1, 1, 2, 5}; int at = 9, guess = 0; for (int i = 0; i < n; i++) {"
            " int y; y <? in; int sign = y < guess ? 4 : 0, code = 0, off = sign ? guess - y : y - guess;"
            " if (off >= at) { code = 2; off -= at; } if (off >= at >> 1) code |= 1;"
            " guess = sign ? guess - at : guess + at; at += by[code]; out <! code | sign; }",
            5,
        ),
        # what a filter feeds back is subtracted by the operation that multiplies it: then it is shifted, and
        # goes round
        (
            "int y = 0, z = 0; for (int i = 0; i < n; i++) { int v; v <? in;"
            " int w = (v - (int) s * y - (int) t * z) >> 14; z = y; y = w; out <! w; }",
            3,
        ),
        (
            "int y = 0; for (int i = 0; i < n; i++) { int v; v <? in;"
            " y = ((int) s * y - v) >> 3; out <! y; }",
            3,
        ),
        # a product is added or not: its other factor is 0 then, which is known before the one that goes round
        (
            "int y = 1; for (int i = 0; i < n; i++) { int v, w; v <? in; w <? in;"
            " int m = w; if (v & 6) m -= v * y; y = m; out <! m; }",
            2,
        ),
    ],
)
def test_a_recurrence_is_short(body: str, most: int, tmp_path: Path) -> None:
    assert interval(body, tmp_path) <= most
