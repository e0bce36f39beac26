#!/usr/bin/env python3
"""How long `macahc` takes from source to Verilog for each example on grid8x8, and what it reaches.

    .venv/bin/python benchmarks/compile.py [--arch ARCH] [EXAMPLE...]

Seconds are wall-clock time of the whole command, the best of three; `aim` is what it should stay under.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
AIMS = {"fir": 2.0, "sad": 10.0}


def macahc(*words: object) -> str:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def seconds(source: Path, arch: str) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        macahc("--arch", arch, "--emit", "verilog", source)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--arch", default="grid8x8")
    options = parser.parse_args()
    arch, wanted = options.arch, options.examples
    print(
        f"{'example':10} {'ops':>5} {'II':>4} {'MII':>4} {'II/MII':>7} {'seconds':>8} {'aim':>5} {'s/aim':>6}"
    )
    for source in sorted(EXAMPLES.glob("*.macah")):
        if wanted and source.stem not in wanted:
            continue
        spent = seconds(source, arch)
        aim = AIMS.get(source.stem)
        limit = f"{aim:5.1f} {spent / aim:6.2f}" if aim else f"{'-':>5} {'-':>6}"
        for kernel in json.loads(macahc("--arch", arch, "--report", "--json", source))["kernels"]:
            ratio = kernel["ii"] / kernel["mii"]
            figures = f"{kernel['operations']:5} {kernel['ii']:4} {kernel['mii']:4} {ratio:7.2f}"
            print(f"{source.stem:10} {figures} {spent:8.2f} {limit}", flush=True)


if __name__ == "__main__":
    main()
