"""Turns `if` into straight-line code with predicates.

    if (a < b) { t = a * 2; x = t; out <! t; } else { x = 0; y = 1; }

becomes, where t is not read afterwards,

    c = a < b;
    t = a * 2; x' = t; out <! t if c;
    x = c ? x' : 0;  y = c ? y : 1;
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from arch.ops import COMPARISONS
from macah import ir
from macah.ir import Apply, Assign, Body, Const, Expr, If, Read, Stmt, Variable
from macah.passes.coalesce import coalesced
from macah.passes.code import Code, Node
from macah.passes.liveness import (
    Live,
    apart,
    live_at_body_end,
    live_at_end,
    live_before,
    step_back,
    without_dead,
)
from macah.passes.merge import merge
from macah.passes.predicate import Arm, Predicates, negate
from macah.walk import (
    bodies,
    both,
    is_constant,
    operands,
    parted,
    statements,
    targets,
    variables_in,
    with_guard,
)


def convert_ifs(kernel: ir.Kernel) -> ir.Kernel:
    """Remove every `If`; see the module for an example."""
    return replace(kernel, body=converted(kernel.body, live_at_end(kernel), Predicates(kernel)))


def converted(body: Body, after: Iterable[Variable], predicates: Predicates) -> Body:
    """A body without `If`; `after` is live after it."""
    live = frozenset(after)
    straight = _Converter(predicates, body, live).body(body, live)
    return coalesced(without_dead(straight, set(live)), live)


class _Converter:
    def __init__(self, predicates: Predicates, body: Body, after: Live) -> None:
        self.predicates = predicates
        self.whole, self.after = body, after
        self.order = 0

    @cached_property
    def survey(self) -> _Survey:
        """What is inside the branches, if there are any."""
        return _Survey(self.whole)

    @cached_property
    def answers(self) -> set[Variable]:
        """Whether streams have ended, where that is asked for once and only matters behind the question.

        To ask does nothing, so that it may happen in vain.
        """
        reads, writes = Counter[Variable](), Counter[Variable]()
        for stmt in statements(self.whole):
            reads.update(_reads(stmt))
            writes.update(targets(stmt))
        found = set[Variable]()
        for body in (self.whole, *(inner for stmt in statements(self.whole) for inner in bodies(stmt))):
            for place, stmt in enumerate(body):
                if isinstance(stmt, ir.Ended) and writes[stmt.target] == 1:
                    behind = Counter(v for later in statements(body[place + 1 :]) for v in _reads(later))
                    if behind[stmt.target] == reads[stmt.target]:
                        found.add(stmt.target)
        return found

    def body(self, body: Body, after: Live) -> Body:
        """The kernel's body, or that of a loop."""
        if not _has_branch(body):
            return body
        live, pieces = set(after), list[Body]()
        for stmt in reversed(body):
            if isinstance(stmt, Assign):
                pieces.append((stmt,))
                step_back(stmt, live)
            elif not isinstance(stmt, If):
                pieces.append((self.statement(stmt, live, ir.TRUE),))
                step_back(stmt, live)
            else:
                pieces.append(self.arm((stmt,), live, ir.TRUE).body())
        return tuple([stmt for piece in reversed(pieces) for stmt in piece])

    def arm(self, body: Body, live: set[Variable], path: Expr) -> Code:
        """A body whose effects happen only if `path`: 1 or a variable it does not write.

        `live` is changed from what is live after it to before it.
        """
        code = Code()
        for stmt in reversed(body):
            if isinstance(stmt, If):
                code.preceded_by(self.branch(stmt, live, path))
            else:
                self.put(code, self.statement(stmt, live, path))
                step_back(stmt, live)
        return code

    def put(self, code: Code, *body: Stmt) -> None:
        """Put statements before the code."""
        for stmt in reversed(body):
            self.order -= 1
            code.add(Node(self.order, stmt), first=True)

    def statement(self, stmt: Stmt, after: set[Variable], path: Expr) -> Stmt:
        match stmt:
            case ir.DoWhile(body, condition, guard):
                inner = self.body(body, live_at_body_end(stmt, after)) if _has_branch(body) else body
                condition, guard = self.predicates.truth(condition), self.predicates.truth(guard)
                return replace(stmt, body=inner, condition=condition, guard=both(path, guard))
            case Assign():
                return stmt
            case ir.Ended(target=answer) if answer in self.answers and answer not in self.after:
                return stmt
            case _:
                return with_guard(stmt, path)

    def branch(self, stmt: If, live: set[Variable], path: Expr) -> Code:
        inside = apart(stmt, live)
        code = self.inside(stmt, inside, path)
        live |= inside
        return code

    def inside(self, stmt: If, live: set[Variable], path: Expr) -> Code:
        after, entered = frozenset(live), set(live)
        if isinstance(stmt.condition, Const):
            taken, other = (stmt.then, stmt.orelse) if stmt.condition.value else (stmt.orelse, stmt.then)
            code = self.arm(taken, entered, path)
            live.clear()
            live.update(entered, live_before(other, after))
            return code
        value = self.predicates.truth(stmt.condition)
        setup, condition = self.condition(value, stmt)
        opposite = negate(condition if _is_logic(value) else value)
        first, then_path = self.path(path, condition, stmt.then, stmt)
        second, else_path = self.path(path, opposite, stmt.orelse, stmt)
        self.order -= len(after) + 1
        order = self.order
        orelse = self.arm(stmt.orelse, live, else_path)
        code = self.arm(stmt.then, entered, then_path)
        arms = Arm(code, after | live, self.predicates), Arm(orelse, after, self.predicates)
        code.followed_by(orelse)
        merge(code, condition, arms, after, self.predicates, value, order)
        self.put(code, *setup, *first, *second)
        live.update(entered, variables_in(stmt.condition))
        return code

    def condition(self, value: Expr, stmt: If) -> tuple[Body, Expr]:
        """The condition as a predicate that stays what it is while the branches run."""
        if isinstance(value, Read) and id(stmt) not in self.survey.overwritten:
            return (), value
        return self.predicates.named(value, "if", stmt.where)

    def path(self, path: Expr, condition: Expr, arm: Body, stmt: If) -> tuple[Body, Expr]:
        """The predicate of an arm's effects, as a variable or a constant, if the arm has any."""
        if id(arm) not in self.survey.effects:
            return (), ir.TRUE
        if is_constant(path, 1) and isinstance(condition, Read):
            return (), condition
        return self.predicates.named(both(path, condition), "path", stmt.where)


def _has_branch(body: Body) -> bool:
    return any(isinstance(stmt, If | ir.DoWhile) for stmt in parted(body)[1])


def _is_logic(predicate: Expr) -> bool:
    """True unless the negation of the predicate costs as much as the predicate itself: one comparison."""
    return not (isinstance(predicate, Apply) and predicate.op in COMPARISONS)


def _reads(stmt: Stmt) -> Iterator[Variable]:
    return (variable for expr in operands(stmt) for variable in variables_in(expr))


class _Survey:
    """What is inside branches, by their identity."""

    def __init__(self, body: Body) -> None:
        self.effects = set[int]()  # the arms that have effects
        self.overwritten = set[int]()  # the branches inside which the variable that decides is written
        self._writes: Counter[Variable] = Counter()
        self._body(body)

    def _body(self, body: Body) -> bool:
        """True if there are effects in it."""
        found = False
        for stmt in body:
            found |= self._statement(stmt)
        if found:
            self.effects.add(id(body))
        return found

    def _statement(self, stmt: Stmt) -> bool:
        decides = (
            stmt.condition.variable if isinstance(stmt, If) and isinstance(stmt.condition, Read) else None
        )
        before = self._writes[decides] if decides else 0
        inside = [self._body(body) for body in bodies(stmt)]
        self._writes.update(targets(stmt))
        if decides and self._writes[decides] != before:
            self.overwritten.add(id(stmt))
        return any(inside) or not isinstance(stmt, Assign | If)
