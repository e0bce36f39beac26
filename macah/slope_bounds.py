"""How far values get from the slopes that `slopes.py` counts them from: nothing may wrap around.

Inside a recurrence distances are only chosen from, so that each is one that came from outside in some
iteration, a value then less the slope then. So a value in a recurrence is such a value and what the slope has
gone up since.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from backend.dfg import Const, Use
from macah.graph import ZERO, Before, Value
from macah.ir import Variable
from macah.ranges import WORD
from macah.rewrite import Loop
from macah.slope_forms import Form, Interval, form_of
from macah.slope_plan import Chosen, Component, Member, Outside, Plan, Spot, Sum
from macah.widths import Widths

SLOPES = 1 << 30
"""Slopes are no larger than this."""

OFFSETS = 1 << 28
"""What is added to them is no larger than this."""

DISTANCES = 1 << 28
"""Nor are values that come from outside, and what is added to them: the sum of all of these is a word."""


class _TooFar(Exception):
    """Something may wrap around."""


def most_iterations(loop: Loop, widths: Widths) -> int | None:
    """No more iterations than these count, if that is known, or there is a variable that counts them."""
    found = [loop.most, *(_steps(loop, widths, variable) for variable in widths.variables)]
    return min((steps for steps in found if steps is not None), default=None)


def _steps(loop: Loop, widths: Widths, variable: Variable) -> int | None:
    """How many values a variable may have that grows, or falls, by a constant in each iteration."""
    match loop.final.get(variable):
        case Use(node, output=0):
            draft = loop.graph.drafts[node]
        case _:
            return None
    match draft.op, draft.operands:
        case "add", (Before(old), Const(step)) if old == variable and step:
            by = min(step, WORD + 1 - step)
            between = widths.before[variable]
            size = min(between.high - between.low, between.most - between.least)
            # it does not come round to where it was: that would take a step from one end past the other
            return size // by + 1 if size + by <= WORD else None
    return None


def safe(plan: Plan, widths: Widths, most: int) -> Plan:
    """The plan without the recurrences of which it is not known that nothing wraps around."""
    while plan.components:
        bounds = _Bounds(plan, widths, most)
        left = [component for component in plan.components if bounds.fits(component)]
        if left == plan.components and bounds.fits_beside():
            break
        fewer = left if left != plan.components else []
        plan = Plan(plan.loop, plan.flow, plan.live, fewer)
    return plan


@dataclass
class _Bounds:
    plan: Plan
    widths: Widths
    most: int
    known: dict[tuple[Value, Spot], Interval] = field(default_factory=dict)
    inside: dict[int, Interval] = field(default_factory=dict)  # by the first variable's place

    def fits(self, component: Component) -> bool:
        try:
            self._inside(component)
        except _TooFar:
            return False
        return True

    def fits_beside(self) -> bool:
        """The same for what is compared or combined outside of recurrences."""
        wanted = [(leaf, chain.spot) for chain in self.plan.chains.values() for leaf in chain.members]
        for number, spot in self.plan.compared.items():
            wanted += [(value, spot) for value in self.plan.loop.graph.drafts[number].operands]
        try:
            for value, spot in wanted:
                self._distance(value, spot)
        except _TooFar:
            return False
        return True

    def _inside(self, component: Component) -> Interval:
        """The distances in a recurrence."""
        key = id(component)
        if key not in self.inside:
            self._slope(component.step)
            for offset in component.offsets.values():
                self._form(offset)
            starts = [self._start(variable) for variable in component.variables]
            found = [(start, start) for start in starts]
            for value, spot in self.plan.wanted(component):
                own = self.plan.spot(value)
                if own is None or self.plan.owner_of(value) is not component:
                    found.append(self._distance(value, spot))
            self.inside[key] = _checked(_hull(found), DISTANCES)
        return self.inside[key]

    def _start(self, variable: Variable) -> int:
        start = self.plan.loop.initial.get(variable, ZERO)
        assert isinstance(start, Const)
        return form_of(start).constant

    def _distance(self, value: Value, spot: Spot) -> Interval:
        key = (value, spot)
        if key not in self.known:
            self.known[key] = _checked(self._of(value, spot), DISTANCES)
        return self.known[key]

    def _of(self, value: Value, spot: Spot) -> Interval:
        match self.plan.part(value, spot):
            case Member(_, more):
                owner = self.plan.owner_of(value)
                assert owner is not None
                return _sum(self._inside(owner), self._form(more))
            case Chosen(draft, arms, inner):
                return _hull(self._distance(draft.operands[at], inner) for at in arms)
            case Sum(draft, at, inner, more):
                found = _sum(self._distance(draft.operands[at], inner), self._form(more))
                other = draft.operands[1 - at]
                if isinstance(other, Const):
                    return found
                low, high = self._range(other)
                return _sum(found, (low, high) if draft.op == "add" else (-high, -low))
            case Outside(_, (_, offset)):
                low, high = self._form(offset)
                return _sum(self._range(value), (-high, -low))

    def _slope(self, step: Form) -> None:
        low, high = self._form(step)
        _checked((low * self.most, high * self.most), SLOPES)

    def _form(self, form: Form) -> Interval:
        return _checked(form.within(self._range), OFFSETS)

    def _range(self, value: Value) -> Interval:
        found = self.widths.range(value)
        return found.least, found.most


def _sum(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _hull(intervals: Iterable[Interval]) -> Interval:
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)


def _checked(interval: Interval, size: int) -> Interval:
    if interval[0] < -size or interval[1] > size:
        raise _TooFar
    return interval
