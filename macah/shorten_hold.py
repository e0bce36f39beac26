"""What waits for its turn may keep its value meanwhile, instead of being given its first one again and again.

    past = past@1 | last               s = s@1 + (past@1 ? x : 0)
    s = past@1 ? s@1 + x : 0      ->

As `past` never becomes 0 again, `s` has been 0 from the beginning wherever `past@1` is 0, and so is `s@1`
if it begins with 0. Then the choice is of what is known early. Loops behind other loops carry values so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.dfg import DFG, Const, LiveIn, Node, Operand, Use
from macah.graph import ZERO, Value
from macah.shorten_graph import Choices


def hold(dfg: DFG, choices: Choices, drafts: Sequence[int]) -> None:
    """Give what is carried by a loop that may have to wait for its turn further ways to be made."""
    holding = _Holding(dfg, choices, drafts)
    for node in dfg.nodes:
        if node.op == "select":
            for value in holding.ways(node):
                choices.equal(drafts[node.id], value)


class _Holding:
    def __init__(self, dfg: DFG, choices: Choices, drafts: Sequence[int]) -> None:
        self.dfg, self.choices, self.drafts = dfg, choices, drafts
        self.lasting = {n.id for n in dfg.nodes if n.op == "or" and Use(n.id, 1, ZERO) in n.operands}

    def ways(self, node: Node) -> Iterator[Value]:
        """What a choice is if it keeps what it was an iteration ago where it is not its turn."""
        turn, new, waiting = node.operands
        if not isinstance(new, Use) or new.distance or new.output:
            return
        if isinstance(waiting, Const | LiveIn) and self._lasts(turn):
            kept = Use(node.id, 1, waiting)
        elif isinstance(waiting, Use) and waiting == Use(node.id, 1, waiting.initial):
            kept = waiting
        else:
            return
        made = self.dfg.nodes[new.node]
        if kept in made.operands:
            yield from self._kept(self._value(turn), self._value(kept), made, made.operands.index(kept))

    def _kept(self, turn: Value, kept: Value, made: Node, at: int) -> Iterator[Value]:
        """`turn ? made : kept`, where an operand of what is made is `kept`."""
        apply, where = self.choices.apply, made.where
        values = [self._value(operand) for operand in made.operands]
        match made.op, at:
            case "add", _:
                yield apply("add", kept, apply("select", turn, values[1 - at], ZERO), where=where)
            case "sub", 0:
                yield apply("sub", kept, apply("select", turn, values[1], ZERO), where=where)
            case "muladd", 2:
                factor = apply("select", turn, values[0], ZERO)
                yield apply("muladd", factor, values[1], kept, where=where)
            case "select", (1 | 2):
                other = self.choices.inverse(values[0]) if at == 1 else values[0]
                if other is None or not all(map(self.choices.is_predicate, (other, turn))):
                    return
                yield apply("select", apply("and", turn, other), values[3 - at], kept, where=where)

    def _lasts(self, operand: Operand) -> bool:
        """Whether a condition is 0 until some iteration, and never again."""
        return isinstance(operand, Use) and operand.node in self.lasting and operand.initial == ZERO

    def _value(self, operand: Operand) -> Value:
        if not isinstance(operand, Use):
            return operand
        now = Use(self.drafts[operand.node], output=operand.output)
        return self.choices.delayed(now, (operand.initial,) * operand.distance)
