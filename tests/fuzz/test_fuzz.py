"""Whatever a program's text is, it is compiled, or refused with errors at places of it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from fuzz_corpus import ROOT, seeds
from fuzz_mutator import Mutator, tokens_of
from fuzz_oracle import SECONDS, Hang, Wrong, failure, limits, signature
from fuzz_shrink import shrink

COUNT, PARTS = 120, 4


@pytest.fixture(scope="session")
def programs() -> list[str]:
    return seeds()


@pytest.mark.quick(1)
@pytest.mark.parametrize("part", range(PARTS))
def test_changed_programs_are_compiled_or_refused(part: int, programs: list[str]) -> None:
    chance = random.Random(part)
    mutator = Mutator(programs, chance)
    for _ in range(COUNT // PARTS):
        text = mutator.mutate(chance.choice(programs))
        problem = failure(text, 4 * SECONDS)
        assert problem is None, f"{signature(problem)}: {problem}\n{text}"


@pytest.mark.parametrize(
    "seconds", [pytest.param(20, marks=pytest.mark.slow), pytest.param(120, marks=pytest.mark.whole)]
)
def test_so_many_seconds_of_fuzzing_are_clean(seconds: int, tmp_path: Path) -> None:
    folders = ["--corpus", tmp_path / "corpus", "--failures", tmp_path / "failures"]
    done = subprocess.run(
        [ROOT / "tools" / "fuzz", str(seconds), *folders], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("clean: ")


def test_the_same_seed_makes_the_same_changes(programs: list[str]) -> None:
    changed = [Mutator(programs, random.Random(7)).mutate(programs[3]) for _ in range(2)]
    assert changed[0] == changed[1] != programs[3]


def test_most_changes_get_behind_the_parser(programs: list[str]) -> None:
    from macah.diagnostic import MacahError
    from macah.parser import MacahParser

    chance = random.Random(1)
    mutator = Mutator(programs, chance)
    parsed = 0
    for _ in range(40):
        try:
            MacahParser().parse(mutator.mutate(chance.choice(programs)))
            parsed += 1
        except MacahError:
            pass
    assert parsed >= 12


def test_tokens_add_up_to_the_text(programs: list[str]) -> None:
    for text in (*programs, "\0 é 'a \" 1e+ \\ #"):
        assert "".join(tokens_of(text)) == text


def test_shrinking_leaves_what_the_failure_needs() -> None:
    text = "int a = 1; int b = 2; int c = a + b;"
    assert shrink(text, lambda shorter: "b" in shorter and "+" in shorter) in ("b+", "+b")


def test_a_hang_and_a_bad_refusal_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Hang), limits(0.05):
        while True:
            pass
    monkeypatch.setattr("fuzz_oracle.CODES", {})
    assert isinstance(failure("int x"), Wrong)
