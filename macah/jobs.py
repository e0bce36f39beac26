"""How many processes may work at a time: what `--jobs` says, or `MACAH_JOBS` in the environment."""

from __future__ import annotations

import argparse
import os

USUAL, MOST = 2, 64


def processes(text: str) -> int:
    """The number in `text`; if that is empty, as many as there are cores, but few."""
    if not text:
        return min(USUAL, len(os.sched_getaffinity(0)))
    if not text.isdecimal() or not 0 < int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"'{text}' (or MACAH_JOBS) is not a number from 1 to {MOST}")
    return int(text)
