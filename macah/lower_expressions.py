"""Expressions: their values as pure expressions of the IR, their effects as statements before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from macah import ctypes, ir
from macah.ctypes import Floating, Integer, Pointer, StructType
from macah.diagnostic import MacahError
from macah.lower_arithmetic import constant, convert
from macah.lower_base import type_text
from macah.lower_choices import Choices
from macah.lower_constants import literal
from macah.lower_operators import NOTHING
from macah.lower_scope import Broken, Constant, FunctionName, Object, Typedef, undeclared
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.lower_words import NO_FLOAT
from macah.program import place_of
from macah.syntax import OrElse
from macah.syntax import StreamType as StreamTypeNode


class Expressions(Choices):
    """C's expressions."""

    def value(self, node: Any, wanted: bool = True) -> Value:
        match node:
            case c_ast.Constant() if node.value.endswith('"'):
                return self.string(node)
            case c_ast.Constant():
                return self._literal(node)
            case c_ast.ID(name=name):
                return self._named(name, node)
            case c_ast.ArrayRef():
                return self.element(node)
            case c_ast.StructRef():
                return self.member(node)
            case c_ast.FuncCall():
                return self.call(node)
            case c_ast.Assignment():
                return self.assignment(node, wanted)
            case c_ast.UnaryOp():
                return self.unary(node, wanted)
            case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                return self.logical(op, left, right, place_of(node))
            case c_ast.BinaryOp() if (found := self.class_of_character(node)) is not None:
                return found
            case c_ast.BinaryOp(op=op, left=left, right=right):
                return self.binary(op, self.rvalue(left), self.rvalue(right), place_of(node))
            case c_ast.TernaryOp():
                return self.choice(node)
            case OrElse():
                return self.or_else(node)
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.ExprList(exprs=[*first, last]):
                for part in first:
                    self.value(part, wanted=False)
                return self.value(last, wanted)
            case c_ast.GenericSelection():
                return self.value(self.types.selected(node, self.scope), wanted)
            case c_ast.Compound():
                return self.compound_value(node)
            case c_ast.CompoundLiteral():
                return self.literal_object(node)
        if isinstance(node, c_ast.InitList):
            raise MacahError("excess elements in scalar initializer", place_of(node), code="initializer")
        kind = "a type" if isinstance(node, c_ast.Typename | StreamTypeNode) else type(node).__name__
        raise MacahError(
            f"this expression ('{kind}') is not supported in a kernel",
            place_of(node),
            code="unsupported-expression",
        )

    # --- Names and numbers

    def _literal(self, node: Any) -> Rvalue:
        ctype, value = literal(node)
        if isinstance(ctype, Floating):
            if "int" in node.type:
                message = "integer constant is too large for its type"
                raise MacahError(message, place_of(node), code="invalid-token")
            raise MacahError(NO_FLOAT, place_of(node), hint="use integers", code="floating-point")
        return Rvalue(ctype, constant(int(value), ctype))

    def _named(self, name: str, node: Any) -> Value:
        match self.scope.find(name):
            case Object() as found if found in self.aliases:
                return self.aliases[found]
            case Object() as found:
                return Lvalue(found, found.type, found.const)
            case Constant(ctype, value):
                return Rvalue(ctype, constant(value, ctype))
            case FunctionName() as function:
                return function
            case Typedef():
                raise MacahError(f"expected an expression before '{name}'", place_of(node), code="syntax")
            case Broken(error):
                raise error
        raise undeclared(name, self.scope, place_of(node))

    def _cast(self, node: Any) -> Value:
        target = self.types.read_type(node.to_type, self.scope)[0]
        where = place_of(node)
        if target == ctypes.VOID:
            self.value(node.expr, wanted=False)
            return NOTHING
        if isinstance(target, Integer) and self._is_floating(node.expr):
            number = int(self.types.number(node, self.scope)[1])
            return Rvalue(target, constant(number, target))
        value = self.rvalue(node.expr)
        match target, value:
            case Integer(size=16), _:
                message = f"type '{target}' is wider than kernels support"
                raise MacahError(message, where, hint="use 'long long', of 64 bits", code="wide-type")
            case Integer(), Rvalue(type=Integer() as source):
                return Rvalue(target, convert(value.expr, source, target))
            case Integer(is_bool=True), Reference():
                return Rvalue(target, self.is_set(value))
            case Pointer(const=const), Reference():
                seen = self.pointer_as(value, target, where, cast=True)
                return replace(seen, target=replace(seen.target, const=const))
            case Pointer(), Rvalue(expr=ir.Const(0)):
                return value
            case Floating(), _:
                raise MacahError(NO_FLOAT, where, hint="use integers", code="floating-point")
            case StructType(), _:
                raise MacahError("conversion to non-scalar type requested", where, code="incompatible-types")
        message = f"a conversion of '{type_text(value)}' to '{target}' is not supported in a kernel"
        raise MacahError(message, where, code="incompatible-types")

    def _is_floating(self, node: Any) -> bool:
        try:
            return isinstance(self.types.number(node, self.scope)[0], Floating)
        except MacahError:
            return False
