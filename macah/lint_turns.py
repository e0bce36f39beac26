"""Kernels with two streams that another thread uses in turn, and that hold few elements.

    for (;;) { a <! i; b <! j; }        kernel { for (;;) { x <? a; y <? b; … } }

Iterations overlap: the kernel may receive some elements of `a` before the first one of `b`, more than the
thread can send while `b` is full. The same goes for what kernels send, and others receive in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, product

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
    for a, b in _pairs(threads.events):
        for one, other in product(_sites(a), _sites(b)):
            users.setdefault((a.kind, one, other), set()).add(a.thread)
            users.setdefault((a.kind, other, one), set()).add(a.thread)
    return frozenset(
        names[id(entry.node)]
        for entry, inside in by_entry(threads.events).items()
        for a, b in _pairs([event for event in inside if _waits(event)], entry.depth)
        for one, other in product(_sites(a), _sites(b))
        if (_holds_few(one) or _holds_few(other))
        and users.get((_OTHER_END[a.kind], one, other), set()) - {a.thread}
    )


def _pairs(events: Iterable[Event], outside: int = 0) -> Iterator[tuple[Event, Event]]:
    """What a thread does with one stream and another in turn, in a loop inside so many others."""
    moves: dict[object, Event] = {}  # those that do not differ in what is asked are one
    for event in events:
        if event.kind in _OTHER_END:
            moves.setdefault((event.kind, event.thread, _sites(event), event.loops), event)
    for a, b in combinations(moves.values(), 2):
        alike = a.thread is b.thread and a.kind == b.kind and _sites(a).isdisjoint(_sites(b))
        if alike and a.shared_loops(b) > outside:
            yield a, b


def _sites(event: Event) -> frozenset[Site]:
    """Where the stream may be created."""
    return frozenset(value for value in event.values if isinstance(value, Site))


def _waits(event: Event) -> bool:
    return getattr(event.node, "worked", None) is None


def _holds_few(site: Site) -> bool:
    depth = literal(depth_given(site.node))
    return depth is not None and depth < DEEP
