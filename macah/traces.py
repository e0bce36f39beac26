"""Traces of two runs of one program, and where they part.

A run with `MACAH_TRACE=directory` leaves a file for each stream: a line about it, then one line for each
element that was sent. With `MACAH_TRACE_PLACES=1`, line n of `NAME.places` says where element n was sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from .diagnostic import Place

_AROUND = 3
"""Elements shown before and behind the first that differs."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first element in which a stream differs; None stands for an element that one run did not send.

    `rows` are elements around it, with their numbers. `sent` is where either run sent it.
    """

    stream: str
    about: str
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
    about = next(a, None)
    about = next(b, about) if about is None else (next(b, None), about)[1]
    before: deque[tuple[int, str | None, str | None]] = deque(maxlen=_AROUND)
    both = enumerate(zip_longest(a, b))
    for index, (x, y) in both:
        if x != y:
            behind = ((i, *pair) for i, pair in islice(both, _AROUND))
            rows = (*before, (index, x, y), *behind)
            places = (_sent(first, index), _sent(second, index))
            return Divergence(first.name, about or "", index, (x, y), rows, places)
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
