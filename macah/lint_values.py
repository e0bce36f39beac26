"""What variables may hold, as far as streams go: stream creations, functions, and addresses of variables.

Values flow without regard to the order of statements; one element of an array is told from another where its
index is a literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from macah.diagnostic import Place


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """A place where a stream is created, or a thread started. It stands for all those that it creates."""

    node: Any
    where: Place


@dataclass(frozen=True, slots=True)
class Location:
    """A variable, or the member or element of one that `path` leads to. An index of None is any."""

    thing: object
    path: tuple[str | int | None, ...] = ()

    def member(self, name: str) -> Location:
        """One of its members."""
        return Location(self.thing, (*self.path, name))

    def element(self, index: int | None) -> Location:
        """One of its elements."""
        return Location(self.thing, (*self.path, index))

    def moved(self, by: int | None) -> Location:
        """Where a pointer to this points, moved by some elements."""
        if not self.path or isinstance(self.path[-1], str):
            return self
        here = self.path[-1]
        return Location(self.thing, (*self.path[:-1], None if by is None or here is None else here + by))


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a location."""

    of: Location


@dataclass(frozen=True, slots=True)
class Code:
    """A function with a body."""

    name: str


class Unknown:
    """A value from code that is not there to be seen."""


UNKNOWN = Unknown()
ANYWHERE = Location(UNKNOWN)
Value = Site | Address | Code | Unknown
Values = frozenset[Value]
NOTHING: Values = frozenset()
_DEEPEST = 6


@dataclass
class Store:
    """The values at all locations; `changed` says that one has been added."""

    changed: bool = False
    escaped: set[object] = field(default_factory=set)
    _values: dict[object, dict[tuple[str | int | None, ...], Values]] = field(default_factory=dict)

    def read(self, location: Location) -> Values:
        """All that the location may hold."""
        found = {UNKNOWN} if location.thing in self.escaped or location.thing is UNKNOWN else set[Value]()
        for path, values in self._values.get(location.thing, {}).items():
            if len(path) == len(location.path) and _meet(path, location.path):
                found |= values
        return frozenset(found)

    def write(self, location: Location, values: Iterable[Value]) -> None:
        """Adds values to a location."""
        new = frozenset(values)
        if location.thing is UNKNOWN:
            self.escape(new)
        elif len(location.path) <= _DEEPEST:
            paths = self._values.setdefault(location.thing, {})
            old = paths.get(location.path, NOTHING)
            if not new <= old:
                paths[location.path] = old | new
                self.changed = True
            if location.thing in self.escaped:
                self.escape(new)

    def copy(self, source: Location, target: Location) -> None:
        """Adds what the members and elements of a location hold to those of another."""
        depth = len(source.path)
        for path, values in list(self._values.get(source.thing, {}).items()):
            if len(path) > depth and _meet(path[:depth], source.path):
                self.write(Location(target.thing, (*target.path, *path[depth:])), values)
        if source.thing in self.escaped or source.thing is UNKNOWN:
            self.escape_thing(target.thing)

    def escape(self, values: Iterable[Value]) -> None:
        """Unseen code may do anything with these."""
        for value in values:
            if isinstance(value, Site) and value not in self.escaped:
                self.escaped.add(value)
                self.changed = True
            elif isinstance(value, Address):
                self.escape_thing(value.of.thing)

    def escape_thing(self, thing: object) -> None:
        """Unseen code may write to a variable."""
        if thing not in self.escaped and thing is not UNKNOWN:
            self.escaped.add(thing)
            self.changed = True
            for values in list(self._values.get(thing, {}).values()):
                self.escape(values)


def locations(values: Values) -> Iterator[Location]:
    """Where pointers point."""
    for value in values:
        if isinstance(value, Address):
            yield value.of
        elif isinstance(value, Unknown):
            yield ANYWHERE


def _meet(a: tuple[str | int | None, ...], b: tuple[str | int | None, ...]) -> bool:
    return all(x == y or _any_index(x, y) for x, y in zip(a, b, strict=True))


def _any_index(x: str | int | None, y: str | int | None) -> bool:
    return (x is None or y is None) and not isinstance(x, str) and not isinstance(y, str)
