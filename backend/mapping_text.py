"""Mappings as text to read, compare line by line, and hand back; docs/graphs.md describes the form."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from arch.fabric import Fabric

from .dfg import DFG, Place, show_dfg
from .mapping import Mapping, MemoryPlace, Placement, Route, Schedule
from .relays import forms
from .warm import Old

HEADER = "macah-mapping 1"
"""The first line: the name of the form, and its version."""


class MappingFileError(Exception):
    """A mapping file that holds no mapping: what is wrong, and where."""

    def __init__(self, message: str, where: Place) -> None:
        super().__init__(message)
        self.message, self.where = message, where


def digest(dfg: DFG) -> str:
    """What tells graphs apart: their nodes, edges and orders, whatever places in files they have."""
    plain = replace(dfg, name="", nodes=tuple(replace(node, where=None) for node in dfg.nodes))
    return hashlib.sha256(show_dfg(plain).encode()).hexdigest()[:16]


def word(text: str) -> str:
    """A name without what separates names."""
    return re.sub(r"[\s#@]+", "_", text) or "_"


def write_mapping(mapping: Mapping, names: Sequence[str]) -> str:
    """The text of a mapping; `names` are those of the first nodes, the others are called by number."""
    dfg, fabric, placement = mapping.dfg, mapping.fabric, mapping.placement
    lines = [
        HEADER,
        f"graph {digest(dfg)} {len(dfg.nodes)} nodes: {word(dfg.name)}",
        f"fabric {fabric.digest[:16]} {fabric.name}",
        f"interval {mapping.interval}",
    ]
    for memory, place in zip(dfg.memories, placement.memory, strict=True):
        lines.append(f"array {fabric.memories[place.bank].name} {place.base} # {word(memory.name)}")
    for node in dfg.nodes:
        name = f" # {word(names[node.id])}" if node.id < len(names) else ""
        unit = fabric.units[placement.unit[node.id]].name
        lines.append(
            f"node {node.id} {word(node.spelling)} @{placement.schedule.start[node.id]} {unit}{name}"
        )
    for route in sorted(mapping.routes, key=lambda r: (r.consumer, r.position)):
        steps = " ".join(f"{fabric.resources[r].name}@{cycle}" for r, cycle in route.steps)
        lines.append(f"route {route.consumer}.{route.position} {steps}")
    return "\n".join(lines) + "\n"


def read_mapping(text: str, file: str, dfg: DFG, fabric: Fabric) -> Mapping:
    """The mapping of a graph, or of one of its forms with stages (`relays.py`), on a fabric, right or not.

    See `check_mapping`. Errors: MappingFileError.
    """
    return _Reader(text, file, dfg, fabric).mapping()


def read_old(text: str, file: str, fabric: Fabric) -> Old:
    """What a new mapping can begin with: the places of nodes with names. Errors: MappingFileError."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != HEADER:
        raise MappingFileError(f"'{HEADER}' expected", Place(file, 1, 1))
    interval, places = 0, {}
    for number, line in enumerate(lines, 1):
        if found := re.fullmatch(r"fabric (\w+) (\S+)", line.rstrip()):
            if found[1] != fabric.digest[:16]:
                raise MappingFileError(
                    f"the mapping is for another fabric: {found[2]}", Place(file, number, 8)
                )
        elif found := re.fullmatch(r"interval ([1-9]\d{0,5})", line.rstrip()):
            interval = int(found[1])
        elif found := re.fullmatch(r"node \d+ (\S+) @(\d{1,5}) (\S+) # (\S+)", line.rstrip()):
            places[found[4]] = found[1], int(found[2]), found[3]
    if not interval:
        raise MappingFileError("'interval N' is missing", Place(file, 1, 1))
    return Old(interval, places)


class _Reader:
    """The lines of a file, one by one; comments begin with ` #`."""

    def __init__(self, text: str, file: str, dfg: DFG, fabric: Fabric) -> None:
        self.file, self.dfg, self.fabric = file, dfg, fabric
        self.lines = [line.split(" #")[0].rstrip() for line in text.splitlines()]
        self.at = 0
        self.resources = {resource.name: resource.id for resource in fabric.resources}
        self.units = {unit.name: unit.id for unit in fabric.units}
        self.banks = {bank.name: bank.id for bank in fabric.memories}

    def mapping(self) -> Mapping:
        self._take(re.escape(HEADER), f"'{HEADER}'")
        graph = self._take(r"graph (\w+) (\d+) nodes: .*", "'graph DIGEST N nodes: NAME'")
        form = next((form for form in forms(self.dfg) if digest(form) == graph[1]), None)
        if form is None:
            raise self._error(f"the mapping is of another graph than '{self.dfg.name}'", graph.start(1))
        self.dfg = form
        fabric = self._take(r"fabric (\w+) (\S+)", "'fabric DIGEST NAME'")
        if fabric[1] != self.fabric.digest[:16]:
            raise self._error(f"the mapping is for another fabric: {fabric[2]}", fabric.start(1))
        interval = int(self._take(r"interval ([1-9]\d{0,5})", "'interval N'")[1])
        memory = tuple(self._memory() for _ in self.dfg.memories)
        nodes = [self._node(n) for n in range(len(self.dfg.nodes))]
        uses = [(consumer, position) for consumer, position, _ in self.dfg.uses()]
        routes = tuple(self._route(*use) for use in uses)
        rest = next((k for k, line in enumerate(self.lines) if k >= self.at and line), None)
        if rest is not None:
            self.at = rest + 1
            raise self._error("more than the graph has", 0)
        schedule = Schedule(self.dfg, interval, tuple(start for start, _ in nodes))
        return Mapping(Placement(schedule, self.fabric, tuple(unit for _, unit in nodes), memory), routes)

    def _take(self, pattern: str, expected: str) -> re.Match[str]:
        """The next line that is not empty, which has to match."""
        while self.at < len(self.lines) and not self.lines[self.at]:
            self.at += 1
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        self.at += 1
        found = re.fullmatch(pattern, line)
        if found is None:
            raise self._error(f"{expected} expected", 0)
        return found

    def _error(self, message: str, column: int) -> MappingFileError:
        """An error in the line that was taken last."""
        return MappingFileError(message, Place(self.file, min(self.at, max(1, len(self.lines))), column + 1))

    def _named(self, table: dict[str, int], found: re.Match[str], group: int, what: str) -> int:
        if found[group] not in table:
            raise self._error(f"{self.fabric.name} has no {what} '{found[group]}'", found.start(group))
        return table[found[group]]

    def _memory(self) -> MemoryPlace:
        found = self._take(r"array (\S+) (\d{1,9})", "'array BANK BASE'")
        return MemoryPlace(self._named(self.banks, found, 1, "memory"), int(found[2]))

    def _node(self, n: int) -> tuple[int, int]:
        """Start and unit."""
        spelling = re.escape(word(self.dfg.nodes[n].spelling))
        found = self._take(rf"node {n} {spelling} @(\d{{1,5}}) (\S+)", f"'node {n} … @CYCLE UNIT'")
        return int(found[1]), self._named(self.units, found, 2, "unit")

    def _route(self, consumer: int, position: int) -> Route:
        steps = []
        found = self._take(
            rf"route {consumer}\.{position}((?: \S+@\d{{1,9}})+)",
            f"'route {consumer}.{position} RESOURCE@CYCLE …'",
        )
        for step in re.finditer(r"(\S+)@(\d+)", found[0]):
            steps.append((self._named(self.resources, step, 1, "resource"), int(step[2])))
        return Route(consumer, position, tuple(steps))
