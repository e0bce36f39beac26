"""What the host's pointers point to: the one variable that all of their assignments name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import VOID, ArrayType, CType, Pointer, StructType
from macah.diagnostic import MacahError
from macah.lower_declarations import Declarations
from macah.lower_elsewhere import handed_on
from macah.lower_initializers import InitializerReader
from macah.lower_layout import member_path
from macah.lower_scope import Object, Scope
from macah.lower_units import Step, after, number
from macah.program import walk
from macah.syntax import KernelBlock


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What a pointer of the host points to; `is_constant`: always to the same place, that of `steps`."""

    object: Object
    steps: tuple[Step, ...]
    nullable: bool = False
    is_constant: bool = True

    @property
    def type(self) -> CType:
        """Its type."""
        ctype = self.object.type
        for step in self.steps:
            ctype = after(ctype, step)
        return ctype

    @property
    def is_row(self) -> bool:
        """Whether only the last index varies, and is the only one."""
        indices = [step for step in self.steps if not isinstance(step, str)]
        return len(indices) == 1 and indices[0] is self.steps[-1]


class HostPointers:
    """Resolves the pointers of the function that a kernel, `block`, stands in, and of file scope."""

    def __init__(self, types: Declarations, unit: Any, function: Any, block: Any) -> None:
        self.types = types
        self.unit = unit
        self.function = function
        self._resolving: set[Object] = set()
        kernels = (node for node in walk(function.body) if isinstance(node, KernelBlock))
        self._in_kernels = {id(node) for kernel in kernels for node in walk(kernel)}
        self._in_kernel = {id(node) for node in walk(block)}

    def elements(self, owner: Object) -> Iterator[tuple[Step, ...]]:
        """The steps to each initialised pointer of an array or struct."""
        for steps, _, _ in self._initial(owner):
            yield steps

    def target(self, owner: Object, steps: tuple[Step, ...]) -> HostTarget | None:
        """What a pointer points to, or None if that is not certain."""
        if owner.origin is None or owner in self._resolving:
            return None
        self._resolving.add(owner)
        try:
            return self._joined(owner, steps)
        except MacahError:
            return None
        finally:
            self._resolving.discard(owner)

    def _joined(self, owner: Object, steps: tuple[Step, ...]) -> HostTarget | None:
        moves, nullable = False, self._begins_null(owner)
        found: list[HostTarget] = []
        for node, scope in self.values(owner, steps):
            if node is None:
                return None
            # It may have another value before the kernel than in it.
            moves = moves or id(node) in self._in_kernels
            if _is_null(node):
                nullable = True
            elif isinstance(node, c_ast.UnaryOp) and node.op in {"++", "--", "p++", "p--"}:
                moves = True
            else:
                place = self.place(node, scope)
                if place is None:
                    return None
                found.append(place)
        if not found or any(f.object is not found[0].object or _shape(f) != _shape(found[0]) for f in found):
            return None
        moves = moves or any(not f.is_constant or f.steps != found[0].steps for f in found)
        nullable = nullable or any(f.nullable for f in found)
        return replace(found[0], nullable=nullable, is_constant=not moves)

    def _begins_null(self, owner: Object) -> bool:
        """Whether it is a static variable without initialiser."""
        assert owner.origin is not None
        node, scope = owner.origin
        return node.init is None and (scope is self.types.file or "static" in (node.storage or ()))

    # --- Which values it gets

    def values(self, owner: Object, steps: tuple[Step, ...]) -> Iterator[tuple[Any, Scope]]:
        """All that is assigned to a pointer; None for what cannot be told."""
        assert owner.origin is not None
        scope = owner.origin[1]
        initial = [(node, where) for at, node, where in self._initial(owner) if at == steps]
        yield from initial
        if owner.const and steps and initial:
            return
        parts = self.unit if scope is self.types.file else [self.function]
        for part in parts:
            sight: Scope | None = None
            for node in walk(part):
                if isinstance(node, c_ast.UnaryOp) and node.op == "&" and id(node) in self._in_kernel:
                    # Lowering sees what becomes of it.
                    continue
                for value in assigned(node, owner.name, steps):
                    sight = sight or self._within(part, scope)
                    yield value, sight
        if isinstance(owner.type, ArrayType):
            itself = {id(node) for node in walk(owner.origin[0])}
            if handed_on(self.unit, parts, owner.name, self._in_kernel | itself):
                yield None, scope

    def _within(self, part: Any, scope: Scope) -> Scope:
        """A scope as all of a function sees it: without what names of the function's own hide somewhere."""
        sight = Scope(scope)
        declared = Counter(node.name for node in walk(part) if isinstance(node, c_ast.Decl))
        if not isinstance(part, c_ast.FuncDef):
            return sight
        for name, count in declared.items():
            found = scope.find(name)
            if count > 1 or found is self.types.file.find(name):
                sight.names[name] = Object(name, VOID)
        return sight

    def _initial(self, owner: Object) -> Iterator[tuple[tuple[Step, ...], Any, Scope]]:
        if owner.origin is None:
            return
        node, scope = owner.origin
        if node.init is None:
            return
        if not isinstance(owner.type, ArrayType | StructType):
            yield (), node.init, scope
            return
        reader = InitializerReader(self.types, scope)
        reader.read(owner.type, node.init)
        for item in reader.items:
            if isinstance(item.type, Pointer):
                yield tuple(s if isinstance(s, str) else number(s) for s in item.steps), item.value, scope

    # --- What a value points to

    def place(self, node: Any, scope: Scope) -> HostTarget | None:
        """What a pointer expression points to."""
        match node:
            case c_ast.UnaryOp(op="&", expr=inner):
                return self.part(inner, scope)
            case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right):
                place = self.place(left, scope)
                if place is None and op == "+":
                    place, right = self.place(right, scope), left
                return self._advanced(place, right, op, scope)
            case c_ast.Cast(to_type=to_type, expr=inner):
                place = self.place(inner, scope)
                wanted, _ = self.types.read_type(to_type, scope)
                fits = place is not None and isinstance(wanted, Pointer) and wanted.target == place.type
                return place if fits else None
            case c_ast.TernaryOp(iftrue=yes, iffalse=no):
                return self._either(yes, no, scope)
            case c_ast.ExprList(exprs=[*_, last]):
                return self.place(last, scope)
        if isinstance(node, c_ast.Constant) and node.value.endswith('"'):
            return HostTarget(self.types.string_object(node), (ir.Const(0),))
        part = self.part(node, scope)
        if part is None:
            return None
        if isinstance(part.type, ArrayType):
            return replace(part, steps=(*part.steps, ir.Const(0)))
        if isinstance(part.type, Pointer) and part.is_constant:
            return self.target(part.object, part.steps)
        return None

    def _either(self, yes: Any, no: Any, scope: Scope) -> HostTarget | None:
        places = [self.place(node, scope) for node in (yes, no) if not _is_null(node)]
        first = places[0] if places else None
        for place in places:
            if first is None or place is None or place.object is not first.object:
                return None
            if _shape(place) != _shape(first):
                return None
        if first is None:
            return None
        same = all(p is not None and p.steps == first.steps and p.is_constant for p in places)
        return replace(first, nullable=first.nullable or len(places) == 1, is_constant=same)

    def part(self, node: Any, scope: Scope) -> HostTarget | None:
        """The variable, or part of it, that an lvalue names."""
        match node:
            case c_ast.ID(name=name):
                found = scope.find(name)
                return HostTarget(found, ()) if isinstance(found, Object) and found.source else None
            case c_ast.StructRef(name=base, type=".", field=field):
                return self._member(self.part(base, scope), field.name, node)
            case c_ast.StructRef(name=base, field=field):
                return self._member(self.place(base, scope), field.name, node)
            case c_ast.UnaryOp(op="*", expr=inner):
                return self.place(inner, scope)
            case c_ast.ArrayRef(name=base, subscript=subscript):
                return self._advanced(self.place(base, scope), subscript, "+", scope)
        return None

    def _member(self, part: HostTarget | None, name: str, node: Any) -> HostTarget | None:
        if part is None:
            return None
        path = member_path(part.type, name, node)
        return replace(part, steps=(*part.steps, *(member.name for member in path)))

    def _advanced(self, place: HostTarget | None, by: Any, op: str, scope: Scope) -> HostTarget | None:
        if place is None:
            return None
        try:
            count = self.types.constant(by, scope)
        except MacahError:
            return replace(place, is_constant=False) if place.steps else None
        if count == 0:
            return place
        last = place.steps[-1] if place.steps else None
        if not isinstance(last, ir.Const):
            return None
        index = number(last.value + (count if op == "+" else -count))
        return replace(place, steps=(*place.steps[:-1], index))


def _shape(target: HostTarget) -> tuple[object, ...]:
    return tuple(step if isinstance(step, str) else None for step in target.steps)


def _is_null(node: Any) -> bool:
    match node:
        case c_ast.Constant(value=value):
            return value in {"0", "0L", "0l"}
        case c_ast.Cast(expr=inner):
            return _is_null(inner)
        case _:
            return False


def assigned(node: Any, name: str, steps: tuple[Step, ...]) -> Iterator[Any]:
    """What a node of the syntax tree assigns to a pointer: None for what cannot be told."""
    match node:
        case c_ast.UnaryOp(op="&", expr=inner) if _names(inner, name, steps):
            yield None
        case c_ast.Assignment(op=op, lvalue=target, rvalue=value) if _names(target, name, steps):
            if steps and isinstance(target, c_ast.ID):
                yield None
            elif not steps or _ends_as(target, steps):
                yield value if op == "=" else c_ast.UnaryOp("++", target)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=inner) if _names(inner, name, steps):
            if not steps or _ends_as(inner, steps):
                yield node


def _names(node: Any, name: str, steps: tuple[Step, ...]) -> bool:
    """Whether an lvalue is the pointer, or what may be the variable that the pointer is part of."""
    while steps and isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
        node = node.name
    return isinstance(node, c_ast.ID) and node.name == name


def _ends_as(node: Any, steps: tuple[Step, ...]) -> bool:
    """Whether an lvalue may be the part that the steps lead to."""
    if isinstance(node, c_ast.StructRef):
        return bool(node.field.name == steps[-1])
    return not isinstance(steps[-1], str)
