"""Straight-line code and loops with an index of where variables occur, for code that is rewritten often.

An `if` in an `if` in an `if` … is converted from the inside out: each of them renames what its arms assign.
With the index that costs as much as there is to rename, not as much as there is in the arms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from macah.ir import Assign, Body, Stmt, Variable
from macah.walk import bodies, operands, read, targets, variables_in, written


@dataclass(slots=True, eq=False)
class Node:
    """A place: a statement, if one is left there, and what has to stand before it."""

    order: int
    stmt: Stmt | None
    before: list[Assign] = field(default_factory=list)


Occurrences = dict[Variable, deque[Node]]


class Code:
    """Statements in order; it grows at both ends.

    `assigns` are the places where variables are assigned, `touches` the others where they occur.
    """

    def __init__(self) -> None:
        self.assigns: Occurrences = {}
        self.touches: Occurrences = {}
        self.effects: set[Variable] = set()  # written other than by an assignment
        self.made: set[Variable] = set()  # new variables, written when the code was rewritten
        self.nodes: deque[Node] = deque()

    def add(self, node: Node, first: bool = False) -> None:
        """Put a place at the end, or at the beginning."""
        stmt = node.stmt
        if first:
            self.nodes.appendleft(node)
        else:
            self.nodes.append(node)
        match stmt:
            case None:
                return
            case Assign(variable, value):
                _enter(self.assigns, variable, node, first)
                touched = set(variables_in(value))
            case _ if bodies(stmt):
                effects = written((stmt,))
                self.effects |= effects
                touched = read((stmt,)) | effects
            case _:
                self.effects.update(targets(stmt))
                touched = {v for expr in operands(stmt) for v in variables_in(expr)}.union(targets(stmt))
        for variable in touched:
            _enter(self.touches, variable, node, first)

    def followed_by(self, other: Code) -> None:
        """Add what stands behind; the other is not to be used any more."""
        self.assigns = _joined(self.assigns, other.assigns)
        self.touches = _joined(self.touches, other.touches)
        self.effects = _united(self.effects, other.effects)
        self.made = _united(self.made, other.made)
        self.nodes = _in_sequence(self.nodes, other.nodes)

    def preceded_by(self, other: Code) -> None:
        """Add what stands before; the other is not to be used any more."""
        other.followed_by(self)
        self.assigns, self.touches = other.assigns, other.touches
        self.effects, self.made, self.nodes = other.effects, other.made, other.nodes

    def body(self) -> Body:
        """The statements."""
        found: list[Stmt] = []
        for node in self.nodes:
            found += node.before
            if node.stmt is not None:
                found.append(node.stmt)
        return tuple(found)

    def is_written(self, variable: Variable) -> bool:
        """True if some place writes the variable."""
        return variable in self.assigns or variable in self.effects or variable in self.made

    def taken(self, variables: Iterable[Variable]) -> list[Node]:
        """The places from a first assignment of one of the variables on where it occurs, in order.

        They are no longer in the index: whoever takes them renames the variable there.
        """
        found: dict[int, Node] = {}
        for variable in variables:
            assigns = self.assigns.pop(variable)
            first = assigns[0].order
            found.update((node.order, node) for node in assigns)
            touches = self.touches.get(variable)
            while touches and touches[-1].order > first:
                node = touches.pop()
                found[node.order] = node
        return [found[order] for order in sorted(found)]


def code_of(body: Body) -> Code:
    """A body with its index."""
    code = Code()
    for order, stmt in enumerate(body):
        code.add(Node(order, stmt))
    return code


def _enter(index: Occurrences, variable: Variable, node: Node, first: bool) -> None:
    places = index.setdefault(variable, deque())
    if first:
        places.appendleft(node)
    else:
        places.append(node)


def _joined(a: Occurrences, b: Occurrences) -> Occurrences:
    """The smaller index goes into the larger one, so that no place is moved more often than log n times."""
    small, large = (a, b) if len(a) < len(b) else (b, a)
    for variable, places in small.items():
        other = large.get(variable)
        if other is None:
            large[variable] = places
        else:
            large[variable] = _in_sequence(places, other) if small is a else _in_sequence(other, places)
    return large


def _united(a: set[Variable], b: set[Variable]) -> set[Variable]:
    small, large = (a, b) if len(a) < len(b) else (b, a)
    large |= small
    return large


def _in_sequence(left: deque[Node], right: deque[Node]) -> deque[Node]:
    if len(left) < len(right):
        right.extendleft(reversed(left))
        return right
    left.extend(right)
    return left
