"""Operators: arithmetic, assignments, `++` and `--`; their effects become statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from macah import ctypes, ir
from macah.ctypes import ArrayType, Integer, StructType
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import binary, constant, convert, truth, unary
from macah.lower_base import type_text
from macah.lower_lvalues import Lvalues
from macah.lower_scope import Object
from macah.lower_types import refuse_bit_field
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.program import place_of
from macah.syntax import NOT_A_SEND, RECEIVE_FIRST

NOTHING = Rvalue(ctypes.VOID)
_STEPS = {"++": "+", "--": "-", "p++": "+", "p--": "-"}


def _instead(op: str, left: Value, right: Value) -> str:
    """What is probably meant by an operator that its operands cannot have."""
    match left, right:
        case Lvalue(type=ctypes.StreamType()), _ if op == "<":
            return NOT_A_SEND
        case Lvalue(type=ctypes.StreamType()), _ if op == "<<":
            return "a send is 's <! x;'"
        case _, Lvalue(type=ctypes.StreamType()) if op == ">>":
            return "a receive is 'x <? s;'"
        case Lvalue(type=ctypes.StreamType()), (
            Lvalue(type=ctypes.StreamType()) | Rvalue(expr=ir.Const(0))
        ) if op in {"==", "!="}:
            return "stream handles are compared outside the kernel block, into an int"
        case (Lvalue(type=ctypes.StreamType()), _) | (_, Lvalue(type=ctypes.StreamType())):
            return RECEIVE_FIRST
        case Reference(target=Lvalue(object=Object(type=ctypes.ArrayType()))), _ if op in {"<<", ">>"}:
            return f"a shift of an array is a statement of its own, 'a {op}= n;'"
        case _:
            return ""


class Operators(Lvalues):
    """C's operators that evaluate all of their operands."""

    def condition(self, node: Any) -> ir.Expr:
        """1 if the value of an expression is not 0, else 0."""
        value = self.rvalue(node)
        if isinstance(value, Rvalue) and isinstance(value.type, Integer):
            is_flag = isinstance(value.expr, ir.Read) and value.expr.variable in self.flags
            return value.expr if is_flag or value.type.is_bool else truth(value.expr)
        if isinstance(value, Reference):
            return self.is_set(value)
        message = f"used a value of type '{type_text(value)}' where a number is required"
        raise MacahError(message, place_of(node), code="invalid-operands")

    def binary(self, op: str, left: Value, right: Value, where: Place) -> Value:
        """`left op right` of values that are already read."""
        match left, right:
            case Rvalue(type=Integer() as a), Rvalue(type=Integer() as b):
                expr, ctype = binary(op, left.expr, a, right.expr, b)
                return Rvalue(ctype, expr)
        result = self.pointer_binary(op, left, right, where)
        if result is not None:
            return result
        message = f"invalid operands to binary {op} (have '{type_text(left)}' and '{type_text(right)}')"
        raise MacahError(message, where, hint=_instead(op, left, right), code="invalid-operands")

    def unary(self, node: Any, wanted: bool) -> Value:
        where = place_of(node)
        match node.op:
            case "sizeof" | "_Alignof" | "__alignof__":
                ctype, size = self.types.size(node, self.scope)
                return Rvalue(ctype, constant(size, ctype))
            case "*":
                return self.dereferenced(node.expr)
            case "&":
                target = self.lvalue(node.expr, "unary '&' operand")
                refuse_bit_field(target.type, "take the address of", node)
                return self.address(target, where)
            case "++" | "--" | "p++" | "p--":
                return self._step(node, wanted)
            case "!":
                return Rvalue(ctypes.INT, unary("!", self.condition(node.expr), ctypes.INT)[0])
            case "+" | "-" | "~" as op:
                value = self.rvalue(node.expr)
                if isinstance(value, Rvalue) and isinstance(value.type, Integer):
                    expr, ctype = unary(op, value.expr, value.type)
                    return Rvalue(ctype, expr)
                raise MacahError(
                    f"wrong type argument to unary {op} (have '{type_text(value)}')",
                    where,
                    code="invalid-operands",
                )
        raise MacahError(
            f"operator '{node.op}' is not supported in a kernel", where, code="unsupported-expression"
        )

    def _step(self, node: Any, wanted: bool) -> Value:
        """`++` and `--`."""
        where = place_of(node)
        target = self.lvalue(node.expr, f"{'in' if '+' in node.op else 'de'}crement operand")
        self._refuse_const(target, where, "increment" if "+" in node.op else "decrement")
        old = before = self.load(target, where)
        if wanted and node.op.startswith("p"):
            old = self._kept(old, target.object.name, where)
        one = Rvalue(ctypes.INT, ir.Const(1))
        # A pointer is stepped itself, so that those of its indices stay that are the same.
        new = self.binary(_STEPS[node.op], before if isinstance(before, Reference) else old, one, where)
        after = self._assigned(target, new, where, wanted and not node.op.startswith("p"))
        return old if node.op.startswith("p") else after

    def _kept(self, value: Value, name: str, where: Place) -> Value:
        """`value`, unchanged by what is assigned later."""
        match value:
            case Rvalue():
                return replace(value, expr=self.keep(value.expr, name, where))
            case Reference(target):
                valid = self.keep(value.valid, name, where)
                return replace(value, target=self.kept(target, name, where), valid=valid)
            case _:
                return value

    def _refuse_const(self, target: Lvalue, where: Place, what: str = "assignment") -> None:
        if target.const:
            kind = "location" if target.steps else f"variable '{target.object.name}'"
            raise MacahError(f"{what} of read-only {kind}", where, code="read-only")

    def assignment(self, node: Any, wanted: bool) -> Value:
        where = place_of(node)
        target = self.lvalue(node.lvalue, "left operand of assignment")
        op = node.op[:-1]
        if op in {"<<", ">>"} and isinstance(target.type, ArrayType):
            self.shift(target, node)
            return NOTHING
        self._refuse_const(target, where)
        value = self.rvalue(node.rvalue)
        if op:
            value = self.binary(op, self.load(target, where), value, where)
        return self._assigned(target, value, where, wanted)

    def _assigned(self, target: Lvalue, value: Value, where: Place, wanted: bool) -> Value:
        """Assign, and give the value that was assigned."""
        match target.type, value:
            case Integer() as ctype, Rvalue(type=Integer() as source) if wanted:
                expr = convert(value.expr, source, ctype)
                kept = Rvalue(ctype, self.keep(expr, target.object.name, where))
                self.assign(target, kept, where)
                return kept
        if wanted and isinstance(target.type, StructType):
            target = self.steady(target, target, where)
        self.assign(target, value, where)
        return self.load(target, where) if wanted else NOTHING
