"""A fabric as the exact engine sees it: what is interchangeable is one thing with a capacity.

Registers that select the same resources, all of themselves included or none, and are read by the same ones
are one *cell*; so is any other register or wire. Units that do the same operations for the same readers from
the same sources are one *site*. Nothing is lost: words that a cell holds in a slot, no more than it has
members, can be given members one cycle after the other, as each of them can select all of the others.

Registers that are alike but can select only themselves of each other are a *still* cell. There, counting
words is not all (arcs on a circle may need more colours than overlap anywhere): `exact_decode.py` tries to
give members; if that fails, the engine looks again on a ground where such registers are cells of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import networkx as nx

from arch.fabric import RESULT_FAR, Fabric, Kind, Unit
from arch.ops import STREAM_OPS


@dataclass(frozen=True, slots=True)
class Cell:
    """Interchangeable registers (`delay` 1) or wires (0), and the cells that they can select.

    `still`: a word stays in the member that it enters, or comes in anew.
    """

    members: tuple[int, ...]
    delay: int
    sources: tuple[int, ...]
    still: bool = False


@dataclass(frozen=True, slots=True)
class Outlet:
    """What reads a result: cells, and basins in the very cycle of the result.

    Or the cell, of one register, in which an operation leaves its result, wanted or not (`into`).
    """

    cells: tuple[int, ...]
    basins: tuple[int, ...]
    into: int | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Interchangeable units. `basins[p]` is what operand p can read; `outlets[op]` by output.

    `clashes` are sets of operations that share a result and do not take equally long.
    """

    members: tuple[int, ...]
    latency: dict[str, int]
    basins: tuple[int, ...]
    outlets: dict[str, tuple[Outlet, ...]]
    bank: int | None
    clashes: tuple[frozenset[tuple[str, int]], ...]


class Ground:
    """The cells, basins and sites of a fabric. A basin is the set of cells that an operand can select.

    It knows no planes: where a value may be is the same for all.
    """

    def __init__(self, fabric: Fabric, still: bool) -> None:
        assert not fabric.planes, "proofs do not know planes of bits"
        self.fabric = fabric
        self.cells: list[Cell] = []
        self.cell_of: dict[int, int] = {}
        self._join_cells(still)
        self.basins: list[tuple[int, ...]] = []
        self.basin_of: dict[int, int] = {}
        self._number_basins()
        self.sites: list[Site] = []
        self.site_of: list[int] = [-1] * len(fabric.units)
        self._join_sites()
        self.circular = self._circular()
        self.readers: list[list[int]] = [[] for _ in self.cells]
        for c, cell in enumerate(self.cells):
            for source in cell.sources:
                self.readers[source].append(c)

    def _join_cells(self, still: bool) -> None:
        groups = self._alike(still)
        for c, (members, _) in enumerate(groups):
            self.cell_of.update(dict.fromkeys(members, c))
        for members, stays in groups:
            first = self.fabric.resources[members[0]]
            delay, sources = self.fabric.cost(first.id), self._cells(first.sources)
            self.cells.append(Cell(tuple(members), delay, sources, stays))

    def _alike(self, still: bool) -> list[tuple[list[int], bool]]:
        """Sets of registers and wires that can stand for each other, and whether they are still."""
        fabric = self.fabric
        results = {r for unit in fabric.units for outputs in unit.results.values() for r in outputs}
        moving: dict[tuple[object, ...], list[int]] = {}
        staying: dict[tuple[object, ...], list[int]] = {}
        for r in fabric.resources:
            if r.kind in (Kind.REGISTER, Kind.WIRE):
                # All of them select themselves and so each other, or none does.
                key = (r.kind, r.id in r.sources, frozenset(r.sources), frozenset(fabric.sinks[r.id]))
                alone = r.id in results or r.static is not None
                moving.setdefault((*key, r.id if alone else -1), []).append(r.id)
        found = []
        for members in moving.values():
            one = fabric.resources[members[0]]
            if still and len(members) == 1 and one.id in one.sources and one.id not in results:
                others = frozenset({*one.sources} - {one.id}), frozenset({*fabric.sinks[one.id]} - {one.id})
                staying.setdefault(others, []).append(one.id)
            else:
                found.append((members, False))
        found += [(members, len(members) > 1) for members in staying.values()]
        return sorted(found)

    def _circular(self) -> frozenset[int]:
        """The wires that lead back to themselves by wires alone."""
        wires: nx.DiGraph[int] = nx.DiGraph()
        for c, cell in enumerate(self.cells):
            if cell.delay == 0:
                wires.add_edges_from((s, c) for s in cell.sources if self.cells[s].delay == 0)
        parts = nx.strongly_connected_components(wires)
        return frozenset(c for part in parts if len(part) > 1 for c in part)

    def _cells(self, resources: Iterable[int]) -> tuple[int, ...]:
        """The cells among resources, in order."""
        return tuple(sorted({self.cell_of[r] for r in resources if r in self.cell_of}))

    def _number_basins(self) -> None:
        numbers: dict[frozenset[int], int] = {}
        for r in self.fabric.resources:
            if r.kind is Kind.OPERAND:
                self.basin_of[r.id] = numbers.setdefault(frozenset(r.sources), len(numbers))
        self.basins = [self._cells(sources) for sources in numbers]

    def _join_sites(self) -> None:
        joined: dict[tuple[object, ...], list[Unit]] = {}
        for unit in self.fabric.units:
            outlets = {op: tuple(self._outlet(r) for r in rs) for op, rs in unit.results.items()}
            clashes = self._clashes(unit)
            own = bool(clashes) or not STREAM_OPS.isdisjoint(unit.latency)
            basins = tuple(self.basin_of[o] for o in unit.operands)
            key = (
                tuple(sorted(unit.latency.items())),
                basins,
                tuple(sorted(outlets.items(), key=lambda item: item[0])),
                unit.memory,
                unit.id if own else -1,
            )
            joined.setdefault(key, []).append(unit)
        for s, units in enumerate(joined.values()):
            first = units[0]
            for unit in units:
                self.site_of[unit.id] = s
            outlets = {op: tuple(self._outlet(r) for r in rs) for op, rs in first.results.items()}
            basins = tuple(self.basin_of[o] for o in first.operands)
            members = tuple(u.id for u in units)
            self.sites.append(
                Site(members, first.latency, basins, outlets, first.memory, self._clashes(first))
            )

    def _outlet(self, result: int) -> Outlet:
        if result in self.cell_of:
            return Outlet((), (), self.cell_of[result])
        sinks = self.fabric.sinks[result]
        basins = sorted({self.basin_of[r] for r in sinks if r in self.basin_of})
        return Outlet(self._cells(sinks), tuple(basins))

    def _clashes(self, unit: Unit) -> tuple[frozenset[tuple[str, int]], ...]:
        """For each result that operations of different latencies share, those (operation, output)."""
        sharing: dict[int, set[tuple[str, int]]] = {}
        for op, results in unit.results.items():
            for output, result in enumerate(r for r in results if r not in self.cell_of):
                sharing.setdefault(result, set()).add((op, output))
        return tuple(
            frozenset(ops) for ops in sharing.values() if len({unit.latency[op] for op, _ in ops}) > 1
        )

    def candidates(self, op: str) -> tuple[int, ...]:
        """The sites that can do an operation; loads and stores need a memory."""
        return tuple(
            s
            for s, site in enumerate(self.sites)
            if op in site.latency and (op not in ("load", "store") or site.bank is not None)
        )

    def spread(self, seeds: Iterable[tuple[int, int]]) -> list[int]:
        """The first cycle in which a word can be in each cell that starts at (cell, cycle) of `seeds`."""
        return self._relax(seeds, self.readers, forward=True)

    def drain(self, seeds: Iterable[tuple[int, int]]) -> list[int]:
        """The fewest cycles from each cell to any (cell, further cycles) of `seeds`."""
        sources = [cell.sources for cell in self.cells]
        return self._relax(seeds, sources, forward=False)

    def _relax(
        self, seeds: Iterable[tuple[int, int]], ways: Sequence[Sequence[int]], forward: bool
    ) -> list[int]:
        far = [RESULT_FAR] * len(self.cells)
        queue: deque[int] = deque()
        for cell, cycle in sorted(seeds, key=lambda seed: seed[1]):
            if cycle < far[cell]:
                far[cell] = cycle
                queue.append(cell)
        while queue:
            here = queue.popleft()
            for there in ways[here]:
                cycle = far[here] + self.cells[there if forward else here].delay
                if cycle < far[there]:
                    far[there] = cycle
                    queue.append(there)
        return far


@lru_cache(maxsize=8)
def ground(fabric: Fabric, still: bool = True) -> Ground:
    """The fabric's ground, with still cells or without."""
    return Ground(fabric, still)
