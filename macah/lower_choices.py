"""`&&`, `||` and `?:`: pure if their operands are, else statements that happen only if they are to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from macah import ctypes, ir
from macah.ctypes import Integer, compatible
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, convert, truth
from macah.lower_base import type_text
from macah.lower_facts import key_of
from macah.lower_operators import NOTHING, Operators
from macah.lower_scope import Object
from macah.lower_several import alternatives, are_alike, either
from macah.lower_units import As
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.program import place_of

_V = TypeVar("_V")


class Choices(Operators):
    """C's operators that do not evaluate all of their operands."""

    def logical(self, op: str, left: Any, right: Any, where: Place) -> Rvalue:
        """`&&` and `||`: if the right operand has effects, they happen only if it is evaluated."""
        first = self.condition(left)
        with self.collected() as effects:
            second = self.condition(right)
        if isinstance(first, ir.Const):
            if bool(first.value) == (op == "||"):
                return Rvalue(ctypes.INT, first)
            self.body += effects
            return Rvalue(ctypes.INT, second)
        if not effects:
            return Rvalue(ctypes.INT, apply("and" if op == "&&" else "or", first, second))
        result = self.flag("and" if op == "&&" else "or", where)
        self.emit(ir.Assign(result, first, where))
        effects.append(ir.Assign(result, second, where))
        then, orelse = (effects, []) if op == "&&" else ([], effects)
        self.emit(ir.If(ir.Read(result), tuple(then), tuple(orelse), where=where))
        return Rvalue(ctypes.INT, ir.Read(result))

    def choice(self, node: Any) -> Value:
        """`?:`: a `select` if both values are free of effects."""
        where = place_of(node)
        condition = self.condition(node.cond)
        with self.collected() as then:
            yes = self.rvalue(node.iftrue)
        with self.collected() as orelse:
            no = self.rvalue(node.iffalse)
        match yes, no:
            case Rvalue(type=Integer() as a), Rvalue(type=Integer() as b):
                ctype = ctypes.common_type(a, b)
                first, second = convert(yes.expr, a, ctype), convert(no.expr, b, ctype)
                return Rvalue(ctype, self._chosen(condition, then, first, orelse, second, where))
            case Lvalue(type=ctypes.StreamType()), Lvalue(type=ctypes.StreamType()):
                hint = "use 'if' around the operations, or index an array of streams"
                message = "a kernel cannot choose a stream with '?:'"
                raise MacahError(message, where, hint=hint, code="stream-handle")
            case Lvalue(), Lvalue() if compatible(yes.type, no.type):
                return self._chosen_struct(condition, (then, yes), (orelse, no), where)
            case Reference(), Reference():
                return self._chosen_reference(condition, (then, yes), (orelse, no), where)
            case (Reference(), Rvalue(expr=ir.Const(0))) | (Rvalue(expr=ir.Const(0)), Reference()):
                return self._chosen_or_null(condition, (then, yes), (orelse, no), where)
            case (Rvalue(type=ctypes.Void()), _) | (_, Rvalue(type=ctypes.Void())):
                self.emit_if(condition, then, orelse, where)
                return NOTHING
        message = f"type mismatch in conditional expression ('{type_text(yes)}' and '{type_text(no)}')"
        raise MacahError(message, where, code="incompatible-types")

    def or_else(self, node: Any) -> Value:
        """GNU's `a ?: b`."""
        where = place_of(node)
        value = self.rvalue(node.value)
        if not isinstance(value, Rvalue) or not isinstance(value.type, Integer):
            message = f"used a value of type '{type_text(value)}' where a number is required"
            raise MacahError(message, where, code="invalid-operands")
        first = self.keep(value.expr, "value", where)
        with self.collected() as effects:
            other, ctype = self.number(node.otherwise)
        common = ctypes.common_type(value.type, ctype)
        yes, no = convert(first, value.type, common), convert(other, ctype, common)
        return Rvalue(common, self._chosen(truth(first), [], yes, effects, no, where))

    def _chosen(
        self,
        condition: ir.Expr,
        then: list[ir.Stmt],
        yes: ir.Expr,
        orelse: list[ir.Stmt],
        no: ir.Expr,
        where: Place,
    ) -> ir.Expr:
        if isinstance(condition, ir.Const):
            self.body += then if condition.value else orelse
            return yes if condition.value else no
        if not then and not orelse:
            return apply("select", condition, yes, no, bits=yes.bits) if yes != no else yes
        result = self.variable("choice", yes.bits, where)
        then.append(ir.Assign(result, yes, where))
        orelse.append(ir.Assign(result, no, where))
        self.emit_if(condition, then, orelse, where)
        return ir.Read(result)

    def _chosen_struct(
        self,
        condition: ir.Expr,
        yes: tuple[list[ir.Stmt], Lvalue],
        no: tuple[list[ir.Stmt], Lvalue],
        where: Place,
    ) -> Lvalue:
        result = Object("choice", yes[1].type, where=where)
        target = Lvalue(result, result.type)
        self._put_either(condition, yes, no, lambda value: self.copy(target, value, where), where)
        return target

    def _put_either(
        self,
        condition: ir.Expr,
        yes: tuple[list[ir.Stmt], _V],
        no: tuple[list[ir.Stmt], _V],
        put: Callable[[_V], None],
        where: Place,
    ) -> None:
        """Has the effects of one of two values, and puts that where it belongs."""
        branches: list[list[ir.Stmt]] = []
        for effects, value in (yes, no):
            with self.collected() as branch:
                self.body += effects
                put(value)
            branches.append(branch)
        self.emit_if(condition, branches[0], branches[1], where)

    def _chosen_reference(
        self,
        condition: ir.Expr,
        yes: tuple[list[ir.Stmt], Reference],
        no: tuple[list[ir.Stmt], Reference],
        where: Place,
    ) -> Reference:
        a, b = yes[1].target, no[1].target
        self.tell_apart(a, b)
        several = a.object is not b.object or a.others or b.others
        if several and not (yes[0] or no[0]):
            if isinstance(condition, ir.Const):
                return yes[1] if condition.value else no[1]
            condition = self.keep(condition, "choice", where)
            valid = self._chosen(condition, [], yes[1].valid, [], no[1].valid, where)
            if (target := either(condition, a, b)) is not None:
                return Reference(target, valid)
        if several and (yes[0] or no[0]) and are_alike([*alternatives(a), *alternatives(b)]):
            return self._chosen_in_turn(condition, yes, no, where)
        if (
            a.object is not b.object
            or a.path != b.path
            or len(a.steps) != len(b.steps)
            or a.others
            or b.others
        ):
            hint = "make both rows of one array, or choose among the elements, 'c ? a[i] : b[i]'"
            message = "the pointers do not point into the same array"
            if a.object is b.object and a.path != b.path:
                message = f"the pointers point to different members of '{a.object.name}'"
                hint = "use 'if' and 'else' on the members themselves"
            raise MacahError(message, where, hint=hint, code="pointer-arrays")
        if yes[0] or no[0]:
            return self._chosen_in_turn(condition, yes, no, where)
        steps = tuple(
            x
            if isinstance(x, str | As) or isinstance(y, str | As)
            else self._chosen(condition, [], x, [], y, where)
            for x, y in zip(a.steps, b.steps, strict=True)
        )
        valid = self._chosen(condition, [], yes[1].valid, [], no[1].valid, where)
        return Reference(replace(a, steps=steps, const=a.const or b.const), valid)

    def _chosen_in_turn(
        self,
        condition: ir.Expr,
        yes: tuple[list[ir.Stmt], Reference],
        no: tuple[list[ir.Stmt], Reference],
        where: Place,
    ) -> Reference:
        """A pointer chosen between values with effects."""
        result = Object("choice", yes[1].type, where=where)
        self.facts.varying.add(key_of(result))
        self._put_either(
            condition,
            yes,
            no,
            lambda value: self.bind_pointer(Lvalue(result, result.type), value, where),
            where,
        )
        chosen = self.load(Lvalue(result, result.type), where)
        assert isinstance(chosen, Reference), chosen
        return chosen

    def _chosen_or_null(
        self,
        condition: ir.Expr,
        yes: tuple[list[ir.Stmt], Value],
        no: tuple[list[ir.Stmt], Value],
        where: Place,
    ) -> Reference:
        """`c ? p : NULL`, and the other way round."""
        pointer = yes[1] if isinstance(yes[1], Reference) else no[1]
        assert isinstance(pointer, Reference), pointer
        if yes[0] or no[0]:
            pointer = replace(pointer, target=self._kept_steps(pointer.target, where))
        valid = [v.valid if isinstance(v, Reference) else ir.FALSE for v in (yes[1], no[1])]
        return replace(pointer, valid=self._chosen(condition, yes[0], valid[0], no[0], valid[1], where))

    def _kept_steps(self, target: Lvalue, where: Place) -> Lvalue:
        if any(not isinstance(step, str | As | ir.Const) for step in target.steps):
            message = "a pointer or null is chosen, and the pointer changes something"
            raise MacahError(message, where, hint="use 'if' and 'else'", code="pointer-arrays")
        return target
