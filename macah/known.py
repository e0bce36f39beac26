"""What is the same in all runs of a kernel: values of its graph, and when accesses touch which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from backend.dfg import DFG, Const, Node, Operand, Use
from macah.course import course_of, independent
from macah.matters import Matters

_LOGIC: dict[str, Callable[..., int]] = {
    "and": lambda a, b: int(bool(a and b)),
    "or": lambda a, b: int(bool(a or b)),
}
"""What makes guards of others: 0 whatever those are that nothing is known of, where what is known says so."""


class Known:
    """What is known of a graph because it is the same whatever the data are, as a course tells.

    Before `follow` it is only known what depends on no data.
    """

    def __init__(self, dfg: DFG) -> None:
        self.dfg, self.own = dfg, independent(dfg)
        self.columns: dict[Operand, list[int]] = {}
        self.bits: dict[Operand, int] = {}  # what `may` says of these
        self.places: list[int] = []

    def all(self) -> list[int]:
        """The nodes of which others need to know something."""
        return [use.node for node, _, use in self.dfg.uses() if node not in self.own and self.tells(use)]

    def follow(self, nodes: Sequence[int], most: int, window: int, ends: bool = True) -> bool:
        """Take values from the course of some nodes; False if it is longer than `most`.

        What comes after the last iteration is looked at for `window` more ones at least. `ends`: what nodes
        do after the kernel's end need not be known.
        """
        course = course_of(self.dfg, self.own, nodes, most, ends)
        if course is not None:
            self.course, self.columns, self.bits = course, {}, {}
            self.places = course.numbers(1 + -(-window // (len(course.rows) - course.again)))
        return course is not None

    def below(self, operands: Iterable[Operand]) -> list[int]:
        """The nodes that tell something of operands."""
        found, seen, pending = list[int](), set[Operand](), list(operands)
        while pending:
            operand = pending.pop()
            if operand in seen:
                continue
            seen.add(operand)
            if self.tells(operand):
                found.append(operand.node)
            elif inner := self.inner(operand):
                pending += inner.operands
        return found

    def touched(self, accesses: Sequence[Node]) -> dict[int, list[int | None]]:
        """The word that each access may touch in each iteration, if it does and if that matters."""
        loads = [node.id for node in accesses if node.op == "load"]
        matters = Matters(self.dfg, self.may, self.surely, len(self.places)).of(loads)
        found = dict[int, list[int | None]]()
        for node in accesses:
            bits = matters[node.id] if node.op == "load" else self.may(node.operands[2])
            words = self.values(node.operands[0])
            found[node.id] = [word if bits >> n & 1 else None for n, word in enumerate(words)]
        return found

    def may(self, operand: Operand) -> int:
        """A bit for each iteration in which an operand may be another word than 0."""
        if operand not in self.bits:
            digits = "".join(["1" if word else "0" for word in reversed(self.values(operand))])
            self.bits[operand] = int(digits, 2)
        return self.bits[operand]

    def surely(self, operand: Operand) -> int:
        """A bit for each iteration in which it certainly is."""
        return self.may(operand) if self.follows(operand) else 0

    def values(self, operand: Operand) -> list[int]:
        """An operand in each iteration; 1 where nothing is known."""
        if operand not in self.columns:
            self.columns[operand] = self._values(operand)
        return self.columns[operand]

    def _values(self, operand: Operand) -> list[int]:
        if isinstance(operand, Const):
            return [operand.value] * len(self.places)
        if self.follows(operand):
            assert isinstance(operand.initial, Const)
            values = self.course.values(operand.node)
            return [*[operand.initial.value] * operand.distance, *[values[p] for p in self.places]][
                : len(self.places)
            ]
        if (inner := self.inner(operand)) is not None:
            columns = [self.values(each) for each in inner.operands]
            return [_LOGIC[inner.op](*words) for words in zip(*columns, strict=True)]
        return [1] * len(self.places)

    def tells(self, operand: Operand) -> TypeGuard[Use]:
        """True if an operand depends on nothing but these nodes."""
        if not isinstance(operand, Use) or operand.node not in self.own:
            return False
        return operand.distance == 0 or isinstance(operand.initial, Const)

    def follows(self, operand: Operand) -> TypeGuard[Use]:
        """True if the course tells an operand."""
        return self.tells(operand) and operand.node in self.course.places

    def inner(self, operand: Operand) -> Node | None:
        """What makes a guard of others, in the same iteration."""
        if not isinstance(operand, Use) or operand.distance:
            return None
        node = self.dfg.nodes[operand.node]
        return node if node.op in _LOGIC else None
