"""The values that expressions may have, and what they write, as far as streams go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pycparser import c_ast

from macah.lint_events import Context, Walk
from macah.lint_names import Names
from macah.lint_shapes import Shapes
from macah.lint_values import NOTHING, Address, Code, Location, Store, Values, locations
from macah.syntax import OrElse

# Values that are without effects when they are looked at again.
_PLAIN = (c_ast.ID, c_ast.StructRef, c_ast.ArrayRef, c_ast.Cast)


class Evaluation(ABC):
    """Evaluates expressions; statements and calls come with the class built on it."""

    def __init__(self, unit: Any, names: Names) -> None:
        self.names = names
        self.shapes = Shapes(unit, names)
        self.store = Store()
        self.contexts: dict[object, Context] = {}

    @abstractmethod
    def visit(self, node: Any, at: Walk) -> None:
        """Walk a statement, or an expression whose value nobody wants."""

    @abstractmethod
    def call(self, node: Any, at: Walk) -> Values:
        """Walk a call."""

    def variable(self, declaration: Any, at: Walk) -> Location:
        own = id(declaration) in self.names.locals
        return Location((id(declaration), at.context.number if own else 0))

    def lvalue(self, node: Any, at: Walk) -> list[Location]:
        """The locations that an lvalue may denote."""
        match node:
            case c_ast.ID():
                found = self.names.declaration(node)
                return [self.variable(found, at)] if isinstance(found, c_ast.Decl) else []
            case c_ast.ArrayRef():
                index = literal(node.subscript)
                self.visit(node.subscript, at)
                return [at_.moved(index) for at_ in locations(self.values(node.name, at))]
            case c_ast.UnaryOp(op="*"):
                return list(locations(self.values(node.expr, at)))
            case c_ast.StructRef(type="."):
                return [l.member(self.shapes.member(node)) for l in self.lvalue(node.name, at)]
            case c_ast.StructRef():
                return [l.member(self.shapes.member(node)) for l in locations(self.values(node.name, at))]
            case c_ast.CompoundLiteral():
                target = Location((id(node), at.context.number))
                self.initialize(target, node.type.type, node.init, at)
                return [target]
            case c_ast.Cast():
                return self.lvalue(node.expr, at)
            case _:
                return []

    def values(self, node: Any, at: Walk) -> Values:
        """The values that an expression may have; walks its effects."""
        match node:
            case None | c_ast.Constant() | c_ast.Typename():
                return NOTHING
            case c_ast.ID() if isinstance(found := self.names.declaration(node), c_ast.FuncDef):
                return frozenset({Code(found.decl.name)})
            case (
                c_ast.ID()
                | c_ast.ArrayRef()
                | c_ast.StructRef()
                | c_ast.UnaryOp(op="*")
                | c_ast.CompoundLiteral()
            ):
                found = self.lvalue(node, at)
                if self.shapes.is_array(node):
                    return frozenset(Address(l.element(0)) for l in found)
                return self.union(self.store.read(l) for l in found)
            case c_ast.UnaryOp(op="&"):
                if isinstance(self.names.declaration(node.expr), c_ast.FuncDef):
                    return self.values(node.expr, at)
                return frozenset(Address(l) for l in self.lvalue(node.expr, at))
            case c_ast.UnaryOp(op="sizeof" | "_Alignof"):
                return NOTHING
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                moved = self.moved(self.values(node.expr, at), None)
                for target in self.lvalue(node.expr, at):
                    self.store.write(target, moved)
                return moved
            case c_ast.Assignment(op="="):
                return self.assign(self.lvalue(node.lvalue, at), node.rvalue, at)
            case c_ast.Assignment(op="+=" | "-="):
                moved = self.moved(self.values(node.lvalue, at), None)
                for target in self.lvalue(node.lvalue, at):
                    self.store.write(target, moved)
                self.visit(node.rvalue, at)
                return moved
            case c_ast.BinaryOp(op="+" | "-"):
                by = literal(node.right)
                by = -by if by is not None and node.op == "-" else by
                return self.moved(self.values(node.left, at), by) | self.moved(
                    self.values(node.right, at), None
                )
            case c_ast.TernaryOp():
                self.visit(node.cond, at)
                return self.values(node.iftrue, at) | self.values(node.iffalse, at)
            case OrElse():
                return self.union(self.values(part, at) for part in node)
            case c_ast.Cast():
                return self.values(node.expr, at)
            case c_ast.ExprList(exprs=parts):
                return [self.values(part, at) for part in parts][-1]
            case c_ast.FuncCall():
                return self.call(node, at)
            case c_ast.Compound():
                self.visit(node, at)
                last = (node.block_items or [None])[-1]
                return self.values(last, at) if isinstance(last, _PLAIN) else NOTHING
            case _:
                for child in node:
                    self.visit(child, at)
                return NOTHING

    def assign(self, targets: list[Location], node: Any, at: Walk) -> Values:
        values = self.values(node, at)
        for target in targets:
            self.store.write(target, values)
            for source in self.sources(node, at):
                self.store.copy(source, target)
        return values

    def sources(self, node: Any, at: Walk) -> list[Location]:
        """Where the members lie of the structure that an expression may be."""
        if isinstance(node, c_ast.FuncCall):
            key = (at.context.number, id(node))
            return [Location(("result", c.number)) for k, c in self.contexts.items() if k[:2] == key]  # type: ignore[index]
        return [] if node is None or self.shapes.is_array(node) else self.lvalue(node, at)

    def moved(self, values: Values, by: int | None) -> Values:
        return frozenset(Address(v.of.moved(by)) if isinstance(v, Address) else v for v in values)

    def union(self, many: Any) -> Values:
        return NOTHING.union(*many)

    def initialize(self, target: Location, kind: Any, init: Any, at: Walk) -> None:
        """Give a location of type `kind` the values of an initialiser."""
        if not isinstance(init, c_ast.InitList):
            self.assign([target], init, at)
            return
        parts = self.shapes.parts(kind)
        for item in init.exprs or ():
            if isinstance(item, c_ast.NamedInitializer):
                self.initialize(*self._designated(target, kind, item), item.expr, at)
                parts = iter(())
                continue
            step, inner = next(parts, (None, None))
            if step is None or self._is_flat(inner, item):
                # Braces are left out, or positions follow a name: what goes where is not worth finding out.
                self.store.escape(self.values(item, at))
                self.store.escape_thing(target.thing)
            else:
                self.initialize(Location(target.thing, (*target.path, step)), inner, item, at)

    def _is_flat(self, kind: Any, item: Any) -> bool:
        compound = isinstance(self.shapes.resolve(kind), c_ast.Struct | c_ast.Union | c_ast.ArrayDecl)
        return compound and not isinstance(item, c_ast.InitList) and self.shapes.kind(item) is None

    def _designated(self, target: Location, kind: Any, item: Any) -> tuple[Location, Any]:
        for step in item.name:
            kind = self.shapes.resolve(kind)
            if isinstance(kind, c_ast.ArrayDecl):
                target, kind = target.element(literal(step)), kind.type
            else:
                name, kind = self.shapes.designated(kind, getattr(step, "name", ""))
                target = target.member(name)
        return target, kind


def literal(node: Any) -> int | None:
    """The value of an integer literal, if it is decimal and an `int`."""
    match node:
        case c_ast.Constant(type="int", value=value):
            return int(value, 0) if not value.startswith("0") or value.isdigit() and int(value) == 0 else None
        case _:
            return None
