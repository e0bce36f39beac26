"""Declarations outside the kernel block, as entities: at file scope, and in the enclosing function."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pycparser import c_ast

from macah import ctypes
from macah.ctypes import ArrayType, CType, FunctionType, Integer, StructType
from macah.diagnostic import MacahError, Note
from macah.lower_constants import is_adpc, string_units
from macah.lower_initializers import InitializerReader, Item
from macah.lower_packing import pragma_packing
from macah.lower_scope import (
    Broken,
    Constant,
    Entity,
    FileScope,
    FunctionName,
    Object,
    Scope,
    Table,
    Typedef,
)
from macah.lower_typeof import Analyzer
from macah.program import place_of, walk

_NAMES_OF_FUNCTION = ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__")


class Declarations(Analyzer):
    """The scopes of one translation unit."""

    def __init__(self, unit: Any, adpc: Mapping[str, int]) -> None:
        super().__init__(adpc)
        self.limits = pragma_packing(unit)
        self._strings: dict[str, Object] = {}
        self.file = FileScope(declare=self.declare, read_tag=self.read_type)
        self.file.add(unit)

    def scope_at(self, function: Any, target: Any) -> Scope:
        """The scope in which the node `target` stands in `function`."""
        scope = self.function_scope(function.decl.name)
        arguments = function.decl.type.args
        for parameter in [*(arguments.params if arguments else []), *(function.param_decls or [])]:
            if isinstance(parameter, c_ast.Decl) and parameter.name:
                self.declare_parameter(parameter, scope)
            elif isinstance(parameter, c_ast.ID):  # old style: what has no declaration is an int
                where = place_of(parameter)
                scope.names[parameter.name] = Object(parameter.name, ctypes.INT, False, where, parameter.name)
        return self._descend(function.body, target, scope)

    def function_scope(self, function: str) -> Scope:
        """The outermost block of a function, in which its name is known as C and gcc have it."""
        name = self.string_object(c_ast.Constant("string", f'"{function}"'))
        return Scope(self.file, dict.fromkeys(_NAMES_OF_FUNCTION, name), function=function)

    def string_object(self, node: Any) -> Object:
        """A string constant, a table; equal ones are one."""
        if node.value not in self._strings:
            element, units = string_units(node.value)
            table: Table = {((), (i,)): unit for i, unit in enumerate(units)}
            ctype = ArrayType(element, len(units) + 1)
            self._strings[node.value] = Object("string", ctype, True, place_of(node), table=table)
        return self._strings[node.value]

    def declare(self, node: Any, scope: Scope) -> None:
        """Enter what `node` declares, outside a kernel, into `scope`."""
        if isinstance(node, c_ast.Enum):
            self.read_type(node, scope)
            return
        declaration = node.decl if isinstance(node, c_ast.FuncDef) else node
        where = place_of(declaration)
        try:
            ctype, const = self.declared(declaration, scope)
            entity: Entity
            if isinstance(declaration, c_ast.Typedef):
                entity = Typedef.named(declaration.name, ctype, const, where)
            elif isinstance(ctype, FunctionType):
                definition = node if isinstance(node, c_ast.FuncDef) else None
                entity = FunctionName(declaration.name, ctype, definition, where)
            else:
                entity = self._variable(declaration, ctype, const, scope)
        except MacahError as error:
            entity = Broken(error, where)
        if declaration.name:
            scope.names[declaration.name] = entity

    def declare_parameter(self, node: Any, scope: Scope) -> None:
        """Enter a parameter of the enclosing function: an array of known size stays one."""
        where = place_of(node)
        try:
            ctype, const = self.read_type(node.type, scope)
            known = isinstance(ctype, ArrayType) and (ctype.length or -1) > 0
            declared = ctype if known else ctypes.decay(ctype)
            if isinstance(ctype, ArrayType) and not known:
                declared = ctypes.Pointer(ctype.element, const)
            scope.names[node.name] = Object(node.name, declared, const, where, node.name, decayed=known)
        except MacahError as error:
            scope.names[node.name] = Broken(error, where)

    def _variable(self, node: Any, ctype: CType, const: bool, scope: Scope) -> Entity:
        """A variable of the host program; or a constant, if it can never be anything else."""
        where, origin = place_of(node), (node, scope)
        if node.init is None:
            return Object(node.name, ctype, const, where, node.name, origin=origin)
        if const and isinstance(ctype, Integer):
            try:
                value = self.constant(node.init, scope, node.name)
                return Constant(ctype, ctype.wrap(value), where, addressable=True)
            except MacahError:
                if is_adpc(node.init):
                    raise
        if not isinstance(ctype, ArrayType | StructType):
            return Object(node.name, ctype, const, where, node.name, origin=origin)
        reader = InitializerReader(self, scope)
        ctype = reader.read(ctype, node.init)
        table = self.table_of(reader.items, scope) if const else None
        return Object(node.name, ctype, const, where, node.name, table, origin=origin)

    def literal_type(self, node: Any, scope: Scope) -> CType:
        ctype, _ = self.read_type(node.type, scope)
        return InitializerReader(self, scope).read(ctype, node.init)

    def table_of(self, items: list[Item], scope: Scope) -> Table | None:
        """The values of a table, if all of its initialisers are constant integers."""
        table: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = {}
        for item in items:
            if not isinstance(item.type, Integer):
                return None
            try:
                is_code = isinstance(item.value, int)
                value = item.value if is_code else self.constant(item.value, scope)
            except MacahError:
                return None
            path = tuple(s for s in item.steps if isinstance(s, str))
            table[path, tuple(s for s in item.steps if isinstance(s, int))] = item.type.wrap(value)
        return table

    def _descend(self, node: Any, target: Any, scope: Scope) -> Scope:
        """Declare what is visible at `target`, somewhere in `node`."""
        for outer, inner in pairwise(_way(node, target)):
            if isinstance(outer, c_ast.Compound | c_ast.For | c_ast.While | c_ast.If | c_ast.Switch):
                scope = Scope(scope)
            for child in outer:
                if child is inner:
                    break
                self._declare_all(child, scope)
        return scope

    def _declare_all(self, node: Any, scope: Scope) -> None:
        """Enter the declarations that `node` makes in the block it stands in."""
        match node:
            case c_ast.Decl() | c_ast.Typedef():
                self.declare(node, scope)
            case c_ast.DeclList(decls=nodes) | c_ast.Case(stmts=nodes) | c_ast.Default(stmts=nodes):
                for inner in nodes or []:
                    self._declare_all(inner, scope)
            case c_ast.Label(stmt=inner):
                self._declare_all(inner, scope)


def _way(node: Any, target: Any) -> list[Any]:
    """The nodes from `node` down to `target`."""
    way = [target]
    while way[-1] is not node:
        way.append(_around(node)[way[-1]])
    return way[::-1]


@lru_cache(maxsize=1)
def _around(node: Any) -> dict[Any, Any]:
    """What each node below is a child of; kept, as many kernels may be in one function."""
    return {child: outer for outer in walk(node) for child in outer}


def bind(scope: Scope, name: str, entity: Entity) -> None:
    """Enter a name into a block of a kernel or called function, once."""
    before = scope.names.get(name)
    if before is not None and not isinstance(before, Broken):
        notes = (Note(f"previous declaration of '{name}' was here", before.where),)
        raise MacahError(f"redeclaration of '{name}'", entity.where, notes, code="redeclared")
    scope.names[name] = entity
