"""Whether what has come by a receive that does not wait decides, by way of other variables, what is sent.

    if (issued - done < 4) req <! issued++;
    w :: x <? ans;
    if (w) done++;

The send waits for what comes, though its condition names neither `w` nor `x`. So does what comes behind a
loop whose end depends on that, or behind a `break`, `continue` or `return` under such a condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah.lint_names import Names, arguments
from macah.program import walk
from macah.syntax import Receive, Send, UnrolledFor

_STEPS = frozenset({"++", "--", "p++", "p--"})

_LOOPS = c_ast.For | c_ast.While | c_ast.DoWhile
_ENDS = c_ast.Break | c_ast.Return | c_ast.Goto
_JUMPS = _ENDS | c_ast.Continue

Around = tuple[tuple[Any, frozenset[int]], ...]
"""The statements with a condition around another one, from the outermost on, and what that mentions."""


@dataclass(frozen=True, eq=False, slots=True)
class _Change:
    """What may change variables, or send: the `id`s of declarations that it gives values, and that it needs.

    `whole`: what they were before is gone.
    """

    node: Any
    given: frozenset[int]
    used: frozenset[int]
    around: Around
    whole: bool = True


def is_counted(receive: Any, send: Any, names: Names) -> bool:
    """Whether a send, or a stream's end, depends on what a receive gave: by its value, or as it waits for it.

    Conditions around both do not count: where they fail, neither happens. What one function receives and
    another one sends is taken to depend on it: they work together for some reason.
    """
    function = next((f for d in names.mentioned(receive) if (f := names.function_of.get(id(d)))), None)
    if function is None:
        return False
    changes = list(_Walk(names).changes(function.body, ()))
    places = {id(change.node): place for place, change in enumerate(changes)}
    if id(receive) not in places:
        return False
    if id(send) not in places:
        return True
    first, last = changes[places[id(receive)]], changes[places[id(send)]]
    came = set(first.given)
    ends = [ids for s, ids in first.around if isinstance(s, _LOOPS) and (s, ids) not in last.around]
    for change in _behind(changes, first, last):
        conditions = (ids for statement, ids in change.around if (statement, ids) not in first.around)
        needed = change.used.union(*conditions, *ends if change is last else ())
        depends = not came.isdisjoint(needed)
        if depends and change.node is send:
            return True
        if depends:
            came |= change.given
        elif change.whole:
            came -= change.given
    return False


def _behind(changes: list[_Change], first: _Change, last: _Change) -> list[_Change]:
    """What comes behind the first one, also when a loop around both, or else around it, starts again."""
    place = changes.index(first)
    loops = [s for s in first.around if isinstance(s[0], _LOOPS)]
    both = [s for s in loops if s in last.around]
    if not loops:
        return changes[place + 1 :]
    loop = both[-1] if both else loops[0]
    inside = [change for change in changes if loop in change.around]
    place = inside.index(first)
    return [*2 * (inside[place + 1 :] + inside[:place]), *changes[changes.index(inside[-1]) + 1 :]]


def _leaves(node: Any, jumps: Any) -> Iterator[Any]:
    """The conditions, as statements, under which a statement is left by jumps of these kinds."""
    if isinstance(node, c_ast.If) and any(isinstance(part, jumps) for part in walk(node)):
        yield node
    for child in node:
        yield from _leaves(child, jumps)


class _Walk:
    def __init__(self, names: Names) -> None:
        self.names = names

    def ids(self, node: Any) -> frozenset[int]:
        return frozenset(id(found) for found in self.names.mentioned(node or c_ast.EmptyStatement()))

    def changes(self, node: Any, around: Around) -> Iterator[_Change]:
        """All changes in a statement or an expression, in the order of the text."""
        match node:
            case c_ast.If() | c_ast.TernaryOp():
                yield from self.changes(node.cond, around)
                yield from self.all((node.iftrue, node.iffalse), self.under(node, around))
            case c_ast.For() | UnrolledFor():
                yield from self.all((node.init,), around)
                yield from self.all((node.cond, node.stmt, node.next), self.under(node, around))
            case c_ast.While() | c_ast.DoWhile():
                yield from self.all((node.cond, node.stmt), self.under(node, around))
            case c_ast.Compound():
                for part in node.block_items or ():
                    yield from self.changes(part, around)
                    around = (*around, *((jump, self.ids(jump.cond)) for jump in _leaves(part, _JUMPS)))
            case _:
                yield from self.all(tuple(node), around)
                yield from self.own(node, around)

    def all(self, nodes: tuple[Any, ...], around: Around) -> Iterator[_Change]:
        for node in nodes:
            if node is not None:
                yield from self.changes(node, around)

    def under(self, node: Any, around: Around) -> Around:
        """A statement with a condition, a loop with those of what leaves it."""
        left = _leaves(node.stmt, _ENDS) if isinstance(node, _LOOPS) else ()
        return (*around, (node, self.ids(node.cond).union(*(self.ids(jump.cond) for jump in left))))

    def own(self, node: Any, around: Around) -> Iterator[_Change]:
        """What a node itself does, without those in it."""
        match node:
            case c_ast.Assignment(op=op, lvalue=place, rvalue=value):
                plain = isinstance(place, c_ast.ID) and op == "="
                used = self.ids(value) if plain else self.ids(value) | self.ids(place)
                yield _Change(node, self.first(place), used, around, plain)
            case c_ast.UnaryOp(op=op, expr=place) if op in _STEPS:
                yield _Change(node, self.first(place), self.ids(place), around, whole=False)
            case c_ast.Decl(init=value) if value is not None:
                yield _Change(node, frozenset({id(node)}), self.ids(value), around)
            case Receive():
                yield _Change(node, self.first(node.worked) | self.first(node.target), frozenset(), around)
            case Send():
                yield _Change(node, self.first(node.worked), self.ids(node.value), around)
            case c_ast.FuncCall():
                lent = (p.expr for p in arguments(node) if isinstance(p, c_ast.UnaryOp) and p.op == "&")
                given = frozenset[int]().union(*(self.first(place) for place in lent))
                yield _Change(node, given, self.ids(node.args), around, whole=False)
            case _:
                pass

    def first(self, place: Any) -> frozenset[int]:
        """The variable that a place is, or is in."""
        found = self.names.mentioned(place or c_ast.EmptyStatement())
        return frozenset({id(found[0])} if found else ())
