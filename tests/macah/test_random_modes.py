"""Random programs of threads, kernels and streams do the same in all modes, in lock step."""

from __future__ import annotations

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
