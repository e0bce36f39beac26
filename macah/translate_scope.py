"""What names mean at each point of a program, and the types of expressions, as far as translation asks.

Types are pycparser's type nodes. None means: not known, so C's compiler is left to judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

_SEE_THROUGH = (c_ast.TypeDecl, c_ast.Typename, c_ast.Typedef, c_ast.Decl)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name. `kind`: "object" (a function too), "parameter", "type" or "constant".

    `cast` is the type of a constant that C would take for an `int`.
    """

    kind: str
    type: Any = None
    value: int | None = None
    cast: str = ""


@dataclass(slots=True)
class Scopes:
    """The nested scopes at the point that a walk has come to."""

    names: list[dict[str, Symbol]] = field(default_factory=lambda: [{}])
    tags: list[dict[str, Any]] = field(default_factory=lambda: [{}])

    def push(self) -> None:
        """Enter a block."""
        self.names.append({})
        self.tags.append({})

    def pop(self) -> None:
        """Leave a block."""
        self.names.pop()
        self.tags.pop()

    def declare(self, name: str | None, symbol: Symbol) -> None:
        """Give a name its meaning in the innermost scope."""
        if name:
            self.names[-1][name] = symbol

    def declare_tag(self, node: Any) -> None:
        """Remember a structure or union that is defined here."""
        if node.name and node.decls is not None:
            self.tags[-1][node.name] = node

    def find(self, name: str) -> Symbol | None:
        """The meaning of a name."""
        return next((scope[name] for scope in reversed(self.names) if name in scope), None)

    def is_object(self, name: str) -> bool:
        """Whether `name` is a variable or function."""
        symbol = self.find(name)
        return symbol is not None and symbol.kind in ("object", "parameter")

    def declared_type(self, node: Any) -> Any:
        """The type that a `Decl` gives its name; that of `__auto_type` is its initialiser's."""
        match node.type:
            case c_ast.TypeDecl(type=c_ast.IdentifierType(names=["__auto_type"])):
                return self.type_of(node.init)
        return node.type

    def resolve(self, kind: Any) -> Any:
        """A type without the names given to it: a pointer, array, function, stream, structure, …"""
        for _ in range(1000):
            if isinstance(kind, _SEE_THROUGH):
                kind = kind.type
            elif isinstance(kind, c_ast.TypeOf):
                kind = kind.expr if isinstance(kind.expr, c_ast.Typename) else self.type_of(kind.expr)
            elif isinstance(kind, c_ast.IdentifierType) and len(kind.names) == 1:
                symbol = self.find(kind.names[0])
                if symbol is None or symbol.kind != "type":
                    return kind
                kind = symbol.type
            elif isinstance(kind, c_ast.Struct | c_ast.Union) and kind.decls is None and kind.name:
                return next((tags[kind.name] for tags in reversed(self.tags) if kind.name in tags), kind)
            else:
                return kind
        return None

    def type_of(self, node: Any) -> Any:
        """The resolved type of an expression, or None."""
        match node:
            case c_ast.ID(name=name):
                symbol = self.find(name)
                return self.resolve(symbol.type) if symbol is not None and self.is_object(name) else None
            case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
                return self._target(self.type_of(inner))
            case c_ast.UnaryOp(op="&", expr=inner):
                target = self.type_of(inner)
                return c_ast.PtrDecl([], target) if target is not None else None
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=inner):
                return self.type_of(inner)
            case c_ast.StructRef():
                found = self.member(node)
                return self.resolve(found.type) if found is not None else None
            case c_ast.FuncCall(name=function):
                return self._returned(self.type_of(function))
            case c_ast.Cast(to_type=kind) | c_ast.CompoundLiteral(type=kind):
                return self.resolve(kind)
            case c_ast.TernaryOp(iftrue=left, iffalse=right):
                return self.type_of(left) if self.type_of(left) is not None else self.type_of(right)
            case c_ast.Assignment(lvalue=target):
                return self.type_of(target)
            case c_ast.ExprList(exprs=parts):
                return self.type_of(parts[-1])
            case c_ast.Constant(type=name):
                return c_ast.IdentifierType(name.split()) if name != "string" else None
            case _:
                return None

    def _target(self, kind: Any) -> Any:
        if isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
            return self.resolve(kind.type)
        return kind if isinstance(kind, c_ast.FuncDecl) else None

    def _returned(self, kind: Any) -> Any:
        if isinstance(kind, c_ast.PtrDecl):
            kind = self.resolve(kind.type)
        return self.resolve(kind.type) if isinstance(kind, c_ast.FuncDecl) else None

    def member(self, node: Any) -> Any:
        """The declaration of the member that a `StructRef` names, or None."""
        base = self.type_of(node.name)
        if node.type == "->":
            base = self._target(base)
        return self._find_member(base, node.field.name)

    def _find_member(self, kind: Any, name: str) -> Any:
        if not isinstance(kind, c_ast.Struct | c_ast.Union):
            return None
        for member in kind.decls or ():
            if not isinstance(member, c_ast.Decl):
                continue
            if member.name == name:
                return member
            if member.name is None:
                inner = self._find_member(self.resolve(member.type), name)
                if inner is not None:
                    return inner
        return None
