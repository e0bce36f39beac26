"""Which array a pointer of the host leads to, by its function's calls or by `malloc`.

    void scale(int *a, int n) { kernel { … a[i] … } }        int samples[64];  scale(samples, 64);

`a` is then as good as `int a[64]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import ArrayType, CType, Pointer, size_of
from macah.diagnostic import MacahError, Note, Place
from macah.lower_declarations import Declarations
from macah.lower_elsewhere import mentioned_elsewhere
from macah.lower_host_pointers import HostPointers, HostTarget, assigned
from macah.lower_initializers import InitializerReader
from macah.lower_scope import Object, Scope
from macah.lower_units import after
from macah.program import place_of, walk

_NUMBERS = frozenset({"char", "short", "int", "long", "signed", "unsigned", "_Bool", "float", "double"})


class Given:
    """Looks at the calls of the functions of a program."""

    def __init__(self, types: Declarations, unit: Any) -> None:
        self.types = types
        self.unit = unit
        self.reasons: tuple[Note, ...] = ()  # why calls do not tell, if there are any
        self._pointers = cache(lambda function: HostPointers(types, unit, function, c_ast.EmptyStatement()))
        self._pending: set[tuple[str, int]] = set()  # parameters that are being looked at

    def array(self, function: Any, pointer: Object, block: Any = None) -> ArrayType | None:
        """Its type, if all calls tell it, and tell the same one, or if the memory is allocated for it.

        None for a parameter that has other values than the calls give it, except in the kernel `block`.
        """
        position = _position(function, pointer)
        try:
            if position is None:
                return self._allocated(self._pointers(function), pointer)
            return self._by_calls(function, pointer, position, block)
        except MacahError:
            return None

    def member(self, function: Any, name: str, pointer: Pointer) -> ArrayType | None:
        """The type of the array that a pointer leads to that is a member, if all that it gets tells the same.

        Members of one name of different structs count as one; `function` is any one.
        """
        found: set[ArrayType | None] = set()
        try:
            for part in self.unit:
                caller = part if isinstance(part, c_ast.FuncDef) else function
                for node in walk(part):
                    for value in self._member_values(node, name, part):
                        scope = self._scope(part, node)
                        found.add(self._passed(value, pointer.target, caller, scope) if value else None)
        except MacahError:
            return None
        return found.pop() if len(found) == 1 else None

    def _member_values(self, node: Any, name: str, part: Any) -> Iterator[Any]:
        """What a node gives members called so; None for what cannot be told."""
        match node:
            case c_ast.Assignment(op=op, lvalue=c_ast.StructRef(field=c_ast.ID(name=field)), rvalue=value):
                if field == name:
                    yield value if op == "=" else None
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" | "&", expr=c_ast.StructRef(field=field)):
                if field.name == name:
                    yield None
            case c_ast.Decl(init=c_ast.InitList() as init) | c_ast.CompoundLiteral(init=init):
                if _is_of_numbers(node.type):
                    return
                scope = self._scope(part, node)
                reader = InitializerReader(self.types, scope)
                reader.read(self.types.read_type(node.type, scope)[0], init)
                for item in reader.items:
                    if item.steps and item.steps[-1] == name:
                        yield item.value

    def _scope(self, part: Any, node: Any) -> Scope:
        return self.types.scope_at(part, node) if isinstance(part, c_ast.FuncDef) else self.types.file

    def _by_calls(self, function: Any, pointer: Object, position: int, block: Any) -> ArrayType | None:
        assert isinstance(pointer.type, Pointer), pointer
        key = function.decl.name, position
        if key in self._pending or _is_assigned(pointer, function, block):
            return None
        self._pending.add(key)
        try:
            given = list(self._given(function.decl.name, position, pointer.type.target))
        finally:
            self._pending.discard(key)
        first: dict[ArrayType | None, Place] = {}
        for where, array in given:
            first.setdefault(array, where)
        if len(first) == 1 and None not in first:
            return given[0][1]
        self.reasons = _reasons(first)
        return None

    def _given(self, function: str, position: int, target: CType) -> Iterator[tuple[Place, ArrayType | None]]:
        """What each mention of a function tells; None if it does not."""
        for caller in self.unit:
            others: set[int] = set()  # names that are no mention besides
            for node in walk(caller):
                match node:
                    case c_ast.FuncCall(name=c_ast.ID(name=name) as callee) if name == function:
                        others.add(id(callee))
                        passed = node.args.exprs if node.args else []
                        known = position < len(passed) and isinstance(caller, c_ast.FuncDef)
                        scope = self.types.scope_at(caller, node) if known else None
                        array = self._passed(passed[position], target, caller, scope) if scope else None
                        yield place_of(node), array
                    case c_ast.StructRef(field=field):
                        others.add(id(field))
                    case c_ast.ID(name=name) if name == function and id(node) not in others:
                        yield place_of(node), None

    def _passed(self, node: Any, target: CType, caller: Any, scope: Scope) -> ArrayType | None:
        """The array that begins where an argument points to."""
        while isinstance(node, c_ast.Cast):
            node = node.expr
        if (allocated := self._new(node, scope, target)) is not None:
            return allocated
        pointers = self._pointers(caller)
        owner = scope.find(node.name) if isinstance(node, c_ast.ID) else None
        if isinstance(owner, Object) and isinstance(owner.type, Pointer) and owner.type.target == target:
            if _position(caller, owner) is not None:
                return self.array(caller, owner)
            if (allocated := self._allocated(pointers, owner)) is not None:
                return allocated
        part = pointers.part(node, scope)
        is_array = part is not None and isinstance(part.type, ArrayType)
        place = part if is_array else pointers.place(node, scope)
        whole = _whole(place) if place is not None else None
        return _elements(whole, target) if whole is not None else None

    def _allocated(self, pointers: HostPointers, owner: Object) -> ArrayType | None:
        """The array that `malloc` or `calloc` gives a variable, if nothing else does."""
        assert isinstance(owner.type, Pointer), owner
        values = list(pointers.values(owner, ())) if owner.origin else []
        return self._new(*values[0], owner.type.target) if len(values) == 1 else None

    def _new(self, node: Any, scope: Scope, target: CType) -> ArrayType | None:
        """The array that a call of `malloc` or `calloc` gives; its size must be constant."""
        while isinstance(node, c_ast.Cast):
            node = node.expr
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name="malloc"), args=c_ast.ExprList(exprs=[whole])):
                size = self.types.constant(whole, scope)
            case c_ast.FuncCall(name=c_ast.ID(name="calloc"), args=c_ast.ExprList(exprs=[count, each])):
                size = self.types.constant(count, scope) * self.types.constant(each, scope)
            case _:
                return None
        each = size_of(target)
        return ArrayType(target, size // each) if each else None


def _reasons(first: dict[ArrayType | None, Place]) -> tuple[Note, ...]:
    """Why calls do not tell one size: one that tells none, or two that tell different ones."""
    if None in first:
        return (Note("how many elements there are is not known here", first[None]),)
    sizes = [(array.length, where) for array, where in first.items() if array is not None]
    return tuple(
        Note(f"it gets {length} element{'s' * (length != 1)} here", where) for length, where in sizes[:2]
    )


def _is_of_numbers(kind: Any) -> bool:
    """Whether a type is certainly that of numbers: what names mean at each of these would take long."""
    while not isinstance(kind, c_ast.IdentifierType | c_ast.Struct | c_ast.Union | c_ast.Enum):
        if (kind := getattr(kind, "type", None)) is None:
            return False
    return isinstance(kind, c_ast.IdentifierType) and _NUMBERS.issuperset(kind.names)


def walks_alone(unit: Any, function: Any, block: Any, pointer: Object) -> bool:
    """Whether a parameter is what calls give it when the kernel `block` begins, and of no use behind it."""
    loops = (n for n in walk(function.body) if isinstance(n, c_ast.For | c_ast.While | c_ast.DoWhile))
    repeated = any(inner is block for loop in loops for inner in walk(loop))
    jumps = any(isinstance(node, c_ast.Goto) for node in walk(function.body))
    return not (repeated or jumps or mentioned_elsewhere(unit, function, block, pointer))


def _is_assigned(pointer: Object, function: Any, block: Any) -> bool:
    inside = {id(node) for node in walk(block)} if block is not None else set()
    return any(True for n in walk(function) if id(n) not in inside for _ in assigned(n, pointer.name, ()))


def _position(function: Any, pointer: Object) -> int | None:
    """Which of the parameters of a function a variable is."""
    arguments = function.decl.type.args
    for position, parameter in enumerate(arguments.params if arguments else []):
        is_named = isinstance(parameter, c_ast.Decl) and parameter.name == pointer.name
        if is_named and place_of(parameter) == pointer.where:
            return position
    return None


def _whole(place: HostTarget) -> CType | None:
    """The array that begins where a pointer leads to, with all of its dimensions.

    None for what points further behind: it might be used with negative indices, too. A row at an index that
    is not known is an array, too.
    """
    if place.nullable:
        return None
    if not place.is_constant:
        return place.type if isinstance(place.type, ArrayType) else None
    ctype = whole = place.object.type
    begins = True
    for step in place.steps:
        ctype = after(ctype, step)
        if isinstance(step, str):
            whole, begins = ctype, True
        else:
            begins = begins and step == ir.Const(0)
    return whole if begins else None


def _elements(whole: CType, target: CType) -> ArrayType | None:
    """Memory as an array of elements; rows whose lengths are parameters are as long as they are there."""
    size = size_of(target)
    if size:
        return ArrayType(target, (size_of(whole) or 0) // size)
    alike = isinstance(whole, ArrayType) and _rank(whole.element) == _rank(target)
    return whole if isinstance(whole, ArrayType) and alike else None


def _rank(ctype: CType) -> tuple[int, CType]:
    """The number of dimensions, and what an element is."""
    dimensions = 0
    while isinstance(ctype, ArrayType):
        ctype, dimensions = ctype.element, dimensions + 1
    return dimensions, ctype
