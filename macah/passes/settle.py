"""Gives the operands of a shift names before the shift is cut into several.

shift a[a[0]] by x        ->        index = a[0]; shift a[index] by x

Each part of a shift changes the array, and the next one must still see what the operands were at first.
"""

from __future__ import annotations

from macah import ir
from macah.ir import Assign, Const, Expr, Read, Variable
from macah.walk import map_operands


def settled(stmt: ir.Shift) -> tuple[list[Assign], ir.Shift]:
    """What has to stand before a shift, and the shift with constants and variables of its own as operands."""
    before: list[Assign] = []

    def name(expr: Expr) -> Expr:
        if isinstance(expr, Const):
            return expr
        own = Variable("index", expr.bits, stmt.where)
        before.append(Assign(own, expr, stmt.where))
        return Read(own)

    renamed = map_operands(stmt, name)
    assert isinstance(renamed, ir.Shift)
    return before, renamed
