"""Room for words on their way in the cells in which operations leave their results, as far as it is counted.

Where such cells are few, that too many words have to be somewhere shows one cycle after the other, as a
search over pigeonholes. Counted are, in all slots together and in each, the results that are made and the
values that are in such a cell longer, or in another one: a value once a slot, however many cells it is in. A
slot has room for as many more as it has operations fewer, so times alone tell of too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .exact_clauses import TRUE
from .exact_domain import Value
from .exact_places import Places

MOST_SPARE = 30
"""Where there is no more room than that beside the operations' own results, that is said outright."""


@dataclass(frozen=True, slots=True)
class Room:
    """The cells in which operations leave their results, how many words these take in a slot, and which
    operations leave theirs there wherever they are."""

    outputs: frozenset[int]
    each: int
    leaving: tuple[int, ...]
    interval: int

    @property
    def free(self) -> int:
        """For how many other words there is room in all slots."""
        return self.each * self.interval - len(self.leaving)

    @property
    def scarce(self) -> bool:
        """Whether there is room for few."""
        return self.free <= MOST_SPARE


def room_of(places: Places) -> Room:
    """The room that a graph leaves, on the sites that its operations may have."""
    leaving, outputs = [], set[int]()
    for node in places.dfg.nodes:
        sites = (places.ground.sites[s] for s in places.at[node.id])
        found = [{outlet.into for outlet in site.outlets[node.op]} for site in sites]
        outputs |= {cell for cells in found for cell in cells if cell is not None}
        if all(cells - {None} for cells in found):
            leaving.append(node.id)
    each = sum(len(places.ground.cells[cell].members) for cell in outputs)
    return Room(frozenset(outputs), each, tuple(leaving), places.interval)


def say_room(places: Places, room: Room, moved: Mapping[Value, Mapping[int, int]], slots: bool) -> None:
    """Implied: no more words than there is room for; with `slots`, in each slot, too.

    `moved[value][t]` holds if it is in one of the outputs in cycle t but made in it.
    """
    if room.free < 0:
        places.out.add(-TRUE)
    elif room.scarce:
        literals = [literal for value in moved.values() for literal in value.values()]
        places.out.at_most(literals, room.free)
    if not slots or not room.outputs:
        return
    for slot in range(places.interval):
        literals = _made(places, room, slot)
        for value in moved.values():
            literals += [literal for t, literal in value.items() if t % places.interval == slot]
        places.out.at_most(literals, room.each)


def _made(places: Places, room: Room, slot: int) -> list[int]:
    """Literals for results that are made in a slot, of operations whose latency is the same everywhere."""
    found = []
    for n in room.leaving:
        op = places.dfg.nodes[n].op
        latencies = {places.ground.sites[s].latency[op] for s in places.at[n]}
        issued = (slot + 1 - min(latencies)) % places.interval
        if len(latencies) == 1 and issued in places.slot[n]:
            found.append(places.slot[n][issued])
    return found
