"""Parameters of functions, and how arguments become them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StreamType, StructType, compatible
from macah.diagnostic import MacahError, Note, Place
from macah.lower_arithmetic import convert
from macah.lower_base import type_text
from macah.lower_facts import key_of
from macah.lower_scope import FunctionName, Object, Scope
from macah.lower_streams import Streams
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.lower_words import integer_type
from macah.program import has_effects, place_of


@dataclass(slots=True)
class Parameter:
    """A parameter: its name, its type as declared and as C adjusts it."""

    name: str
    declared: CType
    type: CType
    const: bool
    where: Place


class Parameters(Streams):
    """Passing arguments."""

    def parameters(self, function: FunctionName) -> list[Parameter]:
        """The parameters of a function with a body."""
        declared = function.definition.decl.type.args
        found = []
        for node in declared.params if declared else []:
            if isinstance(node, c_ast.EllipsisParam):
                continue
            if isinstance(node, c_ast.ID):
                found.append(self._old_style(node, function))
                continue
            parameter = self._parameter(node)
            if parameter.type != ctypes.VOID:
                found.append(parameter)
        return found

    def _parameter(self, node: Any) -> Parameter:
        ctype, const = self.types.read_type(node.type, self.types.file)
        target_const = const if isinstance(ctype, ArrayType) else False
        adjusted = Pointer(ctype.element, target_const) if isinstance(ctype, ArrayType) else ctype
        return Parameter(node.name or "", ctype, adjusted, const, place_of(node))

    def _old_style(self, name: Any, function: FunctionName) -> Parameter:
        """A parameter whose type stands between the parentheses and the body, or is int."""
        for node in function.definition.param_decls or []:
            if node.name == name.name:
                return self._parameter(node)
        return Parameter(name.name, ctypes.INT, ctypes.INT, False, place_of(name))

    def evaluate_extents(self, function: FunctionName) -> None:
        """Does what the extents of array parameters do besides having a value: `int a[n++]`."""
        declared = function.definition.decl.type.args
        for node in [*(declared.params if declared else []), *(function.definition.param_decls or [])]:
            inner = getattr(node, "type", None)
            while isinstance(inner, c_ast.ArrayDecl | c_ast.PtrDecl):
                if isinstance(inner, c_ast.ArrayDecl) and inner.dim is not None and has_effects(inner.dim):
                    self.rvalue(inner.dim)
                inner = inner.type

    def passed(
        self, value: Value, parameter: Parameter, number: int, function: FunctionName, where: Place
    ) -> Value:
        """An argument, converted as by assignment."""
        match parameter.type, value:
            case Integer() as target, Rvalue(type=Integer() as source):
                integer_type(target, parameter.name or function.name, where)
                return Rvalue(target, convert(value.expr, source, target))
            case Pointer(target), Reference() if fits(target, value):
                return self.pointer_as(value, parameter.type, where)
            case Pointer(), Rvalue(expr=ir.Const(0)):
                return value
            case (StructType() | StreamType()) as target, Lvalue() if compatible(target, value.type):
                return value
        place = f"argument {number} of '{function.name}'"
        message = f"incompatible type for {place}: expected '{parameter.type}', have '{type_text(value)}'"
        raise MacahError(
            message,
            where,
            (Note("the parameter is declared here", parameter.where),),
            code="incompatible-types",
        )

    def is_plain(self, parameter: Parameter, value: Value) -> bool:
        """Whether an argument can be passed to a function that is lowered once."""
        if isinstance(parameter.declared, ArrayType) and _is_shiftable(parameter.declared):
            return False
        if isinstance(value, Reference):
            target, ctype = value.target, value.target.type
            while isinstance(ctype, ArrayType):
                ctype = ctype.element
            same = isinstance(parameter.type, Pointer) and compatible(parameter.type.target, target.type)
            if not same or value.valid != ir.TRUE or self.storage.is_viewed(target):
                return False
            steps = target.steps
            return isinstance(ctype, Integer) and bool(steps) and not isinstance(steps[-1], str)
        return is_flat(parameter.type) or isinstance(parameter.type, StreamType)

    def bind_parameter(self, parameter: Parameter, value: Value, scope: Scope, where: Place) -> None:
        """Enter a parameter of a function that is expanded: a variable, or a name for the argument."""
        if not parameter.name:
            return
        owner = Object(parameter.name, parameter.type, parameter.const, parameter.where)
        scope.names[parameter.name] = owner
        self.declared[key_of(owner)] = owner
        match value:
            case Lvalue(type=StreamType()):
                self.aliases[owner] = value
            case Reference(target) if isinstance(parameter.declared, ArrayType) and _is_shiftable(
                parameter.declared
            ):
                self.aliases[owner] = self._whole_array(target, parameter, where)
            case Reference():
                owner.const = False
                self.bind_pointer(Lvalue(owner, owner.type), value, where)
            case _:
                self.assign(Lvalue(owner, owner.type), value, where, initial=True)

    def _whole_array(self, element: Lvalue, parameter: Parameter, where: Place) -> Lvalue:
        """The array whose first element is passed for a shiftable parameter."""
        ctype = element.object.type
        for step in element.steps[:-1]:
            if isinstance(step, str):
                assert isinstance(ctype, StructType), element
                ctype = ctype.find(step)[-1].type
            else:
                assert isinstance(ctype, ArrayType), element
                ctype = ctype.element
        if not element.steps or element.steps[-1] != ir.Const(0) or ctype != parameter.declared:
            message = f"a shiftable parameter needs a whole array of type '{parameter.declared}'"
            raise MacahError(
                message,
                where,
                (Note("the parameter is declared here", parameter.where),),
                code="not-shiftable",
            )
        const = element.const or parameter.const
        return Lvalue(element.object, ctype, const, element.steps[:-1])


def fits(target: CType, value: Reference) -> bool:
    """Whether a pointer can be passed for a pointer to `target`."""
    return value.is_void or target == ctypes.VOID or compatible(target, value.target.type)


def is_flat(ctype: CType) -> bool:
    """Whether values of a type are nothing but numbers, without arrays."""
    match ctype:
        case StructType(kind="struct", members=members):
            return all(is_flat(member.type) for member in members)
        case _:
            return isinstance(ctype, Integer | ctypes.Void)


def _is_shiftable(ctype: CType) -> bool:
    while isinstance(ctype, ArrayType):
        if ctype.shiftable:
            return True
        ctype = ctype.element
    return False
