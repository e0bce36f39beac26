"""Shifts of arrays: `a[i] <<= n` becomes `macah_shift_left(a[i], n)`, which moves the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.syntax import ShiftableDecl

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_NAMES = {"<<=": "macah_shift_left", ">>=": "macah_shift_right"}


def translate_shift(translator: Translator, node: Any) -> bool:
    """Note the edits of an assignment `<<=` or `>>=`; False if its left side is no array, as in C."""
    kind = translator.scopes.type_of(node.lvalue)
    parameter = _is_parameter(translator, node.lvalue)
    dimensions = _dimensions(translator, kind)
    if not dimensions or (parameter and not any(isinstance(d, ShiftableDecl) for d in dimensions)):
        return False
    level = next((at for at, d in enumerate(dimensions) if isinstance(d, ShiftableDecl)), None)
    if level is None:
        message = "no dimension of this array can be shifted"
        translator.fail(message, node, "declare the one to be shifted as '[^N^]'", code="not-shiftable")
    # What is below first, for its text is part of the edit.
    translator.children(node)
    source = translator.source
    start, end = translator.place(node)
    operator = translator.operator(node, node.lvalue, node.rvalue)
    array = source.edited((start, operator.start))
    # A parameter is a pointer, whose first dimension only its declaration tells.
    counts = [
        f"({source.edited(translator.place(d.dim))})" if at == 0 and parameter else _count(array, at)
        for at, d in enumerate(dimensions[: level + 1])
    ]
    if isinstance(node.lvalue, c_ast.ID) and node.lvalue.name in translator.windows:
        source.before(start, f"{_NAMES[node.op].replace('shift', 'slide')}(", outermost=True)
        source.operand_ends(operator, f", macah_{node.lvalue.name},")
    elif level or parameter:
        rows = " * ".join(counts[:level]) or "1"
        element = f"sizeof {array}{'[0]' * (level + 1)}"
        source.before(start, f"{_NAMES[node.op]}_of(", outermost=True)
        source.operand_ends(operator, f", {rows}, {counts[level]}, {element},")
    else:
        source.before(start, f"{_NAMES[node.op]}(", outermost=True)
        source.operand_ends(operator, ",")
    source.behind(end, ")", outermost=True)
    return True


def _count(array: str, level: int) -> str:
    """The number of elements of a dimension of an array that is an object, not a parameter."""
    row = f"{array}{'[0]' * level}"
    return f"(sizeof {row} / sizeof {row}[0])"


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
