"""The sections of a `switch`, grouped into runs that fall through into each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import Integer
from macah.diagnostic import MacahError, Note, Place
from macah.lower_arithmetic import apply, constant, negation
from macah.program import place_of


@dataclass(frozen=True, slots=True)
class Section:
    """Statements behind one or more labels; `values` are those of the `case`s."""

    values: tuple[int, ...]
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
            equal = [apply("eq", value, constant(v, ctype)) for v in section.values]
            found.append(None if section.has_default else _or(equal))
        return found

    def any_of(self, matches: list[ir.Expr | None]) -> ir.Expr:
        """Whether a run without default is entered."""
        return _or([m for m in matches if m is not None])

    def none_of(self, matches: list[ir.Expr]) -> ir.Expr:
        """Whether a run that is entered begins at the default or before, if `matches` come behind it."""
        return negation(_or(matches)) if matches else ir.TRUE


@dataclass(frozen=True, slots=True)
class Runs:
    """A whole `switch`: declarations in front of the first label, and the runs, the default's last."""

    before: tuple[Any, ...]
    runs: tuple[Run, ...]


def runs_of(node: Any, ctype: Integer, value_of: Callable[[Any], int]) -> Runs:
    """The runs of a `switch` statement on a value of type `ctype`."""
    items = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    before = tuple(i for i in items if isinstance(i, c_ast.Decl | c_ast.Typedef))
    sections = _sections(items, ctype, value_of)
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


def _sections(items: list[Any], ctype: Integer, value_of: Callable[[Any], int]) -> list[Section]:
    sections: list[Section] = []
    seen: dict[int | None, Place] = {}
    values: list[int] = []
    has_default = False
    for item in items:
        if not isinstance(item, c_ast.Case | c_ast.Default):
            _refuse_labels_in(item)
            continue
        where = place_of(item)
        value = ctype.wrap(value_of(item.expr)) if isinstance(item, c_ast.Case) else None
        if value in seen:
            what = "multiple default labels in one switch" if value is None else "duplicate case value"
            raise MacahError(what, where, (Note("previously used here", seen[value]),), code="switch-label")
        seen[value] = where
        if value is None:
            has_default = True
        else:
            values.append(value)
        stmts = [s for s in item.stmts or [] if s is not None]
        if stmts or item is items[-1]:
            kept, falls = _without_break(stmts)
            sections.append(Section(tuple(values), has_default, kept, falls, where))
            values, has_default = [], False
    return sections


def _refuse_labels_in(node: Any) -> None:
    """Statements before the first label are never reached, unless a label is inside one of them."""
    if isinstance(node, c_ast.Case | c_ast.Default):
        raise nested_label(place_of(node))
    if not isinstance(node, c_ast.Switch):
        for inner in node or ():
            _refuse_labels_in(inner)


def nested_label(where: Place) -> MacahError:
    """The error for a label of a `switch` that is inside another statement."""
    hint = "put the label directly into the block of the 'switch'"
    message = "a 'case' or 'default' label that is not directly in the block of a 'switch'"
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


def _or(conditions: list[ir.Expr]) -> ir.Expr:
    result: ir.Expr = ir.FALSE
    for condition in conditions:
        result = condition if result == ir.FALSE else apply("or", result, condition)
    return result
