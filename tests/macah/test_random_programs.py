"""Random programs mean the same as plain C, in mode `c`, in the IR after each pass, as graphs and mapped."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plain_c import plain_c
from program_generator import Generator, program
from program_generator_nests import nests
from program_generator_receives import receives
from program_generator_types import Choices
from random_checks import SANITIZE, Failure, Unfit, check, check_translation, reference
from reducer import reduced

from arch.describe import load_fabric


class Drawn:
    """Choices that hypothesis makes, and shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def integer(self, low: int, high: int) -> int:
        return int(self.data.draw(st.integers(low, high)))


def fails(text: str, directory: Path, **more: object) -> Failure | None:
    try:
        return check(text, directory, **more)  # type: ignore[arg-type]
    except Unfit as reason:
        assert "gcc" not in str(reason) and "status" not in str(reason), reason
        return None


def seldom(seed: int) -> frozenset[str]:
    """What most programs do without: shortening recurrences takes most of the time."""
    return frozenset() if seed % 4 == 0 else frozenset({"shorten"})


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for all programs, which keeps the compiled runtime."""
    return tmp_path_factory.mktemp("random")


@pytest.mark.quick(20)
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(40))
def test_all_stages_agree(seed: int, directory: Path) -> None:
    assert fails(program(seed), directory, without=seldom(seed)) is None


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(700, 712))
def test_kernels_that_receive_once_in_an_iteration_agree(seed: int, directory: Path) -> None:
    assert fails(receives(seed), directory, without=frozenset({"shorten"}), once=True) is None


@pytest.mark.parametrize("seed", range(500, 510))
def test_the_translated_program_prints_the_same(seed: int, directory: Path) -> None:
    assert check_translation(program(seed), directory) is None


@pytest.mark.parametrize("seed", range(600, 610))
def test_the_programs_themselves_keep_the_rules_of_c(seed: int, directory: Path) -> None:
    reference(program(seed), [], directory, SANITIZE)


@pytest.mark.slow
@settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(data=st.data())
def test_drawn_programs_agree(data: st.DataObject, directory: Path) -> None:
    choices: Choices = Drawn(data)
    text = Generator(choices, wide=False, size=8).program()
    failure = fails(text, directory)
    assert failure is None, f"{failure}\n{text}"


def test_a_failure_is_reduced() -> None:
    text = program(1)

    def check(text: str) -> Failure | None:
        return Failure("k1", "0 instead of 1") if "show(" in text and "kernel {" in text else None

    smaller = reduced(text, Failure("k1", "0 instead of 1"), check)
    assert check(smaller) is not None
    assert len(smaller.splitlines()) < 6 < len(text.splitlines())


def test_the_rewriting_to_plain_c_leaves_no_macah() -> None:
    text = "".join(plain_c(program(seed)).split("#define abs", 1)[1] for seed in range(30))
    assert not any(sign in text for sign in (" <! ", " <? ", " :: ", "[^", "kernel {"))


@pytest.mark.sweep(1)
@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_nests_agree(seed: int, directory: Path) -> None:
    assert fails(nests(seed), directory, without=frozenset({"shorten"})) is None


@pytest.mark.slow
@pytest.mark.sweep(6)
@pytest.mark.parametrize("seed", range(10_000, 10_060))
def test_more_nests_agree(seed: int, directory: Path) -> None:
    assert fails(nests(seed), directory, without=seldom(seed)) is None


@pytest.mark.slow
@pytest.mark.sweep(24)
@pytest.mark.parametrize("seed", range(10_000, 10_200))
def test_more_programs_agree(seed: int, directory: Path) -> None:
    assert fails(program(seed), directory, without=seldom(seed)) is None


@pytest.mark.slow
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(20))
def test_the_mapped_design_agrees(seed: int, directory: Path) -> None:
    text = program(seed, wide=False, size=5, hardware=True)
    assert fails(text, directory, every_pass=False, fabric=load_fabric("grid8x8")) is None
