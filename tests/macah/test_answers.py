"""What was found out about kernels is found again, and only where it is true."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import macah.answers
import macah.compile
from arch.describe import load_fabric
from macah.answers import answered
from macah.compile import fronts, map_front
from macah.forms import Front
from macah.options import Options
from macah.program import read_program
from macah.show import show_kernel
from macah.stages import Stages

PROGRAM = """int helper(int x) { return x < 3 ? x : 3; }
int main(void) {
  int a[20], n = 0;
  for (int i = 0; i < 20; i++) a[i] = i * 7 & 15;
  kernel {
    for (int i = 0; i < 20; i++) n += helper(a[i]) * a[i];
  }
  return n == 300;
}
"""


class Compiler:
    """Compiles one program again and again, and counts how often the form of its kernel is chosen."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source, self.chosen = directory / "p.macah", 0
        spread = macah.compile.spread

        def counted(*arguments: object, **named: object) -> object:
            self.chosen += 1
            return spread(*arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(macah.compile, "spread", counted)

    def front(self, text: str = PROGRAM, **options: object) -> Front:
        self.source.write_text(text)
        asked = replace(Options(self.source, keep=True), **options)  # type: ignore[arg-type]
        return fronts(read_program(self.source), {}, asked, Stages())[0]


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    monkeypatch.setenv("MACAH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MACAH_KERNELS")
    monkeypatch.setattr(macah.answers, "_WORTH", 0.0)
    return lambda: sorted((tmp_path / "cache" / "kernels").iterdir())


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: Callable[[], list[Path]]) -> Compiler:
    return Compiler(tmp_path, monkeypatch)


def same(one: Front, other: Front) -> bool:
    """Variables of kernels are themselves, so these are compared as text."""
    shown = [[show_kernel(kernel) for kernel in (f.plain, f.lowered, f.kernel)] for f in (one, other)]
    return shown[0] == shown[1] and one.dfg == other.dfg


def test_a_kernel_is_chosen_once(compiler: Compiler) -> None:
    first, second = compiler.front(), compiler.front()
    assert compiler.chosen == 1
    assert same(first, second)


def test_it_is_where_the_program_has_it_now(compiler: Compiler) -> None:
    before, after = (
        compiler.front(),
        compiler.front("// more\n\n" + PROGRAM.replace("  kernel", "\n  kernel")),
    )
    assert compiler.chosen == 1
    there = [(old.where, new.where) for old, new in zip(before.dfg.nodes, after.dfg.nodes, strict=True)]
    moved = {new.line - old.line for old, new in there if old is not None and new is not None}
    assert moved == {2, 3}  # what comes from the function, and what is in the block
    assert after.site.where.line == before.site.where.line + 3


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (PROGRAM.replace("* a[i]", "+ a[i]"), {}),
        (PROGRAM.replace("x < 3", "x < 4"), {}),
        (PROGRAM.replace("int a[20]", "short a[20]"), {}),
        (PROGRAM.replace("i < 20; i++) n", "i < 19; i++) n"), {}),
        (PROGRAM.replace("n += helper", "\n n += helper"), {}),
        (PROGRAM, {"arch": "grid4x4"}),
        (PROGRAM, {"unroll": ("none",)}),
        (PROGRAM, {"disable": ("balance",)}),
        (PROGRAM, {"ordered": ("*",)}),
    ],
)
def test_another_kernel_or_question_is_another_answer(
    text: str, options: dict[str, object], compiler: Compiler
) -> None:
    compiler.front()
    found = compiler.front(text, **options)
    assert compiler.chosen == 2
    assert same(found, compiler.front(text, keep=False, **options))


def test_another_compiler_has_another_answer(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.front()
    monkeypatch.setattr(macah.answers, "_compiler", lambda: "another")
    compiler.front()
    assert compiler.chosen == 2


@pytest.mark.parametrize("damage", [b"", b"\x80\x05garbage", None])
def test_a_damaged_entry_is_as_none(
    damage: bytes | None, compiler: Compiler, entries: Callable[[], list[Path]]
) -> None:
    first = compiler.front()
    (entry,) = entries()
    entry.write_bytes(entry.read_bytes()[:-40] if damage is None else damage)
    assert compiler.front().dfg == first.dfg
    assert compiler.chosen == 2


def test_a_mapping_is_found_once_but_not_with_a_time_limit(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    front, fabric = compiler.front(), load_fabric("grid8x8")
    calls = []
    searched = macah.compile.map_kernel
    monkeypatch.setattr(macah.compile, "map_kernel", lambda *a: calls.append(a) or searched(*a))  # type: ignore[func-returns-value]
    options = Options(compiler.source, keep=True)
    first = map_front(front, fabric, options, Stages())
    made = len(calls)
    again = map_front(front, fabric, options, Stages())
    assert same(again[0], first[0]) and again[0].site is front.site
    assert again[1] == first[1] and again[1].fabric is fabric
    assert len(calls) == made
    map_front(front, fabric, replace(options, seed=2), Stages())
    assert len(calls) > made
    made = len(calls)
    for _ in range(2):
        map_front(front, fabric, replace(options, time_limit=60.0), Stages())
    assert len(calls) >= made + 2


def test_what_was_cut_short_is_not_kept(entries: Callable[[], list[Path]]) -> None:
    def interrupted() -> str:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        except KeyboardInterrupt:
            return "the best so far"
        return "never"

    assert answered("what", (1,), (), interrupted) == "the best so far"
    assert not entries()
    assert answered("what", (1,), (), lambda: "all") == "all"
    assert answered("what", (1,), (), interrupted) == "all"
    assert len(entries()) == 1


def test_what_takes_no_time_is_not_kept(
    entries: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macah.answers, "_WORTH", 1000.0)
    assert answered("what", (1,), (), lambda: 2) == 2
    assert not entries()


KEEPS_ALL = "import macah.answers, macah.start; macah.answers._WORTH = 0; macah.start.main()"


def test_all_output_is_the_same_bytes(tmp_path: Path, entries: Callable[[], list[Path]]) -> None:
    """Whatever the hashes of strings are, on which the order of sets depends."""
    source = Path(__file__).parents[2] / "examples" / "rle.macah"
    outputs = []
    for seed, kept in (("1", "off"), ("2", ""), ("3", "")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "MACAH_KERNELS": kept}
        for how in (["--report", "--json"], ["--emit", "verilog"]):
            command = [sys.executable, "-c", KEEPS_ALL, *how, str(source)]
            done = subprocess.run(command, env=environment, capture_output=True, check=True)
            outputs.append(done.stdout)
        if kept == "" and seed == "2":
            found = entries()
    assert outputs[:2] == outputs[2:4] == outputs[4:]
    assert entries() == found and found
