"""Sends to a stream that was closed a few statements before, and what else stands behind a close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic, Note
from macah.lint_names import Names, arguments, callee, spelled
from macah.program import Program, place_of, walk
from macah.syntax import Receive, Send

_STEPS = ("++", "--", "p++", "p--", "&")


def sends_after_close(program: Program, names: Names) -> Iterator[Diagnostic]:
    """`pstream_close(s); … s <! e;` in one block, where `s` is the same stream still."""
    for item, closed in behind_closes(program, names):
        for node in walk(item):
            if isinstance(node, Send) and (close := closed.get(names.key(node.stream))) is not None:
                stream = spelled(node.stream)
                note = Note("it is closed here", place_of(close))
                message = f"'{stream}' is closed already when this is sent"
                yield Diagnostic(message, place_of(node), (note,), code="send-after-close")


def behind_closes(program: Program, names: Names) -> Iterator[tuple[Any, dict[object, Any]]]:
    """The statements that stand behind a `pstream_close(s)` in one block, where `s` is the same stream
    still, each with the calls by the keys of what they close.
    """
    for block in walk(program.unit):
        if isinstance(block, c_ast.Compound):
            yield from _in_block(block.block_items or (), names)


def _in_block(items: Any, names: Names) -> Iterator[tuple[Any, dict[object, Any]]]:
    closed: dict[object, Any] = {}
    for item in items:
        if isinstance(item, c_ast.Label | c_ast.Case | c_ast.Default):
            closed = {}
        if closed:
            changed = {id(d) for d in _changed(item, names)}
            closed = {key: node for key, node in closed.items() if not changed & {*key[1]}}  # type: ignore[index]
        if closed:
            yield item, closed
        if callee(item) == "pstream_close" and arguments(item):
            closed = closed | {names.key(arguments(item)[0]): item}


def _changed(item: Any, names: Names) -> Iterator[Any]:
    """The variables that a statement may give another value."""
    for node in walk(item):
        match node:
            case c_ast.Assignment(lvalue=target) | Receive(target=target):
                yield from names.mentioned(target)
            case c_ast.UnaryOp(op=op, expr=target) if op in _STEPS:
                yield from names.mentioned(target)
            case c_ast.Decl():
                yield node
