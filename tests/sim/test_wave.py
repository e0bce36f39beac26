"""Waveforms hold the program's names and the cycles asked for; kernels that get nowhere are stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """#include <stdio.h>
int main(void)
{
  int stream numbers = pstream_create(int, 64);
  int total = 0, other = 0, x = 0;
  first: kernel {
    int small[3];
    for (int i = 0; i < 3; i++) small[i] = i;
    for (int i = 0; i < 20; i++) { total += i * small[i % 3]; numbers <! total; }
  }
  SECOND
  for (int i = 0; i < 20; i++) x <? numbers;
  printf("%d %d\\n", x, other);
}
"""
SECOND = "second: kernel { for (int i = 0; i < 5; i++) other += i; }"
SILENT = """int main(void)
{
  unsigned x = 1;
  int stream s = pstream_create(unsigned, 2);
  busy: kernel { for (unsigned i = 0; i < 100000; i++) { x = x * 5 + 1; if (i == 99999) s <! x; } }
  x <? s;
  return 0;
}
"""


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def names(waveform: Path) -> set[str]:
    return set(re.findall(r"\$var \w+ +\d+ \S+ (\S+)", waveform.read_text()))


def cycles(waveform: Path) -> list[int]:
    """The values that the bench's count of cycles has."""
    text = waveform.read_text()
    sign = re.search(r"\$var integer 32 (\S+) cycle ", text)
    assert sign is not None
    values = re.findall(rf"^b([01]+) {re.escape(sign[1])}$", text, re.MULTILINE)
    return [int(value, 2) for value in values]


@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_a_waveform_has_the_programs_names(mode: str, tmp_path: Path) -> None:
    source, wave = tmp_path / "p.macah", tmp_path / "w.vcd"
    source.write_text(PROGRAM.replace("SECOND", ""))
    done = macahc("run", "-w", "--mode", mode, "--wave", wave, source)
    assert done.returncode == 0, done.stderr
    assert {"total", "clk", "s0_tdata"} <= names(wave)
    assert cycles(wave)[:3] == [0, 1, 2]
    layout = wave.with_suffix(".gtkw").read_text().splitlines()
    assert layout[0] == f'[dumpfile] "{wave}"'
    assert "-to stream numbers" in layout
    shown = {line.rsplit(".", 1)[1].split("[")[0] for line in layout if line.startswith("macah_bench.")}
    assert "total" in {re.sub(r"_\d+$", "", name) for name in shown}
    assert shown <= names(wave)


def test_each_kernel_has_a_file_with_the_cycles_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM.replace("SECOND", SECOND))
    options = ("--wave", tmp_path / "odd 100% name.vcd", "--wave-from", 5, "--wave-to", 9)
    done = macahc("run", "-w", "--mode", "dataflow", *options, source)
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in tmp_path.iterdir())
    stems = [f"odd 100% name.{kernel}" for kernel in ("first", "second")]
    assert made == sorted([*(s + end for s in stems for end in (".vcd", ".gtkw")), "p.macah"])
    for stem in stems:
        seen = cycles(tmp_path / f"{stem}.vcd")
        assert {5, 6, 7, 8, 9} <= set(seen) <= {0, 5, 6, 7, 8, 9, 10}


def test_the_layout_of_a_shared_fabric_has_the_streams_of_all_kernels(tmp_path: Path) -> None:
    source, wave = tmp_path / "p.macah", tmp_path / "w.vcd"
    source.write_text(
        "int main(void) { int x = 0; int stream s = pstream_create(int, 2), t = pstream_create(int, 2);\n"
        "one: kernel { s <! 1; }\ntwo: kernel { x <? s; t <! x; }\nx <? t; return x - 1; }\n"
    )
    done = macahc("run", "-w", "--arch=grid4x4", "--netlist=generic", "--wave", wave, source)
    assert done.returncode == 0, done.stderr
    layout = wave.with_suffix(".gtkw").read_text().splitlines()
    streams = [line for line in layout if " stream " in line]
    assert streams == [
        "-to stream s of kernel one",
        "-from stream s of kernel two",
        "-to stream t of kernel two",
    ]
    shown = {line.rsplit(".", 1)[1].split("[")[0] for line in layout if line.startswith("macah_bench.")}
    assert shown <= names(wave)


def test_an_fst_file_is_completed(tmp_path: Path) -> None:
    source, wave = tmp_path / "p.macah", tmp_path / "w.fst"
    source.write_text(PROGRAM.replace("SECOND", ""))
    assert macahc("run", "-w", "--mode", "dataflow", "--wave", wave, source).returncode == 0
    assert wave.read_bytes()[0] in (0, 254) and not (tmp_path / "w.fst.hier").exists()


@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_a_kernel_that_gets_nowhere_is_stopped(mode: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(SILENT)
    done = macahc("run", "-w", "--mode", mode, "--stall-cycles", 300, source)
    assert done.returncode == -6
    assert re.match(
        r"macah: kernel 'busy' has moved no element in its last 300 cycles, up to cycle 30\d ", done.stderr
    )


def test_a_kernel_that_moves_elements_is_not(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM.replace("SECOND", SECOND))
    assert macahc("run", "-w", "--stall-cycles", 300, source).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wave", "x.lxt"), "must end in .vcd or .fst"),
        (("--wave-from", "3"), "go with --wave"),
        (("--wave", "x.vcd", "--wave-from=9", "--wave-to=8"), "--wave-to is before --wave-from"),
        (("--stall-cycles", "-1"), "not a number of cycles"),
        (("--mode", "c", "--wave", "x.vcd"), "leave out --mode c"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], said: str) -> None:
    done = macahc(*words, os.devnull)
    assert done.returncode == 2 and said in done.stderr
