"""Operations on streams, and where in which thread they stand."""

from __future__ import annotations

from collections.abc import Iterable
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
    """An operation on a stream: `kind` is send, receive, close, ended or look. Or on a thread: start or join.

    `position` counts events; `loops` are those around it, also around the calls that lead there, FOR loops
    with negative numbers; `conditions` are the `id`s of the declarations that the conditions around it
    mention, in its function. `last`: the innermost loop is over after it, or a switch.
    """

    kind: str
    node: Any
    stream: Any
    values: Values
    thread: Thread
    position: int
    loops: tuple[int, ...]
    entry: Entry | None
    conditions: frozenset[int]
    last: bool = False

    @property
    def site(self) -> Site | None:
        """The creation of the stream, if it is certain."""
        (only,) = self.values if len(self.values) == 1 else (None,)
        return only if isinstance(only, Site) else None

    def shared_loops(self, other: Event) -> int:
        """How many loops are around both."""
        pairs = enumerate(zip(self.loops, other.loops, strict=False))
        return next((n for n, (a, b) in pairs if a != b), min(len(self.loops), len(other.loops)))

    def leads_to(self, later: Event, outside: int = 0) -> bool:
        """Whether the same thread may come from here to `later`, without leaving all but `outside` loops."""
        return self.position < later.position or self.shared_loops(later) > outside

    def repeats_before(self, later: Event) -> bool:
        """Whether this happens again and again in a loop that `later` does not stand in; FOR is none."""
        return any(loop > 0 for loop in self.loops_before(later))

    def loops_before(self, later: Event) -> tuple[int, ...]:
        """The loops that repeat this and that `later` does not stand in."""
        return self.loops[: len(self.loops) - self.last][self.shared_loops(later) :]


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
    conditions: frozenset[int] = frozenset()
    last: bool = False


def by_entry(events: Iterable[Event]) -> dict[Entry, list[Event]]:
    """Those in kernels, by kernel and the place that it is entered from."""
    found: dict[Entry, list[Event]] = {}
    for event in events:
        if event.entry is not None:
            found.setdefault(event.entry, []).append(event)
    return found
