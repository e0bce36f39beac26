"""Where a design shows what it waits for: what a simulation looks at to account for each cycle."""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import dataclass, replace

from .dfg import Place
from .mapping import Mapping
from .observer import Observer

WAITING = ("recv", "send", "send_close")
"""The operations that wait."""


@dataclass(frozen=True, slots=True)
class Wait:
    """An operation waits while the signal `on` is 1 and `unless`, if there is one, is not.

    `nodes` says which operation: a node for each slot that has one, or one for all slots, under None.
    """

    on: str
    unless: str | None
    nodes: dict[int | None, int]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the program whose bodies are counted; `innermost` if there is none in it."""

    where: Place
    innermost: bool


@dataclass(frozen=True, slots=True)
class Watch:
    """Names of a design's own signals: the register of the slot, and what is 1 when an iteration is complete.

    Where an iteration starts every interval, the cycles say how many there were, and `complete` is None.
    Registers of an observer: `turn` changes when an iteration has been counted in `counts`. If these are not
    the design's but those of its twin `beside` it, they are names of the bench.
    """

    slot: str | None
    complete: str | None
    waits: tuple[Wait, ...]
    turn: str | None = None
    counts: tuple[str, ...] = ()
    beside: bool = False


def watch_mapped(mapping: Mapping, observer: Observer | None = None) -> Watch:
    """Of a mapped design: each stream's port says that it stalls, the slot says for which operation."""
    nodes = _nodes(mapping)
    waits = tuple(Wait(f"s{stream}_stall", None, nodes[stream]) for stream in sorted(nodes))
    register = "slot" if mapping.interval > 1 else None
    if observer is None:
        return Watch(register, None, waits)
    return Watch(register, None, waits, observer.turn, observer.counts)


def watch_loaded(mapping: Mapping, ports: Map[int, str]) -> Watch:
    """Of a fabric that is loaded: the same by unit; `ports` are the signals of those that wait."""
    nodes = _nodes(mapping)
    stream = {mapping.placement.unit[n]: s for s, slots in nodes.items() for n in slots.values()}
    waits = (Wait(port, None, nodes.get(stream.get(unit, -1), {})) for unit, port in ports.items())
    return Watch("slot", None, tuple(waits))


TWIN_TURN = "twin_turn"
"""A bench's name of `turn` of the twin that runs."""


def twin_count(place: int) -> str:
    """A bench's name of one of its `counts`."""
    return f"twin_count_{place}"


def with_counts(watch: Watch, twin: Watch) -> Watch:
    """What a fabric waits for, with what its kernel's twin counts."""
    return replace(watch, turn=TWIN_TURN, counts=tuple(map(twin_count, range(len(twin.counts)))), beside=True)


def _nodes(mapping: Mapping) -> dict[int, dict[int | None, int]]:
    """For each stream, the operation that waits for it in each slot."""
    nodes: dict[int, dict[int | None, int]] = {}
    for node in mapping.dfg.nodes:
        if node.stream is not None and node.op in WAITING:
            slot = mapping.placement.schedule.start[node.id] % mapping.interval
            nodes.setdefault(node.stream, {})[slot] = node.id
    return nodes
