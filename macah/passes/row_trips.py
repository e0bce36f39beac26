"""How often an inner loop runs, as an expression in what is known when it starts."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from macah.ir import TRUE, Apply, Body, Const, DoWhile, Expr, Read, Variable
from macah.passes.ahead import Parts
from macah.passes.counters import Counter, Starts, find_counter
from macah.trips import conjuncts
from macah.walk import is_constant, loads_in, replace_reads, targets, variables_in, written

MINUS_ONE = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Steps:
    """A variable that a loop steps by 1 or -1, up or down to a bound that does not change meanwhile.

    `included`: there is an iteration with the bound itself.
    """

    variable: Variable
    step: int
    bound: Expr
    included: bool


def step_of(body: Body, variable: Variable) -> int | None:
    """1 or -1 if a body steps a variable by that in any case, and does nothing else to it."""
    if variable.bits != 32:
        return None
    found = find_counter(body, Read(variable), {variable: Const(0)}, frozenset())
    return None if found is None else {1: 1, MINUS_ONE: -1}.get(found.step.value)


def find_steps(loop: DoWhile) -> Steps | None:
    """What ends a loop, if that is a counter that comes to a bound."""
    match loop.condition:
        case Apply("slt" | "sle" | "ult" | "ule" | "ne" as op, (a, b)):
            pass
        case _:
            return None
    changing = written(loop.body)
    for counter, bound, wanted in ((a, b, 1), (b, a, -1)):
        if isinstance(counter, Read) and changing.isdisjoint(variables_in(bound)):
            step = step_of(loop.body, counter.variable)
            if step is not None and (step == wanted or op == "ne"):
                return Steps(counter.variable, step, bound, op[1:] == "le")
    return None


def trips(steps: Steps, inner: DoWhile, start: Expr, entered: Expr) -> Expr | None:
    """How often a loop runs that begins with `start` if `entered`; None if its counter may wrap around."""
    ends = (steps.bound, start) if steps.step > 0 else (start, steps.bound)
    count: Expr = Apply("sub", ends)
    if steps.included:
        count = Apply("add", (count, Const(1)))
    if inner.condition in conjuncts(inner.guard):
        return Apply("select", (entered, count, Const(0)))
    # The first iteration is not tested: the counter must not wrap around in it.
    if not is_constant(inner.guard, 1) or not isinstance(start, Const):
        return None
    if start.value == last_number(inner, steps):
        return None
    if isinstance(inner.condition, Apply) and inner.condition.op == "ne":
        return None
    stepped = Const((start.value + steps.step) % (1 << 32))
    again = replace_reads(inner.condition, {steps.variable: stepped})
    return Apply("select", (again, count, Const(1)))


@dataclass(frozen=True, slots=True)
class Around:
    """A loop around another one, with its parts; `starts` are constants before it."""

    loop: DoWhile
    parts: Parts
    starts: Starts


def comes_to_an_end(
    steps: Steps, inner: DoWhile, around: Iterable[Around], invariant: Set[Variable]
) -> Expr | None:
    """Whether the bound is not the last number that there is, should it be included; None if that may change.

    That is certain for a constant, and for what a loop around steps and compares.
    """
    last = last_number(inner, steps)
    match steps.bound:
        case _ if not steps.included:
            return TRUE
        case Const(value):
            return TRUE if value != last else None
        case Read(variable) if any(_is_another(variable, last, outer, inner, steps.step) for outer in around):
            return TRUE
        case bound if {*variables_in(bound)} <= invariant and not any(loads_in(bound)):
            return Apply("ne", (bound, Const(last)))
        case _:
            return None


def _is_another(variable: Variable, last: int, around: Around, inner: DoWhile, step: int) -> bool:
    """True if a loop counts with a variable, and certainly not to a number inside of it."""
    outer = around.loop
    if any(variable in targets(stmt) for stmt in around.parts.before):
        return False
    counter = find_counter(outer.body, outer.condition, around.starts, frozenset())
    if counter is not None and counter.variable is variable and counter.trips is not None:
        return not _meets(counter, counter.trips, last)
    return outer.guard == outer.condition and _is_below(outer, variable, inner, step)


def last_number(inner: DoWhile, steps: Steps) -> int:
    """The last number before a counter wraps around."""
    assert isinstance(inner.condition, Apply)
    if inner.condition.op[0] == "s":
        return (1 << 31) - 1 if steps.step > 0 else 1 << 31
    return (1 << 32) - 1 if steps.step > 0 else 0


def _meets(counter: Counter, count: int, number: int) -> bool:
    """True unless the counter certainly is another number in all of its iterations."""
    step = counter.step.value
    apart = number - counter.start.value if step < 1 << 31 else counter.start.value - number
    return apart % (1 << 32) < count * min(step, (1 << 32) - step)


def _is_below(outer: DoWhile, variable: Variable, inner: DoWhile, step: int) -> bool:
    """True if each iteration of the outer loop follows a test that there is a number beyond the variable."""
    assert isinstance(inner.condition, Apply)
    if step_of(outer.body, variable) is None:
        return False
    match outer.condition:
        case Apply("slt" | "ult" as op, (a, b)) if op[0] == inner.condition.op[0]:
            return (a if step > 0 else b) == Read(variable)
        case _:
            return False
