#!/usr/bin/env python3
"""Runs all benchmarks, one table each, which takes hours: `.venv/bin/python benchmarks/all.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The mapper's own measurement takes many minutes over all its graphs; these are the sets made here.
PARTS = (
    ("compile.py",),
    ("simulation.py",),
    ("streams.py",),
    ("translated.py",),
    ("scale.py",),
    ("mapping.py", "--set", "kernels", "--set", "layered", "--set", "mixed", "--set", "random"),
    ("sweep.py",),
    ("literature.py",),
    ("planes.py",),
    ("kernels.py",),
    ("ablation.py",),
    ("published.py",),
    ("motion.py",),
)


def main() -> int:
    """The number of benchmarks that failed."""
    failed = 0
    for part, *words in PARTS:
        print(f"== {part} {' '.join(words)}".rstrip(), flush=True)
        failed += subprocess.run([sys.executable, HERE / part, *words]).returncode != 0
        print(flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
