"""Shifts of arrays: `a[i] <<= n` becomes a call that moves the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.syntax import ShiftableDecl
from macah.translate_text import Parts

if TYPE_CHECKING:
    from macah.translate_walk import Translator


def shift_parts(translator: Translator, node: Any) -> Parts | None:
    """What stands for an assignment `<<=` or `>>=`; None if its left side is no array, as in C."""
    kind = translator.scopes.type_of(node.lvalue)
    parameter = _is_parameter(translator, node.lvalue)
    dimensions = _dimensions(translator, kind)
    if not dimensions or (parameter and not any(isinstance(d, ShiftableDecl) for d in dimensions)):
        return None
    level = next((at for at, d in enumerate(dimensions) if isinstance(d, ShiftableDecl)), None)
    if level is None:
        message = "no dimension of this array can be shifted"
        translator.fail(message, node, "declare the one to be shifted as '[^N^]'", code="not-shiftable")
    array = translator.operand(node.lvalue)
    # A parameter is a pointer, whose first dimension only its declaration tells.
    counts = [
        ("(", translator.place(d.dim), ")") if at == 0 and parameter else _count(array, at)
        for at, d in enumerate(dimensions[: level + 1])
    ]
    rows: Parts = ("1",)
    if level:
        rows = counts[0]
        for count in counts[1:level]:
            rows = (*rows, " * ", *count)
    size: Parts = ("sizeof ", *array, "[0]" * (level + 1))
    amount = translator.place(node.rvalue)
    sign = "-" if node.op == "<<=" else ""
    by: Parts = (f"{sign}(long long)(", amount, ")")
    return ("macah_shift(", *array, ", ", *rows, ", ", *counts[level], ", ", *size, ", ", *by, ")")


def _count(array: Parts, level: int) -> Parts:
    """The number of elements of a dimension of an array that is an object, not a parameter."""
    row: Parts = (*array, "[0]" * level)
    return ("sizeof ", *row, " / sizeof ", *row, "[0]")


def _is_parameter(translator: Translator, node: Any) -> bool:
    if not isinstance(node, c_ast.ID):
        return False
    symbol = translator.scopes.find(node.name)
    return symbol is not None and symbol.kind == "parameter"


def _dimensions(translator: Translator, kind: Any) -> list[Any]:
    found = []
    while isinstance(kind, c_ast.ArrayDecl):
        found.append(kind)
        kind = translator.scopes.resolve(kind.type)
    return found
