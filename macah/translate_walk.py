"""Walks a program with its scopes and notes an edit for each thing that is Macah."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NoReturn

from pycparser import c_ast

from macah.ctypes import CType
from macah.diagnostic import Diagnostic, MacahError
from macah.lower_declarations import Declarations
from macah.lower_scope import Scope
from macah.program import place_of, pragma_name, walk
from macah.syntax import KernelBlock, LabelAddress, Receive, Send, StreamType, UnrolledFor
from macah.tokens import MacahToken
from macah.translate_adpc import cast_adpc, hoist_adpc, replace_adpc
from macah.translate_arithmetic import kernel_functions, translate_operation
from macah.translate_batch import CLOSING, Ends, kernel_ends, loop_ends, opening, quiet_functions
from macah.translate_calls import BUILTINS, translate_call
from macah.translate_decl import replace_stream_type, unmark_dimensions
from macah.translate_layout import element_layout
from macah.translate_scope import Scopes, Symbol
from macah.translate_sheet import Span
from macah.translate_shift import translate_shift
from macah.translate_spawn import Accessors
from macah.translate_text import Source
from macah.translate_transfer import refuse_comparison, translate_transfer
from macah.translate_window import windows_of

KernelText = Callable[["Translator", KernelBlock], str]


class Translator:
    """One translation. `kernel` gives what stands for a kernel block; without it, kernels become blocks."""

    def __init__(self, source: Source, adpc: Mapping[str, int], kernel: KernelText | None = None) -> None:
        self.source = source
        self.adpc = adpc
        self.scopes = Scopes()
        self.accessors = Accessors()
        self.kernel = kernel
        # The `for` whose head is visited, if one that declares pseudo-constants.
        self.loop: Any = None
        self._within: Any = None
        self._streams: set[int] = set()
        self._errors: list[Diagnostic] = []
        self._names = {id(site.node): site.name for site in source.program.kernels}
        # Whether what is visited runs on an accelerator, too.
        self._in_kernel = False
        # The arrays of the function that are windows.
        self.windows: frozenset[str] = frozenset()
        self.ends: Ends = {}
        self.quiet_functions = quiet_functions(source.program.unit)
        self._called = frozenset() if kernel else kernel_functions(source.program)

    def translate(self, unit: Any) -> None:
        """Note all edits of a program."""
        unmark_dimensions(self.source)
        for node in unit.ext:
            self._within = node
            self._visit_or_note(node)
        if self._errors:
            raise MacahError.of(tuple(self._errors))

    def children(self, node: Any) -> None:
        """Note the edits of all below `node`."""
        visit = self._visit_or_note if isinstance(node, c_ast.Compound) else self.visit
        for child in node:
            visit(child)

    def _visit_or_note(self, node: Any) -> None:
        """Visit a statement or declaration; what is wrong with it does not hide what is wrong with others."""
        try:
            self.visit(node)
        except MacahError as error:
            self._errors += error.diagnostics

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

    def operator(self, node: Any, left: Any, right: Any) -> MacahToken:
        """The operator between two operands of a node."""
        between = (self.place(left)[1], self.place(right)[0])
        return next(t for t in self.source.tokens_in(between) if t.value == node.op)

    def guard(self, span: Span) -> None:
        """Put parentheses around a macro's operand that holds a comma outside of any."""
        depth = 0
        tokens = self.source.tokens_in(span)
        for token in tokens:
            depth += (token.type == "LPAREN") - (token.type == "RPAREN")
            if depth == 0 and token.type == "COMMA":
                self.source.around((tokens[0].start, tokens[-1].end), "(", ")")
                return

    @cached_property
    def declarations(self) -> Declarations:
        """The declarations of the program, as lowering sees them."""
        return Declarations(self.source.program.unit, self.adpc)

    def layout(self, node: Any, of_stream: bool = False) -> str:
        """A type's layout, for the runtime; or that of a stream type's elements, at file scope."""
        inside = isinstance(self._within, c_ast.FuncDef) and not of_stream
        return element_layout(self, node, self._within if inside else None, of_stream)

    def constant(self, node: Any, declared: Any) -> int:
        """The value of the constant expression `node`, which gives what `declared` declares its value."""
        return self.declarations.constant(node, self._scope_of(declared), declared.name)

    def declared_type(self, declared: Any) -> CType:
        """The type that a declaration gives its name."""
        return self.declarations.read_type(declared.type, self._scope_of(declared))[0]

    def _scope_of(self, declared: Any) -> Scope:
        inside = isinstance(self._within, c_ast.FuncDef)
        return self.declarations.scope_at(self._within, declared) if inside else self.declarations.file

    def fail(self, message: str, node: Any, hint: str = "", *, code: str) -> NoReturn:
        """Refuse the program because of `node`."""
        raise MacahError(message, place_of(node), hint=hint, code=code)

    def check_stream(self, node: Any, what: str, void_too: bool = False, hint: str = "") -> None:
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
        self.fail(f"'{name}' is not a stream, as {what} needs", node, hint, code="not-a-stream")

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
            case c_ast.ID():
                cast_adpc(self, node)
            case c_ast.StructRef():
                # The member's name is another matter.
                self.visit(node.name)
            case c_ast.NamedInitializer(name=designators):
                for part in (*designators, node.expr):
                    if not self.source.is_member(part):
                        self.visit(part)
            case c_ast.Enumerator():
                if not replace_adpc(self, node):
                    self.scopes.declare(node.name, Symbol("constant"))
                    self.children(node)
            case UnrolledFor():
                start = self.place(node)[0]
                self.source.replace((start, start + len("FOR")), "for")
                self._for(node)
            case c_ast.For() | c_ast.While() if not self.ends and (ends := loop_ends(self, node)):
                self._batch(node, ends)
            case c_ast.For():
                self._for(node)
            case c_ast.Compound():
                self._scope(node)
            case c_ast.Pragma() if pragma_name(node):
                start = self.source.text.rindex("#", 0, node.coord.start)
                end = self.source.text.index("\n", start)
                self.source.replace((start, end), f"/* {self.source.spelled((start, end))} */")
            case KernelBlock():
                self._kernel(node)
            case Send() | Receive():
                translate_transfer(self, node)
                self.children(node)
            case StreamType():
                # Declarators of one declaration share it.
                if node.coord.start not in self._streams:
                    self._streams.add(node.coord.start)
                    replace_stream_type(self.source, node)
                    self.children(node)
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if self.is_builtin(name):
                translate_call(self, node, name)
                self.children(node)
            case c_ast.Assignment(op="<<=" | ">>=") if translate_shift(self, node):
                pass
            case c_ast.Assignment() | c_ast.BinaryOp() if self._in_kernel:
                translate_operation(self, node)
                self.children(node)
            case c_ast.BinaryOp(op="<", right=c_ast.UnaryOp(op="!")):
                refuse_comparison(self, node)
                self.children(node)
            case _:
                self.children(node)

    def _for(self, node: Any) -> None:
        hoist_adpc(self, node)
        self.scopes.push()
        self.loop = node
        if node.init is not None:
            self.visit(node.init)
        self.loop = None
        for part in (node.cond, node.next, node.stmt):
            if part is not None:
                self.visit(part)
        self.scopes.pop()

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
        self._in_kernel = node.decl.name in self._called
        self.windows = windows_of(self, node) if self.kernel is None else frozenset()
        self.visit(node.body)
        self._in_kernel = False
        self.scopes.pop()
        self.accessors.emit(self.source, self.place(node)[0])

    def _declaration(self, node: Any) -> None:
        self.visit(node.type)
        if isinstance(node, c_ast.Typedef):
            self.scopes.declare(node.name, Symbol("type", node.type))
        elif not replace_adpc(self, node):
            self.scopes.declare(node.name, Symbol("object", self.scopes.declared_type(node)))
            for child in (*(node.align or ()), node.init):
                if child is not None:
                    self.visit(child)

    def _members(self, node: Any) -> None:
        self.scopes.declare_tag(node)
        for member in node.decls or ():
            # Their names are not in scope.
            self.children(member) if isinstance(member, c_ast.Decl) else self.visit(member)

    def _kernel(self, node: KernelBlock) -> None:
        if id(node) not in self._names:
            self.fail("a kernel block inside a kernel block", node, code="nested-kernel")
        start, end = self.place(node)
        if self.kernel is not None:
            self.source.replace((start, end), self._label(node) + self.kernel(self, node))
            return
        comment = f"/* kernel {self._names[id(node)]} */"
        self.source.between(start, self.place(node.body)[0], self._label(node) + comment)
        around, self._in_kernel = self._in_kernel, True
        self.ends = kernel_ends(self, node)
        start, end = self.place(node.body)
        self.source.behind(start + 1, f' MACAH_KERNEL("{self._names[id(node)]}");')
        if self.ends:
            self.source.behind(start + 1, f" {opening(self.ends)}")
            self.source.before(end - 1, f"{CLOSING} ")
        self.visit(node.body)
        self.ends = {}
        self._in_kernel = around

    def _label(self, node: KernelBlock) -> str:
        """The name of a kernel block, if the host jumps to it."""
        jumps = (n for n in walk(self._within) if isinstance(n, c_ast.Goto | LabelAddress))
        return f"{node.name}: " if any(jump.name == node.name for jump in jumps) else ""

    def _batch(self, loop: Any, ends: Ends) -> None:
        """Note the edits of a loop that moves elements in blocks."""
        start, end = self.place(loop)
        self.source.before(start, f"{{ {opening(ends)} ")
        self.ends = ends
        self._for(loop) if isinstance(loop, c_ast.For) else self.children(loop)
        self.ends = {}
        self.source.behind(end, f" {CLOSING} }}")
