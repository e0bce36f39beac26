"""How many processes the mapper may have: `--jobs`, or `MACAH_JOBS` in the environment."""

from __future__ import annotations

import argparse
import os

USUAL, MOST = 2, 64


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The option; without a number it is as many as there are cores, but few."""
    parser.add_argument(
        "--jobs",
        type=_count,
        default=os.environ.get("MACAH_JOBS", ""),
        metavar="N",
        help="processes for mapping, which change nothing but its time (default: the cores, up to 2)",
    )


def _count(text: str) -> int:
    if not text:
        return min(USUAL, len(os.sched_getaffinity(0)))
    if not text.isdecimal() or not 0 < int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"'{text}' (or MACAH_JOBS) is not a number from 1 to {MOST}")
    return int(text)
