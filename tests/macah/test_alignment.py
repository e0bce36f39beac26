"""Long texts are aligned as short ones are, in time that does not explode."""

from __future__ import annotations

import random

import pytest

from macah import alignment
from macah.alignment import opcodes

LINE = "y = ( y ^ x ) * TIMES ( {0} ) ; z += {0} ;"
EXPANDED = "y = ( y ^ x ) * ( ( {0} ) * 3 + 1 ) ; z += {0} ;"


def words(line: str, count: int) -> list[str]:
    return " ".join(line.format(i) for i in range(count)).split()


def test_macros_in_a_long_line_are_found_one_by_one() -> None:
    source, made = words(LINE, 3000), words(EXPANDED, 3000)
    codes = opcodes(made, source)
    kept = {
        i: j
        for kind, i1, i2, j1, _ in codes
        if kind == "equal"
        for i, j in zip(range(i1, i2), range(j1, j1 + i2 - i1), strict=True)
    }
    per, of = len(words(EXPANDED, 1)), len(words(LINE, 1))
    for n in (0, 1, 1500, 2999):
        assert [made[i] for i in range(n * per, n * per + 7)] == [
            source[kept[i]] for i in range(n * per, n * per + 7)
        ]
        assert kept[n * per] == n * of
        assert kept[n * per + per - 2] == n * of + of - 2


@pytest.mark.parametrize("seed", range(30))
def test_codes_cover_both_texts_and_equal_parts_are_equal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_SHORT", 30)
    rng = random.Random(seed)
    a = [rng.choice("abc") for _ in range(rng.randrange(60))]
    b = [rng.choice("abcd") for _ in a for _ in range(rng.choice((0, 1, 1, 1, 1, 2)))]
    if seed % 2:
        b = [word for word in a for word in ([word] if rng.random() < 0.95 else ["d", "d"])]
    i = j = 0
    for kind, i1, i2, j1, j2 in opcodes(a, b):
        assert (i1, j1) == (i, j)
        assert kind != "equal" or a[i1:i2] == b[j1:j2]
        i, j = i2, j2
    assert (i, j) == (len(a), len(b))
