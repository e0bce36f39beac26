"""Prints a syntax tree as Macah again. What it prints parses to a tree that prints the same."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from macah.deep import deep_recursion
from macah.diagnostic import MacahError
from macah.syntax import (
    Asm,
    ComputedGoto,
    KernelBlock,
    LabelAddress,
    OrElse,
    Range,
    Receive,
    Send,
    ShiftableDecl,
    StreamType,
    UnrolledFor,
)


def show_unit(unit: Any) -> str:
    """The text of a syntax tree, of a whole unit or of any part of it."""
    try:
        with deep_recursion():
            return Printer().visit(unit)
    except RecursionError:
        raise MacahError("the program is nested too deeply to be printed", code="too-deep") from None


class _Shiftable(c_ast.Node):  # type: ignore[misc]
    """The dimension `^N^` between the brackets that C's printer writes."""

    __slots__ = ("size", "coord", "__weakref__")

    def __init__(self, size: Any) -> None:
        self.size, self.coord = size, None


class Printer(CGenerator):  # type: ignore[misc]
    """pycparser's generator with Macah's nodes; a translator can override these for its own output."""

    def visit(self, node: Any) -> str:
        """The text of `node`."""
        return str(super().visit(node))

    def visit_UnaryOp(self, n: c_ast.UnaryOp) -> str:
        if n.op == "_Alignof":
            return f"_Alignof({self._visit_expr(n.expr)})"
        if n.op in {"__real__", "__imag__"}:
            return f"{n.op} {self._parenthesize_unless_simple(n.expr)}"
        return str(super().visit_UnaryOp(n))

    def visit_StreamType(self, n: StreamType) -> str:
        return f"{self.visit(n.element).rstrip()} stream"

    def visit_ShiftableDecl(self, n: ShiftableDecl) -> str:
        return self._generate_type(n, emit_declname=False)

    def visit__Shiftable(self, n: _Shiftable) -> str:
        return f"^{self._visit_expr(n.size)}^"

    def visit_KernelBlock(self, n: KernelBlock) -> str:
        label = f"{n.name}: " if n.name else ""
        return f"{label}kernel\n{self.visit(n.body).rstrip()}"

    def visit_UnrolledFor(self, n: UnrolledFor) -> str:
        return "FOR" + str(self.visit_For(n)).removeprefix("for").rstrip("\n")

    def visit_Send(self, n: Send) -> str:
        return f"{self._worked(n.worked)}{self._operand(n.stream)} <! {self._visit_expr(n.value)}"

    def visit_Receive(self, n: Receive) -> str:
        return f"{self._worked(n.worked)}{self._operand(n.target)} <? {self._visit_expr(n.stream)}"

    def visit_Asm(self, n: Asm) -> str:
        return n.text

    def visit_LabelAddress(self, n: LabelAddress) -> str:
        return f"&&{n.name}"

    def visit_ComputedGoto(self, n: ComputedGoto) -> str:
        return f"goto *{self._parenthesize_unless_simple(n.target)};"

    def visit_Range(self, n: Range) -> str:
        return f"{self._visit_expr(n.low)} ... {self._visit_expr(n.high)}"

    def visit_OrElse(self, n: OrElse) -> str:
        return f"({self._visit_expr(n.value)}) ?: ({self._visit_expr(n.otherwise)})"

    def _worked(self, target: Any) -> str:
        return f"{self._operand(target)} :: " if target is not None else ""

    def _operand(self, n: Any) -> str:
        """An operand that the grammar wants to be a unary expression."""
        unary = isinstance(n, c_ast.UnaryOp | c_ast.CompoundLiteral)
        return str(self._visit_expr(n)) if unary else str(self._parenthesize_unless_simple(n))

    def _generate_stmt(self, n: Any, add_indent: bool = False) -> str:
        if not isinstance(n, Send | Receive | Asm):
            return str(super()._generate_stmt(n, add_indent=add_indent))
        return f"{self._make_indent()}{'  ' if add_indent else ''}{self.visit(n)};\n"

    def _generate_type(self, n: Any, *arguments: Any, **options: Any) -> str:
        modifiers = arguments[0] if arguments else options.pop("modifiers", None)
        if isinstance(n, ShiftableDecl):
            n = c_ast.ArrayDecl(n.type, _Shiftable(n.dim), n.dim_quals, n.coord)
        return str(super()._generate_type(n, modifiers, **options))

    def _defined_type(self, n: Any) -> Any:
        """See through `struct { … } stream s, t;`, whose declarators share the structure."""
        found = super()._defined_type(n)
        kind = n
        while found is None and isinstance(kind, _DECLARATORS):
            kind = kind.type
        if isinstance(kind, StreamType):
            return super()._defined_type(c_ast.Decl(None, [], [], [], [], kind.element.type, None, None))
        return found


_DECLARATORS = (c_ast.Decl, c_ast.Typedef, c_ast.TypeDecl, c_ast.PtrDecl, c_ast.ArrayDecl, c_ast.FuncDecl)
