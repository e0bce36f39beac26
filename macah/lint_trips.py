"""How often a loop runs, as far as its text says it: `for (int i = 0; i < 4; i++)`, `for (;;)`."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from macah.lint_evaluation import literal
from macah.program import walk
from macah.syntax import Receive


def literal_trips(loop: Any) -> int | None:
    """The iterations of a loop that counts by ones between literals, if nothing else changes its counter."""
    match loop:
        case c_ast.For(
            init=c_ast.DeclList(decls=[c_ast.Decl(name=name, init=start)])
            | c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=start),
            cond=c_ast.BinaryOp(op="<" | "<=" | "!=" as test, left=c_ast.ID(name=tested), right=end),
            next=c_ast.UnaryOp(op="++" | "p++", expr=c_ast.ID(name=stepped)),
        ) if name == tested == stepped and not any(_changes(node, name) for node in walk(loop.stmt)):
            first, last = literal(start), literal(end)
            return None if first is None or last is None else max(0, last - first + (test == "<="))
        case _:
            return None


def is_forever(loop: Any) -> bool:
    """Whether the condition of a loop is always true."""
    return loop.cond is None or bool(literal(loop.cond))


def is_endless(loop: Any) -> bool:
    """Whether a loop has no end, nor anything that may leave it."""
    return is_forever(loop) and not _is_left(loop.stmt)


def _is_left(node: Any, nested: bool = False) -> bool:
    """Whether a statement of a loop may leave it; `nested`: a `break` there leaves something inside it."""
    match node:
        case c_ast.Return() | c_ast.Goto():
            return True
        case c_ast.Break():
            return not nested
        case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
            return any(_is_left(child, True) for child in node)
        case _:
            return any(_is_left(child, nested) for child in node)


def _changes(node: Any, name: str) -> bool:
    """Whether a node may change a variable of that name: as `x = …` does, `x++`, `&x` or `x <? s`."""
    match node:
        case (
            c_ast.Assignment(lvalue=target)
            | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" | "&", expr=target)
            | Receive(target=target)
        ):
            return any(isinstance(n, c_ast.ID) and n.name == name for n in walk(target))
        case _:
            return False
