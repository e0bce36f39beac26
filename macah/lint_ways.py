"""How what is received leads to what is sent: in one thread, or in another that waits for its end.

    c = start(consume); p = start(produce); join(c); p = start(produce);

The second `produce` sends behind all that `consume` receives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from networkx import Graph, connected_components

from macah.lint_events import Event, Thread, by_entry
from macah.lint_threads import Threads
from macah.lint_values import Site


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A receive, and a send that a thread may come to behind it, or the end of a stream.

    `join`: the end of the receiving thread is waited for there, and `then` comes behind it in the same
    thread: the send, or the start of the thread that sends.
    """

    receive: Event
    send: Event
    join: Event | None = None
    then: Event | None = None


_LEARNS = ("receive", "ended", "look")
"""What tells a thread that something has been sent."""

_GIVES = ("send", "close")
"""What lets a receive go on."""

Steps = Mapping[Site, Sequence[Step]]
"""By what is received from."""


def all_steps(threads: Threads, kinds: Iterable[str] = ("receive",)) -> Iterator[Step]:
    """What each thread may send behind events of these kinds."""
    yield from _own_steps(threads, kinds)
    for join in threads.joins:
        waited = awaited(threads, join)
        before = [e for e in threads.events if e.site and e.kind in kinds and e.thread in waited]
        for send in (e for e in threads.events if e.site and e.kind in _GIVES):
            then = _behind(threads, join, send)
            if then is not None:
                yield from (Step(e, send, join, then) for e in before if e.thread is not send.thread)


def by_site(steps: Iterable[Step], counts: Callable[[Step], bool] = lambda _: True) -> Steps:
    """By what is received from: of the steps with the same streams and threads, the first that counts."""
    found: dict[Site, list[Step]] = {}
    seen: set[tuple[object, ...]] = set()
    for step in steps:
        receive, send = step.receive, step.send
        key = (receive.thread, receive.site, send.thread, send.site, step.join)
        if receive.site is not None and key not in seen and counts(step):
            seen.add(key)
            found.setdefault(receive.site, []).append(step)
    return found


def way(threads: Threads, send: Event, receive: Event, steps: Steps) -> list[Step] | None:
    """The shortest way from what a kernel sends to what it receives meanwhile, through other threads.

    Streams that are created at one place are taken for one another, as which is which is not known.
    """
    assert send.site is not None
    waiting: list[tuple[Site, list[Step]]] = [(send.site, [])]
    seen = {send.site} - {receive.site}
    for site, found in waiting:
        if site is receive.site and found:
            return found
        for step in steps.get(site, ()):
            after = step.send.site
            if after is not None and after not in seen and not _is_over(threads, send.thread, step):
                seen.add(after)
                waiting.append((after, [*found, step]))
    return None


def one_way(threads: Threads) -> frozenset[str]:
    """The kernels that certainly do not receive what may be sent only because of what they send.

    Nor do those depend on each other who serve the streams of one direction, so that none of these has to be
    used for another one to go on.
    """
    events = threads.events
    unseen = any(event.site is None or event.site in threads.escaped for event in events)
    waits = threads.waits or any(_waits_for_any(threads, join) for join in threads.joins)
    if not threads.whole or unseen or waits:
        return frozenset()
    steps = by_site(all_steps(threads, _LEARNS))
    inside = by_entry(events)
    tied = {
        id(entry.node)
        for entry, own in inside.items()
        if _is_answered(threads, own, steps) or _is_served_in_turn(threads, own)
    }
    free = {id(entry.node) for entry in inside} - tied
    return frozenset(site.name for site in threads.program.kernels if id(site.node) in free)


def _is_answered(threads: Threads, kernel: list[Event], steps: Steps) -> bool:
    sends = [event for event in kernel if event.kind == "send"]
    receives = [event for event in kernel if event.kind in _LEARNS]
    return any(a.site is b.site or way(threads, a, b, steps) for a, b in product(sends, receives))


def _is_served_in_turn(threads: Threads, kernel: list[Event]) -> bool:
    """Whether two streams of one direction may be, by somebody or by several who wait for each other."""
    served: Graph[Thread | Site | None] = Graph()
    for event in threads.events:
        if event.thread is not kernel[0].thread and event.kind in ("send", *_LEARNS):
            served.add_edge(event.thread, event.site)
    for kinds in (("send",), _LEARNS):
        own = {event.site for event in kernel if event.kind in kinds} & served.nodes
        if any(len(own & part) > 1 for part in connected_components(served)):
            return True
    return False


def _own_steps(threads: Threads, kinds: Iterable[str]) -> Iterator[Step]:
    own: dict[Thread, list[Event]] = {}
    for event in threads.events:
        if event.site is not None:
            own.setdefault(event.thread, []).append(event)
    for events in own.values():
        sends = [e for e in events if e.kind in _GIVES]
        for receive in events:
            if receive.kind in kinds:
                yield from (Step(receive, send) for send in sends if receive.leads_to(send))


def awaited(threads: Threads, join: Event) -> set[Thread]:
    """The threads whose end is waited for, as far as they are known, and may have begun."""
    places = {id(value.node) for value in join.values if isinstance(value, Site)}
    return {
        thread
        for thread, start in threads.starts.items()
        if id(start.node) in places and (start.thread is not join.thread or start.leads_to(join))
    }


def _waits_for_any(threads: Threads, join: Event) -> bool:
    """Whether somebody may be waited for who is not known, before anything is sent."""
    known = bool(join.values) and all(isinstance(value, Site) for value in join.values)
    return not known and any(e.kind in _GIVES and _behind(threads, join, e) for e in threads.events)


def _behind(threads: Threads, join: Event, send: Event) -> Event | None:
    """What of the thread that joins comes behind that: this send, or the start of the thread that sends."""
    then = _under(threads, join.thread, send)
    return then if then is not None and join.leads_to(then) else None


def _under(threads: Threads, thread: Thread, event: Event) -> Event | None:
    """The event if it is one of the thread; else the start, there, of the thread that it leads to."""
    while event.thread is not thread:
        start = threads.starts.get(event.thread)
        if start is None:
            return None
        event = start
    return event


def _is_over(threads: Threads, kernel: Thread, step: Step) -> bool:
    """Whether a step comes behind all that the kernel does: its own thread takes it, or joins another.

    Who starts the kernel's thread anew in each turn of a loop, starts another one behind the step.
    """
    if step.receive.thread is kernel:
        return True
    join, then = step.join, step.then
    if join is None or then is None:
        return False
    if join.thread is kernel:
        return True
    start = threads.starts[kernel]
    mine = _under(threads, join.thread, start)
    loops = join.loops[: join.shared_loops(then)]
    return then.position < join.position and mine is not None and mine.loops[: len(loops)] == loops
