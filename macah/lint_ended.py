"""Loops that ask `pstream_ended` at a moment when the answer says nothing about the element at hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic, Note
from macah.lint_close import behind_closes
from macah.lint_names import Names, arguments, callee, spelled
from macah.program import Program, place_of, walk
from macah.syntax import Receive

_HINT = "use 'w :: x <? s', and where 'w' is 0 leave the loop if pstream_ended(s)"


def ended_loops(program: Program, names: Names) -> Iterator[Diagnostic]:
    """`for (x <? s; !pstream_ended(s); x <? s)`, `x <? s; if (pstream_ended(s)) break;` in a loop,
    `while (!pstream_ended(s)) { x <? s; … }`, and `while (!done) { x <? s; done = pstream_ended(s); … }`.
    """
    closed = _loops_over_closed(program, names)
    for node in walk(program.unit):
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            yield from _kept(node, names)
        match node:
            case c_ast.For(init=Receive(worked=None) as first, next=Receive(worked=None)):
                if (asked := _asked(node.cond, first.stream, names)) is not None:
                    yield _lost(asked, first)
            case c_ast.While(stmt=body) if id(node) not in closed:
                first = _first(body)
                if isinstance(first, Receive) and first.worked is None:
                    asked = _asked(node.cond, first.stream, names)
                    if asked is not None and not _asks_again(body, first.stream, names):
                        yield _stale(asked, first)
            case c_ast.Compound(block_items=[*items]):
                for before, behind in pairwise(items):
                    if (asked := _left(before, behind, names)) is not None:
                        yield _lost(asked, before)


def _loops_over_closed(program: Program, names: Names) -> set[int]:
    """The `id`s of the `while` loops whose stream is closed before they begin, so that asking is in time."""
    return {
        id(node)
        for item, closed in behind_closes(program, names)
        for node in walk(item)
        if isinstance(node, c_ast.While) and isinstance(first := _first(node.stmt), Receive)
        if names.key(first.stream) in closed
    }


def _kept(loop: Any, names: Names) -> Iterator[Diagnostic]:
    """The questions of a loop whose answer, kept in a variable, ends it."""
    items = loop.stmt.block_items or () if isinstance(loop.stmt, c_ast.Compound) else ()
    for before, behind in pairwise(items):
        match before, behind:
            case Receive(worked=None), c_ast.Assignment(op="=", lvalue=c_ast.ID(name=kept), rvalue=call):
                asked = _asked(c_ast.UnaryOp("!", call), before.stream, names)
                if asked is not None and _is_ended_by(loop.cond, kept):
                    yield _stale(asked, before)


def _is_ended_by(condition: Any, name: str) -> bool:
    """Whether `!name` is the condition, or among what must hold."""
    match condition:
        case c_ast.BinaryOp(op="&&", left=left, right=right):
            return _is_ended_by(left, name) or _is_ended_by(right, name)
        case c_ast.UnaryOp(op="!", expr=c_ast.ID(name=found)):
            return bool(found == name)
    return False


def _lost(asked: Any, first: Receive) -> Diagnostic:
    message = f"the last element is lost if '{spelled(first.stream)}' is closed when it is received"
    note = Note("the stream has ended as soon as its last element is received", place_of(first))
    return Diagnostic(message, place_of(asked), (note,), _HINT, code="ended-loop")


def _stale(asked: Any, first: Receive) -> Diagnostic:
    target, stream = spelled(first.target), spelled(first.stream)
    message = f"the loop runs once too often if '{stream}' is closed after this asks"
    note = Note(f"this then leaves '{target}' as it was", place_of(first))
    return Diagnostic(message, place_of(asked), (note,), _HINT, code="ended-loop")


def _first(body: Any) -> Any:
    while isinstance(body, c_ast.Compound):
        items = [i for i in body.block_items or () if not isinstance(i, c_ast.Decl)]
        body = items[0] if items else None
    return body


def _asked(condition: Any, stream: Any, names: Names) -> Any:
    """The `!pstream_ended(stream)` that the condition is, or has among what must hold."""
    match condition:
        case c_ast.BinaryOp(op="&&", left=left, right=right):
            return _asked(left, stream, names) or _asked(right, stream, names)
        case c_ast.UnaryOp(op="!", expr=call) if callee(call) == "pstream_ended" and arguments(call):
            return call if names.key(arguments(call)[0]) == names.key(stream) else None
    return None


def _left(before: Any, behind: Any, names: Names) -> Any:
    """The question in `before`, a receive, and `behind`, which leaves at the end of its stream."""
    match before, behind:
        case Receive(worked=None), c_ast.If(iftrue=branch) if _leaves(branch):
            return _asked(c_ast.UnaryOp("!", behind.cond), before.stream, names)
    return None


def _leaves(branch: Any) -> bool:
    while isinstance(branch, c_ast.Compound) and len(branch.block_items or ()) == 1:
        branch = branch.block_items[0]
    return isinstance(branch, c_ast.Break | c_ast.Return | c_ast.Goto)


def _asks_again(body: Any, stream: Any, names: Names) -> bool:
    calls = (node for node in walk(body) if callee(node) == "pstream_ended" and arguments(node))
    return any(names.key(arguments(call)[0]) == names.key(stream) for call in calls)
