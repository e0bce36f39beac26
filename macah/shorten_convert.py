"""From a graph to one with choices, and back with the ways that were chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from arch.ops import OPS
from backend.dfg import DFG, Const, LiveIn, Node, Operand, Use, evaluation_order
from backend.predicates import predicates
from macah.balance import latency
from macah.compact import compacted, live_ins_of, positions
from macah.graph import Before, Draft, Value
from macah.ir import Variable
from macah.shorten_graph import Choices, Past
from macah.shorten_time import Arc


def from_dfg(dfg: DFG) -> tuple[Choices, list[int]]:
    """The choices that there are at first, and the draft of each node."""
    choices = Choices()
    graph = choices.graph
    narrow = predicates(dfg)
    pure_memories = set(range(len(dfg.memories))) - {n.memory for n in dfg.nodes if n.op == "store"}
    choices.tables = {m: words for m in pure_memories if (words := dfg.memories[m].initial)}
    drafts = [-1] * len(dfg.nodes)
    delayed: dict[Use, Before] = {}

    def value(operand: Operand) -> Value:
        if not isinstance(operand, Use):
            return operand
        if operand.distance == 0:
            return Use(drafts[operand.node], output=operand.output)
        if operand not in delayed:
            delayed[operand] = Before(Variable("past"))
            initial = operand.initial
            if (operand.node, operand.output) in narrow and isinstance(initial, Const) and initial.value < 2:
                graph.predicates.add(delayed[operand].variable)
        return delayed[operand]

    for number in evaluation_order(dfg):
        node = dfg.nodes[number]
        operands = tuple(value(operand) for operand in node.operands)
        if OPS[node.op].pure and node.op != "mov":
            made: Value = choices.now(node.op, *operands, where=node.where)
        elif node.op == "mov":
            made = operands[0]
        else:
            turn = None if node.memory in pure_memories else number
            draft = Draft(node.op, operands, node.stream, node.memory, node.index, node.where, turn=turn)
            made = graph.shared(draft) if turn is None else Use(graph.add(draft))
        choices.enter()
        drafts[number] = made.node if isinstance(made, Use) and not made.output else choices.alias(made)
        if node.variable is not None:
            graph.name(Use(drafts[number]), node.variable)
        if not OPS[node.op].pure and node.op != "load":
            choices.fixed.add(drafts[number])
    for use, before in delayed.items():
        past = Past(drafts[use.node], use.output, (use.initial,) * use.distance)
        choices.meaning[before.variable] = past
        choices.pasts[past] = before
    return choices, drafts


def order_arcs(dfg: DFG, drafts: list[int]) -> dict[int, list[Arc]]:
    """The orders that drafts must keep, by the node in whose turn they are."""
    found: dict[int, list[Arc]] = {}
    for order in dfg.orders:
        before, after = dfg.nodes[order.before], dfg.nodes[order.after]
        cycles = order.delay - latency(before.op) + latency(after.op)
        found.setdefault(after.id, []).append(Arc(drafts[before.id], order.distance, cycles, None))
    return found


def to_dfg(
    dfg: DFG, choices: Choices, drafts: list[int], chosen: Callable[[int, Const | LiveIn | None], int]
) -> DFG:
    """The graph with the ways that were chosen."""
    return _Builder(dfg, choices, drafts, chosen).run()


class _Builder:
    def __init__(
        self,
        dfg: DFG,
        choices: Choices,
        drafts: list[int],
        chosen: Callable[[int, Const | LiveIn | None], int],
    ) -> None:
        self.dfg, self.choices, self.drafts = dfg, choices, drafts
        self.chosen = chosen
        self.nodes: dict[int, Node] = {}
        self.moves: dict[Operand, int] = {}
        self.pending: list[int] = []
        self.copies: set[int] = set()

    def run(self) -> DFG:
        self.make(sorted(self.choices.fixed))
        # Orders of what is around a load may be told by those of the load alone: so one stays, needed or not.
        ends = {end for order in self.dfg.orders for end in (order.before, order.after)}
        self.make([self.drafts[end] for end in sorted(ends - self.turns().keys())])
        new = {number: position for position, number in enumerate(sorted(self.nodes))}
        nodes = []
        for number, position in new.items():
            node = self.nodes[number]
            operands = tuple([_renumbered(operand, new) for operand in node.operands])
            nodes.append(replace(node, id=position, operands=operands))
        turns = self.turns()
        orders = tuple(
            replace(order, before=new[before], after=new[after])
            for order in self.dfg.orders
            for before, after in product(turns[order.before], turns[order.after])
        )
        live_ins = positions(operand.index for operand in live_ins_of(nodes))
        memories = positions(node.memory for node in nodes if node.memory is not None)
        return replace(
            self.dfg,
            nodes=tuple(compacted(node, live_ins, memories) for node in nodes),
            orders=orders,
            memories=tuple(memory for m, memory in enumerate(self.dfg.memories) if m in memories),
            live_ins=tuple(name for i, name in enumerate(self.dfg.live_ins) if i in live_ins),
        )

    def make(self, numbers: list[int]) -> None:
        """Make nodes of some drafts, and of all that they need."""
        self.pending = numbers
        while self.pending:
            number = self.pending.pop()
            if number not in self.nodes:
                draft = self.choices.graph.drafts[number]
                operands = tuple([self.operand(value) for value in draft.operands])
                name = draft.variable or self.choices.graph.drafts[self.choices.find(number)].variable
                self.nodes[number] = Node(
                    0, draft.op, operands, draft.stream, draft.memory, draft.index, draft.where, name
                )

    def turns(self) -> dict[int | None, list[int]]:
        """The drafts that have become nodes, by the node of the first graph in whose turn they are."""
        found: dict[int | None, list[int]] = {}
        for number in sorted(self.nodes):
            if number < len(self.choices.graph.drafts):
                found.setdefault(self.choices.graph.drafts[number].turn, []).append(number)
        return found

    def operand(self, value: Value) -> Operand:
        initials: tuple[Const | LiveIn, ...] = ()
        seen: set[int] = set()
        while True:
            past = self.choices.meant(value)
            if past is None:
                assert isinstance(value, Const | LiveIn)
                return value if all(i == value for i in initials) else self._delayed_constant(value, initials)
            initials += past.initials
            way = self.chosen(past.node, initials[-1] if initials else None)
            draft = self.choices.graph.drafts[way]
            if way in seen:
                self.copies.add(way)  # it is only ever what it was: there must be a node somewhere
            seen.add(way)
            if draft.op != "mov" or way in self.copies:
                self.pending.append(way)
                return self._delayed(Use(way, output=past.output), initials)
            value = draft.operands[0]

    def _delayed_constant(self, value: Const | LiveIn, initials: tuple[Const | LiveIn, ...]) -> Operand:
        return self._delayed(Use(self._move(value)), initials)

    def _delayed(self, use: Use, initials: tuple[Const | LiveIn, ...]) -> Use:
        """The value some iterations ago; a copy wherever the initial value changes."""
        end = len(initials)
        while end:
            begin = end
            while begin and initials[begin - 1] == initials[end - 1]:
                begin -= 1
            if use.distance:
                use = Use(self._move(use))
            use = replace(use, distance=end - begin, initial=initials[end - 1])
            end = begin
        return use

    def _move(self, operand: Operand) -> int:
        if operand not in self.moves:
            self.moves[operand] = len(self.choices.graph.drafts) + len(self.moves)
            self.nodes[self.moves[operand]] = Node(0, "mov", (operand,))
        return self.moves[operand]


def _renumbered(operand: Operand, new: dict[int, int]) -> Operand:
    return replace(operand, node=new[operand.node]) if isinstance(operand, Use) else operand
