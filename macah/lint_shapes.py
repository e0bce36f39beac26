"""The types of variables and members, as far as following values needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.lint_names import Names
from macah.program import walk
from macah.syntax import StreamType

_UNITED = "a member of a union"


class Shapes:
    """Answers from the declarations of a program. Members are found by their name alone."""

    def __init__(self, unit: Any, names: Names) -> None:
        self._names = names
        self._typedefs: dict[str, Any] = {}
        self._structs: dict[str, Any] = {}
        self._members: dict[str, Any] = {}
        self._parameters: set[int] = set()
        for node in walk(unit):
            match node:
                case c_ast.Typedef():
                    self._typedefs[node.name] = node.type
                case c_ast.Struct() | c_ast.Union() if node.decls:
                    self._structs[node.name or ""] = node
                    for member in node.decls:
                        if isinstance(member, c_ast.Decl) and member.name:
                            self._members.setdefault(member.name, member.type)
                case c_ast.ParamList():
                    self._parameters |= {id(p) for p in node.params}

    def resolve(self, kind: Any) -> Any:
        """A type node without the names given to it."""
        for _ in range(100):
            match kind:
                case c_ast.TypeDecl() | c_ast.Typename():
                    kind = kind.type
                case c_ast.IdentifierType(names=[name]) if name in self._typedefs:
                    kind = self._typedefs[name]
                case c_ast.Struct() | c_ast.Union() if kind.decls is None:
                    return self._structs.get(kind.name, kind)
                case _:
                    return kind
        return None

    def kind(self, node: Any) -> Any:
        """The type node of an expression, None if it is not known."""
        match node:
            case c_ast.ID():
                found = self._names.declaration(node)
                return self.resolve(found.type) if isinstance(found, c_ast.Decl) else None
            case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
                kind = self.kind(inner)
                return self.resolve(kind.type) if isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl) else None
            case c_ast.StructRef(field=c_ast.ID(name=name)):
                return self.resolve(self._members.get(name))
            case _:
                return None

    def is_array(self, node: Any) -> bool:
        """Whether an lvalue is an array, which decays where its value is used."""
        if isinstance(node, c_ast.ID) and id(self._names.declaration(node)) in self._parameters:
            return False
        return isinstance(self.kind(node), c_ast.ArrayDecl)

    def member(self, node: Any) -> str:
        """The member that an expression names; those of a union are one."""
        kind = self.kind(node.name)
        if node.type == "->" and isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
            kind = self.resolve(kind.type)
        return _UNITED if isinstance(kind, c_ast.Union) else str(node.field.name)

    def designated(self, kind: Any, name: str) -> tuple[str, Any]:
        """The member `.name` of an initialiser, and its type."""
        found = (m.type for m in getattr(kind, "decls", None) or () if getattr(m, "name", None) == name)
        return _UNITED if isinstance(kind, c_ast.Union) else name, next(found, None)

    def parts(self, kind: Any) -> Iterator[tuple[str | int | None, Any]]:
        """The members of a structure or the elements of an array, in the order of initialisers.

        None stands for a member without a name.
        """
        kind = self.resolve(kind)
        if isinstance(kind, c_ast.Union):
            members = [m for m in kind.decls or () if isinstance(m, c_ast.Decl)]
            yield from ((_UNITED, member.type) for member in members[:1])
        elif isinstance(kind, c_ast.Struct):
            for member in kind.decls or ():
                if isinstance(member, c_ast.Decl) and (member.name or member.bitsize is None):
                    yield member.name, member.type
        elif isinstance(kind, c_ast.ArrayDecl):
            index = 0
            while True:
                yield index, kind.type
                index += 1

    def is_stream(self, kind: Any) -> bool:
        """Whether a type is a stream, or an array of streams."""
        kind = self.resolve(kind)
        while isinstance(kind, c_ast.ArrayDecl):
            kind = self.resolve(kind.type)
        return isinstance(kind, StreamType)
