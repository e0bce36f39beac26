"""Changes what a body says of where its accesses are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from macah import ir
from macah.ir import Array, Body, Expr, Load, Stmt
from macah.site import Site
from macah.walk import flat_map, map_expr, map_operands

Change = Callable[[Array, Site | None], Site | None]


def with_sites(body: Body, change: Change) -> Body:
    """The same body; `change` gets the array and the site of each access, and gives its new site."""

    def load(expr: Expr) -> Expr:
        return replace(expr, site=change(expr.array, expr.site)) if isinstance(expr, Load) else expr

    def accesses(stmt: Stmt) -> tuple[Stmt]:
        stmt = map_operands(stmt, lambda expr: map_expr(expr, load))
        return (replace(stmt, site=change(stmt.array, stmt.site)) if isinstance(stmt, ir.Store) else stmt,)

    return flat_map(body, accesses)


def without_sites(body: Body) -> Body:
    """The same body, whose accesses have moved."""
    return with_sites(body, lambda array, site: None)
