"""A graph whose values can be made in several ways, for the search that shortens recurrences.

A value is a class of drafts that are known to be equal in every iteration; each of them is a way to make it.
A value of earlier iterations (`Past`) has an initial value for each iteration before there was one, so that
an operation can be moved over a distance:

    (x@1 + 1)@2 with 7, 8 before          ->          x@3 + 1 with 6, 7, and what x@1 began with

Any choice of ways is right as long as a value does not need itself in the same iteration: every way is an
equation that the streams of values satisfy, and such a choice of equations has only one solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arch.ops import OPS, evaluate
from backend.dfg import Const, LiveIn, Place, Use
from macah.graph import ONE, WIDTH, ZERO, Before, Draft, Graph, Value
from macah.ir import Variable
from macah.shorten_inverse import operands_for

Start = Const | LiveIn
"""What stands for a value in an iteration before there was one."""


@dataclass(frozen=True, slots=True)
class Past:
    """Output `output` of `node`, as many iterations ago as there are `initials`, which stand for it first."""

    node: int
    output: int
    initials: tuple[Start, ...]

    @property
    def distance(self) -> int:
        return len(self.initials)

    @property
    def moves(self) -> int:
        """Copies that it takes to have different initial values."""
        if len(self.initials) < 2:
            return 0
        return sum(a != b for a, b in zip(self.initials, self.initials[1:], strict=False))


_MOVABLE = frozenset({"load"} | {name for name, op in OPS.items() if op.pure})

MOST_DISTANCE = 3
"""Operations are not moved farther into the past than this."""


class Choices:
    """Drafts by number, in classes of equal ones. `Before(v)` stands for a `Past`."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.pasts: dict[Past, Before] = {}
        self.meaning: dict[Variable, Past] = {}
        self.plain: dict[int, Past] = {}  # first outputs of this iteration, by node
        self.parent: list[int] = []
        self.ways: dict[int, list[int]] = {}
        self.same: dict[tuple[object, ...], int] = {}  # drafts by what they do, to which classes
        self.users: dict[int, list[int]] = {}  # the drafts in there that have operands of a class
        self.stale: set[int] = set()  # drafts that are new, or whose operands have become of other classes
        self.inverses: dict[Value, Value] = {}
        self.applied: dict[tuple[str, tuple[Value, ...]], Value] = {}
        self.moved: dict[tuple[int, tuple[Start, ...]], tuple[Value, ...] | None] = {}
        self.tables: dict[int, tuple[int, ...]] = {}  # the words of memories that hold constants
        self.fixed: set[int] = set()  # drafts with effects or state: they are made in one way only

    # --- Classes

    def find(self, node: int) -> int:
        """The first draft of a class."""
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def enter(self) -> None:
        """Make classes of drafts that are new."""
        for node in range(len(self.parent), len(self.graph.drafts)):
            self.parent.append(node)
            self.ways[node] = [node]
            self.stale.add(node)

    def equal(self, node: int, value: Value) -> bool:
        """Note that a node has this value too; False if that is nothing new."""
        self.enter()
        plain = isinstance(value, Use) and value.output == 0
        other = self.find(value.node if isinstance(value, Use) and plain else self.alias(value))
        mine = self.find(node)
        if mine == other:
            return False
        first, second = sorted((mine, other))
        self.parent[second] = first
        self.ways[first] = sorted(self.ways[first] + self.ways.pop(second))
        self.stale.update(self.users.pop(second, ()))
        return True

    def alias(self, value: Value) -> int:
        """A draft that is another value, at no cost."""
        use = self.graph.shared(Draft("mov", (value,)))
        self.enter()
        return use.node

    def delay_all(self) -> None:
        """Find what is an operation on values of the past only, as the past of that operation."""
        for node, draft in enumerate(self.graph.drafts[:]):
            if OPS[draft.op].pure and draft.op != "mov":
                self.equal(node, self.apply(draft.op, *draft.operands, where=draft.where))
        self.merge_same()

    # --- Values

    def meant(self, value: Value) -> Past | None:
        """What a value is in terms of a node; None if it is a constant or a live-in."""
        if isinstance(value, Use):
            node = value.node
            if self.parent[node] != node:
                node = self.find(node)
            if value.output:
                return Past(node, value.output, ())
            known = self.plain.get(node)
            if known is None:
                known = self.plain[node] = Past(node, 0, ())
            return known
        return self.meaning[value.variable] if isinstance(value, Before) else None

    def past(self, past: Past, predicate: bool = False) -> Value:
        """What an operand is that has the value of some iterations ago."""
        node = self.find(past.node)
        if node != past.node:
            past = Past(node, past.output, past.initials)
        if not past.initials:
            return Use(past.node, output=past.output)
        if past not in self.pasts:
            variable = Variable("past")
            if predicate or (
                self.is_predicate(Use(past.node, output=past.output))
                and all(isinstance(start, Const) and start.value < 2 for start in past.initials)
            ):
                self.graph.predicates.add(variable)
            self.meaning[variable] = past
            self.pasts[past] = Before(variable)
        return self.pasts[past]

    def current(self, value: Value) -> Value:
        """The value by the first draft of its class."""
        if isinstance(value, Use):
            node = value.node
            if self.parent[node] == node and not value.distance:
                return value
            return Use(self.find(node), output=value.output)
        if isinstance(value, Before):
            past = self.meaning[value.variable]
            # what stands for a past of the first draft is this very value
            return value if self.parent[past.node] == past.node else self.past(past)
        return value

    def merge_same(self) -> None:
        """Find drafts that turned out to be the same operation on the same values; then there may be more.

        That is congruence closure, as e-graphs do it (Willsey et al., egg, POPL 2021: rebuilding).
        """
        while self.stale:
            pending, self.stale = sorted(self.stale - self.fixed), set()
            for node in pending:
                if node not in self.ways[self.find(node)]:
                    continue  # it is another one's twin
                other = self.same.setdefault(self._key(node), node)
                if other != node:
                    self.equal(node, Use(other))
                    self.same[self._key(node)] = min(node, other)
                    self.ways[self.find(node)].remove(max(node, other))

    def _key(self, node: int) -> tuple[object, ...]:
        """What a draft does, to which values; it is stale once one of these becomes of another class."""
        draft = self.graph.drafts[node]
        operands = tuple([self.current(value) for value in draft.operands])
        for value in operands:
            if (past := self.meant(value)) is not None:
                self.users.setdefault(past.node, []).append(node)
        return draft.op, operands, draft.memory, draft.turn

    def is_predicate(self, value: Value) -> bool:
        return self.graph.holds(value)

    def inverse(self, predicate: Value) -> Value | None:
        """What is 1 just where a predicate is 0; None if the value is no predicate."""
        if not self.is_predicate(predicate):
            return None
        if predicate not in self.inverses:
            self.inverses[predicate] = self.apply("xor", predicate, ONE)
        return self.current(self.inverses[predicate])

    def delayed(self, value: Value, initials: tuple[Start, ...]) -> Value:
        """A value some iterations ago."""
        if not initials or all(start == value for start in initials):
            return value
        past = self.meant(value)
        if past is None:
            past = Past(self.alias(value), 0, ())
        return self.past(Past(past.node, past.output, initials + past.initials))

    def natural(self, value: Value) -> Start | None:
        """The initial value that delays a value at the least cost."""
        if isinstance(value, Const | LiveIn):
            return value
        past = self.meant(value)
        return past.initials[0] if past and past.initials else None

    # --- Operations

    def apply(self, op: str, *values: Value, where: Place | None = None) -> Value:
        """The result of a pure operation: folded, and of values as late as can be."""
        values = tuple([self.current(value) for value in values])
        known = self.applied.get((op, values))
        if known is None:
            known = self.applied[op, values] = self._applied(op, values, where)
        return known

    def _applied(self, op: str, values: tuple[Value, ...], where: Place | None) -> Value:
        pasts = [self.meant(value) for value in values]
        distance = min((past.distance for past in pasts if past is not None), default=0)
        if distance:
            begins = [self._begin(op, values, pasts, i) for i in range(distance)]
            initials = tuple([begin for begin in begins if begin is not None])
            if len(initials) == distance:
                later = [
                    value if past is None else self._later(past, distance)
                    for value, past in zip(values, pasts, strict=True)
                ]
                return self.delayed(self.apply(op, *later, where=where), initials)
        result = self.now(op, *values, where=where)
        self.enter()
        return result

    def now(self, op: str, *values: Value, where: Place | None = None) -> Value:
        """The result of a pure operation in this iteration, folded; but `muladd` is not split again."""
        if op == "muladd" and not {ZERO, ONE} & {*values[:2]} and not set(map(type, values)) <= {Const}:
            return self.graph.shared(Draft(op, values, where=where))
        made = self.graph.pure(op, *values, where=where)
        if op == "and" and any(map(self.graph.holds, values)):
            self.graph.mark_predicate(made)
        return made

    def _begin(self, op: str, values: tuple[Value, ...], pasts: list[Past | None], i: int) -> Start | None:
        """What an operation on values of the past gives in iteration `i`."""
        starts = [
            value if past is None else past.initials[i] for value, past in zip(values, pasts, strict=True)
        ]
        if op == "select" and isinstance(starts[0], Const):
            chosen = starts[1 if starts[0].value else 2]
            return chosen if isinstance(chosen, Start) else None
        numbers = [start.value for start in starts if isinstance(start, Const)]
        return Const(evaluate(op, WIDTH, *numbers)) if len(numbers) == len(starts) else None

    def _later(self, past: Past, distance: int) -> Value:
        return self.past(Past(past.node, past.output, past.initials[distance:]))

    def again(self, draft: Draft, values: Iterable[Value], where: Place | None = None) -> Value:
        """The same operation on other values.

        A load of a constant element of a table is this constant: `t[c ? 3 : 4]` is `c ? t[3] : t[4]`. One of
        an array that something stores to stands in the same orders. So it loads what the other one would if
        its address is that of the other one, and what it loads is not chosen otherwise.
        """
        if draft.op != "load":
            return self.apply(draft.op, *values, where=where or draft.where)
        operands = tuple([self.current(value) for value in values])
        if draft.memory in self.tables and isinstance(address := operands[0], Const):
            table = self.tables[draft.memory]
            return Const(table[address.value]) if address.value < len(table) else ZERO
        copy = Draft("load", operands, memory=draft.memory, where=draft.where, turn=draft.turn)
        use = self.graph.shared(copy, draft.turn)
        self.enter()
        return use

    def movable(self, node: int) -> bool:
        """True if a draft's operation can be made again, of other values."""
        return node not in self.fixed and self.graph.drafts[node].op in _MOVABLE

    def views(
        self, value: Value, only: str | None = None, alias: bool = False
    ) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """Every way to make a value, or to make it with one operation: a draft, and what it is applied to."""
        past = self.meant(value)
        if past is None or past.output or len(past.initials) > MOST_DISTANCE:
            return
        # a good part of the whole search is spent here
        drafts, fixed, initials = self.graph.drafts, self.fixed, past.initials
        for node in self.ways[self.find(past.node)]:
            draft = drafts[node]
            op = draft.op
            if op == "mov":
                if not alias:
                    yield from self.views(self.delayed(draft.operands[0], initials), only, alias=True)
                continue
            if (op != only and only is not None) or op not in _MOVABLE or node in fixed:
                continue
            if not initials:
                yield node, draft.operands
                continue
            if (node, initials) not in self.moved:
                self.moved[node, initials] = self._moved(draft, initials)
            operands = self.moved[node, initials]
            if operands is not None:
                yield node, operands

    def _moved(self, draft: Draft, initials: tuple[Start, ...]) -> tuple[Value, ...] | None:
        """Operands with which the draft's operation gives the initial values first, then what it gave."""
        if draft.op == "load":
            return None
        starts: list[tuple[Start, ...]] = []
        prefer = tuple([self.natural(value) for value in draft.operands])
        fixed = tuple([value if isinstance(value, Const | LiveIn) else None for value in draft.operands])
        for start in reversed(initials):
            found = operands_for(draft.op, start, fixed, prefer)
            if found is None:
                return None
            starts.append(found)
            prefer = found
        starts.reverse()
        return tuple(
            self.delayed(value, tuple([start[k] for start in starts]))
            for k, value in enumerate(draft.operands)
        )
