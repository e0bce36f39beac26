#!/usr/bin/env python3
"""What becomes of the kernels in benchmarks/kernels: operations, intervals and cycles, mapped on grid8x8.

    .venv/bin/python benchmarks/kernels.py [--arch NAME] [KERNEL...]

`MII` is the lower bound of the graph that the passes made; `cycles` are those of one run of the program,
which must print the same as in mode `c`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "MACAH_STATS": "1"}
    )


def row(source: Path, arch: str) -> tuple[str, bool]:
    """A kernel's line of the table, and whether both modes print the same."""
    begin = time.perf_counter()
    found = json.loads(macahc("--arch", arch, "--report", "--json", source).stdout)["kernels"][0]
    spent = time.perf_counter() - begin
    mapped = macahc("run", "--arch", arch, source)
    same = mapped.stdout == macahc("run", "--mode", "c", source).stdout
    cycles = int(mapped.stderr.splitlines()[-1].split()[-2])
    names = ("operations", "selects", "predicates", "ii", "mii")
    figures = " ".join(f"{found[name]:10}" for name in names)
    return f"{source.stem:16} {figures} {spent:8.2f} {cycles:9} {'yes' if same else 'NO':>5}", same


def main() -> int:
    """1 if a kernel's modes differ."""
    parser = argparse.ArgumentParser(description="the kernels of benchmarks/kernels, mapped")
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    sources = [KERNELS / f"{name}.macah" for name in words.kernels] or sorted(KERNELS.glob("*.macah"))
    titles = " ".join(f"{title:>10}" for title in ("operations", "selects", "predicates", "II", "MII"))
    print(f"{'kernel':16} {titles} {'seconds':>8} {'cycles':>9} {'same':>5}")
    good = True
    for source in sources:
        line, same = row(source, words.arch)
        good &= same
        print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
