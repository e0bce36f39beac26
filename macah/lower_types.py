"""C's declarations read from the syntax tree: specifiers and declarators as types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from macah import ctypes
from macah.ctypes import ArrayType, CType, FunctionType, Integer, Pointer, StructType
from macah.diagnostic import MacahError, Note, Place
from macah.lower_layout import Layout
from macah.lower_packing import packing_of
from macah.lower_scope import Constant, Entity, Scope, Typedef
from macah.program import place_of
from macah.syntax import ShiftableDecl, StreamType


class Types(ABC):
    """Reads types. `constant` and `type_of` come with the classes built on it."""

    def __init__(self) -> None:
        # A struct or enumeration that several declarators share is one type.
        self._defined: dict[int, tuple[Any, CType]] = {}
        self._enumerators: dict[int, dict[str, Entity]] = {}
        # What `#pragma pack` says about each struct.
        self.limits: dict[int, int] = {}

    @abstractmethod
    def constant(self, node: Any, scope: Scope, name: str = "") -> int:
        """The value of an integer constant expression."""

    @abstractmethod
    def type_of(self, node: Any, scope: Scope) -> CType:
        """The type of an expression."""

    @abstractmethod
    def selected(self, node: Any, scope: Scope) -> Any:
        """The expression that a `_Generic` selects."""

    def read_type(self, node: Any, scope: Scope) -> tuple[CType, bool]:
        """The type that a declarator or type name stands for, and whether an object of it is const."""
        match node:
            case c_ast.Typename(type=inner):
                # Its qualifiers are those of what it begins with, which has them, too.
                return self.read_type(inner, scope)
            case c_ast.TypeDecl(type=inner, quals=quals):
                ctype, const = self.read_type(inner, scope)
                return ctype, const or "const" in (quals or ())
            case c_ast.PtrDecl(type=inner, quals=quals):
                target, const = self.read_type(inner, scope)
                return Pointer(target, const), "const" in (quals or ())
            case c_ast.ArrayDecl(type=inner, dim=dim):
                element, const = self.read_type(inner, scope)
                length = self._length(dim, scope)
                return ArrayType(element, length, isinstance(node, ShiftableDecl)), const
            case c_ast.FuncDecl():
                return self._function(node, scope), False
            case c_ast.IdentifierType(names=names):
                return self._named(names, node, scope)
            case StreamType(element=element):
                return ctypes.StreamType(self.read_type(element, scope)[0]), False
            case c_ast.Struct() | c_ast.Union():
                return self._struct(node, scope), False
            case c_ast.Enum():
                return self._enum(node, scope), False
            case c_ast.TypeOf(expr=c_ast.Typename() as inner):
                return self.read_type(inner, scope)
            case c_ast.TypeOf(expr=expression):
                ctype = self.type_of(expression, scope)
                refuse_bit_field(ctype, "take the type of", node)
                return ctype, False
            case _:
                kind = type(node).__name__
                raise MacahError(
                    f"this form of type ('{kind}') is not supported", place_of(node), code="unsupported-type"
                )

    def _length(self, dim: Any, scope: Scope) -> int | None:
        if dim is None:
            return None
        try:
            length = int(self.constant(dim, scope))
        except MacahError:
            return -1
        if length < 0:
            raise MacahError("size of array is negative", place_of(dim), code="array-size")
        return length

    def _named(self, names: list[str], node: Any, scope: Scope) -> tuple[CType, bool]:
        if len(names) == 1 and isinstance(named := scope.find(names[0]), Typedef):
            return named.type, named.const
        ctype = ctypes.basic_type(names)
        if ctype is None:
            raise MacahError(
                f"type '{' '.join(names)}' is not supported", place_of(node), code="unsupported-type"
            )
        return ctype, False

    def _function(self, node: Any, scope: Scope) -> FunctionType:
        result, _ = self.read_type(node.type, scope)
        if node.args is None:
            return FunctionType(result, None)
        parameters: list[CType] = []
        variadic = False
        inner = Scope(scope)
        for parameter in node.args.params:
            if isinstance(parameter, c_ast.EllipsisParam):
                variadic = True
            elif isinstance(parameter, c_ast.ID):
                return FunctionType(result, None)
            else:
                ctype, const = self.read_type(parameter.type, inner)
                parameters.append(parameter_type(ctype, const))
        if parameters == [ctypes.VOID]:
            parameters = []
        return FunctionType(result, tuple(parameters), variadic)

    def _struct(self, node: Any, scope: Scope) -> StructType:
        if id(node) in self._defined:
            found = self._defined[id(node)][1]
            assert isinstance(found, StructType)
            if node.name and node.decls is not None:
                # A function that is expanded twice has two scopes.
                scope.tags.setdefault(node.name, found)
            return found
        kind = "union" if isinstance(node, c_ast.Union) else "struct"
        known = (scope.find_tag if node.decls is None else scope.own_tag)(node.name) if node.name else None
        struct = known if isinstance(known, StructType) and not (known.complete and node.decls) else None
        if struct is None:
            struct = StructType(kind, node.name or "")
            if node.name:
                scope.tags[node.name] = struct
        self._defined[id(node)] = (node, struct)
        if node.decls is not None and not struct.complete:
            self._lay_out(struct, node, scope)
        return struct

    def _lay_out(self, struct: StructType, node: Any, scope: Scope) -> None:
        def constant(expr: Any) -> int:
            return self.constant(expr, scope)

        layout = Layout(struct.kind == "union", packing_of(node, constant), self.limits.get(id(node), 0))
        firsts: dict[str | None, Any] = {}
        for number, member in enumerate(node.decls):
            if not isinstance(member, c_ast.Decl):
                continue
            ctype, const = self.read_type(member.type, scope)
            _refuse_twice(member, firsts.setdefault(member.name, member))
            if member.bitsize is not None:
                self._bit_field(layout, member, ctype, const, scope)
                continue
            if isinstance(ctype, ArrayType) and ctype.length is None:
                ctype = replace(ctype, length=0)
            if ctypes.size_of(ctype) is None:
                raise MacahError(
                    f"field '{member.name}' has incomplete type '{ctype}'",
                    place_of(member),
                    code="incomplete-type",
                )
            if member.name or isinstance(ctype, StructType):
                layout.add(member.name or f"@{number}", ctype, const, packing_of(member, constant))
        layout.finish(struct)

    def _bit_field(self, layout: Layout, member: Any, ctype: CType, const: bool, scope: Scope) -> None:
        name, width = member.name or "", self.constant(member.bitsize, scope)
        problem = ""
        if not isinstance(ctype, Integer):
            problem = f"bit-field '{name}' has invalid type"
        elif width < 0:
            problem = f"negative width in bit-field '{name}'"
        elif width == 0 and name:
            problem = f"zero width for bit-field '{name}'"
        elif width > (1 if ctype.is_bool else 8 * ctype.size):
            problem = f"width of '{name}' exceeds its type"
        if problem or not isinstance(ctype, Integer):
            raise MacahError(problem, place_of(member), code="bit-field")
        layout.add_bits(name, ctype, width, const)

    def _enum(self, node: Any, scope: Scope) -> CType:
        if id(node) in self._defined:
            scope.names.update(self._enumerators[id(node)])
            return self._defined[id(node)][1]
        if node.values is None:
            return scope.find_tag(node.name) or ctypes.UINT
        value = 0
        values: list[tuple[str, int, Place]] = []
        for enumerator in node.values.enumerators:
            if enumerator.value is not None:
                value = self.constant(enumerator.value, scope, enumerator.name)
            where = place_of(enumerator)
            # The next enumerator may already use it.
            scope.names[enumerator.name] = Constant(
                ctypes.INT if ctypes.INT.wrap(value) == value else ctypes.LONG, value, where
            )
            values.append((enumerator.name, value, where))
            value += 1
        self._enumerators[id(node)] = {name: scope.names[name] for name, _, _ in values}
        packing = packing_of(node, lambda inner: int(self.constant(inner, scope)))
        ctype = _enum_type([v for _, v, _ in values], packing.packed)
        self._defined[id(node)] = (node, ctype)
        if node.name:
            scope.tags[node.name] = ctype
        return ctype


def parameter_type(ctype: CType, const: bool) -> CType:
    """The type of a parameter that is declared with `ctype`."""
    decayed = ctypes.decay(ctype)
    if isinstance(ctype, ArrayType) and isinstance(decayed, Pointer):
        return replace(decayed, const=const)
    return decayed


def refuse_bit_field(ctype: CType, what: str, node: Any) -> None:
    """Raise if the type is that of a bit-field, which has no address and no size."""
    if isinstance(ctype, Integer) and ctype.width:
        raise MacahError(f"cannot {what} a bit-field", place_of(node), code="bit-field")


_ENUMS = (ctypes.UINT, ctypes.INT, ctypes.ULONG, ctypes.LONG)
_PACKED_ENUMS = (ctypes.UCHAR, ctypes.SCHAR, ctypes.USHORT, ctypes.SHORT, *_ENUMS)


def _enum_type(values: list[int], packed: bool) -> Integer:
    """gcc's choice: the first that holds all values."""
    types = _PACKED_ENUMS if packed else _ENUMS
    return next((t for t in types if all(t.wrap(value) == value for value in values)), ctypes.LONG)


def _refuse_twice(member: Any, first: Any) -> None:
    """A member whose name an earlier one of the same struct has, the first one, is refused."""
    if member.name and first is not member:
        notes = (Note("it was declared here", place_of(first)),)
        raise MacahError(f"duplicate member '{member.name}'", place_of(member), notes, code="redeclared")
