"""Divisions and shifts in kernels: what C leaves undefined gives some value there, and never a trap.

`a / b` becomes `macah_div(a, b)`, but for constants, of which the C compiler sees what they do.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.diagnostic import MacahError
from macah.program import Program, has_effects, walk
from macah.translate_calls import is_constant

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_NAMES = {"/": "macah_div", "%": "macah_rem", "<<": "macah_shl", ">>": "macah_shr"}


def kernel_functions(program: Program) -> frozenset[str]:
    """The names of the functions that kernels call, directly or through others."""
    bodies = {node.decl.name: node.body for node in program.unit.ext if isinstance(node, c_ast.FuncDef)}
    found: set[str] = set()
    waiting: list[Any] = [site.node for site in program.kernels]
    while waiting:
        called = {n.name.name for n in walk(waiting.pop()) if _is_call(n)}
        waiting += [bodies[name] for name in called & bodies.keys() - found]
        found |= called & bodies.keys()
    return frozenset(found)


def _is_call(node: Any) -> bool:
    return isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)


def translate_operation(translator: Translator, node: Any) -> None:
    """Note the edits of a binary operation or assignment in a kernel."""
    assigns = isinstance(node, c_ast.Assignment)
    name = _NAMES.get(node.op.removesuffix("=") if assigns else node.op)
    left, right = (node.lvalue, node.rvalue) if assigns else (node.left, node.right)
    if name is None or _is_harmless(translator, name, left, right):
        return
    if assigns:
        name += "_assign"
    source = translator.source
    start, end = translator.place(node)
    operator = translator.operator(node, left, right)
    if assigns and has_effects(left):
        # An lvalue with side effects is evaluated once, by way of its address.
        source.before(start, f"{name}_at(&(")
        source.operand_ends(operator, "),")
    else:
        source.before(start, f"{name}(")
        source.operand_ends(operator, ",")
        translator.guard((start, operator.start))
    source.behind(end, ")")
    translator.guard((operator.end, end))


def _is_harmless(translator: Translator, name: str, left: Any, right: Any) -> bool:
    """Whether the right operand is a constant with which nothing can go wrong."""
    if not is_constant(translator, right):
        return False
    value = _value(right)
    if name in ("macah_shl", "macah_shr"):
        # Where all is constant, C may want a constant: in a table's initializer, say.
        known = value is not None and 0 <= value < _width(translator.scopes.type_of(left))
        return is_constant(translator, left) or known
    return bool(value) or (is_constant(translator, left) and not _is_zero(translator, right))


def _is_zero(translator: Translator, constant: Any) -> bool:
    """Whether an expression of constants is known to be 0."""
    declarations = translator.declarations
    try:
        return not declarations.number(constant, declarations.file)[1]
    except MacahError:
        return False


def _width(kind: Any) -> int:
    """The number of bits that a value of a type has for certain."""
    names = kind.names if isinstance(kind, c_ast.IdentifierType) else ()
    return 64 if "long" in names and struct.calcsize("l") == 8 or names.count("long") == 2 else 32


def _value(node: Any) -> int | None:
    """The value of a constant, if it is a plain number."""
    try:
        return int(node.value.rstrip("uUlL"), 0) if isinstance(node, c_ast.Constant) else None
    except ValueError:
        return None
