"""Reads control that depends on nothing but itself from a table, where it holds up iterations.

    for (i = 0; i < 16; i++) for (j = 0; j < i; j++) …

becomes, where `turn` is an iteration's number, in a circle:

    word = turns[turn];   i = word >> 4;   j = word & 15;

What loops with constant bounds, and bounds that others count with, do next is the same whatever the data are.
The flat loop of several such nests in sequence takes three operations and more from one iteration to the
next; the number of an iteration takes one, and the table may be read as early as it has to be. A kernel that
does it all again and again starts the table again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from backend.cycles import components, tightest_of
from backend.dfg import DFG, Const, Memory, Node, Operand, Use
from macah.capacity import Capacity
from macah.compact import without_nodes
from macah.course import Course, course_of, following, independent
from macah.names import unused_name
from macah.ranges import WORD
from macah.shorten import bound, delays
from macah.table_fields import Field, Table, packed

AHEAD = 4
"""So many iterations before the circle's end it is known: what counts takes one operation then."""

MOST_NODES = 600
"""Larger graphs are left as they are."""


def tabulated(dfg: DFG, shorter: DFG, capacity: Capacity) -> DFG | None:
    """The graph with its slow control in tables; None if that is no way to a lower bound.

    `shorter` is what shortening the recurrences of the graph came to.
    """
    if capacity.fabric is None or len(dfg.nodes) > MOST_NODES:
        return None
    floor, reached = capacity.least_interval(shorter), bound(shorter, capacity)
    if reached <= floor:
        return None
    own = independent(shorter)
    if max((needed for first, needed in _needed(shorter, floor) if first not in own), default=1) >= reached:
        return None
    banks = capacity.fabric.memories
    free, words = len(banks) - len(dfg.memories), min((bank.words for bank in banks), default=0)
    return _tabulated(dfg, capacity.least_interval(dfg), free, words) if free > 0 else None


def control_tables(dfg: DFG) -> list[Memory]:
    """The tables that were made of control: nothing in the source loads from them."""
    named = {node.memory for node in dfg.nodes if node.where is not None}
    return [memory for m, memory in enumerate(dfg.memories) if memory.initial and m not in named]


@lru_cache(maxsize=16)
def _tabulated(dfg: DFG, floor: int, free: int, words: int) -> DFG | None:
    """The graph with control in `free` tables of so many words where it is slower than an interval."""
    course = _course(dfg, floor, words)
    course = _shortest(course, words) if course else None
    if course is None:
        return None
    fields, found = list[Field](), dict[int, int | None]()  # the place of a node's values in the fields
    for node in _seen(dfg, frozenset(course.nodes)):
        values = course.values(node)
        field = Field(values)
        if len(set(values)) == 1:
            found[node] = None
            continue
        if field not in fields:
            fields.append(field)
        found[node] = fields.index(field)
    tables = packed(fields, free)
    return None if tables is None else _Builder(dfg, course, tables).made(found)


def _needed(dfg: DFG, floor: int) -> Iterator[tuple[int, int]]:
    """A node of each component, and the interval that this needs."""
    for inside in components(delays(dfg)):
        yield inside[0].source, tightest_of(inside, floor)[0]


def _course(dfg: DFG, floor: int, most: int) -> Course | None:
    """That of slow control and of all that follows from it; None if it has more than `most` iterations."""
    own = independent(dfg)
    slow = [first for first, needed in _needed(dfg, floor) if first in own and needed > floor]
    found = course_of(dfg, own, slow, most) if slow else None
    if found is None:
        together = list[int]()
        for first in slow:
            tried = course_of(dfg, own, [*together, first], most)
            found, together = (found, together) if tried is None else (tried, [*together, first])
    if found is None:
        return None
    return course_of(dfg, own, sorted(following(dfg, own, frozenset(found.nodes))), most) or found


def _seen(dfg: DFG, nodes: Collection[int]) -> list[int]:
    """The nodes that others use."""
    return sorted(
        {use.node for consumer, _, use in dfg.uses() if consumer not in nodes and use.node in nodes}
    )


def _shortest(course: Course, most: int) -> Course | None:
    """The same course with as few rows as tell it, but a circle that is long enough to look ahead in."""
    rows, again = list(course.rows), course.again
    period = len(rows) - again
    while again and rows[again - 1] == rows[-1]:
        rows.pop()
        again -= 1
    while len(rows) - again < AHEAD + 2 or (len(rows) - again) % period:
        rows.append(rows[-period])
    return Course(course.nodes, rows, again) if len(rows) <= most else None


# --- The graph that reads it


class _Builder:
    def __init__(self, dfg: DFG, course: Course, tables: Sequence[Table]) -> None:
        self.dfg, self.course, self.tables = dfg, course, tables
        self.nodes = list(dfg.nodes)

    def made(self, fields: dict[int, int | None]) -> DFG:
        """The graph; `fields` are those of nodes, None of nodes whose value is always the same."""
        memories = list(self.dfg.memories)
        words = self.words(memories) if self.tables else {}  # nothing may ever change
        values = {node: self.value(node, field, words) for node, field in fields.items()}
        gone = frozenset(self.course.nodes)
        for node in self.nodes.copy():
            if node.id not in gone:
                operands = tuple([self.replaced(operand, values) for operand in node.operands])
                self.nodes[node.id] = replace(node, operands=operands)
        whole = replace(self.dfg, nodes=tuple(self.nodes), memories=tuple(memories))
        return without_nodes(whole, gone)

    def words(self, memories: list[Memory]) -> dict[int, int]:
        """The loads of tables, which are further memories."""
        taken, found = [memory.name for memory in memories], dict[int, int]()
        turn = self.turn()
        for number, table in enumerate(self.tables):
            taken.append(unused_name("turns", taken))
            found[number] = self.add("load", turn, memory=len(memories))
            memories.append(Memory(taken[-1], len(self.course.rows), initial=table.words))
        return found

    def turn(self) -> Use:
        """What counts iterations in a circle."""
        first = len(self.nodes)
        last, again = len(self.course.rows) - 1, self.course.again
        turn = Use(first + 2)
        # 0 is no place so near the end, and the number of the first iteration
        soon = self.add("eq", replace(turn, distance=1 + AHEAD), Const(last - AHEAD))
        step = self.add("select", Use(soon), Const(again - last & WORD), Const(1))
        self.add("add", replace(turn, distance=1, initial=Const(WORD)), Use(step), name="turn")
        return turn

    def value(self, node: int, field: int | None, words: dict[int, int]) -> Operand:
        """What a node's consumers read instead."""
        if field is None:
            return Const(self.course.values(node)[0])
        table, place = next(
            (t, table.bits[field]) for t, table in enumerate(self.tables) if field in table.bits
        )
        value = Use(words[table])
        if place.shift:
            value = Use(self.add("sar" if place.signed else "shr", value, Const(place.shift), like=node))
        if place.mask:
            value = Use(self.add("and", value, Const(place.mask), like=node))
        return value

    def replaced(self, operand: Operand, values: dict[int, Operand]) -> Operand:
        if not isinstance(operand, Use) or operand.node not in values:
            return operand
        value = values[operand.node]
        if isinstance(value, Use):
            return replace(operand, node=value.node)
        if operand.distance == 0 or operand.initial == value:
            return value
        return replace(operand, node=self.add("mov", value))

    def add(
        self, op: str, *operands: Operand, memory: int | None = None, name: str | None = None, like: int = -1
    ) -> int:
        where = self.dfg.nodes[like].where if like >= 0 else None
        name = self.dfg.nodes[like].variable if like >= 0 else name
        self.nodes.append(Node(len(self.nodes), op, operands, memory=memory, where=where, variable=name))
        return len(self.nodes) - 1
