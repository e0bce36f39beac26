"""Which local variables may still be read after each non-blocking operation, on a function's syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from macah.lint_names import Names
from macah.syntax import KernelBlock, Receive, Send

Live = frozenset[int]


class Liveness:
    """The `id`s of the declarations that are live behind the sends and receives of a function's body.

    Walks backwards, loops until nothing changes. The function has no `goto`.
    """

    def __init__(self, names: Names, body: Any) -> None:
        self.after: dict[int, Live] = {}
        self._names = names
        self._breaks: list[Live] = []
        self._continues: list[Live] = []
        self._cases: list[Live] = []
        self._any(body, frozenset())

    def _any(self, node: Any, live: Live) -> Live:
        """What is live before `node`, where `live` is what is live behind it."""
        match node:
            case None:
                return live
            case c_ast.ID():
                found = self._names.declaration(node)
                return live if found is None else live | {id(found)}
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                return self._any(value, self._written(target, live))
            case c_ast.Decl():
                return self._any(node.init, live - {id(node)})
            case c_ast.BinaryOp(op="&&" | "||"):
                return self._any(node.left, live | self._any(node.right, live))
            case c_ast.TernaryOp():
                return self._any(node.cond, self._any(node.iftrue, live) | self._any(node.iffalse, live))
            case Send() | Receive():
                return self._transfer(node, live)
            case _:
                return self._statement(node, live)

    def _statement(self, node: Any, live: Live) -> Live:
        match node:
            case c_ast.If():
                return self._any(node.cond, self._any(node.iftrue, live) | self._any(node.iffalse, live))
            case c_ast.While():
                return self._loop(
                    live, lambda again: self._any(node.cond, live | self._inside(node, again, live))
                )
            case c_ast.DoWhile():

                def body(again: Live) -> Live:
                    return self._inside(node, self._any(node.cond, live | again), live)

                return self._loop(live, body)
            case c_ast.For():
                return self._for(node, live)
            case c_ast.Switch():
                return self._switch(node, live)
            case c_ast.Case() | c_ast.Default():
                for inner in reversed(node.stmts or []):
                    live = self._any(inner, live)
                self._cases[-1] |= live
                return live
            case c_ast.Break():
                return self._breaks[-1]
            case c_ast.Continue():
                return self._continues[-1]
            case c_ast.Return():
                return self._any(node.expr, frozenset())
            case KernelBlock():
                return self._any(node.body, live)
            case _:
                for child in reversed(list(node)):
                    live = self._any(child, live)
                return live

    def _written(self, target: Any, live: Live) -> Live:
        return live - {id(self._names.declaration(target))}

    def _transfer(self, node: Send | Receive, live: Live) -> Live:
        self.after[id(node)] = self.after.get(id(node), frozenset()) | live
        if isinstance(node.worked, c_ast.ID):
            live = self._written(node.worked, live)
        else:
            live = self._any(node.worked, live)
        if isinstance(node, Send):
            live = self._any(node.value, live)
        elif not isinstance(node.target, c_ast.ID):
            live = self._any(node.target, live)
        return self._any(node.stream, live)

    def _loop(self, live: Live, around: Callable[[Live], Live]) -> Live:
        """The greatest of what is live at a loop's head, told what is live behind its body."""
        head: Live = frozenset()
        while not (found := around(head)) <= head:
            head |= found
        return head

    def _inside(self, node: Any, again: Live, live: Live) -> Live:
        """Before a loop's body: `again` is live where it continues."""
        self._breaks.append(live)
        self._continues.append(again)
        found = self._any(node.stmt, again)
        self._breaks.pop()
        self._continues.pop()
        return found

    def _for(self, node: Any, live: Live) -> Live:
        def around(again: Live) -> Live:
            inside = self._inside(node, self._any(node.next, again), live)
            return self._any(node.cond, inside if node.cond is None else live | inside)

        return self._any(node.init, self._loop(live, around))

    def _switch(self, node: Any, live: Live) -> Live:
        self._breaks.append(live)
        self._cases.append(frozenset())
        self._any(node.stmt, live)
        self._breaks.pop()
        return self._any(node.cond, live | self._cases.pop())
