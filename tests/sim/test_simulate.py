"""One design on given words, without a host."""

from __future__ import annotations

import pytest
from sim_kernels import arrays, pass_on, poll, scale

from sim.simulate import SimulationError, simulate


def test_words_live_ins_live_outs_and_counts() -> None:
    done = simulate(scale(), [3, 5], {0: [1, 2, 2**32 - 1, 9]})
    assert done.outputs == {1: (5, 10, 2**32 - 5)}
    assert (done.live_outs, done.consumed, done.closed) == ((2,), {0: 3}, frozenset())
    assert (done.failed, done.cycles, done.stalls) == (None, 4, 0)


@pytest.mark.parametrize("seed", range(5))
def test_jitter_changes_time_only(seed: int) -> None:
    words = list(range(50))
    plain, late = (simulate(scale(), [50, 2], {0: words}, jitter=jitter) for jitter in (None, seed))
    assert (plain.outputs, plain.live_outs, plain.cycles) == (late.outputs, late.live_outs, late.cycles)
    assert plain.stalls == 0 < late.stalls


def test_prompt_streams_are_not_late() -> None:
    done = [
        simulate(scale(), [50, 2], {0: list(range(50))}, jitter=1, prompt=prompt) for prompt in ((0,), (0, 1))
    ]
    assert done[1].stalls == 0 < done[0].stalls


def test_the_end_of_a_stream() -> None:
    done = simulate(pass_on(), inputs={0: [3, 4]}, closed=[0])
    assert (done.outputs, done.closed) == ({1: (3, 4)}, frozenset({1}))


def test_a_failed_assertion() -> None:
    assert simulate(pass_on(), inputs={0: [12, 13, 14]}, closed=[0]).failed == 1


def test_memories() -> None:
    done = simulate(arrays(), memories={0: [1, 2, 3, 4], 3: [7]})
    assert (done.memories[0], done.memories[1]) == ((11, 22, 33, 4), (7, 0, 0, 0))


def test_a_run_that_does_not_end_is_an_error() -> None:
    with pytest.raises(SimulationError, match="poll did not end in 1000 cycles"):
        simulate(poll(), inputs={0: []}, limit=1000)
