"""Streams that move blocks of elements at once, in the plain cases (sim/runtime/batch.h).

In kernels, where a send may become visible late: if all stream operations are blocking, on streams named by
variables of their own, in the kernel's own text. In host code: loops that do nothing but send or receive.

    for (int i = 0; i < n; i++) s <! p[i];

becomes

    { MACAH_BATCH; MACAH_TO(s);
      for (int i = 0; i < n; i++) macah_batch_send(macah_to_s, s, p[i]); macah_publish(macah_all); }

The cursor is named apart from the stream, which the text may name by a macro, or in parentheses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.program import walk
from macah.syntax import Receive, Send, StreamType

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_STREAM_CALLS = frozenset({"pstream_close", "pstream_ended"})
_BUILTINS = frozenset({"min", "max", "abs", "EXPECT"})
_HARMLESS_CALLS = _BUILTINS | {"__assert_fail"}
_LOOPS = c_ast.For | c_ast.While | c_ast.DoWhile

Ends = dict[tuple[str, bool], None]
"""The ends that have cursors: a stream's name, and whether it receives."""


def kernel_ends(translator: Translator, kernel: Any) -> Ends:
    """The ends that a kernel moves in blocks; none unless that is all it does with streams."""
    if not any(_transfers(loop) for loop in walk(kernel.body) if isinstance(loop, _LOOPS)):
        return {}
    ends: Ends = {}
    for node in walk(kernel.body):
        match node:
            case Send() | Receive() if _is_plain(node):
                ends[node.stream.name, isinstance(node, Receive)] = None
            case Send() | Receive():
                return {}
            case c_ast.FuncCall() if not _call_is_known(translator, node):
                return {}
    declared = {n.name for n in walk(kernel.body) if isinstance(n, c_ast.Decl)}
    calls = [n for n in walk(kernel.body) if _stream_call(n) is not None]
    known = all(_is_stream(translator, name) for name, _ in ends) and not any(n in declared for n, _ in ends)
    return ends if known and all((c.args.exprs[0].name, True) in ends for c in calls if _ended(c)) else {}


def loop_ends(translator: Translator, loop: Any) -> Ends:
    """The end that a loop of host code moves in blocks, if it does nothing else."""
    body = loop.stmt
    while isinstance(body, c_ast.Compound) and len(body.block_items or ()) == 1:
        body = body.block_items[0]
    if not isinstance(body, Send | Receive) or not _is_plain(body):
        return {}
    name = body.stream.name
    header = [loop.init, loop.next] if isinstance(loop, c_ast.For) else []
    parts = [part for part in (*header, loop.cond, *_operands(body)) if part is not None]
    declared = {n.name for part in parts for n in walk(part) if isinstance(n, c_ast.Decl)} | {None}
    members = {id(n.field) for part in parts for n in walk(part) if isinstance(n, c_ast.StructRef)}
    nodes = (n for part in parts for n in walk(part) if isinstance(n, c_ast.ID) and id(n) not in members)
    names = {n.name for n in nodes} - declared
    quiet = all(_is_quiet(translator, n, name) for part in parts for n in walk(part))
    known = all(
        (symbol := translator.scopes.find(n)) and not _is_volatile(translator, symbol.type) for n in names
    )
    plain = quiet and known and name not in declared and _is_stream(translator, name)
    return {(name, isinstance(body, Receive)): None} if plain else {}


def opening(ends: Ends) -> str:
    """What declares the cursors."""
    return "MACAH_BATCH;" + "".join(f" MACAH_{'FROM' if r else 'TO'}({name});" for name, r in ends)


CLOSING = "macah_publish(macah_all);"


def cursor(name: str, receives: bool) -> str:
    """The cursor of an end, as `opening` declares it."""
    return f"macah_{'from' if receives else 'to'}_{name}"


def _operands(node: Any) -> Iterator[Any]:
    yield node.target if isinstance(node, Receive) else node.value


def _is_plain(node: Any) -> bool:
    """Whether a transfer blocks, on a stream that a variable names."""
    return node.worked is None and isinstance(node.stream, c_ast.ID)


def _transfers(node: Any) -> bool:
    return any(isinstance(n, Send | Receive) for n in walk(node))


def _stream_call(node: Any) -> str | None:
    match node:
        case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in _STREAM_CALLS:
            return str(name)
    return None


def _ended(node: Any) -> bool:
    return _stream_call(node) == "pstream_ended"


def _call_is_known(translator: Translator, node: Any) -> bool:
    """Whether a call in a kernel leaves streams alone, or is one that goes with cursors."""
    name = node.name.name if isinstance(node.name, c_ast.ID) else ""
    if name in _STREAM_CALLS:
        arguments = node.args.exprs if node.args is not None else []
        return translator.is_builtin(name) and len(arguments) == 1 and isinstance(arguments[0], c_ast.ID)
    if name in _BUILTINS and translator.is_builtin(name):
        return True
    return name == "__assert_fail" or name in translator.quiet_functions


def quiet_functions(unit: Any) -> frozenset[str]:
    """The functions that are known completely, and do nothing with streams, nor do those that they call."""
    bodies = {node.decl.name: node.body for node in unit.ext if isinstance(node, c_ast.FuncDef)}
    quiet = {name for name, body in bodies.items() if not any(_mentions_streams(n) for n in walk(body))}
    while True:
        loud = {name for name in quiet if not all(_calls(n, quiet) for n in walk(bodies[name]))}
        if not loud:
            return frozenset(quiet)
        quiet -= loud


def _mentions_streams(node: Any) -> bool:
    return isinstance(node, Send | Receive | StreamType)


def _calls(node: Any, known: set[str]) -> bool:
    """Whether a node, if it is a call, calls what is known."""
    if not isinstance(node, c_ast.FuncCall):
        return True
    return isinstance(node.name, c_ast.ID) and (node.name.name in known or node.name.name in _HARMLESS_CALLS)


def _is_stream(translator: Translator, name: str) -> bool:
    return isinstance(translator.scopes.type_of(c_ast.ID(name)), StreamType)


def _is_quiet(translator: Translator, node: Any, stream: str) -> bool:
    """Whether a part of a loop's header or operand does nothing that others could see, or that takes long."""
    match node:
        case c_ast.FuncCall() | c_ast.Compound() | Send() | Receive():
            return False
        case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
            return isinstance(target, c_ast.ID) and target.name != stream
        case c_ast.StructRef():
            member = translator.scopes.member(node)
            return member is not None and not _is_volatile(translator, member.type)
        case c_ast.Decl() | c_ast.Cast():
            return not _is_volatile(translator, node.type if isinstance(node, c_ast.Decl) else node.to_type)
    return True


def _is_volatile(translator: Translator, kind: Any) -> bool:
    """Whether a type says that its objects, or those it leads to, change unseen."""
    if kind is None:
        return False
    nodes = [n for n in walk(kind) if not isinstance(n, c_ast.Struct | c_ast.Union)]
    if any(q in {"volatile", "_Atomic"} for n in nodes for q in getattr(n, "quals", None) or ()):
        return True
    named = [n.names[0] for n in nodes if isinstance(n, c_ast.IdentifierType) and len(n.names) == 1]
    symbols = [translator.scopes.find(name) for name in named]
    return any(_is_volatile(translator, s.type) for s in symbols if s is not None and s.kind == "type")
