"""Which values of a loop `slopes.py` counts from which slope, and what their distances are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from backend.dfg import Const, Use
from macah.balance import absorbed, chain_leaves
from macah.flow import Flow
from macah.graph import ZERO, Before, Draft, Value
from macah.ir import Variable
from macah.rewrite import Loop
from macah.slope_forms import LEVEL, Form, form_of

EXTREMES = frozenset({"smin", "smax"})
ORDERED = frozenset({"slt", "sle", "eq", "ne"})
ARMS = {"smin": (0, 1), "smax": (0, 1), "select": (1, 2), "mov": (0,)}
"""Operations that choose among these operands, and give what they chose."""


class Spot(NamedTuple):
    """A place `offset` above the slope that grows by `step` in each iteration."""

    step: Form
    offset: Form


class Member(NamedTuple):
    """A distance that there is, and so much more."""

    value: Value
    more: Form


class Chosen(NamedTuple):
    """What an operation chooses among distances of values, `arms` are their positions, from one spot."""

    draft: Draft
    arms: tuple[int, ...]
    spot: Spot


class Sum(NamedTuple):
    """The distance of a value from a spot, and `more`, and what another operand adds or takes away."""

    draft: Draft
    at: int
    spot: Spot
    more: Form


class Outside(NamedTuple):
    """The distance of any value from a spot."""

    value: Value
    spot: Spot


Part = Member | Chosen | Sum | Outside


class Chain(NamedTuple):
    """A minimum or maximum of values, some of which are members of one slope: those are combined first."""

    spot: Spot
    members: tuple[Value, ...]
    others: tuple[Value, ...]


@dataclass
class Component:
    """A recurrence: nodes with their offsets, comparisons among them, and variables, whose offset is 0."""

    step: Form
    offsets: dict[int, Form]
    tests: frozenset[int]
    variables: tuple[Variable, ...]


@dataclass
class Plan:
    """The recurrences that are counted from slopes, and what they have to do with each other."""

    loop: Loop
    flow: Flow
    live: list[int]
    components: list[Component]
    owner: dict[int | Variable, Component] = field(default_factory=dict)
    leading: dict[Form, set[int]] = field(default_factory=lambda: defaultdict(set))
    compared: dict[int, Spot] = field(default_factory=dict)
    chains: dict[int, Chain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for component in self.components:
            self.owner |= dict.fromkeys([*component.offsets, *component.variables], component)
        for number in self.live:
            self._look_at(number, self.loop.graph.drafts[number])

    def spot(self, value: Value) -> Spot | None:
        """Where a member is counted from."""
        component = self.owner_of(value)
        if component is None:
            return None
        return Spot(component.step, component.offsets[value.node] if isinstance(value, Use) else LEVEL)

    def owner_of(self, value: Value) -> Component | None:
        """The recurrence that a value is a member of."""
        key = _key(value)
        return None if key is None else self.owner.get(key)

    def part(self, value: Value, spot: Spot) -> Part:
        """How the distance of a value from a spot is made."""
        own = self.spot(value)
        if own is not None and own.step == spot.step:
            return Member(value, own.offset.plus(spot.offset, -1))
        if not isinstance(value, Use) or value.output or value.node not in self.leading[spot.step]:
            return Outside(value, spot)
        draft = self.loop.graph.drafts[value.node]
        if draft.op in ARMS:
            return Chosen(draft, ARMS[draft.op], spot)
        at = 0 if draft.op == "sub" or self._leads(draft.operands[0], spot.step) else 1
        other = draft.operands[1 - at]
        if isinstance(other, Const):
            offset = spot.offset.plus(form_of(other), 1 if draft.op == "sub" else -1)
            return Sum(draft, at, Spot(spot.step, offset), LEVEL)
        own = self.spot(draft.operands[at])
        offset = spot.offset if own is None else own.offset
        return Sum(draft, at, Spot(spot.step, offset), offset.plus(spot.offset, -1))

    def wanted(self, component: Component) -> Iterator[tuple[Value, Spot]]:
        """The distances that a recurrence chooses among, and those that its comparisons compare."""
        for number in (*component.offsets, *component.tests):
            draft = self.loop.graph.drafts[number]
            offset = component.offsets.get(number, LEVEL)
            if number in component.tests:
                own = self.spot(draft.operands[0])
                assert own is not None
                offset = own.offset
            elif draft.op not in ARMS:
                continue
            for at in ARMS.get(draft.op, (0, 1)):
                yield draft.operands[at], Spot(component.step, offset)

    # --- What is no member

    def _look_at(self, number: int, draft: Draft) -> None:
        if number in self.owner:
            return
        if draft.op in ORDERED:
            spots = [self.spot(value) for value in draft.operands]
            if spots[0] is not None and spots[1] is not None and spots[0].step == spots[1].step:
                self.compared[number] = spots[0]
        if draft.op in EXTREMES:
            self._chain(number, draft)
        if number in self.flow.component:
            return
        for component in self.components:
            if self._passes(draft, component.step):
                self.leading[component.step].add(number)

    def _passes(self, draft: Draft, step: Form) -> bool:
        leads = [self._leads(value, step) for value in draft.operands]
        match draft.op:
            case "add":
                return leads[0] != leads[1]
            case "sub":
                return leads[0] and not leads[1]
            case op if op in ARMS:
                return any(leads[at] for at in ARMS[op])
        return False

    def _leads(self, value: Value, step: Form) -> bool:
        own = self.spot(value)
        if own is not None:
            return own.step == step
        return isinstance(value, Use) and value.output == 0 and value.node in self.leading[step]

    def _chain(self, number: int, draft: Draft) -> None:
        if absorbed(self.flow, number):
            return
        leaves = list(chain_leaves(self.flow, draft))
        spots = [self.spot(leaf) for leaf in leaves]
        for first in spots:
            same = [spot is not None and first is not None and spot.step == first.step for spot in spots]
            if first is not None and sum(same) > 1:
                both = list(zip(leaves, same, strict=True))
                members = tuple(leaf for leaf, inside in both if inside)
                self.chains[number] = Chain(
                    first, members, tuple(leaf for leaf, inside in both if not inside)
                )
                return


def components_of(loop: Loop, flow: Flow) -> list[Component]:
    """The recurrences that add the same on every way round, and choose."""
    members = defaultdict[int, list[int]](list)
    for number in sorted(flow.component):
        members[flow.component[number]].append(number)
    found = [_component(loop, flow, nodes) for nodes in members.values()]
    return [component for component in found if component is not None]


def _component(loop: Loop, flow: Flow, nodes: list[int]) -> Component | None:
    inside = frozenset(nodes)
    drafts = loop.graph.drafts
    ops = {drafts[number].op for number in nodes}
    if not ops & EXTREMES or not ops <= {"add", "sub", *ARMS, *ORDERED} or not ops & {"add", "sub"}:
        return None
    offsets: dict[int, Form] = {}
    tests: dict[int, None] = {}
    variables: dict[Variable, None] = {}

    def offset(value: Value) -> Form | None:
        """That of a value that is part of the recurrence."""
        if isinstance(value, Use):
            return offsets.get(value.node)
        if isinstance(value, Before) and flow.source(value) in inside:
            variables[value.variable] = None
            return LEVEL
        return None

    for number in nodes:
        draft = drafts[number]
        values = [offset(value) for value in draft.operands]
        if draft.op in ORDERED:
            if values[0] is None or values[0] != values[1]:
                return None
            tests[number] = None
            continue
        found = _offset(draft, values)
        if found is None or (draft.op == "select" and values[0] is not None):
            return None
        offsets[number] = found
    return _closed(loop, offsets, frozenset(tests), tuple(variables))


def _offset(draft: Draft, values: list[Form | None]) -> Form | None:
    """What the result of a draft is above the slope, from the same of the operands that are on it."""
    match draft.op, values:
        case "add", [Form() as a, None]:
            return a.plus(form_of(draft.operands[1]))
        case "add", [None, Form() as a]:
            return a.plus(form_of(draft.operands[0]))
        case "sub", [Form() as a, None]:
            return a.plus(form_of(draft.operands[1]), -1)
        case op, _ if op in ARMS:
            found = [values[at] for at in ARMS[op] if values[at] is not None]
            return found[0] if found and all(other == found[0] for other in found) else None
    return None


def _closed(
    loop: Loop, offsets: dict[int, Form], tests: frozenset[int], variables: tuple[Variable, ...]
) -> Component | None:
    """The recurrence, if all its variables go up by the same, and begin with numbers."""
    steps: list[Form] = []
    for variable in variables:
        final = loop.final[variable]
        if not isinstance(final, Use) or final.node not in offsets or variable in loop.graph.predicates:
            return None
        if not isinstance(loop.initial.get(variable, ZERO), Const):
            return None
        steps.append(offsets[final.node])
    if not steps or steps[0] == LEVEL or any(step != steps[0] for step in steps):
        return None
    kept = {value.variable for value in loop.bases.values() if isinstance(value, Before)}
    return None if kept.intersection(variables) else Component(steps[0], offsets, tests, variables)


def _key(value: Value) -> int | Variable | None:
    if isinstance(value, Use):
        return None if value.output else value.node
    return value.variable if isinstance(value, Before) else None
