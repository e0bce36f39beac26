"""Functions with visible bodies: as functions of the IR, or expanded where they are called.

A function whose parameters are numbers, streams, and pointers into arrays of numbers is lowered once. One
that gets the address of a variable, or structs with arrays, is lowered again for each call, in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StreamType, StructType
from macah.diagnostic import MacahError, Place
from macah.lower_base import Frame, Jump, assigned_names
from macah.lower_declarations import Declarations
from macah.lower_facts import Facts
from macah.lower_operators import NOTHING
from macah.lower_parameters import Parameter, Parameters, is_flat
from macah.lower_scope import FunctionName, Object, Scope
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.lower_words import element_type, stream_of
from macah.program import Program, place_of


@dataclass(slots=True)
class _Known:
    """A function lowered once: for each of its pointers, the array that stands for what it points into."""

    function: ir.Function
    arrays: dict[int, ir.Array] = field(default_factory=dict)


class Functions(Parameters):
    """Calls of functions with visible bodies."""

    def __init__(self, program: Program, types: Declarations, frame: Frame, facts: Facts) -> None:
        super().__init__(program, types, frame, facts)
        self._known: dict[int, _Known] = {}

    def call_function(self, function: FunctionName, arguments: list[Any], where: Place) -> Value:
        """Lower the call of a function with a body."""
        self._refuse_recursion(function, where)
        parameters = self.parameters(function)
        if function.type.variadic:
            message = f"'{function.name}' takes a variable number of arguments, which a kernel cannot pass"
            hint = "give it a fixed number of parameters, or pass an array"
            raise MacahError(message, where, hint=hint, code="function-parameters")
        check_count(function.name, len(arguments), len(parameters), where)
        values = [
            self.passed(self.rvalue(argument), parameter, number, function, place_of(argument))
            for number, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True), 1)
        ]
        expanded = id(function.definition) in self.facts.expanded
        if not expanded and all(map(self.is_plain, parameters, values)) and is_flat(function.type.result):
            return self._call_known(function, parameters, values, where)
        return self._expand(function, parameters, values, where)

    def _refuse_recursion(self, function: FunctionName, where: Place) -> None:
        names = [f.definition for f, _ in self.chain]
        if function.definition in names:
            message = f"recursive call of '{function.name}': a kernel cannot contain recursion"
            raise MacahError(message, where, hint="rewrite the recursion as a loop", code="recursion")

    def _call_known(
        self, function: FunctionName, parameters: list[Parameter], values: list[Value], where: Place
    ) -> Value:
        known = self._lowered(function, parameters, where)
        arguments: list[ir.Argument] = []
        for number, value in enumerate(values):
            match value:
                case Rvalue(expr=expr):
                    arguments.append(expr)
                case Reference(target):
                    arguments.append(self._view(target, known.arrays[number], function, where))
                case Lvalue(type=StreamType()):
                    stream = self.storage.leaf(value, where)
                    assert isinstance(stream, ir.Stream), value
                    arguments.append(ir.StreamView(stream, value.index))
                case Lvalue():
                    arguments += [_number(self.load(part, where)) for part in _members(value)]
        result = Object(f"{function.name}()", function.type.result, where=where)
        whole = Lvalue(result, result.type)
        if result.type == ctypes.VOID:
            self.emit(ir.Call(known.function, tuple(arguments), (), where))
            return NOTHING
        leaves = [self.storage.leaf(part, where) for part in _members(whole)]
        results = tuple(leaf for leaf in leaves if isinstance(leaf, ir.Variable))
        self.emit(ir.Call(known.function, tuple(arguments), results, where))
        return self.load(whole, where)

    def _view(self, target: Lvalue, formal: ir.Array, function: FunctionName, where: Place) -> ir.View:
        array = self.storage.leaf(target, where)
        assert isinstance(array, ir.Array), target
        if formal in self.storage.written:
            if target.const or array.initial:
                message = f"'{function.name}' writes to read-only array '{target.object.name}'"
                raise MacahError(message, where, code="read-only")
            self.storage.written.add(array)
        whole = len(target.index) == 1 and target.index[0] == ir.Const(0)
        return ir.View(array, () if whole else target.index)

    def _lowered(self, function: FunctionName, parameters: list[Parameter], where: Place) -> _Known:
        key = id(function.definition)
        if key in self._known:
            return self._known[key]
        scope = self.types.function_scope(function.name)
        frame, result = self._frame(function, scope, where)
        with self.collected() as body:
            with self.within(frame):
                formals, arrays = self._formals(parameters, scope, where)
                self.evaluate_extents(function)
            self._lower_body(function, frame, where)
        results = [] if result is None else [self.storage.leaf(p, where) for p in _members(result)]
        variables = tuple(r for r in results if isinstance(r, ir.Variable))
        lowered = ir.Function(function.name, formals, variables, tuple(body), function.where)
        self._known[key] = _Known(lowered, arrays)
        return self._known[key]

    def _formals(
        self, parameters: list[Parameter], scope: Scope, where: Place
    ) -> tuple[tuple[ir.Parameter, ...], dict[int, ir.Array]]:
        """The parameters of a function of the IR, and which of them are arrays."""
        arrays: dict[int, ir.Array] = {}
        formals: list[ir.Parameter] = []
        for number, parameter in enumerate(parameters):
            owner = Object(parameter.name, parameter.type, parameter.const, parameter.where)
            if parameter.name:
                scope.names[parameter.name] = owner
            match parameter.type:
                case Pointer(target):
                    arrays[number] = self._formal_array(owner, target, parameter)
                    formals.append(arrays[number])
                case StreamType() as ctype:
                    stream = stream_of(parameter.name, ctype, (), parameter.where, where)
                    self.storage.leaves[owner, ()] = stream
                    formals.append(stream)
                case ctype:
                    leaves = [self.storage.leaf(p, where) for p in _members(Lvalue(owner, ctype))]
                    formals += [leaf for leaf in leaves if isinstance(leaf, ir.Variable)]
        return tuple(formals), arrays

    def _formal_array(self, owner: Object, target: CType, parameter: Parameter) -> ir.Array:
        """The array that a pointer parameter points into, of unknown length."""
        shape = [0]
        element = target
        while isinstance(element, ArrayType):
            shape.append(element.length or 0)
            element = element.element
        assert isinstance(element, Integer), parameter
        array = ir.Array(parameter.name, tuple(shape), element_type(element), where=parameter.where)
        const = isinstance(parameter.type, Pointer) and parameter.type.const
        behind = Object(parameter.name, ArrayType(target, None), const, parameter.where)
        self.storage.leaves[behind, ()] = array
        start = Lvalue(behind, behind.type, const).element(ir.Const(0))
        owner.const = False
        self.bind_pointer(Lvalue(owner, owner.type), Reference(start), parameter.where)
        return array

    def _expand(
        self, function: FunctionName, parameters: list[Parameter], values: list[Value], where: Place
    ) -> Value:
        """The body of the function, in the place of the call."""
        scope = self.types.function_scope(function.name)
        frame, result = self._frame(function, scope, where)
        with self.within(frame):
            for parameter, value in zip(parameters, values, strict=True):
                self.bind_parameter(parameter, value, scope, where)
            self.evaluate_extents(function)
        self._lower_body(function, frame, where)
        return NOTHING if result is None else self.load(result, where)

    def _frame(self, function: FunctionName, scope: Scope, where: Place) -> tuple[Frame, Lvalue | None]:
        ctype = function.type.result
        result = None if ctype == ctypes.VOID else Lvalue(Object(f"{function.name}.result", ctype), ctype)
        returning = Jump(ir.Label(f"return from {function.name}"))
        items = function.definition.body.block_items
        last = items[-1] if items else None
        # A pointer that several places return is one that moves.
        assigned = assigned_names(function.definition) | {f"{function.name}.result"}
        return Frame(function.name, scope, assigned, result, returning, last), result

    def _lower_body(self, function: FunctionName, frame: Frame, where: Place) -> None:
        self.chain.append((function, where))
        with self.collected() as body, self.within(frame):
            self.statement(function.definition.body)
        self.chain.pop()
        assert frame.returning is not None
        self.body += frame.returning.around(body, where)


def check_count(name: str, given: int, wanted: int, where: Place) -> None:
    """Raise if a call has too few or too many arguments."""
    if given != wanted:
        few = "few" if given < wanted else "many"
        raise MacahError(
            f"too {few} arguments to function '{name}'; expected {wanted}, have {given}",
            where,
            code="arguments",
        )


def _members(lvalue: Lvalue) -> list[Lvalue]:
    """The numbers of a flat value."""
    if isinstance(lvalue.type, StructType):
        return [part for member in lvalue.type.members for part in _members(lvalue.member(member))]
    return [lvalue]


def _number(value: Value) -> ir.Expr:
    assert isinstance(value, Rvalue), value
    return value.expr
