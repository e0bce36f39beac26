"""Kernels with two streams that another thread uses in turn, and that hold few elements.

    for (;;) { a <! i; b <! j; }        kernel { for (;;) { x <? a; y <? b; … } }

Iterations overlap: the kernel may receive some elements of `a` before the first one of `b`, more than the
thread can send while `b` is full. The same goes for what kernels send, and others receive in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product

from macah.lint_deadlock import DEEP
from macah.lint_evaluation import literal
from macah.lint_events import Event, Thread, by_entry
from macah.lint_streams import depth_given
from macah.lint_threads import Threads
from macah.lint_values import Site

_OTHER_END = {"receive": "send", "send": "receive"}


def in_turn(threads: Threads) -> frozenset[str]:
    """The kernels that such streams may hold up for ever."""
    names = {id(site.node): site.name for site in threads.program.kernels}
    users: dict[tuple[str, Site, Site], set[Thread]] = {}
    for kind, thread, one, other in _turns(threads.events):
        users.setdefault((kind, one, other), set()).add(thread)
    return frozenset(
        names[id(entry.node)]
        for entry, inside in by_entry(threads.events).items()
        for kind, thread, one, other in _turns(filter(_waits, inside), entry.depth)
        if _holds_few(one) and users.get((_OTHER_END[kind], one, other), set()) - {thread}
    )


def _turns(events: Iterable[Event], outside: int = 0) -> Iterator[tuple[str, Thread, Site, Site]]:
    """What a thread does with one stream and another in turn, in a loop inside so many others."""
    together: dict[tuple[str, Thread, tuple[int, ...]], dict[frozenset[Site], None]] = {}
    for event in events:
        if event.kind in _OTHER_END and len(event.loops) > outside:
            loop = event.kind, event.thread, event.loops[: outside + 1]
            together.setdefault(loop, {})[_sites(event)] = None
    for (kind, thread, _), streams in together.items():
        for a, b in permutations(streams, 2):
            if a.isdisjoint(b):
                yield from ((kind, thread, one, other) for one, other in product(a, b))


def _sites(event: Event) -> frozenset[Site]:
    """Where the stream may be created."""
    return frozenset(value for value in event.values if isinstance(value, Site))


def _waits(event: Event) -> bool:
    return getattr(event.node, "worked", None) is None


def _holds_few(site: Site) -> bool:
    depth = literal(depth_given(site.node))
    return depth is not None and depth < DEEP
