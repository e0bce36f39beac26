"""The course that control takes which depends on nothing but itself: what nodes are in each iteration."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from arch.ops import OPS
from backend.dfg import DFG, Const, Operand, Use, evaluation_order
from macah.course_rows import CODES, NEVER, OPERANDS, Program, compute

REST = 8
"""So many iterations behind the last one are what all later ones do."""

AT_ONCE = 64
"""So many rows are computed before it is looked whether they end or repeat."""


@dataclass(frozen=True)
class Course:
    """The values of nodes, in that order, in each iteration; after the last row comes row `again`."""

    nodes: tuple[int, ...]
    rows: Sequence[Sequence[int]]
    again: int

    @cached_property
    def places(self) -> dict[int, int]:
        """Where the values of each node are in a row."""
        return {node: place for place, node in enumerate(self.nodes)}

    def values(self, node: int) -> tuple[int, ...]:
        """Those of a node."""
        place = self.places[node]
        return tuple([row[place] for row in self.rows])

    def numbers(self, times: int) -> list[int]:
        """The row of each iteration until what is done again and again has been done so many times."""
        return [*range(self.again), *list(range(self.again, len(self.rows))) * times]


def independent(dfg: DFG) -> set[int]:
    """The nodes that need constants and one another only, in whatever iteration."""
    consumers: list[list[int]] = [[] for _ in dfg.nodes]
    for consumer, _, use in dfg.uses():
        consumers[use.node].append(consumer)
    found = {node.id for node in dfg.nodes}
    pending = [n.id for n in dfg.nodes if not (OPS[n.op].pure and all(_within(n.operands, found)))]
    while pending:
        number = pending.pop()
        if number in found:
            found.remove(number)
            pending += consumers[number]
    return found


def _within(operands: Sequence[Operand], found: Collection[int]) -> Iterator[bool]:
    for operand in operands:
        match operand:
            case Const():
                yield True
            case Use(node, distance, initial):
                yield node in found and (distance == 0 or isinstance(initial, Const))
            case _:
                yield False


def closed(dfg: DFG, nodes: Sequence[int]) -> frozenset[int]:
    """Nodes with all that they need."""
    found, pending = set[int](), list(nodes)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += [operand.node for operand in dfg.nodes[number].operands if isinstance(operand, Use)]
    return frozenset(found)


def following(dfg: DFG, own: Collection[int], nodes: frozenset[int]) -> frozenset[int]:
    """Nodes, and those that need nothing else."""
    found = set(nodes)
    while more := {n for n in own if n not in found and all(_within(dfg.nodes[n].operands, found))}:
        found |= more
    return frozenset(found)


def course_of(
    dfg: DFG, own: Collection[int], nodes: Sequence[int], most: int, ends: bool = True
) -> Course | None:
    """What some of the nodes that need nothing else do, with what they need; None if that is too long.

    It has `most` iterations until it is repeated, or, if it `ends`, until the kernel does, if that is known:
    then nothing tells what nodes do much later.
    """
    needed = closed(dfg, nodes)
    if (found := _run(dfg, needed, most)) is not None:
        return found
    stop = next(node for node in dfg.nodes if node.op == "stop")
    match stop.operands:
        case (Use(last, 0),) if ends and last in own:
            return _run(dfg, closed(dfg, [last]) | needed, most, last)
    return None


def _run(dfg: DFG, nodes: frozenset[int], most: int, last: int | None = None) -> Course | None:
    """What nodes do until they repeat it, or until `last` is not 0; None after `most` iterations."""
    known = sorted(nodes)
    new = {node: place for place, node in enumerate(known)}
    steps = [
        _Step(new[number], node.op, tuple([_renumbered(operand, new) for operand in node.operands]))
        for number in evaluation_order(dfg)
        if number in new and (node := dfg.nodes[number])
    ]
    found = _rows(tuple(steps), most, None if last is None else new[last])
    return None if found is None else Course(tuple(known), *found)


@dataclass(frozen=True, slots=True)
class _Step:
    """What computes a value of a row."""

    place: int
    op: str
    operands: tuple[Operand, ...]


def _renumbered(operand: Operand, new: Mapping[int, int]) -> Operand:
    return replace(operand, node=new[operand.node]) if isinstance(operand, Use) else operand


@lru_cache(maxsize=8)
def _rows(steps: Sequence[_Step], most: int, last: int | None) -> tuple[list[array[int]], int] | None:
    """The rows, and the one after the last; graphs that are made on trial have the same control."""
    width = len(steps)
    reach = [operand.distance for step in steps for operand in step.operands if isinstance(operand, Use)]
    settled = max(1, *reach) if reach else 1  # no first values are used from there on
    program, words = _program(steps), array("Q")
    rows: list[array[int]] = []
    marks, alike, known = list[int](), dict[bytes, int](), dict[tuple[int, ...], int]()
    while True:
        words.extend([0] * (width * AT_ONCE))
        compute(program, words, len(rows), len(rows) + AT_ONCE)
        for count in range(len(rows), len(rows) + AT_ONCE):
            if count > most + settled:
                return None
            if count >= settled:
                before = known.setdefault(tuple(marks[-settled:]), count)
                if before < count:
                    return rows, before
            rows.append(words[count * width : (count + 1) * width])
            marks.append(alike.setdefault(rows[-1].tobytes(), count))
            if last is not None and any(row[last] for row in rows[-1 - REST - settled : -REST - settled]):
                # nothing has effects any more, so that any of these may be repeated
                return rows, len(rows) - REST


def _program(steps: Sequence[_Step]) -> Program:
    """The steps as `compute` wants them."""
    codes, others = array("i"), list[Callable[..., int]]()
    at, back, first = array("i"), array("q"), array("Q")
    for step in steps:
        if step.op not in CODES:
            evaluate = OPS[step.op].evaluate
            assert evaluate is not None
            others.append(evaluate)
        codes.append(CODES.get(step.op, len(CODES) + len(others) - 1))
        for operand in (*step.operands, *[Const(0)] * (OPERANDS - len(step.operands))):
            place, distance, initial = _operand(operand)
            at.append(place)
            back.append(distance)
            first.append(initial)
    places = array("i", [step.place for step in steps])
    arity = array("i", [len(step.operands) for step in steps])
    return Program(codes, places, arity, at, back, first, tuple(others))


def _operand(operand: Operand) -> tuple[int, int, int]:
    """A place in a row, how many rows back, and a first value."""
    match operand:
        case Const(value):
            return 0, NEVER, value
        case Use(place, 0):
            return place, 0, 0
        case Use(place, distance, Const(initial)):
            return place, distance, initial
        case _:
            raise AssertionError(operand)
