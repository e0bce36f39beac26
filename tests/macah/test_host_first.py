"""What is wrong with the host program, or missing on the machine, is told before kernels are mapped."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from macah import host
from macah.cli_parse import parse
from macah.compile import fronts
from macah.host import Host
from macah.messages import MessageOptions, Messages
from macah.program import read_program
from macah.stages import Stages
from macah.translate_host import HostKernel

# The kernel fits on no array, which mapping would find out.
TOO_LARGE = """\
#include <math.h>
int missing(int);
extern int nowhere;
int main(int argc, char **argv)
{
  static int big[1000000];
  int s = 0;
  (void)argv;
  kernel { for (int i = 0; i < 1000000; i++) { big[i] = i; s += big[i ^ 1]; } }
  return missing(s) + nowhere + (int)cos(argc);
}
"""
COSINE = """\
#include <math.h>
volatile double zero;
int main(void) { int s = 0; kernel { s = 7; }
  return s +                 (int)cos(zero); }
"""
SMALL = "int main(void) { int s = 0; kernel { s = 7; } return s; }\n"


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "p.macah"
    path.write_text(TOO_LARGE)
    return path


def test_undefined_names_are_told_with_their_places_before_anything_is_mapped(source: Path) -> None:
    done = macahc("run", "--diagnostics-format=json", "-w", source)
    assert done.returncode == 1
    found = [(d["message"].split("'")[1], d["code"], d["locations"][0]) for d in json.loads(done.stderr)]
    assert [(name, code) for name, code, _ in found] == [
        ("missing", "undefined"),
        ("nowhere", "undefined"),
        ("cos", "undefined"),
    ]
    places = [(at["caret"]["line"], at["caret"]["column"]) for _, _, at in found]
    assert places == [(10, 10), (10, 23), (10, 38)]


@pytest.mark.parametrize("mode", ["c", "mapped"])
@pytest.mark.parametrize(
    ("behind", "hint"),
    [
        ((), "add -lm, before the program"),
        (("-lm",), "what stands behind the program is its own; '-lm' for the linker stands before it"),
    ],
)
def test_the_hint_names_the_library(mode: str, behind: tuple[str, ...], hint: str, source: Path) -> None:
    source.write_text(COSINE)
    done = macahc("run", "-w", "--mode", mode, source, *behind)
    assert done.returncode == 1
    assert "p.macah:4:35: error: 'cos' is used here" in done.stderr and hint in done.stderr


def test_a_library_is_linked(source: Path) -> None:
    source.write_text(COSINE)
    assert macahc("run", "-w", "-lm", source).returncode == 8


def test_what_else_the_linker_says_is_passed_on(source: Path) -> None:
    done = macahc("run", "-w", "-lthere-is-no-such-library", source)
    assert done.returncode == 1 and "cannot find -lthere-is-no-such-library" in done.stderr
    assert done.stderr.endswith("macahc: error: the program could not be linked [c-compiler]\n")


def test_the_host_program_is_compiled_again_only_for_other_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "p.macah"
    source.write_text(SMALL)
    program, options, stages = read_program(source, (), "cc"), parse([str(source)]), Stages()
    front = fronts(program, {}, options, stages)[0]
    kernel = HostKernel(front.site, front.kernel, front.dfg)
    compiled: list[object] = []
    monkeypatch.setattr(host, "run_compiler", lambda *words: compiled.append(words) or "")
    made = Host(program, {}, options, stages, Messages(MessageOptions()), tmp_path)
    for each, count in ((kernel, 1), (replace(kernel), 1), (replace(kernel, dfg=replace(kernel.dfg)), 2)):
        made.compile([each])
        assert len(compiled) == count
