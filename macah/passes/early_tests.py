"""Makes the test of an inner loop that counts an iteration ahead.

    k = f(i); do { B; k = k + 1; } while (k < n) if k < n;

becomes

    k = f(i); e = k < n; c = e & k + 1 < n; k2 = k + 2;
    do { m = c; c = k2 < n; k2 = k2 + 1; B; k = k + 1; } while (m) if e;

So it is known at the start of an iteration whether it is the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from arch.ops import signed
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Variable
from macah.passes.ahead import Ahead, Parts, constants
from macah.walk import both, replace_reads, statements, targets, variables_in, written


class EarlyTests:
    """Rewrites loops. `certain` are the new conditions: they are 0 where their loop was not entered."""

    def __init__(self, ahead: Ahead) -> None:
        self.ahead = ahead
        self.predicates = ahead.predicates
        self.certain: set[Variable] = set()

    def made(self, parts: Parts) -> Parts:
        """The parts with the inner loop's test made an iteration ahead, if it is a counter's."""
        inner = parts.inner
        changing = written(inner.body)
        steps = _steps(inner.body, [v for v in variables_in(inner.condition) if v in changing])
        if not steps or not self.ahead.is_steady(inner.condition, frozenset()):
            return parts
        parts = self.ahead.with_named_guard(parts)
        hoisted, condition = self.hoisted(inner.condition, changing)
        after_next = {counter: self.predicates.like(counter) for counter in steps}
        goes_on, test = (self.predicates.variable("more", inner.where) for _ in range(2))
        known = constants(parts.before)
        once = {counter: _added(known.get(counter, Read(counter)), step) for counter, step in steps.items()}
        twice = {counter: _added(once[counter], step) for counter, step in steps.items()}
        truth = self.predicates.truth
        first = truth(replace_reads(condition, once))
        # What counts up from a constant is not beyond its bound before it is when it has stepped.
        if inner.guard != inner.condition or not _counts_up(condition, steps, known):
            first = both(parts.inner.guard, first)
        later = truth(replace_reads(condition, {v: Read(other) for v, other in after_next.items()}))
        before = (
            *parts.before,
            *hoisted,
            Assign(test, first, inner.where),
            *(Assign(after_next[counter], value, inner.where) for counter, value in twice.items()),
        )
        body = (
            Assign(goes_on, Read(test), inner.where),
            Assign(test, later, inner.where),
            *(Assign(v, _added(Read(v), steps[c]), inner.where) for c, v in after_next.items()),
            *inner.body,
        )
        self.certain.add(goes_on)
        inner = replace(parts.inner, body=body, condition=Read(goes_on))
        return Parts(before, inner, parts.after)

    def hoisted(self, condition: Expr, changing: Set[Variable]) -> tuple[Body, Expr]:
        """A condition with variables for what is the same in every iteration."""
        made: dict[Expr, Variable] = {}

        def hoist(expr: Expr) -> Expr:
            if isinstance(expr, Const | Read) or not changing.isdisjoint(variables_in(expr)):
                return expr
            if expr not in made:
                made[expr] = Variable("bound", expr.bits)
            return Read(made[expr])

        def visit(expr: Expr) -> Expr:
            match hoist(expr), expr:
                case Read() as known, _:
                    return known
                case _, Apply(op, args, bits):
                    return Apply(op, tuple([visit(arg) for arg in args]), bits)
                case _:
                    return expr

        condition = visit(condition)
        return tuple(Assign(variable, expr) for expr, variable in made.items()), condition


def _counts_up(condition: Expr, steps: Mapping[Variable, Const], known: Mapping[Variable, Const]) -> bool:
    """True if the condition compares a counter with a bound, and its first step does not wrap around."""
    match condition:
        case Apply("slt" | "sle" | "ult" | "ule" as op, (Read(v), bound)) if v in steps and v in known:
            bits, start, step = v.bits, known[v].value, signed(v.bits, steps[v].value)
            first = signed(bits, start) if op[0] == "s" else start
            most = (1 << bits - (op[0] == "s")) - 1
            return step > 0 and first + step <= most and steps.keys().isdisjoint(variables_in(bound))
        case _:
            return False


def _steps(body: Body, counters: list[Variable]) -> dict[Variable, Const]:
    """What is added to each of these variables in an iteration; none if that is not certain for all."""
    steps: dict[Variable, Const] = {}
    for counter in counters:
        writes = [stmt for stmt in statements(body) if counter in targets(stmt)]
        match writes:
            case [Assign(_, Apply("add", (Read(v), Const() as step))) as write] if v is counter:
                if not any(stmt is write for stmt in body):
                    return {}
                steps[counter] = step
            case _:
                return {}
    return steps


def _added(value: Expr, step: Const) -> Expr:
    return fold(Apply("add", (value, step), value.bits))
