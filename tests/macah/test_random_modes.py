"""Random programs of threads, kernels and streams do the same in all modes, in lock step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from network_generator import Network
from random_modes import Unfit, check, flags_of, text_of


def agrees(seed: int, directory: Path) -> None:
    text = text_of(seed)
    try:
        assert check(text, directory, flags_of(seed)) is None, text
    except Unfit as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_modes_agree(seed: int, tmp_path: Path) -> None:
    agrees(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.sweep(10)
@pytest.mark.parametrize("seed", range(5000, 5030))
def test_more_modes_agree(seed: int, tmp_path: Path) -> None:
    agrees(seed, tmp_path)


def test_the_programs_have_what_they_are_about() -> None:
    texts = "".join(Network(seed).program() for seed in range(60))
    for part in (
        "kernel {",
        "pthread_create(",
        "mem_reader_spawn",
        "mem_writer_spawn",
        " :: ",
        "pstream_ended(",
    ):
        assert part in texts, part
    assert "serve" in texts and "struct" in texts and "for (int r = 0; r < " in texts


def test_a_difference_is_found(tmp_path: Path) -> None:
    text = """#include <stdio.h>
    int main(void)
    {
      int stream s = pstream_create(int);
      int x, y = 0;
    #ifdef LATE
      y = 1;
    #endif
      kernel { for (int i = 0; i < 3; i++) s <! i; }
      for (int i = 0; i < 3; i++) { x <? s; y += x; }
      printf("%d %llu", y, macah_cycles() > 0);
    }
    unsigned long long macah_cycles(void);
    """
    head = "unsigned long long macah_cycles(void);\n"
    assert check(head + text, tmp_path) == "mode dataflow: the output differs"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_comparison_that_is_ended(how: signal.Signals, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()

    def wait_until(there: bool) -> None:
        end = time.monotonic() + 300
        while any(place.glob("*/*/*")) != there or any(place.iterdir()) != there:
            assert time.monotonic() < end, list(place.iterdir())
            time.sleep(0.02)

    script = Path(__file__).with_name("random_modes.py")
    path = os.pathsep.join([str(script.parent), str(script.parents[2])])
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, script, "1", "--seed", "3"], env=environment)
    wait_until(there=True)
    process.send_signal(how)
    assert process.wait(600) == -how
    wait_until(there=False)
