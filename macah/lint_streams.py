"""Streams never created, of no depth, that nobody sends to or receives from, or that the receiver closes.

Also accessors that are spawned as readers of memory but write to it, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic, Note
from macah.lint_events import Event
from macah.lint_names import arguments, callee, spelled
from macah.lint_threads import SPAWNS, Threads
from macah.lint_values import Site
from macah.program import place_of, walk
from macah.syntax import Receive

_DEPTH_AT = {
    "pstream_create": 1,
    "stream_create": 1,
    "mem_reader_spawn_depth": 0,
    "mem_writer_spawn_depth": 0,
}
_SENDING, _RECEIVING = ("send", "close"), ("receive", "ended")


def lonely_streams(threads: Threads) -> Iterator[Diagnostic]:
    """All kinds."""
    yield from _never_created(threads)
    yield from _of_no_depth(threads.program.unit)
    called = dict(_created(threads.program.unit))
    for site in threads.sites.values():
        # Values of which one is unknown say only of escaped streams that they may be meant.
        events = [e for e in threads.events if site in e.values]
        if site not in threads.escaped and not any(e.kind == "look" for e in events):
            yield from _one_end(site, events, called.get(id(site.node), "the stream"))
        yield from _closed_by_receiver(events)
        yield from _wrong_way(site, events)


def depth_given(call: Any) -> Any:
    """The argument with the depth of the stream that a call creates, if there is one."""
    at = _DEPTH_AT.get(callee(call))
    given = [] if at is None else arguments(call)[at:]
    return given[0] if given else None


def _of_no_depth(unit: Any) -> Iterator[Diagnostic]:
    for node in walk(unit):
        if (depth := depth_given(node)) is not None:
            zero = isinstance(depth, c_ast.Constant) and depth.value.rstrip("uUlL") in ("0", "0x0", "00")
            if zero or isinstance(depth, c_ast.UnaryOp) and depth.op == "-":
                message = (
                    "a stream must hold at least one element: the program ends where this one is created"
                )
                hint = "without a depth it holds 16"
                yield Diagnostic(message, place_of(depth), hint=hint, code="stream-depth")


def _created(unit: Any) -> Iterator[tuple[int, str]]:
    """What streams are called that are created."""
    for node in walk(unit):
        match node:
            case c_ast.Decl(name=str(name), init=value):
                yield id(value), f"'{name}', the stream"
            case c_ast.Assignment(op="=", lvalue=target, rvalue=value):
                yield id(value), f"'{spelled(target)}', the stream"


def _one_end(site: Site, events: list[Event], name: str) -> Iterator[Diagnostic]:
    senders = [e for e in events if e.kind in _SENDING]
    receivers = [e for e in events if e.kind in _RECEIVING]
    if senders and not receivers:
        note = Note("it is sent to here", place_of(senders[0].node))
        message = f"nothing receives from {name} that is created here"
    elif receivers and not senders:
        note = Note("it is received from here", place_of(receivers[0].node))
        message = f"nothing sends to {name} that is created here"
    else:
        return
    yield Diagnostic(message, site.where, (note,), code="stream-one-end")


def _closed_by_receiver(events: list[Event]) -> Iterator[Diagnostic]:
    for close in events:
        if close.kind != "close" or close.site is None:
            continue
        own = {e.kind: e for e in reversed(events) if e.thread is close.thread}
        others = [e for e in events if e.kind == "send" and e.thread is not close.thread]
        if "receive" in own and "send" not in own and others:
            notes = (
                Note("it is received from here", place_of(own["receive"].node)),
                Note("it is sent to here", place_of(others[0].node)),
            )
            stream = spelled(close.stream)
            message = f"'{stream}' is closed where it is received from, not where it is sent to"
            hint = "a send to a closed stream ends the program; let the sender close it"
            yield Diagnostic(message, place_of(close.node), notes, hint, code="close-by-receiver")


def _wrong_way(site: Site, events: list[Event]) -> Iterator[Diagnostic]:
    """A reader's function takes from its stream what it should bring, or a writer's the other way round."""
    if (name := callee(site.node)) not in SPAWNS:
        return
    reads = "reader" in name
    function = spelled(arguments(site.node)[SPAWNS[name]])
    own = {e.kind: e for e in reversed(events) if e.thread.name == function}
    right, wrong = ("send", "receive") if reads else ("receive", "send")
    if wrong in own and right not in own:
        other = name.replace("reader", "writer") if reads else name.replace("writer", "reader")
        does = ("reads memory, and sends", "receives") if reads else ("receives, and writes memory", "sends")
        message = f"'{name}' is for a function that {does[0]}, but '{function}' {does[1]}"
        note = Note(f"'{function}' {does[1]} here", place_of(own[wrong].node))
        hint = f"use '{other}', and its join"
        yield Diagnostic(message, site.where, (note,), hint, code="accessor-direction")


def _never_created(threads: Threads) -> Iterator[Diagnostic]:
    """Stream variables that are used though nothing ever gives them a value."""
    names, shapes = threads.names, threads.shapes
    given: set[int] = set()
    uses: dict[int, tuple[Any, Any]] = {}
    for node in walk(threads.program.unit):
        match node:
            case c_ast.Assignment(lvalue=target):
                given |= {id(d) for d in names.mentioned(target)}
            case c_ast.UnaryOp(op="&", expr=target) | Receive(target=target):
                given |= {id(d) for d in names.mentioned(target)}
        for stream in _used(node):
            root = _root(stream)
            found = names.declaration(root)
            if not isinstance(found, c_ast.Decl) or not shapes.is_stream(found.type):
                continue
            if isinstance(shapes.resolve(found.type), c_ast.ArrayDecl) and isinstance(stream, c_ast.ID):
                given.add(id(found))  # as its elements may be
            uses.setdefault(id(found), (stream, found))
    parameters = {
        id(p) for n in walk(threads.program.unit) if isinstance(n, c_ast.ParamList) for p in n.params
    }
    for use, found in uses.values():
        own = id(found) in names.locals or threads.whole and "extern" not in (found.storage or ())
        if id(found) in given | parameters or not own or not _is_null(found.init):
            continue
        note = Note(f"'{found.name}' is declared here", place_of(found))
        hint = f"create it before: '{spelled(use)} = pstream_create(TYPE);'"
        message = f"'{spelled(use)}' is used, but no stream is ever created for it"
        yield Diagnostic(message, place_of(use), (note,), hint, code="stream-not-created")


def _used(node: Any) -> Iterator[Any]:
    """The expressions whose value is used as a stream: operands of transfers, and arguments."""
    if stream := getattr(node, "stream", None):
        yield stream
    if isinstance(node, c_ast.FuncCall) and node.args is not None and callee(node) != "pstream_free":
        yield from node.args.exprs


def _root(node: Any) -> Any:
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    return node


def _is_null(init: Any) -> bool:
    while isinstance(init, c_ast.Cast):
        init = init.expr
    return init is None or isinstance(init, c_ast.Constant) and init.value == "0"
