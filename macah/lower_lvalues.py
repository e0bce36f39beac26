"""Lvalues: reading and assigning variables, elements and members, and pointers that resolve to one array."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import (
    BOOL,
    INT,
    ArrayType,
    CType,
    Floating,
    Integer,
    Pointer,
    StreamType,
    StructType,
    align_of,
    compatible,
    size_of,
)
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, constant, convert, index_word
from macah.lower_base import type_text
from macah.lower_layout import member_path
from macah.lower_pointers import Pointers
from macah.lower_scope import Constant, FunctionName, Object
from macah.lower_units import UNITS, As, Window
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.lower_words import integer_type
from macah.program import place_of
from macah.syntax import RECEIVE_FIRST


class Lvalues(Pointers):
    """Variables, elements, members, pointers."""

    def lvalue(self, node: Any, what: str = "") -> Lvalue:
        """Lower an expression that must be an lvalue."""
        value = self.value(node)
        if isinstance(value, Lvalue):
            return value
        if constant_object := self._constant_object(node):
            return constant_object
        message = f"lvalue required{' as ' + what if what else ''}"
        raise MacahError(message, place_of(node), code="not-an-lvalue")

    def _constant_object(self, node: Any) -> Lvalue | None:
        """A const variable whose value is known has an address all the same."""
        found = self.scope.find(node.name) if isinstance(node, c_ast.ID) else None
        if not isinstance(found, Constant) or not found.addressable:
            return None
        owner = Object(node.name, found.type, True, found.where, table={((), ()): found.value})
        return Lvalue(owner, found.type, True)

    def rvalue(self, node: Any) -> Value:
        return self.load(self.value(node), place_of(node))

    def load(self, value: Value, where: Place) -> Value:
        """The value of an lvalue: numbers and pointers are read, arrays decay, structs stay."""
        if isinstance(value, FunctionName):
            message = f"function '{value.name}' is used as a value, but kernels cannot call through pointers"
            raise MacahError(message, where, hint="call the function by its name", code="function-pointer")
        if isinstance(value, Constant):
            return Rvalue(value.type, constant(value.value, value.type))
        if not isinstance(value, Lvalue):
            return value
        match value.type:
            case ArrayType():
                return Reference(value.element(ir.Const(0)))
            case Pointer():
                return self.pointee(value, where)
            case StructType() | StreamType():
                return value
            case Integer() as ctype:
                return Rvalue(ctype, self._read(value, ctype, where))
            case ctype:
                integer_type(ctype, ".".join((value.object.name, *value.path)), where)
                raise AssertionError(value)

    def _read(self, lvalue: Lvalue, ctype: Integer, where: Place) -> ir.Expr:
        if lvalue.others:
            expr = self._read(replace(lvalue, others=()), ctype, where)
            for condition, other in reversed(lvalue.others):
                first = self._read(other, ctype, where)
                expr = apply("select", condition, first, expr, bits=expr.bits)
            return expr
        window = self.storage.window(lvalue, where)
        if window is not None:
            return window.read()
        declared = lvalue.whole
        assert isinstance(declared, Integer), lvalue
        match self.storage.leaf(lvalue, where):
            case ir.Variable() as variable:
                expr = ir.Read(variable)
            case ir.Array() as array:
                expr = ir.Load(array, lvalue.index)
            case leaf:
                assert isinstance(leaf, int), lvalue
                expr = constant(leaf, declared)
        return convert(expr, declared, ctype)

    def store(self, target: Lvalue, expr: ir.Expr, source: Integer, where: Place) -> None:
        """Assign a number to a scalar lvalue."""
        assert isinstance(target.type, Integer), target
        value = convert(expr, source, target.type)
        if target.others:
            self._store_in_one(target, value, where)
            return
        leaf = self.storage.leaf(target, where)
        self.storage.written.add(leaf)
        window = self.storage.window(target, where)
        if window is not None:
            self._store_units(window, value, target, where)
            return
        declared = target.whole
        assert isinstance(declared, Integer), target
        value = convert(value, target.type, declared)
        match leaf:
            case ir.Variable():
                if value != ir.Read(leaf):
                    self.emit(ir.Assign(leaf, value, where))
            case ir.Array() if not leaf.initial:
                self.emit(ir.Store(leaf, target.index, value, where=where))
            case _:
                raise MacahError(
                    f"assignment of read-only variable '{target.object.name}'", where, code="read-only"
                )

    def _store_in_one(self, target: Lvalue, value: ir.Expr, where: Place) -> None:
        """Assign a number through one of several pointers."""
        assert isinstance(target.type, Integer), target
        value = self.keep(value, target.object.name, where)
        (condition, first), *rest = target.others
        with self.collected() as then:
            self.store(first, value, target.type, where)
        with self.collected() as orelse:
            self.store(replace(target, others=tuple(rest)), value, target.type, where)
        self.emit_if(condition, then, orelse, where)

    def _store_units(self, window: Window, value: ir.Expr, target: Lvalue, where: Place) -> None:
        """Assign a number in a union, or in a variable looked at as bytes."""
        if not window.is_single:
            # The units are assigned one after the other.
            value = self.keep(value, target.object.name, where)
            prefix = tuple(self.keep(index, "index", where) for index in window.prefix)
            terms = tuple((self.keep(expr, "index", where), factor) for expr, factor in window.at.terms)
            window = replace(window, prefix=prefix, at=replace(window.at, terms=terms))
        for index, unit in window.write(value):
            match window.leaf:
                case ir.Variable() as variable:
                    self.emit(ir.Assign(variable, unit, where))
                case ir.Array() as array if not array.initial:
                    self.emit(ir.Store(array, index, unit, where=where))
                case _:
                    message = f"assignment of read-only variable '{target.object.name}'"
                    raise MacahError(message, where, code="read-only")

    def assign(self, target: Lvalue, value: Value, where: Place, initial: bool = False) -> None:
        """`target = value`, as an assignment or an initialisation."""
        if target.const and not initial:
            kind = "location" if target.steps else f"variable '{target.object.name}'"
            raise MacahError(f"assignment of read-only {kind}", where, code="read-only")
        match target.type, value:
            case Integer(), Rvalue(type=Integer() as source):
                self.store(target, value.expr, source, where)
            case Integer(is_bool=True), Reference():
                self.store(target, self.is_set(value), BOOL, where)
            case StructType(), Lvalue() if compatible(target.type, value.type):
                self.copy(target, value, where)
            case Pointer(), Reference():
                self.bind_pointer(target, value, where)
            case Pointer(), Rvalue(expr=ir.Const(0)):
                self.bind_null(target, where)
            case StreamType(), _:
                hint = "use the handle where the host program holds it, or index an array of streams"
                message = f"stream handle '{target.object.name}' cannot be assigned in a kernel"
                raise MacahError(message, where, hint=hint, code="stream-handle")
            case ArrayType(), Reference() if target.object.decayed and not target.steps:
                message = f"array parameter '{target.object.name}' cannot be assigned in a kernel"
                hint = "use a pointer declared in the kernel block, initialised with it"
                raise MacahError(message, where, hint=hint, code="pointer-arrays")
            case ArrayType(), _:
                raise MacahError("assignment to expression with array type", where, code="incompatible-types")
            case Floating() as ctype, _:
                integer_type(ctype, target.object.name, where)
            case _:
                kind = "initializing" if initial else "assigning to"
                message = (
                    f"incompatible types when {kind} type '{target.type}' from type '{type_text(value)}'"
                )
                raise MacahError(message, where, code="incompatible-types")

    def copy(self, target: Lvalue, source: Lvalue, where: Place) -> None:
        """Assign a struct, scalar by scalar."""
        if isinstance(target.type, StructType | ArrayType):
            source = self.steady(source, target, where)
            target = self.steady(target, target, where)
        self._copy(target, source, where)

    def _copy(self, target: Lvalue, source: Lvalue, where: Place) -> None:
        match target.type:
            case StructType(members=members, kind="struct"):
                for member in members:
                    self._copy(target.member(member), source.member(member), where)
            case StructType():
                self._copy_bytes(target, source, where)
            case Pointer() if target.object.source is None:
                try:
                    self.assign(target, self.load(source, where), where, initial=True)
                except MacahError as unresolved:
                    self.lose(target, unresolved)
            case ctype if _holds_streams(ctype):
                self._share_streams(target, source, where)
            case ArrayType(element=element, length=length):
                self.for_each(
                    length or 0,
                    element,
                    where,
                    lambda i: self._copy(target.element(i), source.element(i), where),
                )
            case _:
                self.assign(target, self.load(source, where), where, initial=True)

    def _copy_bytes(self, target: Lvalue, source: Lvalue, where: Place) -> None:
        """Assign a union."""
        size, align = size_of(target.type) or 0, align_of(target.type)
        unit = next(UNITS[n] for n in (4, 2, 1) if align % n == 0 and size % n == 0)
        a, b = (self._elements(value, unit) for value in (target, source))
        self.for_each(size // unit.size, unit, where, lambda i: self._copy(a.element(i), b.element(i), where))

    def zero_bytes(self, target: Lvalue, where: Place) -> None:
        """Make all bytes of a union 0."""
        size, align = size_of(target.type) or 0, align_of(target.type)
        unit = next(UNITS[n] for n in (4, 2, 1) if align % n == 0 and size % n == 0)
        units = self._elements(target, unit)
        self.for_each(
            size // unit.size, unit, where, lambda i: self.store(units.element(i), ir.FALSE, INT, where)
        )

    def _elements(self, value: Lvalue, unit: Integer) -> Lvalue:
        """A union as an array of units."""
        ctype = ArrayType(unit, (size_of(value.type) or 0) // unit.size)
        return replace(value, type=ctype, steps=(*value.steps, As(ctype)))

    def _share_streams(self, target: Lvalue, source: Lvalue, where: Place) -> None:
        """A new struct's stream handles are those it is copied from."""
        key = (target.object, target.path)
        if target.object.source is not None or target.index or source.index or key in self.storage.leaves:
            hint = "pass a pointer to the struct"
            raise MacahError(
                "stream handles cannot be assigned in a kernel", where, hint=hint, code="stream-handle"
            )
        self.storage.leaves[key] = self.storage.leaf(source, where)

    # --- Parts

    def element(self, node: Any) -> Lvalue:
        """`a[i]`."""
        base = self.value(node.name)
        if isinstance(base.type, Integer):  # i[a], which is a[i]
            expr, _ = self.as_number(self.load(base, place_of(node)), node.name)
            base = self.value(node.subscript)
        else:
            expr, _ = self.number(node.subscript)
        index = index_word(expr)
        if isinstance(base, Lvalue) and isinstance(base.type, ArrayType):
            return base.element(index)
        if isinstance(base, Lvalue) and not isinstance(base.type, Pointer) or isinstance(base, Rvalue):
            message = "subscripted value is neither array nor pointer nor vector"
            raise MacahError(message, place_of(node), code="not-an-array")
        reference = self.load(base, place_of(node))
        assert isinstance(reference, Reference), node
        return self.advanced(reference, index, place_of(node)).target

    def member(self, node: Any) -> Lvalue:
        """`s.m` or `p->m`."""
        base = self.dereferenced(node.name, "'->'") if node.type == "->" else self.value(node.name)
        if not isinstance(base, Lvalue):
            message = f"request for member '{node.field.name}' in something not a structure or union"
            hint = "use '->'" if isinstance(base, Reference) else ""
            raise MacahError(message, place_of(node), hint=hint, code="no-member")
        for member in member_path(base.type, node.field.name, node):
            base = base.member(member)
        return base

    def dereferenced(self, node: Any, operator: str = "unary '*'") -> Lvalue:
        """What a pointer points to."""
        where = place_of(node)
        value = self.value(node)
        loaded = self.load(value, where)
        if isinstance(loaded, Reference) and not loaded.is_void:
            return loaded.target
        message = f"invalid type argument of {operator} (have '{type_text(value)}')"
        struct = isinstance(value, Lvalue) and isinstance(value.type, StructType)
        hint = "use '.'" if struct and operator == "'->'" else ""
        if isinstance(value, Lvalue) and isinstance(value.type, StreamType):
            hint = RECEIVE_FIRST
        raise MacahError(message, where, hint=hint, code="not-an-array")

    def string(self, node: Any) -> Lvalue:
        """A string constant: a table."""
        owner = self.types.string_object(node)
        return Lvalue(owner, owner.type, True)


def _holds_streams(ctype: CType) -> bool:
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    return isinstance(ctype, StreamType)
