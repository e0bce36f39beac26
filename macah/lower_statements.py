"""Statements: control flow as `If`, loops, and blocks to leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from macah import ctypes, ir
from macah.ctypes import Integer
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, convert, negation
from macah.lower_base import Jump
from macah.lower_labels import AT, SKIP, Guarded, has_nested_labels, labels_in, rewritten
from macah.lower_locals import Locals
from macah.lower_operators import NOTHING
from macah.lower_scope import Object
from macah.lower_switch import Run, limits_of, matches, nested_label, none_of, runs_of
from macah.lower_values import Lvalue, Rvalue, Value
from macah.program import place_of
from macah.syntax import Asm, KernelBlock, OrElse, Receive, Send, UnrolledFor


class Statements(Locals):
    """C's statements."""

    def statement(self, node: Any) -> None:
        """Lower a statement; note an error and go on behind it."""
        try:
            self._statement(node, place_of(node) if node is not None else Place("<unknown>", 0))
        except MacahError as error:
            self.note_error(error)

    def _statement(self, node: Any, where: Place) -> None:
        match node:
            case c_ast.Compound(block_items=items):
                with self.inner_scope():
                    for item in items or []:
                        self.statement(item)
            case c_ast.Decl() | c_ast.Typedef():
                self.declaration(node)
            case c_ast.DeclList(decls=nodes):
                for inner in nodes:
                    self.statement(inner)
            case Send():
                self.send(node)
            case Receive():
                self.receive(node)
            case c_ast.If():
                self._if(node, where)
            case UnrolledFor():
                self._unrolled(node, where)
            case c_ast.For():
                self._for(node, where)
            case c_ast.While():
                self._loop(node.cond, node.stmt, None, where)
            case c_ast.DoWhile():
                self._do(node, where)
            case c_ast.Switch():
                self._switch(node, where)
            case c_ast.Break():
                self._leave(self.frame.breaks, "break", where)
            case c_ast.Continue():
                self._leave(self.frame.continues, "continue", where)
            case c_ast.Return():
                self._return(node, where)
            case Guarded(stmt=inner):
                self._guarded(inner, where)
            case c_ast.EmptyStatement() | c_ast.Pragma() | None:
                return
            case c_ast.StaticAssert(cond=condition, message=text):
                if not self.types.constant(condition, self.scope):
                    reason = f": {text.value}" if text is not None else ""
                    raise MacahError(f"static assertion failed{reason}", where, code="static-assertion")
            case c_ast.AttributedStatement(stmt=inner) | c_ast.Label(stmt=inner):
                self.statement(inner)
            case c_ast.Goto() | Asm() | KernelBlock() | c_ast.Case() | c_ast.Default():
                raise _refused(node, where, self.frame.breaks)
            case _:
                self.value(node, wanted=False)

    def compound_value(self, node: Any) -> Value:
        items = node.block_items or []
        result: Value = NOTHING
        with self.inner_scope():
            for item in items[:-1]:
                self.statement(item)
            last = items[-1] if items else None
            if isinstance(last, c_ast.Node) and _is_expression(last):
                result = self.rvalue(last)
                if isinstance(result, Rvalue) and isinstance(result.type, Integer):
                    result = Rvalue(result.type, self.keep(result.expr, "value", place_of(last)))
            elif last is not None:
                self.statement(last)
        return result

    def _block(self, node: Any) -> list[ir.Stmt]:
        """The statements of a nested statement, in a scope of its own."""
        with self.collected() as body, self.inner_scope():
            self.statement(node)
        return body

    def _if(self, node: Any, where: Place) -> None:
        condition = self._test(node.cond)
        then = self._block(node.iftrue)
        orelse = self._block(node.iffalse)
        if isinstance(condition, ir.Const):
            self.body += then if condition.value else orelse
            return
        self.emit_if(condition, then, orelse, where, self._expectation(node.cond))

    def _test(self, node: Any) -> ir.Expr:
        """A condition; an error in it hides none in the statements that it decides about."""
        try:
            return self.condition(node)
        except MacahError as error:
            self.note_error(error)
            return ir.Read(self.flag("test", place_of(node)))

    def _expectation(self, node: Any) -> float | None:
        """How often a condition is true, if EXPECT says so."""
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name="EXPECT"), args=c_ast.ExprList(exprs=[_, share])):
                return self.frequency(share)
            case c_ast.UnaryOp(op="!", expr=inner):
                share = self._expectation(inner)
                return None if share is None else 1 - share
            case _:
                return None

    # --- Loops

    def _for(self, node: Any, where: Place) -> None:
        with self.inner_scope():
            if node.init is not None:
                self.statement(node.init)
            self._loop(node.cond, node.stmt, node.next, where)

    def _loop(self, condition: Any, stmt: Any, step: Any, where: Place) -> None:
        outer = self._enter("loop")
        with self.collected() as before:
            truth = self._test(condition) if condition is not None else ir.TRUE
        body = self._body(stmt, where)
        with self.collected() as after:
            self.statement(step)
        loop = ir.While(tuple(before), truth, (*body, *after), where)
        self._exit(outer, [loop], where)

    def _do(self, node: Any, where: Place) -> None:
        outer = self._enter("loop")
        body = self._body(node.stmt, where)
        with self.collected() as after:
            truth = self._test(node.cond)
        once = truth == ir.FALSE
        statements = (*body, *after)
        self._exit(outer, [*statements] if once else [ir.DoWhile(statements, truth, where=where)], where)

    def _unrolled(self, node: Any, where: Place) -> None:
        with self.inner_scope():
            with self.collected() as init:
                self.statement(node.init)
            outer = self._enter("FOR")
            with self.collected() as before:
                truth = self._test(node.cond) if node.cond is not None else ir.TRUE
            self.unrolling += 1
            received = len(self.fresh)
            body = self._body(node.stmt, where)
            self.unrolling -= 1
            with self.collected() as after:
                self.statement(node.next)
            fresh = tuple(self.fresh[received:])
            loop = ir.UnrolledFor(tuple(init), tuple(before), truth, tuple(body), tuple(after), where, fresh)
            self._exit(outer, [loop], where)

    def _enter(self, name: str) -> Jump:
        jump = Jump(ir.Label(f"break {name}"))
        self.frame.breaks.append(jump)
        return jump

    def _exit(self, jump: Jump, statements: list[ir.Stmt], where: Place) -> None:
        self.frame.breaks.pop()
        self.body += jump.around(statements, where)

    def _body(self, stmt: Any, where: Place) -> list[ir.Stmt]:
        jump = Jump(ir.Label("continue"))
        self.frame.continues.append(jump)
        body = self._block(stmt)
        self.frame.continues.pop()
        return jump.around(body, where)

    # --- Jumps

    def _leave(self, targets: list[Jump], word: str, where: Place) -> None:
        if not targets:
            if self.frame.returning is None:
                message = f"'{word}' would leave the kernel block"
                raise MacahError(
                    message,
                    where,
                    hint="end the loop inside the kernel block, or use a flag",
                    code="leaves-kernel",
                )
            raise MacahError(f"{word} statement not within loop or switch", where, code="misplaced-jump")
        self.emit(targets[-1].leave(where))

    def _return(self, node: Any, where: Place) -> None:
        frame = self.frame
        if frame.returning is None:
            hint = "use 'if' to skip the rest of the kernel block"
            raise MacahError("'return' would leave the kernel block", where, hint=hint, code="leaves-kernel")
        if node.expr is not None and frame.result is not None:
            self.assign(frame.result, self.rvalue(node.expr), where, initial=True)
        elif node.expr is not None:
            value = self.rvalue(node.expr)
            if value.type != ctypes.VOID:
                raise MacahError(
                    "'return' with a value, in function returning void", where, code="return-value"
                )
        elif frame.result is not None:
            raise MacahError(
                "'return' with no value, in function returning non-void", where, code="return-value"
            )
        if node is not frame.last:
            self.emit(frame.returning.leave(where))

    # --- switch

    def _switch(self, node: Any, where: Place) -> None:
        expr, ctype = self.number(node.cond)
        promoted = ctypes.promote(ctype)
        value = self.keep(convert(expr, ctype, promoted), "switch", where)
        jump = self._enter("switch")
        try:
            with self.inner_scope(), self.collected() as body:
                if has_nested_labels(node):
                    self._jump_into(node, value, promoted, where)
                else:
                    self._sections(node, value, promoted, where)
        finally:  # a mistake in a label leaves the switch too: a 'break' that follows is not in it
            self.frame.breaks.pop()
        self.body += jump.around(body, where)

    def _sections(self, node: Any, value: ir.Expr, ctype: Integer, where: Place) -> None:
        runs = runs_of(node, ctype, lambda n: self.types.constant(n, self.scope))
        with self.collected():
            # They are jumped over: what they would assign is never there.
            for declaration in runs.before:
                self.statement(declaration)
        self.body += self._runs(runs.runs, value, ctype, where)

    def _jump_into(self, node: Any, value: ir.Expr, ctype: Integer, where: Place) -> None:
        """A `switch` with labels inside other statements."""
        labels = labels_in(node.stmt)
        limits = limits_of(labels, ctype, lambda n: self.types.constant(n, self.scope))
        at: ir.Expr = ir.Const(0)
        for number, label in enumerate(labels, 1):
            if limits[id(label)] is None:
                at = ir.Const(number)
        for number, label in enumerate(labels, 1):
            if (found := limits[id(label)]) is not None:
                at = apply("select", matches(value, found, ctype), ir.Const(number), at)
        for name, kind, expr in ((AT, ctypes.INT, at), (SKIP, ctypes.BOOL, ir.TRUE)):
            owner = Object(name, kind, where=where)
            self.scope.names[name] = owner
            self.store(Lvalue(owner, kind), expr, kind, where)
        self.statement(rewritten(node, labels))

    def _guarded(self, node: Any, where: Place) -> None:
        with self.collected() as body:
            self.statement(node)
        self.emit_if(negation(self.condition(c_ast.ID(SKIP, node.coord))), body, [], where)

    def _runs(self, runs: Sequence[Run], value: ir.Expr, ctype: Integer, where: Place) -> list[ir.Stmt]:
        """A chain of `If`s over runs of sections that fall through into each other; the default is last."""
        arms: list[tuple[Run, list[ir.Expr | None], list[ir.Stmt]]] = []
        for run in runs:
            found = run.matches(value, ctype)
            with self.collected() as body:
                self._run(run, found, where)
            arms.append((run, found, body))
        chain: list[ir.Stmt] = []
        for run, found, body in reversed(arms):
            if run.has_default:
                chain = body
                continue
            orelse = chain
            with self.collected() as chain:
                self.emit_if(run.entered(found), body, orelse, run.where)
        return chain

    def _run(self, run: Run, found: list[ir.Expr | None], where: Place) -> None:
        """Sections that fall through: once one is entered, all behind it are."""
        if len(run.sections) == 1:
            self._section(run.sections[0].stmts)
            return
        entered = self.variable("entered", 32, where)
        self.emit(ir.Assign(entered, ir.FALSE, where))
        for number, (section, match) in enumerate(zip(run.sections, found, strict=True)):
            others = [m for m in found[number + 1 :] if m is not None]
            condition = match if match is not None else none_of(others)
            reached = ir.Apply("or", (ir.Read(entered), condition))
            self.emit(ir.Assign(entered, reached, section.where))
            with self.collected() as body:
                self._section(section.stmts)
            self.emit_if(ir.Read(entered), body, [], section.where)

    def _section(self, stmts: tuple[Any, ...]) -> None:
        for stmt in stmts:
            self.statement(stmt)


def _is_expression(node: Any) -> bool:
    return isinstance(
        node,
        c_ast.ID
        | c_ast.Constant
        | c_ast.BinaryOp
        | c_ast.UnaryOp
        | c_ast.TernaryOp
        | c_ast.Assignment
        | c_ast.FuncCall
        | c_ast.Cast
        | c_ast.ArrayRef
        | c_ast.StructRef
        | c_ast.ExprList
        | c_ast.Compound
        | c_ast.CompoundLiteral
        | c_ast.GenericSelection
        | OrElse,
    )


def _refused(node: Any, where: Place, around: list[Jump]) -> MacahError:
    in_switch = any(jump.label.name == "break switch" for jump in around)
    match node:
        case c_ast.Goto():
            hint = "use a loop, 'break' or 'continue'"
            return MacahError("'goto' is not supported in a kernel", where, hint=hint, code="goto")
        case Asm():
            hint = "write it in C, or outside the kernel block"
            return MacahError("'asm' is not supported in a kernel", where, hint=hint, code="inline-asm")
        case KernelBlock():
            return MacahError("a kernel block inside a kernel block", where, code="nested-kernel")
        case c_ast.Case() | c_ast.Default() if not in_switch:
            message = f"'{type(node).__name__.lower()}' label not within a switch statement"
            return MacahError(message, where, code="misplaced-jump")
        case _:
            return nested_label(where)
