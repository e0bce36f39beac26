"""Which operations of a finished graph never act in the same iteration, and what tells which one does.

if (c) a[i] = x; else a[j] = y;      the stores exclude each other, and `c` tells them apart
z = c ? b[i] : b[j] + 1;             so do the loads, as only one of them matters
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from arch.ops import OPS
from backend.dfg import DFG, Const, LiveIn, Node, Operand, Use, evaluation_order
from backend.predicates import narrow, predicates
from macah import ir
from macah.apart import Apart
from macah.atoms import Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import Before, Draft, Graph, Value
from macah.observed import Observed
from macah.rewrite import Loop
from macah.turns import Turns, turns_of
from macah.widths import Widths

GUARDS = {"store": 2, "send": 1, "recv": 1}
"""Effects that may be joined, and their operands that say whether they happen."""


class Exclusion:
    """The conditions of one graph. Everything holds in all iterations, also those past the exit.

    `flags`: those of which never two are set are looked for, too.
    """

    def __init__(self, dfg: DFG, flags: bool = False) -> None:
        self.dfg = dfg
        self.flags = flags
        self.order = evaluation_order(dfg)
        self.at: dict[int, int] = {}
        self.predicates = predicates(dfg)
        self.initial: dict[ir.Variable, Const | LiveIn] = {}
        self.final: dict[ir.Variable, Value] = {}
        self.carried: dict[Use, ir.Variable] = {}
        graph = Graph()
        for number in self.order:
            draft = self._draft(graph, dfg.nodes[number])
            lowest = draft.op == "and" and Const(1) in draft.operands
            self.at[number] = graph.shared(draft).node if lowest else graph.add(draft)
        for use, variable in self.carried.items():
            if use.distance == 1:
                self.final[variable] = Use(self.at[use.node], output=use.output)
        loop = Loop(graph, self.initial, self.final, ir.Variable("alive"))
        widths = Widths(loop, {})
        self.conditions = Conditions(widths)
        self.bdd = self.conditions.bdd
        self.observed = Observed(widths, self.conditions)
        self.levels = self._levels()
        self.tests = self._tests()

    def _draft(self, graph: Graph, node: Node) -> Draft:
        effect = not OPS[node.op].pure and node.op != "load"
        operands = tuple(map(self._value, node.operands))
        if node.op == "and" and (node.id, 0) in self.predicates and Const(1) not in operands:
            # Of words only one bit matters, which is the same condition wherever it is asked for.
            operands = tuple(
                value if narrow(operand, self.predicates) else graph.shared(Draft("and", (value, Const(1))))
                for operand, value in zip(node.operands, operands, strict=True)
            )
        return Draft(node.op, operands, node.stream, node.memory, node.index, effect=effect)

    def _value(self, operand: Operand) -> Value:
        """An operand as graphs under construction have it: variables for what is iterations ago."""
        if not isinstance(operand, Use):
            return operand
        if operand.distance == 0:
            return Use(self.at[operand.node], output=operand.output)
        if operand not in self.carried:
            self.carried[operand] = variable = ir.Variable(f"n{operand.node}")
            self.initial[variable] = operand.initial
            if operand.distance > 1:
                self.final[variable] = self._value(replace(operand, distance=operand.distance - 1))
        return Before(self.carried[operand])

    def _levels(self) -> list[int]:
        """How many operations in a row come before each one in its iteration."""
        found = [0] * len(self.order)
        for number in self.order:
            uses = [o.node for o in self.dfg.nodes[number].operands if isinstance(o, Use) and not o.distance]
            found[number] = 1 + max((found[node] for node in uses), default=-1)
        return found

    def _tests(self) -> list[tuple[int, Operand]]:
        """Values that decide something, with their functions: those that are known first come first."""
        found = dict[Operand, None]()
        for node in self.dfg.nodes:
            if node.op == "select" or node.op in GUARDS:
                found[node.operands[GUARDS.get(node.op, 0)]] = None
            if self.at[node.id] in self.conditions.logical:
                found[Use(node.id)] = None
        tests = [operand for operand in found if not isinstance(operand, Const)]
        tests.sort(key=self._level)
        return [(self.function(operand), operand) for operand in tests]

    def _level(self, operand: Operand) -> int:
        return self.levels[operand.node] if isinstance(operand, Use) and not operand.distance else -1

    @cached_property
    def apart(self) -> Apart:
        """The flags of which never two are set."""
        return Apart(self.conditions, self.initial, self.final)

    @cached_property
    def turns(self) -> Turns | None:
        """What is known because it is the same whatever the data are."""
        operands: dict[Value, Operand] = {Use(self.at[number]): Use(number) for number in self.order}
        operands |= {Before(variable): use for use, variable in self.carried.items()}
        return turns_of(self.dfg, self.conditions, operands)

    # --- Questions

    def function(self, operand: Operand) -> int:
        """Where an operand is not 0."""
        return self.conditions.of(self._value(operand))

    def matters(self, number: int) -> int:
        """Where an effect happens, or the result of another operation is observed."""
        node = self.dfg.nodes[number]
        if node.op in GUARDS:
            return self.function(node.operands[GUARDS[node.op]])
        return self.observed.of[self.at[number]]

    def seen(self, number: int, but: int) -> int:
        """Where a result is observed, other than by one operation."""
        found = FALSE
        for consumer, position, use in self.dfg.uses():
            if use.node == number and consumer != but:
                where = TRUE if use.distance else self.observed.where(self.at[consumer], position)
                found = self.bdd.either(found, where)
        return self.conditions.bounded(found, TRUE)

    def exclude(self, a: int, b: int) -> bool:
        """True if two functions never hold both."""
        both = self.bdd.both(a, b)
        if both == FALSE or (known := self.bdd.both(both, self.conditions.relations((a, b)))) == FALSE:
            return True
        if self.flags and self.apart.never(known):
            return True
        return self.turns is not None and not self.turns.may_hold(both)

    def implies(self, a: int, b: int) -> bool:
        """True if a function holds wherever another does."""
        return self.exclude(a, self.bdd.opposite(b))

    def telling(self, a: int, b: int) -> Iterator[tuple[Operand, bool]]:
        """Values that tell which of two functions holds, and whether they are not 0 for the first."""
        for function, operand in self.tests:
            if self.exclude(b, function) and self.implies(a, function):
                yield operand, True
            elif self.exclude(a, function) and self.implies(b, function):
                yield operand, False

    def equal(self, function: int) -> Operand | None:
        """A value that is not 0 exactly where the function holds."""
        for other, operand in self.tests:
            if self.implies(function, other) and self.implies(other, function):
                return operand
        return None
