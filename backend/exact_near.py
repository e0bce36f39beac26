"""Where readers are, as far as that follows from where a word is made and whether it moves.

Where results are left in registers, a word that enters no other of these is read in the tile in which it is
made, from private registers too, or next to it. The clauses on words imply that cycle by cycle; said
outright, it tells places before any time is known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .exact_domain import Value
from .exact_model import Ground, Outlet
from .exact_places import Places


def stay_near(
    places: Places,
    value: Value,
    outlets: Sequence[tuple[int, Outlet]],
    moves: Collection[int],
    outputs: frozenset[int],
) -> None:
    """Clauses for the readers of a value that can be made and left at `outlets`, a site each.

    One of `moves` holds if it is in any of `outputs` but in the cycle in which it is made.
    """
    if not moves:
        return
    moved = places.out.fresh()
    for literal in moves:
        places.out.add(-literal, moved)
    for site, outlet in outlets:
        if outlet.into is None:
            continue
        around = reached(places.ground, outlet.into, outputs)
        for consumer, position, _ in places.uses.get(value, ()):
            here = places.at[consumer]
            there = [literal for s, literal in here.items() if around & basin(places.ground, s, position)]
            if len(there) < len(here):
                places.out.some([moved, -places.at[value[0]][site], *there])


def basin(ground: Ground, site: int, position: int) -> frozenset[int]:
    """The cells that an operand of a site can read."""
    return frozenset(ground.basins[ground.sites[site].basins[position]])


def reached(ground: Ground, cell: int, outputs: frozenset[int]) -> frozenset[int]:
    """The cells that a word can get to from one without entering another of `outputs`."""
    found, waiting = {cell}, [cell]
    while waiting:
        for reader in ground.readers[waiting.pop()]:
            if reader not in found and reader not in outputs:
                found.add(reader)
                waiting.append(reader)
    return frozenset(found)
