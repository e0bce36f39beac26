"""Which declaration each identifier of a program refers to."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from macah.printer import show_unit


class Names:
    """The declarations of a program's identifiers, by scope.

    `locals` are the `id`s of declarations of automatic variables, `function_of` the function that each
    declaration stands in, `parameters` those of each function definition, in order.
    """

    def __init__(self, unit: Any) -> None:
        self.locals: set[int] = set()
        self.function_of: dict[int, Any] = {}
        self.functions: dict[str, Any] = {}
        self._meaning: dict[int, Any] = {}
        self._scopes: list[dict[str, Any]] = [{}]
        self._function: Any = None
        for node in unit.ext:
            self._visit(node)

    def declaration(self, node: Any) -> Any:
        """The `Decl` of an identifier, a `FuncDef` if it is a function with a body; None if not known."""
        found = self._meaning.get(id(node)) if isinstance(node, c_ast.ID) else None
        if isinstance(found, c_ast.Decl) and isinstance(found.type, c_ast.FuncDecl):
            return self.functions.get(found.name, found)
        return found

    def key(self, node: Any) -> tuple[str, tuple[int, ...]]:
        """Equal for expressions that read the same and whose identifiers mean the same."""
        return show_unit(node), tuple(id(d) for d in self.mentioned(node))

    def mentioned(self, node: Any) -> list[Any]:
        """The declarations of all identifiers in an expression."""
        own = [self.declaration(node)] if isinstance(node, c_ast.ID) else []
        inner = [] if isinstance(node, c_ast.ID) else [d for child in node for d in self.mentioned(child)]
        return [d for d in own + inner if d is not None]

    def _declare(self, node: Any) -> None:
        if node.name:
            self._scopes[-1][node.name] = node
            self.function_of[id(node)] = self._function
        if self._function is not None and not {"static", "extern"} & {*(node.storage or ())}:
            self.locals.add(id(node))

    def _visit(self, node: Any) -> None:
        match node:
            case c_ast.ID(name=name):
                found = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
                if found is not None:
                    self._meaning[id(node)] = found
                    if self.function_of.get(id(found)) is not self._function:
                        # Of the enclosing function, for one of GNU's nested ones: not as private as it seems.
                        self.locals.discard(id(found))
            case c_ast.FuncDef():
                self._define(node)
            case c_ast.Typedef():
                self._visit(node.type)
                self._scopes[-1][node.name] = None
            case c_ast.Decl():
                self._visit(node.type)
                self._declare(node)
                for part in (node.bitsize, node.init):
                    if part is not None:
                        self._visit(part)
            case c_ast.Struct() | c_ast.Union():
                for member in node.decls or ():
                    self._visit(getattr(member, "type", member))
            case c_ast.Enumerator():
                if node.value is not None:
                    self._visit(node.value)
                self._scopes[-1][node.name] = None
            case c_ast.StructRef():
                self._visit(node.name)
            case c_ast.NamedInitializer():
                self._visit(node.expr)
            case c_ast.Compound() | c_ast.For() | c_ast.FuncDecl():
                self._scopes.append({})
                self._children(node)
                self._scopes.pop()
            case _:
                self._children(node)

    def _children(self, node: Any) -> None:
        for child in node:
            self._visit(child)

    def _define(self, node: Any) -> None:
        self.functions[node.decl.name] = node
        self._declare(node.decl)
        outer, self._function = self._function, node
        self._scopes.append({})
        for parameter in parameters(node):
            self._visit(parameter)
        self._visit(node.body)
        self._scopes.pop()
        self._function = outer


def parameters(function: Any) -> list[Any]:
    """The declarations of a function's parameters."""
    if function.param_decls:
        return list(function.param_decls)
    arguments = function.decl.type.args
    return [p for p in (arguments.params if arguments else ()) if isinstance(p, c_ast.Decl)]


def callee(node: Any) -> str:
    """The name that a call names, if it does."""
    return str(node.name.name) if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else ""


def arguments(node: Any) -> list[Any]:
    """The arguments of a call."""
    return list(node.args.exprs) if node.args is not None else []


def spelled(node: Any) -> str:
    """An expression as a message shows it."""
    return " ".join(show_unit(node).split())
