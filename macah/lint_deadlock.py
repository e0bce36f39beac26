"""Kernels that may wait for data that only what they have not sent yet can bring.

A kernel's loop is pipelined, and operations on different streams may change places: a receive can stand
before a send that comes first in the program, and while it waits nothing is sent. If what is sent there
leads, through other threads, to what is received here, nobody goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from macah.diagnostic import Diagnostic, Note
from macah.lint_counted import is_counted
from macah.lint_events import Event, Thread, by_entry
from macah.lint_names import Names, spelled
from macah.lint_threads import Threads
from macah.lint_ways import Step, Steps, all_steps, by_site, way
from macah.program import KernelSite, place_of

DEEP = 8
"""Fewer elements are taken to be too few to fill a pipeline."""


def deadlocks(
    threads: Threads, safe: Sequence[str] = (), bubbles: bool = True
) -> Iterator[tuple[KernelSite, Diagnostic]]:
    """A warning at each such receive, with the kernel.

    `safe`: kernels whose receives become bubbles or keep the order of operations, by request, or `*` for all.
    `bubbles`: they become bubbles in the others, too.
    """
    sites = {id(site.node): site for site in threads.program.kernels}
    steps, turns = _steps(threads), _steps(threads, _takes_turns)
    found: set[tuple[int, int]] = set()
    for send, receive in _risky(threads):
        assert send.entry is not None
        kernel = sites[id(send.entry.node)]
        key = (id(receive.node), id(send.node))
        if key in found or kernel.ordered or kernel.bubbles or {"*", kernel.name} & {*safe}:
            continue
        taken = way(threads, send, receive, turns if send.site is receive.site else steps)
        # Of several sends the first leave while the receive waits. That helps unless all are waited for.
        if taken and (
            not send.repeats_before(receive) or any(_takes_several(step, threads.events) for step in taken)
        ):
            found.add(key)
            yield kernel, _warning(kernel.name, send, receive, taken, bubbles)


def _risky(threads: Threads) -> Iterator[tuple[Event, Event]]:
    """The sends of kernels, each with the blocking receives of the same kernel that may overtake it."""
    for entry, inside in by_entry(e for e in threads.events if e.site is not None).items():
        sends = [e for e in inside if e.kind == "send"]
        for receive in inside:
            if receive.kind == "receive" and receive.node.worked is None:
                for send in sends:
                    overtakes = _apart(send, receive) and send.leads_to(receive, entry.depth)
                    if overtakes and not _primed(send, receive, inside, threads):
                        yield send, receive


def _apart(send: Event, receive: Event) -> bool:
    """Whether they hardly use one stream: what creates several stands in a loop, or in a function."""
    return send.site is not receive.site or spelled(send.stream) != spelled(receive.stream)


def _takes_turns(step: Step) -> bool:
    """Whether a thread asks: sends, waits for an answer, and sends again, to streams created at one place.

    Of such streams it is not known who serves which. Who receives first and sends then may be the next stage
    of a pipeline; who sends first asks.
    """
    receive, send = step.receive, step.send
    return step.join is None and send.site is receive.site and send.position < receive.position


def _steps(threads: Threads, wanted: Callable[[Step], bool] = lambda _: True) -> Steps:
    """What each thread may do behind receiving from a stream, by that stream."""
    own: dict[Thread, list[Event]] = {}
    for event in threads.events:
        if event.site is not None:
            own.setdefault(event.thread, []).append(event)

    def counts(step: Step) -> bool:
        receive, send = step.receive, step.send
        if step.join is not None:
            return True
        primed = _primed(send, receive, own[send.thread], threads)
        return not primed and _depends(receive, send, threads.names)

    return by_site(filter(wanted, all_steps(threads)), counts)


def _depends(receive: Event, send: Event, names: Names) -> bool:
    """Whether a thread waits for the one before it does the other, or at least uses what came."""
    if receive.node.worked is None:
        return True
    given = {id(d) for part in (receive.node.worked, receive.node.target) for d in names.mentioned(part)}
    used = {id(d) for d in names.mentioned(send.node.value)} if send.kind == "send" else set[int]()
    if given & (receive.conditions | send.conditions | used):
        return True
    return is_counted(receive.node, send.node, names)


def _primed(send: Event, receive: Event, own: Sequence[Event], threads: Threads) -> bool:
    """Whether the thread has sent many more elements to that stream before than it has received by then.

    So many are under way at once, and fill pipelines. A loop of unknown length sends many, or receives all.
    """
    ahead = [e for e in own if (e.kind, e.site) == ("send", send.site) and e.position < send.position]
    back = [e for e in own if (e.kind, e.site) == ("receive", receive.site) and e.leads_to(send)]
    sent = max((_times(e.loops_before(send), threads) for e in ahead), default=0)
    received = sum(_times(e.loops_before(send), threads) for e in back)
    return sent >= DEEP and (received == 0 or sent - received >= DEEP)


def _times(loops: Sequence[int], threads: Threads) -> float:
    """How often something in these loops happens; 0 if there are none that repeat it."""
    trips = [threads.trips(loop) for loop in loops if loop > 0]
    return prod(trips) if trips and 0 not in trips else 0


def _takes_several(step: Step, events: list[Event]) -> bool:
    """Whether a thread receives more than once before it sends, in a loop or one after the other."""
    receive, send = step.receive, step.send
    if step.join is not None:
        return True  # it is over when it has received all
    alike = (e for e in events if (e.thread, e.kind, e.site) == (receive.thread, "receive", receive.site))
    others = (e for e in alike if e is not receive and e.loops == receive.loops)
    return receive.repeats_before(send) or any(
        other.position < send.position or receive.position > send.position for other in others
    )


def _warning(name: str, send: Event, receive: Event, way: Sequence[Step], bubbles: bool) -> Diagnostic:
    stream = spelled(receive.stream)
    message = f"kernel '{name}' may wait for '{stream}' forever: this can overtake a send that leads to it"
    notes = [Note(f"the send to '{spelled(send.stream)}'", place_of(send.node))]
    for step in way:
        got, sent = step.receive, step.send
        who, gives = f"'{got.thread.name}'", "sends to" if sent.kind == "send" else "closes"
        notes.append(Note(f"{who} receives it from '{spelled(got.stream)}' here", place_of(got.node)))
        if step.join is None:
            notes.append(Note(f"and {gives} '{spelled(sent.stream)}'", place_of(sent.node)))
        else:
            notes.append(Note("its end is waited for here", place_of(step.join.node)))
            sender = f"before '{sent.thread.name}' {gives} '{spelled(sent.stream)}'"
            notes.append(Note(sender, place_of(sent.node)))
    done = "the receive becomes a bubble instead: an iteration that would wait holds up no other; "
    hint = (
        f"{done * bubbles}ask for that with --bubbles={name} or '#pragma macah bubbles' before the kernel, "
        f"keep the order with --ordered-streams={name} or '#pragma macah ordered', "
        f"or receive with 'w :: x <? {stream}', which does not wait"
    )
    return Diagnostic(message, place_of(receive.node), tuple(notes), hint, code="stream-deadlock")
