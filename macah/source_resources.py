"""What the source of a kernel asks of ports: words of streams, and stores of which nothing is known.

    for (...) { p <? in; q <? in; if (c) out <! p; else out <! q; }        two words of in, one of out

Of branches the one with more operations counts, of an outer loop its own operations and those of the loops in
it, as often as they run at least. Loads may be from copies, and elements of which more is known in several
memories, so they do not count.
"""

from __future__ import annotations

from collections import Counter

from arch.fabric import Fabric
from macah.graph import Value
from macah.ir import Array, Stream
from macah.source_graph import Effect, SourceGraph


def source_resources(source: SourceGraph, fabric: Fabric) -> tuple[int, str]:
    """The least interval for the ports of streams and memories, and which needs it."""
    best, why = 1, "nothing"
    ports = max((len(memory.ports) for memory in fabric.memories), default=1)
    for what, needed in _demands(source).items():
        each = ports if isinstance(what[0], Array) else 1
        if -(-needed // each) > best:
            best = -(-needed // each)
            kind = "stream" if isinstance(what[0], Stream) else "array"
            why = f"{needed} operations on {kind} {what[0].name}"
    return best, why


def _demands(source: SourceGraph) -> dict[tuple[Stream | Array, bool], int]:
    """Operations for each end of a stream, and stores of each array at places that nothing is known of."""
    found: dict[tuple[Stream | Array, bool], int] = {}
    total: dict[int, Counter[tuple[Stream | Array, bool]]] = {}
    outside = [effect for effect in source.effects if effect.loop is None]
    for loop in reversed(source.loops):  # inner ones first
        mine = _worst_path([e for e in loop.effects if _counts(e)])
        for inner in loop.inner:
            for what, count in total[id(inner)].items():
                mine[what] += count * inner.fewest
        total[id(loop)] = mine
        for what, count in mine.items():
            found[what] = max(found.get(what, 0), -(-count // loop.length))
    for what, count in _worst_path([e for e in outside if _counts(e)]).items():
        found[what] = max(found.get(what, 0), count if not source.loops else 1)
    return found


def _counts(effect: Effect) -> bool:
    return isinstance(effect.what, Stream) or effect.sends and (effect.site is None)


def _worst_path(effects: list[Effect]) -> Counter[tuple[Stream | Array, bool]]:
    """Operations of each kind on a path through a body that has the most of them."""
    counts: Counter[tuple[Stream | Array, bool]] = Counter()
    for what in dict.fromkeys((e.what, e.sends) for e in effects):
        guards = [e.guards for e in effects if (e.what, e.sends) == what]
        counts[what] = _most(guards)
    return counts


def _most(guards: list[tuple[Value, ...]], depth: int = 0) -> int:
    """Of operations under conditions, how many can be under conditions that all hold, at most."""
    here = sum(len(guard) == depth for guard in guards)
    groups: dict[Value, list[tuple[Value, ...]]] = {}
    for guard in guards:
        if len(guard) > depth:
            groups.setdefault(guard[depth], []).append(guard)
    return here + max((_most(group, depth + 1) for group in groups.values()), default=0)
