"""Kernels that still wait for elements when nobody sends any more, and others want what they have computed.

    for (;;) { x <? in; out <! x * 3; }

The host sends 20 elements, receives as many, and is done. In a pipeline, the last ones would stay behind the
receive that waits for the 21st.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.lint_events import Event, by_entry
from macah.lint_threads import Threads
from macah.lint_trips import is_endless, is_forever
from macah.lint_ways import awaited
from macah.program import walk


def endless(threads: Threads) -> frozenset[str]:
    """The kernels with a receive that may wait for ever, and with sends that it may hold up."""
    waiting = _forever(threads)
    sites = {id(site.node): site for site in threads.program.kernels}
    return frozenset(
        sites[id(entry.node)].name
        for entry, inside in by_entry(threads.events).items()
        if any(
            receive in waiting and send.kind == "send" and send.leads_to(receive, entry.depth)
            for receive in inside
            for send in inside
        )
    )


def _forever(threads: Threads) -> set[Event]:
    """Blocking receives of kernels in loops that do not end, of streams that are not sent to without end."""
    found = {e for e in threads.events if _blocks(e) and e.entry is not None and _stays(e, threads)}
    while fed := {e for e in found if any(_feeds(send, e, found, threads) for send in threads.events)}:
        found -= fed
    return found


def _blocks(event: Event) -> bool:
    return event.kind == "receive" and event.node.worked is None


def _stays(receive: Event, threads: Threads) -> bool:
    """Whether the kernel comes back to a receive again and again, until an element tells it to stop.

    Somebody who waits for the end of the kernel's thread sends that one; others may not.
    """
    assert receive.entry is not None
    loops = [threads.loop_nodes[loop] for loop in receive.loops[receive.entry.depth :] if loop > 0]
    if any(is_endless(loop) for loop in loops):
        return True
    start = threads.starts.get(receive.thread)
    if start is None or start.thread.name == "" or receive.thread in _joined(threads):
        return False
    return any(_is_told(loop, receive, threads) for loop in loops) and not _is_ended(receive, threads)


def _joined(threads: Threads) -> Iterator[Any]:
    """The threads whose end somebody waits for; all, where that is not known."""
    for join in threads.joins:
        yield from awaited(threads, join) or threads.starts


def _is_told(loop: Any, receive: Event, threads: Threads) -> bool:
    """Whether elements decide when a loop ends."""
    if is_forever(loop):
        return True
    asks = any(isinstance(node, c_ast.FuncCall) for node in walk(loop.cond))
    asked = threads.names.mentioned(loop.cond)
    return asks or any(d in asked for d in threads.names.mentioned(receive.node.target)[:1])


def _is_ended(receive: Event, threads: Threads) -> bool:
    """Whether somebody closes the stream, or sends something behind a loop that sends elements."""
    given = [e for e in threads.events if e.kind in ("send", "close") and e.values & receive.values]
    pairs = ((a, b) for a in given for b in given if a.thread is b.thread and a.position < b.position)
    return any(e.kind == "close" for e in given) or any(a.repeats_before(b) for a, b in pairs)


def _feeds(send: Event, receive: Event, waiting: set[Event], threads: Threads) -> bool:
    """Whether a send happens without end, and waits for nothing that may not come."""
    if send.kind != "send" or send.site is None or send.site is not receive.site or send.conditions:
        return False
    loops = [n for n in send.loops if n > 0 and is_endless(threads.loop_nodes[n])]
    beside = [e for e in threads.events if e.thread is send.thread and _blocks(e) and {*loops} & {*e.loops}]
    return bool(loops) and waiting.isdisjoint(beside)
