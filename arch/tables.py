"""Checked reading of an architecture file: typed values, unknown keys refused, every error with its line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w-]+)(?:\s*\.\s*[\w.-]+)?\s*=")

Path = tuple[str | int, ...]


class ArchitectureError(Exception):
    """An architecture file (or name) that describes no machine; `line` 0 means the file as a whole."""

    def __init__(self, message: str, file: str, line: int = 0) -> None:
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}")
        self.message, self.file, self.line = message, file, line


def _lines(text: str) -> dict[Path, int]:
    """The line of every table header and key; an element of an array of tables counts from 0."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            names = [part.strip(" \"'") for part in header[2].split(".")]
            table = ()
            for depth, name in enumerate(names):
                table += (name,)
                if header[1] == "[[" and depth == len(names) - 1:
                    counts[table] = counts.get(table, -1) + 1
                if table in counts:
                    table += (counts[table],)
            found[table] = number
        elif key := _KEY.match(line):
            found.setdefault((*table, key[1]), number)
    return found


@dataclass
class Table:
    """One table of the file; `take_…` removes a key, so that what is left at `close` is unknown."""

    file: str
    where: Path
    values: dict[str, Any]
    lines: dict[Path, int]
    known: list[str] = field(default_factory=list)

    @staticmethod
    def parse(text: str, file: str) -> Table:
        """The file's root table."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = int(place[1]) if place else len(text.splitlines())
            reason = str(error).split(" (at ")[0]
            raise ArchitectureError(f"not TOML: {reason}", file, line) from None
        return Table(file, (), values, _lines(text))

    def error(self, message: str, key: str | None = None) -> ArchitectureError:
        """An error at `key`, or at the nearest enclosing line that is known."""
        path = self.where if key is None else (*self.where, key)
        while path and path not in self.lines:
            path = path[:-1]
        return ArchitectureError(message, self.file, self.lines.get(path, 0))

    def _take(self, key: str, kind: type, default: Any) -> Any:
        self.known.append(key)
        if key not in self.values:
            if default is None:
                raise self.error(f"missing key '{key}'")
            return default
        value = self.values.pop(key)
        if type(value) is not kind:
            names = {
                int: "a whole number",
                bool: "true or false",
                str: "a string",
                dict: "a table",
                list: "a list",
            }
            raise self.error(f"'{key}' must be {names[kind]}", key)
        return value

    def take_int(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number from `low` to `high`."""
        value: int = self._take(key, int, default)
        if not low <= value <= high:
            raise self.error(f"'{key}' is {value}, but must be from {low} to {high}", key)
        return value

    def take_bool(self, key: str) -> bool:
        """True or false; false if absent."""
        return bool(self._take(key, bool, False))

    def take_name(self, key: str) -> str:
        """A word of letters, digits and underscores."""
        value: str = self._take(key, str, None)
        if not re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII):
            raise self.error(f"'{key}' must be a name, not '{value}'", key)
        return value

    def take_text(self, key: str) -> str:
        """A string; empty if absent."""
        return str(self._take(key, str, ""))

    def take_table(self, key: str) -> Table:
        """A table; empty if absent."""
        return Table(self.file, (*self.where, key), dict(self._take(key, dict, {})), self.lines)

    def take_tables(self, key: str) -> list[Table]:
        """An array of tables; empty if absent."""
        found = []
        for index, value in enumerate(self._take(key, list, [])):
            if type(value) is not dict:
                raise self.error(f"'{key}' must be a list of tables", key)
            found.append(Table(self.file, (*self.where, key, index), dict(value), self.lines))
        return found

    def close(self) -> None:
        """Refuse keys that nobody took."""
        for key in self.values:
            raise self.error(f"unknown key '{key}' (known here: {', '.join(self.known)})", key)
