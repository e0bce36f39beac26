"""The FIR filter of fir.macah against NumPy, as a pytest test.

pip install pytest numpy
pytest examples/python/test_fir.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sim import DeadlockError, Kernel, compile_kernel

numpy = pytest.importorskip("numpy")

SOURCE = Path(__file__).parent.parent / "fir.macah"
LOW_PASS = numpy.array([-77, -176, -192, 160, 1181, 2888, 4932, 7668], dtype=numpy.int16)
TAPS = numpy.concatenate([LOW_PASS, LOW_PASS[::-1]])


@pytest.fixture(scope="module")
def fir() -> Iterator[Kernel]:
    with compile_kernel(SOURCE) as kernel:
        yield kernel


def test_it_filters_noise_as_numpy_does(fir: Kernel) -> None:
    noise = numpy.random.default_rng(1).integers(-(1 << 15), 1 << 15, 300, dtype=numpy.int16)
    result = fir.run({"in": noise, "n": len(noise), "coeff": TAPS})
    expected = numpy.convolve(noise.astype(int), TAPS.astype(int))[: len(noise)] >> 15
    numpy.testing.assert_array_equal(result["out"], expected)


def test_it_takes_a_sample_in_every_cycle(fir: Kernel) -> None:
    result = fir.run({"in": range(1000), "n": 1000, "coeff": TAPS})
    assert fir.interval == 1 and fir.length is not None
    assert result.cycles == 1000 + fir.length and result.stalled == 0


def test_its_answer_to_an_impulse_comes_sample_by_sample(fir: Kernel) -> None:
    with fir.start({"n": 20, "coeff": TAPS}) as run:
        run.send("in", [1 << 14])
        run.send("in", [0] * 19)
        assert run.receive("out", 16) == [tap >> 1 for tap in TAPS.tolist()]


def test_it_waits_for_the_samples_it_was_promised(fir: Kernel) -> None:
    with pytest.raises(DeadlockError, match="to receive from 'in'"):
        fir.run({"in": [1, 2, 3], "n": 4, "coeff": TAPS})
