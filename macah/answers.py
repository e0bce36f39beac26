"""What was found out about kernels, kept from one compilation to the next (`sim/cache.py`).

To choose the form of a kernel and to map it may take a minute; most compilations are of kernels that are as
they were, with another mode, for a report, or in a program that has changed elsewhere. The name of an entry
is a digest of the question, of everything that the answer depends on, and of the compiler itself. A kernel
below other text than before is the same kernel: of places in the source, only how they lie to each other
counts.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import networkx

import backend
from backend.dfg import Place
from sim.cache import Cache
from sim.cache import cache as cache_of

T = TypeVar("T")

_ENTRIES = 1000
_WORTH = 0.5
"""Seconds that an answer takes if it is worth keeping."""
_LARGEST = 16 << 20
"""Bytes of an answer that is kept."""

_Exact = tuple[str, int, int, int, int, str]


def answered(
    question: str,
    about: Sequence[object],
    outside: Sequence[object],
    make: Callable[[], T],
    names_lines: bool = False,
) -> T:
    """What `make` makes, or has made before for the same question about the same.

    `outside`: objects that an answer may have in it but that are the present ones whenever it was found;
    what they are is a part of the question only if `about` tells. `names_lines`: the answer has texts in it
    that do, so it matters which lines they are.
    """
    entries = None if os.environ.get("MACAH_KERNELS") == "off" else cache_of(_ENTRIES, "kernels")
    if entries is None:
        return make()
    places: dict[_Exact, int] = {}
    try:
        name = _digest(question, about, places, names_lines)
    except RecursionError:  # pickle follows a chain of operations as deep as it is long
        return make()
    if (entry := entries.get(name)) is not None:
        return _Answer(entry, list(places), outside).load()  # type: ignore[no-any-return]
    begin = time.perf_counter()
    with _interrupts() as interrupts:
        found = make()
    if time.perf_counter() - begin >= _WORTH and not interrupts:
        _keep(entries, name, found, places, outside)
    return found


def _keep(
    entries: Cache, name: str, found: object, places: dict[_Exact, int], outside: Sequence[object]
) -> None:
    written = io.BytesIO()
    with suppress(_Elsewhere, RecursionError):
        _Written(written, places, outside).dump(found)
        if written.tell() <= _LARGEST:
            entries.put(name, written.getvalue())


def _digest(question: str, about: Sequence[object], places: dict[_Exact, int], names_lines: bool) -> str:
    """The name of an entry; finds the places there are."""
    written = io.BytesIO()
    _Asked(written, places).dump(about)
    asked = hashlib.sha256(written.getbuffer())
    layout = list(places) if names_lines else _layout(list(places))
    asked.update(repr((question, layout, _compiler())).encode())
    return asked.hexdigest()


def _layout(places: Sequence[_Exact]) -> list[tuple[object, ...]]:
    """Places, with their files and lines by rank."""
    files = {file: k for k, file in enumerate(dict.fromkeys(place[0] for place in places))}
    lines = {line: k for k, line in enumerate(sorted({place[:2] for place in places}))}
    return [(files[place[0]], lines[place[:2]], *place[2:]) for place in places]


@cache
def _compiler() -> str:
    """Who answers: the compiler's files, and what they run on."""
    package = Path(backend.__file__).parents[1]
    files = [
        path for part in ("arch", "backend", "macah") for path in sorted((package / part).rglob("*.[ps][yo]"))
    ]
    files += [Path(networkx.__file__).parents[1]]  # which changes with any library
    about = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr((sys.version, about)).encode()).hexdigest()


def _exact(place: Place) -> _Exact:
    return place.file, place.line, place.column, place.begin, place.end, place.macro


class _Values(pickle.Pickler):
    """Writes the fields of records that make them what they are, not what was noted in them since."""

    def __init__(self, file: io.BytesIO, places: dict[_Exact, int]) -> None:
        super().__init__(file, protocol=5)
        self._places = places

    def reducer_override(self, value: object) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return _record, (type(value), *(getattr(value, name) for name in _names(type(value))))
        return NotImplemented


class _Asked(_Values):
    """Writes objects for their digest: the same bytes whatever the hashes of strings are."""

    def persistent_id(self, value: object) -> object:
        if type(value) is Place:
            return self._places.setdefault(_exact(value), len(self._places))
        return sorted(map(repr, value)) if isinstance(value, (set, frozenset)) else None


class _Elsewhere(Exception):
    """An answer has a place in it that the question has not, so nobody knows where that will be."""


class _Written(_Values):
    """Writes an answer, to be read where places and the objects outside are others."""

    def __init__(self, file: io.BytesIO, places: dict[_Exact, int], outside: Sequence[object]) -> None:
        super().__init__(file, places)
        self._outside = {id(thing): k for k, thing in enumerate(outside)}

    def persistent_id(self, value: object) -> object:
        if type(value) is not Place:
            at = self._outside.get(id(value))
            return None if at is None else (False, at)
        if (place := self._places.get(_exact(value))) is None:
            raise _Elsewhere
        return True, place


@cache
def _names(record: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record) if field.init)


def _record(kind: type, *values: object) -> object:
    """A record with these fields."""
    return kind(**dict(zip(_names(kind), values, strict=True)))


class _Answer(pickle.Unpickler):
    def __init__(self, entry: bytes, places: Sequence[_Exact], outside: Sequence[object]) -> None:
        super().__init__(io.BytesIO(entry))
        self._places = [Place(*place) for place in places]
        self._outside = outside

    def persistent_load(self, pid: tuple[bool, int]) -> object:
        is_place, at = pid
        return self._places[at] if is_place else self._outside[at]


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """The signals of Ctrl-C meanwhile: who is interrupted may have made the best of it."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen
        return

    def noted(number: int, frame: FrameType | None) -> Any:
        seen.append(number)
        return before(number, frame)

    signal.signal(signal.SIGINT, noted)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
