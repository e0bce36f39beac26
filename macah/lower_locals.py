"""Declarations inside kernels and the functions they call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from pycparser import c_ast

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, FunctionType, Integer, Pointer, StreamType, StructType
from macah.diagnostic import MacahError, Place
from macah.lower_calls import Calls
from macah.lower_constants import is_adpc
from macah.lower_declarations import bind
from macah.lower_facts import key_of
from macah.lower_image import image_of
from macah.lower_initializers import InitializerReader, Item
from macah.lower_layout import scalar_leaves
from macah.lower_scope import Broken, Constant, Entity, FunctionName, Object, Typedef
from macah.lower_values import Leaf, Lvalue, Rvalue
from macah.lower_words import integer_type
from macah.program import place_of

# Up to so many scalars are set to zero one by one where an initialiser leaves them out.
_FEW = 64
# So many scalars are not looked at one by one.
_MANY = 4096


class Locals(Calls):
    """Local variables, types and constants."""

    def declaration(self, node: Any) -> None:
        """Lower a declaration."""
        where = place_of(node)
        try:
            if isinstance(node, c_ast.Typedef):
                ctype, const = self.types.read_type(node.type, self.scope)
                bind(self.scope, node.name, Typedef.named(node.name, ctype, const, where))
                return
            ctype, const = self.types.declared(node, self.scope)
            if node.name:
                self._declare(node, ctype, const, where)
        except MacahError as error:
            if node.name:
                known = self.scope.names.setdefault(node.name, Broken(error, where))
                # A pointer without its array could only be refused again, wherever it is used.
                if isinstance(known, Object) and known.where == where and isinstance(known.type, Pointer):
                    self.scope.names[node.name] = Broken(error, where)
            raise

    def _declare(self, node: Any, ctype: CType, const: bool, where: Place) -> None:
        storage = node.storage or []
        if isinstance(ctype, FunctionType):
            known = self.types.file.find(node.name)
            entity: Entity = known or FunctionName(node.name, ctype, None, where)
            bind(self.scope, node.name, entity)
        elif "extern" in storage:
            found = self.types.file.find(node.name)
            if found is None:
                raise MacahError(f"'{node.name}' is not defined in this file", where, code="no-body")
            bind(self.scope, node.name, found)
        else:
            self._check_local(node.name, ctype, where)
            self._declare_variable(node, ctype, const, "static" in storage, where)

    def _check_local(self, name: str, ctype: CType, where: Place) -> None:
        element = ctype
        while isinstance(element, ArrayType):
            if element.length is not None and element.length < 0:
                message = f"variable-length array '{name}' is not supported in a kernel"
                raise MacahError(
                    message, where, hint="give the array a constant size", code="variable-length-array"
                )
            element = element.element
        if element == ctypes.VOID:
            raise MacahError(f"variable or field '{name}' declared void", where, code="incomplete-type")
        if isinstance(element, StreamType):
            hint = "declare the stream outside the kernel block"
            message = f"stream '{name}' cannot be declared in a kernel"
            raise MacahError(message, where, hint=hint, code="stream-handle")
        if isinstance(element, StructType) and not element.complete:
            raise MacahError(f"storage size of '{name}' isn't known", where, code="incomplete-type")
        if isinstance(element, ctypes.Floating):
            integer_type(element, name, where)

    def _declare_variable(self, node: Any, ctype: CType, const: bool, static: bool, where: Place) -> None:
        known = self._constant(node, ctype) if const and isinstance(ctype, Integer) else None
        if known is not None:
            bind(self.scope, node.name, known)
            return
        owner = Object(node.name, ctype, const, where)
        self.declared[key_of(owner)] = owner
        if static and not (const and _has_pointers(ctype)):
            bind(self.scope, node.name, self._static(node, owner, where))
            return
        bind(self.scope, node.name, owner)
        if node.init is None:
            if isinstance(ctype, ArrayType) and ctype.length is None:
                raise MacahError(f"array size missing in '{node.name}'", where, code="array-size")
            if self.frame.continues or self.frame.returning is not None:
                self._forget(owner, where)
        elif isinstance(ctype, ArrayType | StructType):
            reader = InitializerReader(self.types, self.scope)
            owner.type = reader.read(ctype, node.init)
            owner.table = self.types.table_of(reader.items, self.scope) if const else None
            if owner.table is None:
                self.initialize(Lvalue(owner, owner.type), reader.items, where)
        else:
            value = node.init
            if isinstance(value, c_ast.InitList) and len(value.exprs) == 1:
                value = value.exprs[0]
            self.assign(Lvalue(owner, ctype), self.rvalue(value), where, initial=True)

    def _forget(self, owner: Object, where: Place) -> None:
        """A variable without initialiser has no value, also where it had one the last time around a loop."""
        leaves: dict[Leaf, None] = {}
        for part in _scalars(Lvalue(owner, owner.type)):
            with suppress(MacahError):  # what cannot be used is refused where it is used
                leaves[self.storage.leaf(part, where)] = None
        for leaf in leaves:
            match leaf:
                case ir.Variable():
                    self.emit(ir.Assign(leaf, ir.unspecified(leaf.bits), where))
                case ir.Array():
                    self.emit(ir.Forget(leaf, where))

    def _static(self, node: Any, owner: Object, where: Place) -> Object:
        """A static variable: a table if it is const, else kept by the host from one kernel to the next."""
        if id(node) in self.statics:
            return self.statics[id(node)]
        self.statics[id(node)] = owner
        if {"_Thread_local", "__thread"} & set(node.storage):
            message = f"thread-local variable '{owner.name}' cannot be declared in a kernel"
            raise MacahError(message, where, hint="declare it at file scope", code="static-variable")
        if _has_pointers(owner.type):
            hint = "declare it without 'static', or use an index"
            message = f"static pointer '{owner.name}' cannot be declared in a kernel"
            raise MacahError(message, where, hint=hint, code="static-variable")
        items: list[Item] = []
        if node.init is not None:
            reader = InitializerReader(self.types, self.scope)
            owner.type = reader.read(owner.type, node.init)
            items = reader.items
        elif isinstance(owner.type, ArrayType) and owner.type.length is None:
            raise MacahError(f"array size missing in '{owner.name}'", where, code="array-size")
        table = self.types.table_of(items, self.scope)
        if table is None:
            raise MacahError("initializer element is not constant", where, code="constant-expression")
        if owner.const and isinstance(owner.type, ArrayType | StructType):
            owner.table = table
            return owner
        in_kernel = self.frame.returning is None
        image = image_of(owner.type, table) if in_kernel else None
        self.storage.make_static(owner, self.frame.function, image)
        return owner

    def _constant(self, node: Any, ctype: Integer) -> Constant | None:
        """A const integer whose value the compiler knows."""
        if node.init is None:
            return None
        try:
            value = self.types.constant(node.init, self.scope, node.name)
        except MacahError:
            if is_adpc(node.init):
                raise
            return None
        return Constant(ctype, ctype.wrap(value), place_of(node), addressable=True)

    def literal_object(self, node: Any) -> Lvalue:
        ctype, _ = self.types.read_type(node.type, self.scope)
        where = place_of(node)
        self._check_local("compound literal", ctype, where)
        reader = InitializerReader(self.types, self.scope)
        owner = Object("literal", reader.read(ctype, node.init), where=where)
        whole = Lvalue(owner, owner.type)
        self.initialize(whole, reader.items, where)
        return whole

    def initialize(self, whole: Lvalue, items: list[Item], where: Place) -> None:
        """Give a variable its initial values; what is not mentioned becomes 0."""
        self._clear(whole, items, where)
        for item in items:
            part = whole
            for step in item.steps:
                part = _part(part, step)
            if isinstance(item.value, int):
                self.assign(part, Rvalue(ctypes.INT, ir.Const(item.value & 0xFFFFFFFF)), where, initial=True)
            else:
                self.assign(part, self.rvalue(item.value), place_of(item.value), initial=True)

    def _clear(self, whole: Lvalue, items: list[Item], where: Place) -> None:
        given = {item.steps for item in items}
        leaves = [steps for steps, _, _ in islice(scalar_leaves(whole.type), _MANY)]
        missing = [s for s in leaves if not any(s[:n] in given for n in range(len(s) + 1))]
        if len(missing) > _FEW or len(leaves) == _MANY:
            self._zero(whole, where)
            return
        for steps in missing:
            part = whole
            for step in steps:
                part = _part(part, step)
            self._zero(part, where)

    def _zero(self, part: Lvalue, where: Place) -> None:
        match part.type:
            case StructType(kind="union"):
                self.zero_bytes(part, where)
            case StructType(members=members):
                for member in members:
                    self._zero(part.member(member), where)
            case ArrayType(element=element, length=length):
                self.for_each(length or 0, element, where, lambda i: self._zero(part.element(i), where))
            case Integer():
                self.store(part, ir.FALSE, ctypes.INT, where)
            case _:
                return


def _scalars(whole: Lvalue) -> Iterator[Lvalue]:
    """The integers and unions in a variable, one element for each array."""
    match whole.type:
        case StructType(kind="struct", members=members):
            for member in members:
                yield from _scalars(whole.member(member))
        case ArrayType():
            yield from _scalars(whole.element(ir.Const(0)))
        case Integer() | StructType():
            yield whole
        case _:
            return


def _part(whole: Lvalue, step: str | int) -> Lvalue:
    if isinstance(step, int):
        return whole.element(ir.Const(step))
    assert isinstance(whole.type, StructType), whole
    member = next(m for m in whole.type.members if m.name == step)
    return replace(whole.member(member), const=False)


def _has_pointers(ctype: CType) -> bool:
    match ctype:
        case ArrayType(element):
            return _has_pointers(element)
        case StructType(members=members):
            return any(_has_pointers(member.type) for member in members)
        case _:
            return isinstance(ctype, Pointer | StreamType)
