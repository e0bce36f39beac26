"""Symmetries of a fabric: where every site could be instead, all others moving along.

Guesses come from the drawing (shifts, reflections and turns of the tiles); each is then held against the
structure, so a drawing that means nothing costs symmetries and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from .exact_model import Ground, Outlet, Site

MOST_TILES = 64
"""Larger fabrics are not looked at: there are too many guesses, and such cases are not decided anyway."""

Permutation = tuple[int, ...]
"""For each site, or tile, the one that it is moved to."""


@lru_cache(maxsize=8)
def symmetries(ground: Ground) -> list[Permutation]:
    """Symmetries of a fabric, without the one that moves nothing; none if some of it is configured once.

    Only guesses that no others compose are held against the structure.
    """
    if len(ground.fabric.tiles) > MOST_TILES or ground.fabric.settings:
        return []
    same = tuple(range(len(ground.sites)))
    group: dict[Permutation, Permutation] = {tuple(t.id for t in ground.fabric.tiles): same}
    generators: list[tuple[Permutation, Permutation]] = []
    for tiles in _guesses(ground):
        if tiles in group or (moved := _moved(ground, tiles)) is None:
            continue
        generators.append((tiles, moved))
        waiting = list(group.items())
        while waiting:
            one = waiting.pop()
            for made in ((_after(g[0], one[0]), _after(g[1], one[1])) for g in generators):
                if made[0] not in group:
                    group[made[0]] = made[1]
                    waiting.append(made)
    return sorted({p for p in group.values() if p != same})


def _after(second: Permutation, first: Permutation) -> Permutation:
    """One move after the other."""
    return tuple(second[k] for k in first)


def _guesses(ground: Ground) -> Iterator[Permutation]:
    """For each tile, the one that it may be moved to."""
    places = {(t.row, t.column): t.id for t in ground.fabric.tiles}
    rows = 1 + max(row for row, _ in places)
    columns = 1 + max(column for _, column in places)
    for turned in (False, True)[: 1 + (rows == columns)]:
        for down in (1, -1):
            for right in (1, -1):
                for row in range(rows):
                    for column in range(columns):
                        ways = [
                            (t.column, t.row) if turned else (t.row, t.column) for t in ground.fabric.tiles
                        ]
                        moved = [((row + down * r) % rows, (column + right * c) % columns) for r, c in ways]
                        if all(place in places for place in moved):
                            yield tuple(places[place] for place in moved)


def _moved(ground: Ground, tiles: Sequence[int]) -> Permutation | None:
    """How the sites move along with their tiles; None if that is no symmetry."""
    cell = _matched(_cell_looks(ground, lambda t: tiles[t]), _cell_looks(ground, lambda t: t))
    site = _matched(_site_looks(ground, lambda t: tiles[t]), _site_looks(ground, lambda t: t))
    if cell is None or site is None:
        return None

    for c, one in enumerate(ground.cells):
        if {cell[s] for s in one.sources} != set(ground.cells[cell[c]].sources):
            return None
    banks: dict[int | None, int | None] = {}
    same = list(range(len(ground.cells)))
    for s, here in enumerate(ground.sites):
        there = ground.sites[site[s]]
        if _wiring(ground, here, cell) != _wiring(ground, there, same):
            return None
        if here.clashes != there.clashes or banks.setdefault(here.bank, there.bank) != there.bank:
            return None
    return tuple(site)


def _wiring(ground: Ground, site: Site, cell: Sequence[int]) -> tuple[object, object]:
    """What a site reads and feeds, its cells renamed."""

    def renamed(cells: Sequence[int]) -> frozenset[int]:
        return frozenset(cell[c] for c in cells)

    def outlet(one: Outlet) -> tuple[object, ...]:
        read = frozenset(renamed(ground.basins[b]) for b in one.basins)
        return renamed(one.cells), read, None if one.into is None else cell[one.into]

    fed = {op: tuple(outlet(one) for one in outlets) for op, outlets in site.outlets.items()}
    return [renamed(ground.basins[b]) for b in site.basins], fed


def _matched(ours: list[object], theirs: list[object]) -> list[int] | None:
    """For each of ours, the next of theirs that looks the same."""
    at: dict[object, list[int]] = {}
    for k, look in enumerate(theirs):
        at.setdefault(look, []).append(k)
    found = []
    for look in ours:
        if not at.get(look):
            return None
        found.append(at[look].pop(0))
    return found


def _cell_looks(ground: Ground, tile: Callable[[int], int]) -> list[object]:
    """What cells look like from outside: their tiles and those of what they read and what reads them."""
    at = [tile(ground.fabric.resources[c.members[0]].tile) for c in ground.cells]
    return [
        (at[k], c.delay, len(c.members), c.still, tuple(sorted(at[s] for s in c.sources)))
        + (tuple(sorted(at[r] for r in ground.readers[k])),)
        for k, c in enumerate(ground.cells)
    ]


def _site_looks(ground: Ground, tile: Callable[[int], int]) -> list[object]:
    fabric = ground.fabric
    return [
        (
            tile(fabric.units[s.members[0]].tile),
            len(s.members),
            tuple(sorted(s.latency.items())),
            len(s.basins),
            -1 if s.bank is None else fabric.memories[s.bank].words,
        )
        for s in ground.sites
    ]


def orbits(choices: Sequence[int], moves: Sequence[Permutation]) -> dict[int, int]:
    """For each choice, the first one that some moves can take it to."""
    first = {c: c for c in sorted(choices)}
    changed = True
    while changed:
        changed = False
        for move in moves:
            for c in first:
                low = min(first[c], first[move[c]])
                if first[c] != low or first[move[c]] != low:
                    first[c] = first[move[c]] = low
                    changed = True
    return first


def break_places(
    add: Callable[[list[int]], object],
    at: Sequence[dict[int, int]],
    nodes: Sequence[int],
    moves: Sequence[Permutation],
    chosen: tuple[int, ...] = (),
) -> None:
    """Of places that symmetries take to each other, only the first is left to a node.

    To the first of `nodes` unconditionally; to the next one under the symmetries that keep that one where it
    is; and so on. `chosen` are the literals of what is assumed so far, negated.
    """
    if not moves or not nodes:
        return
    here = at[nodes[0]]
    for site, first in orbits(list(here), moves).items():
        if site != first:
            add([*chosen, -here[site]])
        else:
            kept = [move for move in moves if move[site] == site]
            break_places(add, at, nodes[1:], kept, (*chosen, -here[site]))
