#!/usr/bin/env python3
"""Kernels translated to C and compiled with -O2, against the same algorithms written by hand as plain C.

    .venv/bin/python benchmarks/translated.py [ROUNDS]

Both versions run by turns in one process; times are the least of all rounds. `ratio` is the speed of the
translation over that of the hand-written code; it should be at least 0.95 for fir, matmul, sad and crc.
`window` shifts a large array, where a person would write a ring; `divide` has divisors that may be 0.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sim.cosim import LINK_FLAGS, RUNTIME_SOURCES

HERE = Path(__file__).resolve().parent / "translated"


def build(folder: Path) -> Path:
    """The executable that compares."""
    command = [sys.executable, "-m", "macah", "-w", "--emit", "c", str(HERE / "kernels.macah")]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parents[1]).stdout
    (folder / "kernels.c").write_text(text)
    for source, *flags in (
        (folder / "kernels.c", f"-iquote{HERE}", "-fwrapv"),
        (HERE / "hand.c",),
        (HERE / "compare.c",),
    ):
        compiler = ["cc", "-std=gnu11", "-O2", *flags, "-c", str(source)]
        subprocess.run(compiler, check=True, cwd=folder)
    objects, runtime = ("kernels.o", "hand.o", "compare.o"), map(str, RUNTIME_SOURCES)
    linker = ["cc", "-std=gnu11", "-O2", "-pthread", *LINK_FLAGS, *objects, *runtime, "-o", "compare"]
    subprocess.run(linker, check=True, cwd=folder)
    return folder / "compare"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        words = [str(build(Path(folder))), *sys.argv[1:]]
        done = subprocess.run(words, capture_output=True, text=True)
    print(f"{'kernel':8} {'macah us':>10} {'hand us':>10} {'ratio':>6}")
    for line in done.stdout.splitlines():
        name, translated, hand = line.split()
        ratio = float(hand) / float(translated)
        print(f"{name:8} {float(translated):10.2f} {float(hand):10.2f} {ratio:6.2f}")
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
