"""The type of an expression that is not evaluated, as `sizeof` and constant expressions ask for it."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

from pycparser import c_ast

from macah import ctypes
from macah.ctypes import ArrayType, CType, Floating, FunctionType, Integer, Pointer
from macah.diagnostic import MacahError
from macah.lower_constants import Constants, arithmetic_type, literal, string_units
from macah.lower_layout import member_path
from macah.lower_scope import Broken, Constant, FunctionName, Object, Scope, undeclared
from macah.lower_types import refuse_bit_field
from macah.program import place_of
from macah.syntax import OrElse

_COUNTING = re.compile(r"__builtin_(popcount|parity|clz|ctz|ffs)l{0,2}")
_RESULTS: dict[str, CType] = {
    "__builtin_abs": ctypes.INT,
    "__builtin_labs": ctypes.LONG,
    "__builtin_llabs": ctypes.LLONG,
    "__builtin_bswap16": ctypes.USHORT,
    "__builtin_bswap32": ctypes.UINT,
    "__builtin_bswap64": ctypes.ULONG,
    "__builtin_constant_p": ctypes.INT,
    "__builtin_expect": ctypes.LONG,
    "__builtin_expect_with_probability": ctypes.LONG,
    "__builtin_memcmp": ctypes.INT,
    "__builtin_unreachable": ctypes.VOID,
}
_LOGICAL = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"}


class Analyzer(Constants):
    """Everything that can be said about types and constants without evaluating anything."""

    def type_of(self, node: Any, scope: Scope) -> CType:
        match node:
            case c_ast.Constant(type="string"):
                element, units = string_units(node.value)
                return ArrayType(element, len(units) + 1)
            case c_ast.Constant():
                return literal(node)[0]
            case c_ast.ID(name=name):
                return self._type_of_name(name, node, scope)
            case c_ast.Cast(to_type=to_type):
                return self.read_type(to_type, scope)[0]
            case c_ast.CompoundLiteral():
                return self.literal_type(node, scope)
            case c_ast.ArrayRef(name=base, subscript=subscript):
                ctype = self.type_of(base, scope)
                if isinstance(ctype, Integer):  # i[a], which is a[i]
                    ctype = self.type_of(subscript, scope)
                return self._target(ctype, node)
            case c_ast.StructRef(name=base, type=kind, field=field):
                inner = self.type_of(base, scope)
                struct = self._target(inner, node) if kind == "->" else inner
                return member_path(struct, field.name, node)[-1].type
            case c_ast.UnaryOp():
                return self._type_of_unary(node, scope)
            case c_ast.BinaryOp(op=op, left=left, right=right):
                return self._type_of_binary(
                    op, self.value_type(left, scope), self.value_type(right, scope), node
                )
            case c_ast.TernaryOp(iftrue=yes, iffalse=no) | OrElse(value=yes, otherwise=no):
                return _either(self.value_type(yes, scope), self.value_type(no, scope))
            case c_ast.Assignment(lvalue=target):
                return self.type_of(target, scope)
            case c_ast.ExprList(exprs=exprs):
                return self.value_type(exprs[-1], scope)
            case c_ast.GenericSelection():
                return self.type_of(self.selected(node, scope), scope)
            case c_ast.FuncCall(name=function, args=args):
                return self._type_of_call(function, args.exprs if args else [], node, scope)
        raise MacahError(
            "cannot tell the type of this expression", place_of(node), code="unsupported-expression"
        )

    @abstractmethod
    def literal_type(self, node: Any, scope: Scope) -> CType:
        """The type of a compound literal; an array may have its length from the initialiser."""

    def value_type(self, node: Any, scope: Scope) -> CType:
        """The type of an expression's value: an array is a pointer to its elements."""
        ctype = self.type_of(node, scope)
        if isinstance(ctype, ArrayType):
            return Pointer(ctype.element, self._is_const(node, scope))
        return ctypes.decay(ctype)

    def declared(self, node: Any, scope: Scope) -> tuple[CType, bool]:
        """The type that a declaration gives its name, and whether that is const."""
        match node:
            case c_ast.Decl(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["__auto_type"])), init=init):
                ctype = self.value_type(init, scope)
                refuse_bit_field(ctype, "take the type of", node)
                return ctype, "const" in node.type.quals
        return self.read_type(node.type, scope)

    def _is_const(self, node: Any, scope: Scope) -> bool:
        """Whether an lvalue must not be assigned."""
        match node:
            case c_ast.ID(name=name):
                entity = scope.find(name)
                return isinstance(entity, Constant) or (isinstance(entity, Object) and entity.const)
            case c_ast.ArrayRef(name=base) | c_ast.UnaryOp(op="*", expr=base):
                pointer = self.value_type(base, scope)
                return isinstance(pointer, Pointer) and pointer.const
            case c_ast.StructRef(name=base, type=kind, field=field):
                inner = self.value_type(base, scope)
                struct = self._target(inner, node) if kind == "->" else inner
                members = member_path(struct, field.name, node)
                outer = (
                    isinstance(inner, Pointer) and inner.const
                    if kind == "->"
                    else self._is_const(base, scope)
                )
                return outer or any(member.const for member in members)
            case c_ast.CompoundLiteral(type=to_type):
                return self.read_type(to_type, scope)[1]
            case c_ast.GenericSelection():
                return self._is_const(self.selected(node, scope), scope)
        return False

    def selected(self, node: Any, scope: Scope) -> Any:
        """The expression that `_Generic` selects."""
        ctype = self.value_type(node.expr, scope)
        default, found = None, []
        for choice in node.associations:
            if choice.type is None:
                default = choice.expr
                continue
            wanted, const = self.read_type(choice.type, scope)
            # No value is const.
            if not const and ctypes.compatible(wanted, ctype) and _same_const(wanted, ctype):
                found.append(choice.expr)
        if len(found) > 1:
            message = f"which association of '_Generic' the type '{ctype}' selects cannot be told in a kernel"
            hint = "use types that differ in more than 'volatile' or 'restrict'"
            raise MacahError(message, place_of(node), hint=hint, code="unsupported-expression")
        if not found and default is None:
            message = f"'_Generic' selector of type '{ctype}' is not compatible with any association"
            raise MacahError(message, place_of(node), code="incompatible-types")
        return found[0] if found else default

    def _type_of_name(self, name: str, node: Any, scope: Scope) -> CType:
        match scope.find(name):
            case Object(type=ctype) | Constant(type=ctype) | FunctionName(type=ctype):
                return ctype
            case Broken(error):
                raise error
            case None:
                raise undeclared(name, scope, place_of(node))
        raise MacahError(f"expected an expression before '{name}'", place_of(node), code="syntax")

    def _target(self, ctype: CType, node: Any) -> CType:
        match ctype:
            case ArrayType(element):
                return element
            case Pointer(target):
                return target
        raise MacahError(
            "subscripted or dereferenced value is neither array nor pointer",
            place_of(node),
            code="not-an-array",
        )

    def _type_of_unary(self, node: Any, scope: Scope) -> CType:
        if node.op in {"sizeof", "_Alignof", "__alignof__"}:
            return ctypes.ULONG
        if node.op == "!":
            return ctypes.INT
        ctype = self.type_of(node.expr, scope)
        match node.op:
            case "*":
                return self._target(ctype, node)
            case "&":
                refuse_bit_field(ctype, "take the address of", node)
                return Pointer(ctype, self._is_const(node.expr, scope))
            case "+" | "-" | "~" if isinstance(ctype, Integer):
                return ctypes.promote(ctype)
            case _:
                return ctype

    def _type_of_binary(self, op: str, left: CType, right: CType, node: Any) -> CType:
        if op in _LOGICAL:
            return ctypes.INT
        if isinstance(left, Pointer):
            return ctypes.LONG if isinstance(right, Pointer) else left
        if isinstance(right, Pointer):
            return right
        if op in {"<<", ">>"} and isinstance(left, Integer):
            return ctypes.promote(left)
        if isinstance(left, Integer | Floating) and isinstance(right, Integer | Floating):
            return arithmetic_type(left, right)
        raise MacahError(
            f"invalid operands to binary {op} (have '{left}' and '{right}')",
            place_of(node),
            code="invalid-operands",
        )

    def _type_of_call(self, function: Any, arguments: list[Any], node: Any, scope: Scope) -> CType:
        name = function.name if isinstance(function, c_ast.ID) else ""
        if name and scope.find(name) is None:
            if name in {"EXPECT", "abs", "__builtin_assume_aligned"} and arguments:
                ctype = self.type_of(arguments[0], scope)
                return ctypes.promote(ctype) if name == "abs" and isinstance(ctype, Integer) else ctype
            if name in _RESULTS:
                return _RESULTS[name]
            if name == "pstream_ended" or _COUNTING.fullmatch(name):
                return ctypes.INT
            if name == "__builtin_offsetof":
                return ctypes.ULONG
            if name in {"min", "max"} and len(arguments) == 2:
                return arithmetic_type(*(self.type_of(a, scope) for a in arguments))
        ctype = self.type_of(function, scope)
        if isinstance(ctype, Pointer):
            ctype = ctype.target
        if isinstance(ctype, FunctionType):
            return ctype.result
        raise MacahError(
            "called object is not a function or function pointer", place_of(node), code="not-a-function"
        )


def _either(a: CType, b: CType) -> CType:
    """The type of `c ? a : b`."""
    match a, b:
        case Integer() | Floating(), Integer() | Floating():
            return arithmetic_type(a, b)
        case Pointer(x, const), Pointer(y, other):
            return Pointer(y if y == ctypes.VOID else x, const or other)
        case _, Pointer():
            return b
    return a


def _same_const(a: CType, b: CType) -> bool:
    """Whether two compatible types have `const` in the same places behind their pointers."""
    match a, b:
        case Pointer(x, first), Pointer(y, second):
            return first == second and _same_const(x, y)
        case ArrayType(x), ArrayType(y):
            return _same_const(x, y)
    return True
