"""Turns jumps out of blocks (`break`, `continue`, `return`, …) into conditions.

A leave at the end of a branch needs none: what follows the branch moves into the other one.

    L: { if (c) leave L; rest }             becomes     if (c) {} else { rest }

Elsewhere a flag says that the block has been left. A loop that is left stops.

    L: { while (a) { x; if (b) leave L; y } z }

becomes

    left = 0;
    while (!left && a) { x; left = 0; if (b) left = 1; else y }
    if (!left) z
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from macah import ir
from macah.ir import Assign, Block, Body, Const, Expr, If, Label, Leave, Read, Stmt, Variable
from macah.passes.predicate import Predicates, either, negate
from macah.walk import both, leaves_to, map_bodies, parted

Labels = Set[Label]
_NONE: frozenset[Label] = frozenset()


def remove_leaves(kernel: ir.Kernel) -> ir.Kernel:
    """Remove every `Block` and `Leave`; see the module for an example."""
    return replace(kernel, body=_Remover(Predicates(kernel)).body(kernel.body, _NONE))


class _Remover:
    def __init__(self, predicates: Predicates) -> None:
        self.predicates = predicates
        self.flags: dict[Label, Variable] = {}

    def body(self, body: Body, tail: Labels) -> Body:
        """A body without leaves. Those to a label in `tail` are the same as reaching its end."""
        if not any(isinstance(stmt, Leave | Block | ir.DoWhile) for stmt in parted(body)[1]):
            return body
        done: list[Stmt] = []
        for place, stmt in enumerate(body):
            last = place + 1 == len(body)
            match stmt:
                case Leave(label):
                    return (*done, *self.leave(stmt, label in tail))
                case _ if last or not leaves_to((stmt,)):
                    done += self.statement(stmt, tail if last else _NONE)
                case If() if not (_goes_on(stmt.then) and _goes_on(stmt.orelse)):
                    return (*done, *self.statement(_move_into(stmt, body[place + 1 :]), tail))
                case _:
                    done += self.statement(stmt, _NONE)
                    going_on = negate(self.left(leaves_to((stmt,))))
                    return (*done, *_if(going_on, self.body(body[place + 1 :], tail), stmt))
        return tuple(done)

    def leave(self, stmt: Leave, at_end: bool) -> Body:
        return () if at_end else (Assign(self.flag(stmt.label), ir.TRUE, stmt.where),)

    def flag(self, label: Label) -> Variable:
        """The variable that is 1 when the block has been left, where that is not clear from the place."""
        if label not in self.flags:
            self.flags[label] = self.predicates.variable(f"left_{label.name}")
        return self.flags[label]

    def left(self, labels: Labels) -> Expr:
        """1 if one of the blocks has been left."""
        result: Expr = ir.FALSE
        for flag in self.used(labels):
            result = either(result, Read(flag))
        return result

    def used(self, labels: Labels) -> list[Variable]:
        return [flag for label, flag in self.flags.items() if label in labels]

    def statement(self, stmt: Stmt, tail: Labels) -> Body:
        match stmt:
            case Block(label, body):
                inner = self.body(body, tail | {label})
                return (*self.reset(frozenset({label})), *inner)
            case If(_, then, orelse):
                return (replace(stmt, then=self.body(then, tail), orelse=self.body(orelse, tail)),)
            case ir.While():
                return self.loop(stmt)
            case ir.DoWhile(body, condition):
                left = leaves_to(body)
                inner = self.entered(left, self.body(body, _NONE))
                return (replace(stmt, body=inner, condition=self.going_on(left, condition)),)
            case _:
                return (map_bodies(stmt, lambda body: self.body(body, _NONE)),)

    def loop(self, stmt: ir.While) -> Body:
        left = leaves_to((*stmt.before, *stmt.body))
        if not left:
            return (map_bodies(stmt, lambda body: self.body(body, _NONE)),)
        if not stmt.before:
            inner = self.entered(left, self.body(stmt.body, _NONE))
            return (replace(stmt, body=inner, condition=self.going_on(left, stmt.condition)),)
        # inverted already here: otherwise `before` would need a test of the flags in its first run, too
        before = self.body(stmt.before, _NONE)
        body = self.body((*stmt.body, *stmt.before), _NONE)
        guard = self.going_on(leaves_to(stmt.before), stmt.condition)
        again = self.going_on(left, stmt.condition)
        return (*before, ir.DoWhile(self.entered(left, body), again, guard, stmt.where, stmt.most))

    def going_on(self, left: Labels, condition: Expr) -> Expr:
        return both(negate(self.left(left)), self.predicates.truth(condition))

    def entered(self, left: Labels, body: Body) -> Body:
        """A loop's body. Nothing has been left when it starts; saying so keeps flags off recurrences."""
        return (*self.reset(left), *body)

    def reset(self, labels: Labels) -> Body:
        return tuple(Assign(flag, ir.FALSE) for flag in self.used(labels))


def _goes_on(body: Body) -> bool:
    """False if a body surely ends in a leave of an outer block."""
    if not body:
        return True
    match body[-1]:
        case Leave():
            return False
        case If(_, then, orelse):
            return _goes_on(then) or _goes_on(orelse)
        case Block(label, inner):
            return _goes_on(inner) or label in leaves_to(inner)
        case _:
            return True


def _move_into(stmt: If, rest: Body) -> If:
    """What follows a branch, moved into the arm that goes on, if one does."""
    return replace(
        stmt,
        then=(*stmt.then, *rest) if _goes_on(stmt.then) else stmt.then,
        orelse=(*stmt.orelse, *rest) if _goes_on(stmt.orelse) else stmt.orelse,
    )


def _if(condition: Expr, then: Body, stmt: Stmt) -> Body:
    match condition:
        case Const(value):
            return then if value else ()
        case _:
            return (If(condition, then, (), None, stmt.where),) if then else ()
