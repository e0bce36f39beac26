"""Rebuilds a graph under construction, each pure operation as a rule says, and without what nothing uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from arch.ops import OPS
from backend.dfg import Const, LiveIn, Use
from macah.graph import Before, Draft, Graph, Value
from macah.ir import Variable

_NONE: Mapping[int, tuple[int, ...]] = {}


@dataclass(frozen=True, slots=True)
class Loop:
    """A graph with what its variables are before the loop and at the end of an iteration.

    `alive` is 1 in the iterations that count: in others no effect happens, and values do not matter.
    `bases` are needed, too, though no effect may use them: by the load or store whose address each is a part
    of. No more iterations than `most` count, if that is known.
    """

    graph: Graph
    initial: Mapping[Variable, Const | LiveIn]
    final: Mapping[Variable, Value]
    alive: Variable
    bases: Mapping[int, Value] = field(default_factory=dict)
    most: int | None = None

    def live(self, without: Mapping[int, tuple[int, ...]] = _NONE) -> tuple[list[int], list[Variable]]:
        """The drafts that effects need, in order, and the variables of which they need the last values.

        `without`: operands that are left out, by drafts.
        """
        drafts = self.graph.drafts
        pending: list[Value] = [Use(number) for number, draft in enumerate(drafts) if draft.effect]
        pending += self.bases.values()
        found, variables = set[int](), dict[Variable, None]()
        while pending:
            value = pending.pop()
            if isinstance(value, Use):
                if value.node not in found:
                    found.add(value.node)
                    left = without.get(value.node, ())
                    pending += [v for p, v in enumerate(drafts[value.node].operands) if p not in left]
            elif isinstance(value, Before) and value.variable not in variables:
                variables[value.variable] = None
                pending.append(self.final[value.variable])
        return sorted(found), list(variables)


@dataclass(slots=True)
class Rebuilt:
    """The new graph while it is made; `numbers` are those of drafts that are not pure, by the old ones."""

    old: Loop
    graph: Graph
    values: dict[int, Value] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """What stands for a value of the old graph."""
        if not isinstance(value, Use):
            return value
        found = self.values.get(value.node)
        return Use(self.numbers[value.node], output=value.output) if found is None else found

    def loop(self, variables: list[Variable], rules: Rules) -> Loop:
        final = {variable: rules.last(self, variable, self.old.final[variable]) for variable in variables}
        return Loop(self.graph, self.old.initial, final, self.old.alive, most=self.old.most)


class Rules:
    """How a graph is rebuilt; this one changes nothing."""

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """What stands in the new graph for an operand of a draft."""
        return new.value(value)

    def last(self, new: Rebuilt, variable: Variable, value: Value) -> Value:
        """What stands for a variable's value at the end of an iteration, for the next one."""
        return new.value(value)

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """What stands there for a pure draft, given its new operands."""
        return new.graph.pure(draft.op, *operands, where=draft.where)


def rebuilt(
    old: Loop, rules: Rules, needed: tuple[list[int], list[Variable]], predicates: Iterable[Variable] = ()
) -> tuple[Rebuilt, Loop]:
    """The graph made again; effects and loads stay what they are, with new operands.

    `needed` is what `live` says; `predicates` are variables that are known to be 0 or 1, besides those that
    the graph knows.
    """
    new = Rebuilt(old, Graph(old.graph.predicates.union(predicates)))
    live, variables = needed
    for number in live:
        draft = old.graph.drafts[number]
        operands = tuple([rules.operand(new, number, p, value) for p, value in enumerate(draft.operands)])
        if OPS[draft.op].pure:
            value = rules.apply(new, number, draft, operands)
            if draft.variable is not None:
                new.graph.name(value, draft.variable)
            new.values[number] = value
        else:
            new.numbers[number] = new.graph.add(draft.with_operands(operands))
    return new, new.loop(variables, rules)
