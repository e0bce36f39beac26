"""Shorter recurrences: the same results, from graphs whose iterations can start sooner."""

import pytest
from recurrence_graphs import recurrent

from backend.dfg import check_dfg
from backend.run_dfg import run_dfg
from macah.capacity import Capacity
from macah.shorten import shorten, slow_cycles

ANY_NUMBER = Capacity(units=1 << 20)


@pytest.mark.parametrize("seed", range(60))
def test_shortened_graphs_do_the_same(seed):
    dfg = recurrent(seed)
    shorter = shorten(dfg, ANY_NUMBER)
    check_dfg(shorter)
    assert slow_cycles(shorter, 1)[0] <= slow_cycles(dfg, 1)[0]
    for values, words in (((5, 0xFFFFFFF0), [3, 1 << 31, 77, 0xFFFFFFFF]), ((0, 1), [])):
        live_ins = dict(zip("ab", values, strict=True))
        runs = [run_dfg(g, [live_ins[n] for n in g.live_ins], {0: words}) for g in (dfg, shorter)]
        assert runs[0].outputs == runs[1].outputs and runs[0].iterations == runs[1].iterations


def test_random_graphs_do_get_shorter():
    gains = [
        slow_cycles(g, 1)[0] - slow_cycles(shorten(g, ANY_NUMBER), 1)[0] for g in map(recurrent, range(20))
    ]
    assert sum(gains) > 10
