"""Programs on the fabric as hardware, which kernels are loaded into in turns, and on its specialised form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_once import CompiledOnce

pytestmark = pytest.mark.usefixtures("kernels_kept")

LONG = 600
"""Seconds that nothing takes, however slow and busy the machine is."""
PROGRAMS = sorted((Path(__file__).parent.parent / "cases" / "programs").glob("*.macah"))
QUICK = ("packets",)
IN_TURNS = """
#include <stdio.h>
static int sum(int x, int stream out) { kernel { for (int i = 0; i < 5; i++) x += i; out <! x; } return x; }
static int table(int a[8])
{
  static const int t[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int s = 0;
  kernel { for (int i = 0; i < 8; i++) { a[i] += t[7 - i]; s += a[i] * i; } }
  return s;
}
int main(void)
{
  int stream s = pstream_create(int, 4);
  int x, total = 0, a[8] = {0};
  for (int i = 0; i < 10; i++) {
    total += sum(i, s) + sum(-i, s);
    x <? s; total ^= x; x <? s; total += x;
    total += table(a);
  }
  printf("%d\\n", total);
}
"""
AT_ONCE = """
#include <pthread.h>
#include <stdio.h>
static int stream forth, back;
static void *echo(void *unused)
{
  int x;
  kernel { for (int i = 0; i < 40; i++) { x <? forth; back <! 2 * x + 1; } }
  return unused;
}
int main(void)
{
  pthread_t other;
  int x = 1;
  forth = pstream_create(int, 1), back = pstream_create(int, 1);
  pthread_create(&other, 0, echo, 0);
  kernel { for (int i = 0; i < 40; i++) { forth <! x; x <? back; } }
  pthread_join(other, 0);
  printf("%d\\n", x);
}
"""
FAILS = """
#include <assert.h>
int main(void)
{
  int n = 9, sum = 0;
  kernel { for (int i = 0; i < n; i++) { assert(i < 20); assert(i < 5 && "small"); sum += i; } }
  return sum;
}
"""


Run = tuple[int, str, list[list[str]], dict[str, str]]
"""Status, output, the table of statistics, and what went through each stream."""


def run(directory: Path, netlist: str, made: CompiledOnce, *words: str) -> Run:
    """Runs a program in lock step."""
    traces, program = directory / netlist, directory / "p"
    traces.mkdir()
    made.build(program, "--netlist", netlist, *words)
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        timeout=LONG,
        env={**os.environ, "MACAH_STATS": "1", "MACAH_TRACE": str(traces)},
    )
    table = [line.split() for line in done.stderr.splitlines()]
    return done.returncode, done.stdout, table, {p.name: p.read_text() for p in sorted(traces.iterdir())}


def runs(directory: Path, program: Path, arch: str, *words: str) -> tuple[Run, Run]:
    """Runs the two netlists of a program."""
    made = CompiledOnce(program, "--time=lockstep", "--arch", arch)
    return run(directory, "specialised", made, *words), run(directory, "generic", made, *words)


def agree(directory: Path, program: Path, arch: str, *words: str) -> list[list[str]]:
    """Holds a program's two netlists against each other, cycle for cycle; the generic one's statistics."""
    wanted, got = runs(directory, program, arch, *words)
    assert wanted[0] == 0, wanted
    assert got[:2] == wanted[:2]
    assert [row[:4] for row in got[2]] == wanted[2]
    assert got[3] == wanted[3]
    return got[2]


@pytest.mark.sweep(9)
@pytest.mark.parametrize(
    "program",
    [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in PROGRAMS],
)
def test_a_program_takes_the_same_cycles_and_sends_the_same(program: Path, tmp_path: Path) -> None:
    agree(tmp_path, program, "grid4x4")


SIZED = ("torus:6x6", "grid:5x3")
FAMILIES = [(arch, IN_TURNS) for arch in ("adres", "hycube", "mesh", "satmapit", *SIZED)]
FAMILIES += [(arch, AT_ONCE) for arch in ("hycube", "mesh", *SIZED)]


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "text"), FAMILIES)
def test_on_every_family(arch: str, text: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(text)
    agree(tmp_path, source, arch)


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def test_kernels_take_turns_on_one_fabric(simulator: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(IN_TURNS)
    head, summed, tabled = agree(tmp_path, source, "grid4x4", "--simulator", simulator)
    assert head[-3:] == ["loads", "load", "cycles"]
    assert [summed[1], tabled[1]] == ["20", "10"]
    assert [summed[4], tabled[4]] == ["10", "10"], "entering the same kernel again costs no load"
    assert int(summed[5]) % 10 == 0 and int(summed[5]) > 100


@pytest.mark.slow
def test_kernels_at_once_that_talk_have_a_fabric_each(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(AT_ONCE)
    _, *kernels = agree(tmp_path, source, "grid4x4")
    assert [row[4] for row in kernels] == ["1", "1"]


def test_a_failing_assertion_is_the_same_one(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(FAILS)
    specialised, generic = runs(tmp_path, source, "grid4x4")
    assert specialised[0] == generic[0] == -6
    assert specialised[2] == generic[2] and "small" in str(generic[2])


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG)


def test_the_fabric_is_emitted_once_and_a_configuration_for_each_kernel(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(IN_TURNS)
    words = ("--arch", "grid4x4", "--netlist", "generic", source, "--emit")
    verilog = macahc(*words, "verilog").stdout
    assert verilog.count("module grid4x4 (") == 1
    bits = macahc(*words, "bits").stdout
    assert bits.count("// configuration of") == 2
    assert macahc(*words, "bits").stdout == bits
    assert all(line in bits for line in ("// live-in x: 8", "// live-out x: 0", "// stream out: r"))
    words_of_bits = [line.split() for line in bits.splitlines() if line and not line.startswith("//")]
    assert words_of_bits and all(len(address) == len(word) == 8 for address, word in words_of_bits)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mode", "dataflow", "--netlist", "generic"), "--netlist goes with --mode mapped"),
        (("--netlist", "specialised", "--emit", "bits"), "--emit bits is about kernels on a generic netlist"),
        (("--netlist", "generic", "--emit", "design"), "--emit design is about kernels on specialised"),
        (("--netlist", "other"), "invalid choice: 'other'"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(AT_ONCE)
    done = macahc(*words, source)
    assert done.returncode == 2 and said in done.stderr


def test_an_array_too_large_for_the_port_is_refused(tmp_path: Path) -> None:
    source, arch = tmp_path / "p.macah", tmp_path / "wide.toml"
    source.write_text(FAILS)
    grid = Path(__file__).parents[2] / "arch" / "grid.toml"
    text = grid.read_text().replace("words = 2048", "words = 16777216")
    arch.write_text(text.replace("rows = 8", "rows = 16").replace("columns = 8", "columns = 16"))
    done = macahc("--arch", arch, "--netlist", "generic", "--emit", "bits", source)
    assert done.returncode == 1 and done.stdout == ""
    assert "error: there is no generic netlist: the memories of grid16x16 need" in done.stderr
