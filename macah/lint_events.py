"""Operations on streams, and where in which thread they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from macah.lint_values import Site, Values
from macah.syntax import KernelBlock


@dataclass(frozen=True, eq=False, slots=True)
class Thread:
    """One start of a function in a thread of its own; `name` is the function's."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """One kernel block, entered from one place; `depth` loops are around it."""

    node: KernelBlock
    depth: int


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """An operation on a stream: `kind` is send, receive, close, ended or look.

    `position` counts events; `loops` are those around it, also around the calls that lead there.
    """

    kind: str
    node: Any
    stream: Any
    values: Values
    thread: Thread
    position: int
    loops: tuple[int, ...]
    entry: Entry | None

    @property
    def site(self) -> Site | None:
        """The creation of the stream, if it is certain."""
        (only,) = self.values if len(self.values) == 1 else (None,)
        return only if isinstance(only, Site) else None

    def leads_to(self, later: Event) -> bool:
        """Whether the same thread may come from here to `later`; within a kernel, in one execution of it."""
        outside = self.entry.depth if self.entry is not None and self.entry is later.entry else 0
        shared = sum(1 for _ in _prefix(self.loops, later.loops))
        return self.position < later.position or shared > outside


def _prefix(a: tuple[int, ...], b: tuple[int, ...]) -> Iterator[int]:
    for x, y in zip(a, b, strict=False):
        if x != y:
            return
        yield x


@dataclass(frozen=True, slots=True)
class Context:
    """One walk into a function. `chain` are the functions that lead there, each with its context's number."""

    number: int
    chain: tuple[tuple[str, int], ...] = ()


@dataclass
class Walk:
    """Where a walk is."""

    thread: Thread
    context: Context
    loops: tuple[int, ...] = ()
    entry: Entry | None = None
