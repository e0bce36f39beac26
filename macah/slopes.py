"""Takes what recurrences of minima and maxima add in each iteration out of them, into a sum beside them.

    y = smax(y - 3, x)          ->          z = smax(z, x + 3 - s),  y = z + s - 3,  s = s - 3

`z` is how far y is above the slope `s`: the same recurrence without the sum. Several recurrences with the
same sum share a slope, so that what passes among them stays a distance from it. The sum may differ from
iteration to iteration (`smax(y + d, 0)`). Minima and maxima of words are those of numbers only while nothing
wraps around, so it must be known how many iterations there are at most, and how far values go.
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.dfg import Const, LiveIn, Use
from macah.flow import Flow
from macah.graph import ZERO, Before, Draft, Value
from macah.ir import Variable
from macah.ranges import WORD, Range
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.slope_bounds import most_iterations, safe
from macah.slope_forms import Form, form_of
from macah.slope_plan import ARMS, EXTREMES, Chain, Chosen, Member, Outside, Plan, Spot, Sum, components_of
from macah.widths import Widths


def slopes(loop: Loop, words: Mapping[int, Range]) -> tuple[Rebuilt, Loop] | None:
    """The loop with such recurrences counted from slopes; None if there are none.

    A change of potentials in the (max, +) algebra, as D. B. Johnson's reweighting of graphs (1977): where all
    cycles have the same mean, which is the step, all of their arcs come to weigh nothing.

    `words` are the ranges of drafts that are not pure. Also None if what must be known is not.
    """
    needed = loop.live()
    if not any(loop.graph.drafts[number].op in EXTREMES for number in needed[0]):
        return None
    flow = Flow(loop.graph, loop.final)
    components = components_of(loop, flow)
    if not components:
        return None
    widths = Widths(loop, words)
    most = most_iterations(loop, widths)
    if most is None:
        return None
    plan = safe(Plan(loop, flow, needed[0], components), widths, most)
    if not plan.components:
        return None
    rules = _Rules(plan)
    new, _ = rebuilt(loop, rules, needed)
    return new, rules.result(new, needed[1])


class _Rules(Rules):
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.made: dict[tuple[Value, Spot], Value] = {}  # distances
        self.own: dict[int, Value] = {}  # those of members, by their nodes
        # what stands for variables, and how high slopes are when an iteration begins
        self.distances = {v: Variable(v.name) for c in plan.components for v in c.variables}
        self.slopes = {component.step: Variable("slope") for component in plan.components}

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """Operands are what they were."""
        return self.value(new, value)

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """A member is its distance and the slope; others may do with distances, too."""
        spot = self.plan.spot(Use(number))
        if spot is not None:
            self.own[number] = self._member(new, number, draft, spot)
            return self._raised(new, self.own[number], spot)
        if number in self.plan.compared:
            spot = self.plan.compared[number]
            return new.graph.pure(
                draft.op, *[self.distance(new, v, spot) for v in draft.operands], where=draft.where
            )
        if number in self.plan.chains:
            return self._combined(new, draft, self.plan.chains[number])
        found = super().apply(new, number, draft, operands)
        if number in self.plan.loop.graph.logical:
            new.graph.mark_predicate(found)
        return found

    def result(self, new: Rebuilt, variables: list[Variable]) -> Loop:
        """The new loop, with distances instead of members."""
        old = new.old
        initial: dict[Variable, Const | LiveIn] = dict(old.initial)
        final: dict[Variable, Value] = {}
        for variable in variables:
            spot = self.plan.spot(Before(variable))
            if spot is None:
                final[variable] = self.value(new, old.final[variable])
                continue
            end = Spot(spot.step, spot.step)
            final[self.distances[variable]] = self.distance(new, old.final[variable], end)
            initial[self.distances[variable]] = initial.pop(variable, ZERO)
        for step, slope in self.slopes.items():
            final[slope] = new.graph.pure("add", Before(slope), self._form(new, step))
            initial[slope] = ZERO
        return Loop(new.graph, initial, final, old.alive, most=old.most)

    def value(self, new: Rebuilt, value: Value) -> Value:
        """What stands for a value of the old graph."""
        if isinstance(value, Before) and value.variable in self.distances:
            spot = self.plan.spot(value)
            assert spot is not None
            return self._raised(new, Before(self.distances[value.variable]), spot)
        return new.value(value)

    def distance(self, new: Rebuilt, value: Value, spot: Spot) -> Value:
        """How far a value is from a spot."""
        key = (value, spot)
        if key not in self.made:
            self.made[key] = self._distance(new, value, spot)
        return self.made[key]

    def _distance(self, new: Rebuilt, value: Value, spot: Spot) -> Value:
        pure = new.graph.pure
        match self.plan.part(value, spot):
            case Member(_, more):
                return pure("add", self._of_member(value), self._form(new, more))
            case Chosen(draft, arms, inner):
                return self._chosen(new, draft, arms, inner)
            case Sum(draft, at, inner, more):
                found, other = self.distance(new, draft.operands[at], inner), draft.operands[1 - at]
                added: Value = ZERO if isinstance(other, Const) else self.value(new, other)
                if draft.op == "sub":
                    return pure("sub", pure("add", found, self._form(new, more)), added, where=draft.where)
                return pure("add", found, self._more(new, added, more), where=draft.where)
            case Outside(_, (step, offset)) if isinstance(value, Const):
                rest = self._form(new, form_of(value).plus(offset, -1))
                return pure("sub", rest, Before(self.slopes[step]))
            case Outside():
                return pure("sub", self.value(new, value), self._height(new, spot))

    def _more(self, new: Rebuilt, value: Value, form: Form) -> Value:
        """A value, and a sum: a choice of constants stays one operation."""
        match new.graph.drafts[value.node] if isinstance(value, Use) and not value.output else None:
            case Draft("select", (condition, Const() as a, Const() as b)) if not form.terms:
                arms = [new.graph.pure("add", arm, Const(form.constant & WORD)) for arm in (a, b)]
                return new.graph.pure("select", condition, *arms)
        return new.graph.pure("add", value, self._form(new, form))

    def _of_member(self, value: Value) -> Value:
        return self.own[value.node] if isinstance(value, Use) else Before(self.distances[_variable(value)])

    def _member(self, new: Rebuilt, number: int, draft: Draft, spot: Spot) -> Value:
        """A member's distance: sums are in the slope."""
        if draft.op in ("add", "sub"):
            mine = self.plan.owner_of(Use(number))
            return self._of_member(next(v for v in draft.operands if self.plan.owner_of(v) is mine))
        return self._chosen(new, draft, ARMS[draft.op], spot)

    def _chosen(self, new: Rebuilt, draft: Draft, arms: tuple[int, ...], spot: Spot) -> Value:
        operands = [
            self.distance(new, value, spot) if at in arms else self.value(new, value)
            for at, value in enumerate(draft.operands)
        ]
        return new.graph.pure(draft.op, *operands, where=draft.where)

    def _combined(self, new: Rebuilt, draft: Draft, chain: Chain) -> Value:
        first, *others = [self.distance(new, leaf, chain.spot) for leaf in chain.members]
        for other in others:
            first = new.graph.pure(draft.op, first, other, where=draft.where)
        result = self._raised(new, first, chain.spot)
        for leaf in chain.others:
            result = new.graph.pure(draft.op, result, self.value(new, leaf), where=draft.where)
        return result

    def _raised(self, new: Rebuilt, distance: Value, spot: Spot) -> Value:
        return new.graph.pure("add", distance, self._height(new, spot))

    def _height(self, new: Rebuilt, spot: Spot) -> Value:
        slope = Before(self.slopes[spot.step])
        return new.graph.pure("add", slope, self._form(new, spot.offset))

    def _form(self, new: Rebuilt, form: Form) -> Value:
        """The value of a sum."""
        total: Value = ZERO
        for value, factor in form.terms.items():
            term = self.value(new, value)
            if factor == -1:
                total = new.graph.pure("sub", total, term)
            else:
                total = new.graph.pure("add", total, new.graph.pure("mul", term, Const(factor & WORD)))
        return new.graph.pure("add", total, Const(form.constant & WORD))


def _variable(value: Value) -> Variable:
    assert isinstance(value, Before)
    return value.variable
