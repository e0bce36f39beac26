"""Labels of a `switch` that stand inside other statements, as in Duff's device.

    switch (n & 1) {                      skip = 1; at = n & 1 ? 2 : 1
    case 0: do { f();          ->         if (at == 1) skip = 0
    case 1:      g();                     do { if (!skip) f();
            } while (--n > 0);                 if (at == 2) skip = 0
    }                                          if (!skip) g();
                                          } while (skip ? 0 : --n > 0)

The tree is rewritten: while `skip` is set nothing happens but that what has labels inside is entered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah.lower_switch import nested_label
from macah.program import place_of
from macah.syntax import UnrolledFor

# Names that no program has.
SKIP, AT = "@skip", "@at"


class Guarded(c_ast.Node):  # type: ignore[misc]
    """A statement that happens unless `skip` is set; its declarations are those of the block around it."""

    __slots__ = ("stmt", "coord")

    def __init__(self, stmt: Any) -> None:
        self.stmt, self.coord = stmt, stmt.coord

    def __iter__(self) -> Iterator[Any]:
        yield self.stmt


def has_nested_labels(switch: Any) -> bool:
    """Whether a label of `switch` is not directly in its block."""
    items = _items(switch.stmt)
    inner = [s for i in items for s in ((i.stmts or []) if _is_label(i) else [i])]
    return any(labels_in(stmt) for stmt in inner)


def rewritten(switch: Any, labels: list[Any]) -> Any:
    """The body of `switch` in which its labels are statements, numbered from 1."""
    return _Rewriter({id(label): number for number, label in enumerate(labels, 1)}).statement(switch.stmt)


def _is_label(node: Any) -> bool:
    return isinstance(node, c_ast.Case | c_ast.Default)


def _items(body: Any) -> list[Any]:
    return body.block_items or [] if isinstance(body, c_ast.Compound) else [body]


def labels_in(node: Any) -> list[Any]:
    """The labels in a statement that are not those of a `switch` inside it."""
    if node is None or isinstance(node, c_ast.Switch):
        return []
    own = [node] if _is_label(node) else []
    return own + [label for child in node for label in labels_in(child)]


@dataclass(slots=True)
class _Rewriter:
    numbers: dict[int, int]

    def statement(self, node: Any) -> Any:
        """A statement that is also entered when something inside it is jumped to."""
        if node is None or isinstance(node, c_ast.EmptyStatement):
            return node
        if not labels_in(node):
            return Guarded(node)
        at = node.coord
        match node:
            case c_ast.Compound(block_items=items):
                return c_ast.Compound([s for i in items for s in self._item(i)], at)
            case c_ast.Case() | c_ast.Default():
                return c_ast.Compound(self._item(node), at)
            case c_ast.Label(stmt=inner) | c_ast.AttributedStatement(stmt=inner):
                return self.statement(inner)
            case c_ast.If(cond=cond, iftrue=yes, iffalse=no):
                taken = self._unless_skipping(cond, yes)
                return c_ast.If(taken, self.statement(yes), self.statement(no), at)
            case c_ast.While(cond=cond, stmt=body):
                return c_ast.While(self._unless_skipping(cond, body), self.statement(body), at)
            case c_ast.DoWhile(cond=cond, stmt=body):
                return c_ast.DoWhile(self._unless_skipping(cond, None), self.statement(body), at)
            case c_ast.For(init=init, cond=cond, next=step, stmt=body) if not isinstance(node, UnrolledFor):
                start = None if init is None else Guarded(init)
                condition = self._unless_skipping(cond or c_ast.Constant("int", "1", at), body)
                return c_ast.For(start, condition, step, self.statement(body), at)
        raise nested_label(place_of(labels_in(node)[0]))

    def _item(self, node: Any) -> list[Any]:
        if not _is_label(node):
            return [self.statement(node)]
        arrived = _equal(self.numbers[id(node)], node.coord)
        missed = c_ast.BinaryOp(
            "&&", _name(SKIP, node.coord), c_ast.UnaryOp("!", arrived, node.coord), node.coord
        )
        here = c_ast.Assignment("=", _name(SKIP, node.coord), missed, node.coord)
        return [here, *(s for stmt in node.stmts or [] for s in self._item(stmt))]

    def _unless_skipping(self, condition: Any, body: Any) -> Any:
        """`condition`; while skipping, whether the label to go to is in `body`."""
        at = condition.coord
        inside: Any = c_ast.Constant("int", "0", at)
        for label in labels_in(body):
            inside = c_ast.BinaryOp("||", inside, _equal(self.numbers[id(label)], at), at)
        return c_ast.TernaryOp(_name(SKIP, at), inside, c_ast.BinaryOp("!=", condition, _zero(at), at), at)


def _name(name: str, at: Any) -> Any:
    return c_ast.ID(name, at)


def _zero(at: Any) -> Any:
    return c_ast.Constant("int", "0", at)


def _equal(number: int, at: Any) -> Any:
    return c_ast.BinaryOp("==", _name(AT, at), c_ast.Constant("int", str(number), at), at)
