"""Walks a program with its scopes and notes an edit for each thing that is Macah."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from pycparser import c_ast

from macah.diagnostic import MacahError
from macah.lower_declarations import Declarations
from macah.program import is_ordering, place_of
from macah.syntax import KernelBlock, Receive, Send, StreamType, UnrolledFor
from macah.translate_adpc import replace_adpc
from macah.translate_calls import BUILTINS, translate_call
from macah.translate_decl import replace_stream_type, unmark_dimensions
from macah.translate_layout import element_layout
from macah.translate_scope import Scopes, Symbol
from macah.translate_shift import shift_parts
from macah.translate_spawn import Accessors
from macah.translate_text import Parts, Source, Span
from macah.translate_transfer import transfer_parts

KernelParts = Callable[["Translator", KernelBlock], Parts]


class Translator:
    """One translation. `kernel` gives what stands for a kernel block; without it, kernels become blocks."""

    def __init__(self, source: Source, adpc: Mapping[str, int], kernel: KernelParts | None = None) -> None:
        self.source = source
        self.adpc = adpc
        self.scopes = Scopes()
        self.accessors = Accessors()
        self.kernel = kernel
        self._within: Any = None

    def translate(self, unit: Any) -> None:
        """Note all edits of a program."""
        unmark_dimensions(self.source)
        for node in unit.ext:
            self._within = node
            self.visit(node)

    def children(self, node: Any) -> None:
        """Note the edits of all below `node`."""
        for child in node:
            self.visit(child)

    def is_builtin(self, name: str) -> bool:
        """Whether `name` is a function of Macah's here, where the program may have its own of that name."""
        return name in BUILTINS and self.scopes.find(name) is None

    def place(self, node: Any) -> Span:
        """The span of a node that is going to be replaced."""
        span = self.source.span(node)
        if span is None:
            self.fail(
                "this cannot stand inside a larger expression", node, "use a variable for it", code="transfer"
            )
        return span

    def operand(self, node: Any) -> Parts:
        """An expression as an operand of any operator."""
        span = self.place(node)
        if isinstance(node, c_ast.ID | c_ast.Constant | c_ast.ArrayRef | c_ast.StructRef):
            return (span,)
        return ("(", span, ")")

    def constant(self, node: Any, declared: Any) -> int:
        """The value of the constant expression `node`, which gives what `declared` declares its value."""
        declarations = Declarations(self.source.program.unit, self.adpc)
        inside = isinstance(self._within, c_ast.FuncDef)
        scope = declarations.scope_at(self._within, declared) if inside else declarations.file
        return declarations.constant(node, scope, declared.name)

    def layout(self, node: Any, of_stream: bool = False) -> str:
        """A type's layout, for the runtime; or that of a stream type's elements, at file scope."""
        inside = isinstance(self._within, c_ast.FuncDef) and not of_stream
        return element_layout(self, node, self._within if inside else None, of_stream)

    def fail(self, message: str, node: Any, hint: str = "", *, code: str) -> NoReturn:
        """Refuse the program because of `node`."""
        raise MacahError(message, place_of(node), hint=hint, code=code)

    def check_stream(self, node: Any, what: str, void_too: bool = False) -> None:
        """Refuse an operand of `what` that is certainly not a stream."""
        kind = self.scopes.type_of(node)
        if kind is None or isinstance(kind, StreamType):
            return
        if void_too and isinstance(kind, c_ast.PtrDecl):
            target = self.scopes.resolve(kind.type)
            if isinstance(target, c_ast.IdentifierType) and target.names == ["void"]:
                return
        span = self.source.span(node)
        name = " ".join(self.source.text[slice(*span)].split()) if span else "this"
        self.fail(f"'{name}' is not a stream, as {what} needs", node, code="not-a-stream")

    def visit(self, node: Any) -> None:
        """Note the edits of `node` and all below it."""
        match node:
            case c_ast.FuncDef():
                self._function(node)
            case c_ast.Decl() | c_ast.Typedef():
                self._declaration(node)
            case c_ast.FuncDecl():
                self.visit(node.type)
                self._scope(node.args or ())
            case c_ast.Struct() | c_ast.Union():
                self._members(node)
            case c_ast.Enumerator():
                if not replace_adpc(self, node):
                    self.scopes.declare(node.name, Symbol("constant"))
                    self.children(node)
            case UnrolledFor():
                start = self.place(node)[0]
                self.source.replace((start, start + len("FOR")), "for")
                self._scope(node)
            case c_ast.Compound() | c_ast.For():
                self._scope(node)
            case c_ast.Pragma() if is_ordering(node):
                start = self.source.text.rindex("#", 0, node.coord.start)
                self.source.replace((start, self.source.text.index("\n", start)))
            case KernelBlock():
                self._kernel(node)
            case Send() | Receive():
                self.source.replace(self.place(node), *transfer_parts(self, node))
                self.children(node)
            case StreamType():
                replace_stream_type(self.source, node)
                self.children(node)
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if self.is_builtin(name):
                self.source.replace(self.place(node), *translate_call(self, node, name))
                self.children(node)
            case c_ast.Assignment(op="<<=" | ">>=") if (parts := shift_parts(self, node)) is not None:
                self.source.replace(self.place(node), *parts)
                self.children(node)
            case _:
                self.children(node)

    def _scope(self, node: Any) -> None:
        self.scopes.push()
        self.children(node)
        self.scopes.pop()

    def _function(self, node: Any) -> None:
        self.visit(node.decl)
        self.scopes.push()
        for declaration in node.param_decls or ():
            self.visit(declaration)
        arguments = node.decl.type.args.params if node.decl.type.args else ()
        for parameter in (*arguments, *(node.param_decls or ())):
            if isinstance(parameter, c_ast.Decl):
                self.scopes.declare(parameter.name, Symbol("parameter", parameter.type))
        self.visit(node.body)
        self.scopes.pop()
        self.accessors.emit(self.source, self.place(node)[0])

    def _declaration(self, node: Any) -> None:
        self.visit(node.type)
        if isinstance(node, c_ast.Typedef):
            self.scopes.declare(node.name, Symbol("type", node.type))
        elif not replace_adpc(self, node):
            self.scopes.declare(node.name, Symbol("object", node.type))
            for child in (*(node.align or ()), node.init):
                if child is not None:
                    self.visit(child)

    def _members(self, node: Any) -> None:
        self.scopes.declare_tag(node)
        for member in node.decls or ():
            # Their names are not in scope.
            self.children(member) if isinstance(member, c_ast.Decl) else self.visit(member)

    def _kernel(self, node: KernelBlock) -> None:
        start, end = self.place(node)
        if self.kernel is not None:
            self.source.replace((start, end), *self.kernel(self, node))
            return
        self.source.replace((start, self.place(node.body)[0]), f"/* kernel {node.name or ''} */ ")
        self.visit(node.body)
