"""Loops around others get copies whose loops are joined, where recurrences of these hold all up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_spread import FABRIC, SMALL, lowered

from macah.loop_trips import loop_trips
from macah.passes.pipeline import opened
from macah.spread import spread
from macah.trials import Trials

ROWS = """for (int row = 0; row < 8; row++) {{
      unsigned v = a[row];
      for (int k = 0; k < 400; k++) {{ {} }}
      a[row] = v;
    }}"""


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("inner", "copies"),
    [
        ("v = (v << 4 ^ v >> 5) + v * k;", 8),
        ("v = v * 3 % 65521; b[row] ^= v;", 8),
        # each needs what the one before it leaves, or changes the same elements in another order
        ("v = (v << 4 ^ v >> 5) + v * k; n ^= v / (n | 3);", 1),
        ("v = v * 3 % 65521; b[k] = b[k + 1] + v;", 1),
        ("v = v * 3 % 65521; a[k & 15] = v;", 1),
        ("v = v * 3 % 65521; c[row * 8 + k] = v;", 1),
    ],
)
def test_loops_around_others_get_copies_where_a_recurrence_of_these_holds_all_up(
    inner: str, copies: int
) -> None:
    choice = spread(lowered(ROWS.format(inner)), FABRIC)
    assert choice is not None
    around = {place.line: factor for place, factor in choice.kernel.unroll}.get(3, 1)
    assert around == copies
    assert copies == 1 or choice.cycles <= 400 * choice.interval


XTEA = """for (int row = 0; row < 16; row++) {
      unsigned v = a[row], w = c[row], sum = 0;
      for (int k = 0; k < 400; k++) {
        v += ((w << 4 ^ w >> 5) + w) ^ (sum + b[sum & 3]);
        sum += 0x9E3779B9;
        w += ((v << 4 ^ v >> 5) + v) ^ (sum + b[sum >> 11 & 3]);
      }
      a[row] = v; c[row] = w;
    }"""


def test_more_rows_at_once_are_tried_once_some_are_mapped() -> None:
    choice = spread(lowered(XTEA), SMALL)
    assert choice is not None
    assert choice.bolder is not None
    factors = choice.kernel.unroll, choice.bolder.kernel.unroll
    assert [[(place.line, factor) for place, factor in one] for one in factors] == [[(3, 4)], [(3, 8)]]


def test_rows_at_once_are_chosen_where_rows_that_are_an_iteration_each_are_long() -> None:
    body = """for (int row = 0; row < 8; row++) {
      int z = 0, v = 0;
      for (int k = 0; k < 40; k++) {
        int y = b[row * 40 + k] * 1000 + z >> 12;
        z = v + y * 1800;
        v = y * 900;
        c[row * 40 + k] = y;
      }
    }"""
    choice = spread(lowered(body), FABRIC)
    assert choice is not None
    assert [(place.line, factor) for place, factor in choice.kernel.unroll] == [(3, 8)]
    assert choice.ended < 40 * choice.interval + 40


def test_copies_whose_loops_stay_apart_take_an_iteration_each() -> None:
    kernel = lowered(XTEA)
    loops = loop_trips(opened(kernel))
    (rows,) = loops
    assert rows.where is not None
    copied = replace(kernel, unroll=((rows.where, 4),))
    found = []
    for without in (frozenset[str](), frozenset({"join_loops"})):
        trials = Trials(replace(kernel, without=without), loops, FABRIC, most=240)
        found.append(trials.made(replace(copied, without=without)).iterations)
    assert found == [4 * 400, 16 * 400]


def test_copies_are_expected_to_stay_apart_where_fewer_do() -> None:
    kernel = lowered(XTEA)
    (rows,) = loops = loop_trips(opened(kernel))
    assert rows.where is not None
    two, eight = (replace(kernel, unroll=((rows.where, factor),)) for factor in (2, 8))
    found = []
    for without in (frozenset[str](), frozenset({"join_loops"})):
        trials = Trials(replace(kernel, without=without), loops, FABRIC, most=240)
        trials.made(replace(two, without=without))
        found.append(trials.iterations(replace(eight, without=without)))
    assert found == [2 * 400, 16 * 400]
