"""Values that are kept for many iterations, in stages: operations that do nothing but hand a word on.

A route of dozens of intervals claims a register in every cycle of them, and whenever it is in conflict, all
of it moves. With an operation every few iterations, each stage is a value of its own with routes that are
short; so a filter whose samples fill half of an array's registers is mapped at once, where it was not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from .dfg import DFG, Const, LiveIn, Node, Use

SPANS = (6, 3)
"""How many iterations a stage lasts: what is tried, one after the other."""

SPARSE = 12
"""Stages so long are few operations, for arrays with nearly no slot free."""

MANY = 8
"""Values that are kept for no more iterations need no stages."""


HEAVY = 0.5
"""Where what is kept takes more than this part of the registers, there hardly is a mapping without stages."""


def kept(dfg: DFG) -> int:
    """How many words are kept for later iterations than the next."""
    most = Counter[tuple[int, int]]()
    for _, _, use in dfg.uses():
        most[use.node, use.output] = max(most[use.node, use.output], use.distance)
    return sum(distance for distance in most.values() if distance > 1)


def relayed(dfg: DFG, span: int) -> DFG | None:
    """The graph with stages of `span` iterations; None if no value is kept for more than MANY.

    Whoever reads p of 14 iterations ago reads stage 2 of 2 iterations ago: stage 1 is p of 6 iterations ago,
    stage 2 is stage 1 of 6 iterations ago, and what was before the first iteration is the same for all three.
    """
    if all(use.distance <= MANY for _, _, use in dfg.uses()):
        return None
    nodes = list(dfg.nodes)
    chains: dict[tuple[int, int, Const | LiveIn], list[int]] = {}
    for consumer, position, use in list(dfg.uses()):
        number = (use.distance - 1) // span
        if number < 1:
            continue
        chain = chains.setdefault((use.node, use.output, use.initial), [])
        while len(chain) < number:
            before = replace(use, distance=span)
            if chain:
                before = Use(chain[-1], span, use.initial)
            source = dfg.nodes[use.node]
            stage = Node(len(nodes), "mov", (before,), where=source.where, variable=source.variable)
            chain.append(stage.id)
            nodes.append(stage)
        operands = list(nodes[consumer].operands)
        operands[position] = Use(chain[number - 1], use.distance - number * span, use.initial)
        nodes[consumer] = replace(nodes[consumer], operands=tuple(operands))
    return replace(dfg, nodes=tuple(nodes))


def forms(dfg: DFG) -> Iterator[DFG]:
    """A graph, and the same with stages."""
    yield dfg
    for span in (*SPANS, SPARSE):
        if (longer := relayed(dfg, span)) is not None:
            yield longer
