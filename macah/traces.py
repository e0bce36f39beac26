"""Traces of two runs of one program, and where they part.

A run with `MACAH_TRACE=directory` leaves a file for each stream: a line `# FILE:LINE: LAYOUT`, then one for
each element that was sent. With `MACAH_TRACE_PLACES=1`, line n of its `.places` says where that was sent.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from .diagnostic import Place

_HEAD = re.compile(r"# (?P<file>.*):(?P<line>\d+): .*")
_AROUND = 3
"""Elements shown before and behind the first that differs."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first element in which a stream differs; None stands for an element that one run did not send.

    `created` is where the stream was made, `rows` are elements around the first with their numbers, `sent` is
    where either run sent it.
    """

    stream: str
    created: Place | None
    index: int
    values: tuple[str | None, str | None]
    rows: tuple[tuple[int, str | None, str | None], ...]
    sent: tuple[Place | None, Place | None]


def divergences(first: Path, second: Path) -> list[Divergence]:
    """The streams that differ between two trace directories, the most telling one first."""
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir() if _is_trace(path)})
    found = [d for name in names if (d := _divergence(first / name, second / name)) is not None]
    # What is wrong spreads downstream, to later elements; one cut short may have been stopped early.
    return sorted(found, key=lambda d: (None in d.values, d.index))


def _is_trace(path: Path) -> bool:
    return path.is_file() and path.suffix != ".places"


def _divergence(first: Path, second: Path) -> Divergence | None:
    a, b = _lines(first), _lines(second)
    heads = next(a, None), next(b, None)
    head = _HEAD.fullmatch(heads[0] or heads[1] or "")
    created = Place(head["file"], int(head["line"])) if head else None
    before: deque[tuple[int, str | None, str | None]] = deque(maxlen=_AROUND)
    both = enumerate(zip_longest(a, b))
    for index, (x, y) in both:
        if x != y:
            behind = ((i, *pair) for i, pair in islice(both, _AROUND))
            rows = (*before, (index, x, y), *behind)
            places = (_sent(first, index), _sent(second, index))
            return Divergence(first.stem, created, index, (x, y), rows, places)
        before.append((index, x, y))
    return None


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with path.open(errors="replace") as file:
            for line in file:
                yield line.rstrip("\n")


def _sent(trace: Path, index: int) -> Place | None:
    """Where an element was sent, if the run noted it."""
    line = next(islice(_lines(trace.with_name(trace.name + ".places")), index, None), "")
    file, _, number = line.rpartition(":")
    return Place(file, int(number)) if file and number.isdecimal() else None
