"""JSON texts with places: values taken by key and type, and errors where they are."""

from __future__ import annotations

from typing import Any

from .dfg import Place
from .foreign import GraphError
from .positions import json_offset, place_at

_NAMES = {
    int: "a whole number",
    str: "a string",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}

Path = tuple[str | int, ...]


class Source:
    """A text that is read, to find places in it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file

    def error(self, message: str, path: Path) -> GraphError:
        """An error at the value that `path` leads to."""
        return GraphError(message, self.place(path))

    def place(self, path: Path) -> Place:
        """Where the value begins that `path` leads to."""
        return place_at(self.file, self.text, json_offset(self.text, path))

    def locate(self, what: str, position: int) -> Place:
        """See `foreign.Locate`."""
        return self.place((f"{what}s", position) if what else ())

    def take(
        self, table: dict[str, Any], key: str, kinds: tuple[type, ...], path: Path, default: Any = None
    ) -> Any:
        """The value of a key, of one of `kinds`."""
        value = table.get(key, default)
        if value is None:
            raise self.error(f"'{key}' is missing", path)
        if type(value) not in kinds:
            names = " or ".join(_NAMES[kind] for kind in kinds)
            raise self.error(f"'{key}' must be {names}", (*path, key))
        if type(value) is str:
            # JSON can have halves of surrogate pairs, no output can.
            return value.encode("utf-8", "replace").decode()
        return value

    def items(self, table: dict[str, Any], key: str, kinds: tuple[type, ...], path: Path) -> list[Any]:
        """The values of a list, each of one of `kinds`; none if there is no list."""
        found = self.take(table, key, (list,), path, [])
        for k, value in enumerate(found):
            if type(value) not in kinds:
                names = " or ".join(_NAMES[kind] for kind in kinds)
                raise self.error(f"in '{key}', each must be {names}", (*path, key, k))
        return [self.take({key: value}, key, kinds, path) for value in found]

    def tables(
        self, table: dict[str, Any], key: str, path: Path, optional: bool = False
    ) -> list[dict[str, Any]]:
        """The objects of a list."""
        found: list[Any] = self.take(table, key, (list,), path, [] if optional else None)
        for k, value in enumerate(found):
            if type(value) is not dict:
                raise self.error(f"'{key}' must be objects", (*path, key, k))
        return found
