"""What is known wherever control comes to a block: ways that are never taken go, and known tests are passed.

    do if (!space & !letter & c != 0): …      behind the loops over spaces and letters is never left out;
    left = 1;  …  do … while (left ^ 1)       leaves the loop from where `left` is set.

Facts are functions of conditions that ways or branches ask for. Where control comes from several blocks, the
facts of one of them hold; what is assigned is forgotten, and known again if it is a constant or a condition
itself (Kildall, A Unified Approach to Global Program Optimization, 1973).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from macah import ir
from macah.bdd import FALSE, TRUE
from macah.ir import Apply, Assign, Const, Expr, If, Read, Stmt
from macah.passes.control_flow import Block, Flow, Way
from macah.passes.flow_logic import FlowLogic
from macah.passes.predicate import Predicates, either, negate
from macah.walk import both, statements, targets, variables_in

MOST_ATOMS = 64
"""Of kernels with more conditions nothing is known."""

ROUNDS = 8
"""So often ways are changed; each time more may be known."""


def straighten(flow: Flow, predicates: Predicates) -> None:
    """Take ways out of a flow that control never takes, and have others lead past tests that are known."""
    for _ in range(ROUNDS):
        flow.pass_empty()
        flow.join_alike()
        facts = _Facts(flow, predicates)
        if len(facts.logic.atoms) > MOST_ATOMS or not facts.straightened():
            return


class _Facts:
    def __init__(self, flow: Flow, predicates: Predicates) -> None:
        self.flow = flow
        self.predicates = predicates
        self.logic = FlowLogic(predicates)
        self.bdd = self.logic.bdd
        self.blocks = flow.blocks()
        for block in self.blocks:
            for condition in (*_asked(block.body), *(way.condition for way in block.ways)):
                self.logic.function(predicates.truth(condition))
        for stmt in (stmt for block in self.blocks for stmt in statements(tuple(block.body))):
            if isinstance(stmt, Assign) and self.is_told(stmt):
                self.logic.function(stmt.value)

    def is_told(self, stmt: Assign) -> bool:
        """Whether a variable that a condition asks for becomes what another condition is."""
        return self.logic.asks_for(stmt.variable) and self.predicates.holds(stmt.value)

    def straightened(self) -> bool:
        """Whether any way was taken out or leads elsewhere now."""
        entered, changed = self.entered(), False
        for block in self.blocks:
            facts = self.behind(block, entered[block])
            ways = [way for way in block.ways if self.taken(facts, way) != FALSE]
            if 0 < len(ways) < len(block.ways):
                block.ways, changed = [Way(ir.TRUE, ways[0].target)], True
            for way in block.ways:
                way.condition = self.simpler(way.condition, facts)
                changed |= self.passed(self.taken(facts, way), way)
        return changed

    def simpler(self, condition: Expr, facts: int) -> Expr:
        """A condition without parts that are known."""
        match condition:
            case Apply("and" | "or" as op, (a, b)) if self.predicates.holds(a) and self.predicates.holds(b):
                join = both if op == "and" else either
                return join(self.simpler(a, facts), self.simpler(b, facts))
            case Apply("xor", (a, Const(1))) if self.predicates.holds(a):
                return negate(self.simpler(a, facts))
        holds = self.logic.function(condition)
        if self.both(facts, holds) == FALSE:
            return ir.FALSE
        return ir.TRUE if self.both(facts, self.bdd.opposite(holds)) == FALSE else condition

    def passed(self, facts: int, way: Way) -> bool:
        """Whether a way leads past a test now whose outcome is known."""
        target = way.target
        if not target.is_empty or len(target.ways) < 2:
            return False
        onward = [other for other in target.ways if self.taken(facts, other) != FALSE]
        if len(onward) != 1:
            return False
        way.target = onward[0].target
        return True

    def entered(self) -> dict[Block, int]:
        """What holds where control comes to each block."""
        found = dict.fromkeys((*self.blocks, self.flow.exit), FALSE)
        found[self.flow.start] = TRUE
        pending = [self.flow.start]
        while pending:
            block = pending.pop()
            facts = self.behind(block, found[block])
            for way in block.ways:
                known = self.logic.known(self.bdd.either(found[way.target], self.taken(facts, way)))
                if known != found[way.target]:
                    found[way.target] = known
                    pending.append(way.target)
        return found

    def behind(self, block: Block, facts: int) -> int:
        """What holds behind a block."""
        received = [v for receive in block.receives for v in receive.targets]
        return self.after(block.body, self.logic.forget(facts, received))

    def after(self, body: Iterable[Stmt], facts: int) -> int:
        """What holds behind statements."""
        for stmt in body:
            match stmt:
                case If(condition, then, orelse):
                    asked = self.logic.function(self.predicates.truth(condition))
                    arms = (then, asked), (orelse, self.bdd.opposite(asked))
                    first, second = (self.after(arm, self.both(facts, holds)) for arm, holds in arms)
                    facts = self.logic.known(self.bdd.either(first, second))
                case Assign(variable, value):
                    facts = self.logic.forget(facts, (variable,))
                    if variable not in variables_in(value):
                        facts = self.both(facts, self.assigned(stmt))
                case _:
                    facts = self.logic.forget(facts, targets(stmt))
        return facts

    def assigned(self, stmt: Assign) -> int:
        """What holds of a variable that has been assigned a value."""
        match stmt.value:
            case Const(value):
                return self.logic.equal(stmt.variable, value)
            case Apply("select", (condition, a, b)):
                one, other = (self.assigned(replace(stmt, value=value)) for value in (a, b))
                return self.bdd.choose(self.logic.function(self.predicates.truth(condition)), one, other)
        if self.is_told(stmt):
            flag, holds = self.logic.function(Read(stmt.variable)), self.logic.function(stmt.value)
            return self.bdd.choose(flag, holds, self.bdd.opposite(holds))
        return TRUE

    def taken(self, facts: int, way: Way) -> int:
        """What holds where a way is taken."""
        return self.both(facts, self.logic.function(way.condition))

    def both(self, facts: int, other: int) -> int:
        return self.logic.known(self.bdd.both(facts, other))


def _asked(body: Iterable[Stmt]) -> list[Expr]:
    """The conditions of branches."""
    return [stmt.condition for stmt in statements(tuple(body)) if isinstance(stmt, If)]
