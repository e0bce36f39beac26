"""The sections of a `switch`, grouped into runs that fall through into each other."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import Integer
from macah.diagnostic import MacahError, Note, Place
from macah.lower_arithmetic import apply, constant, negation
from macah.program import place_of
from macah.syntax import Range

# The least and the greatest value of a `case`.
Limits = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Section:
    """Statements behind one or more labels; `values` are the limits of the `case`s."""

    values: tuple[Limits, ...]
    has_default: bool
    stmts: tuple[Any, ...]
    falls_through: bool
    where: Place


@dataclass(frozen=True, slots=True)
class Run:
    """Sections each of which but the last falls through into the next."""

    sections: tuple[Section, ...]

    @property
    def has_default(self) -> bool:
        """Whether one of them is the default."""
        return any(section.has_default for section in self.sections)

    @property
    def where(self) -> Place:
        """Where the run begins."""
        return self.sections[0].where

    def matches(self, value: ir.Expr, ctype: Integer) -> list[ir.Expr | None]:
        """For each section, whether `value` is one of its cases; None for the default."""
        found: list[ir.Expr | None] = []
        for section in self.sections:
            equal = [matches(value, limits, ctype) for limits in section.values]
            found.append(None if section.has_default else any_of(equal))
        return found

    def entered(self, matches: list[ir.Expr | None]) -> ir.Expr:
        """Whether a run without default is entered."""
        return any_of([m for m in matches if m is not None])


@dataclass(frozen=True, slots=True)
class Runs:
    """A whole `switch`: declarations in front of the first label, and the runs, the default's last."""

    before: tuple[Any, ...]
    runs: tuple[Run, ...]


def runs_of(node: Any, ctype: Integer, value_of: Callable[[Any], int]) -> Runs:
    """The runs of a `switch` statement on a value of type `ctype`."""
    items = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    before = tuple(i for i in items if isinstance(i, c_ast.Decl | c_ast.Typedef))
    labels = [item for item in items if isinstance(item, c_ast.Case | c_ast.Default)]
    sections = _sections(items, limits_of(labels, ctype, value_of))
    runs: list[Run] = []
    current: list[Section] = []
    for section in sections:
        current.append(section)
        if not section.falls_through:
            runs.append(Run(tuple(current)))
            current = []
    if current:
        runs.append(Run(tuple(current)))
    runs.sort(key=lambda run: run.has_default)
    return Runs(before, tuple(runs))


def _sections(items: list[Any], limits: Mapping[int, Limits | None]) -> list[Section]:
    sections: list[Section] = []
    values: list[Limits] = []
    has_default = False
    for item in items:
        if id(item) not in limits:
            continue
        found = limits[id(item)]
        if found is None:
            has_default = True
        else:
            values.append(found)
        stmts = [s for s in item.stmts or [] if s is not None]
        if stmts or item is items[-1]:
            kept, falls = _without_break(stmts)
            sections.append(Section(tuple(values), has_default, kept, falls, place_of(item)))
            values, has_default = [], False
    return sections


def limits_of(
    labels: Sequence[Any], ctype: Integer, value_of: Callable[[Any], int]
) -> dict[int, Limits | None]:
    """The least and greatest value of each label, by its `id`; None for `default`. None may occur twice."""
    found: dict[int, Limits | None] = {}
    seen: list[tuple[Limits, int]] = []  # by value; and the number of the label
    default: int | None = None
    for number, label in enumerate(labels):
        where = place_of(label)
        limits = None
        if isinstance(label, c_ast.Case):
            low, high = _ends(label.expr)
            limits = (ctype.wrap(value_of(low)), ctype.wrap(value_of(high)))
        other = default if limits is None else _taken(seen, limits)
        if other is not None:
            what = "multiple default labels in one switch" if limits is None else "duplicate case value"
            notes = (Note("previously used here", place_of(labels[other])),)
            raise MacahError(what, where, notes, code="switch-label")
        if limits is None:
            default = number
        elif limits[0] <= limits[1]:
            insort(seen, (limits, number))
        found[id(label)] = limits
    return found


def _taken(seen: Sequence[tuple[Limits, int]], limits: Limits) -> int | None:
    """The number of the first label that has one of these values too; those seen have none in common."""
    low, high = limits
    place = bisect_right(seen, high, key=lambda entry: entry[0][0])
    others: list[int] = []
    while low <= high and place and seen[place - 1][0][1] >= low:
        place -= 1
        others.append(seen[place][1])
    return min(others, default=None)


def _ends(node: Any) -> tuple[Any, Any]:
    return (node.low, node.high) if isinstance(node, Range) else (node, node)


def matches(value: ir.Expr, limits: Limits, ctype: Integer) -> ir.Expr:
    """Whether a value is within the limits of a label."""
    low, high = limits
    if low == high:
        return apply("eq", value, constant(low, ctype))
    if low > high:
        return ir.FALSE
    beyond = apply("sub", value, constant(low, ctype), bits=ctype.bits)
    return apply("ule", beyond, constant(high - low, ctype))


def nested_label(where: Place) -> MacahError:
    """The error for a label of a `switch` that is inside FOR, an expression, or no `switch` at all."""
    hint = "put the label outside that statement"
    message = "a 'case' or 'default' label inside a statement that cannot be entered there"
    return MacahError(message, where, hint=hint, code="nested-case")


def _without_break(stmts: list[Any]) -> tuple[tuple[Any, ...], bool]:
    """The statements of a section without the `break` at their end, and whether control falls out of them."""
    if not stmts:
        return (), True
    match stmts[-1]:
        case c_ast.Break():
            return tuple(stmts[:-1]), False
        case c_ast.Return() | c_ast.Continue():
            return tuple(stmts), False
        case c_ast.Compound(block_items=[*inner, c_ast.Break()]):
            return (*stmts[:-1], c_ast.Compound(inner, stmts[-1].coord)), False
        case _:
            return tuple(stmts), True


def any_of(conditions: list[ir.Expr]) -> ir.Expr:
    """Whether one of the conditions is true."""
    result: ir.Expr = ir.FALSE
    for condition in conditions:
        result = condition if result == ir.FALSE else apply("or", result, condition)
    return result


def none_of(conditions: list[ir.Expr]) -> ir.Expr:
    """Whether none of the conditions is true."""
    return negation(any_of(conditions)) if conditions else ir.TRUE
