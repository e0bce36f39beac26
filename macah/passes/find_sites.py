"""Says of every access to an array that the kernel changes where it is in its nest, and at which address.

Also how many iterations there will be at most.

    do { a[i + 1] = a[i]; i = i + 1; } while (i < 8)

is what it was before, but the load has the site `#i` and the store `#i + 1` (`macah.site`), which is where
`macah.dependence` finds that they meet one iteration apart. Nothing is said of loads in conditions of loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from macah import ir
from macah.circles import find_circles
from macah.evolution import Forms
from macah.ir import Array, Assign, Body, DoWhile, Expr, If, Load, Stmt, Variable
from macah.site import Affine, Loop, Site
from macah.trips import assigned_in, find_counters, limit, stepped_at_last
from macah.walk import (
    arrays_written,
    is_constant,
    loads_in,
    map_expr,
    map_operands,
    operands,
    parted,
    targets,
    updated,
)

MANY = 1 << 32
"""More executions of the bodies of loops are not counted; nor if it is not known how often a loop runs."""


def find_sites(kernel: ir.Kernel) -> ir.Kernel:
    """Put a site on each access to a stored array; see the module for an example."""
    stored = arrays_written(kernel.body)
    if not stored and not _has_loops(kernel.body):
        return kernel
    finder = Finder(stored)
    body, _ = finder.body(kernel.body)
    return replace(kernel, body=body, most=_most_iterations(kernel, finder.most))


def _has_loops(body: Body) -> bool:
    """True if there is more than one: the iterations of one are those that its counter counts."""
    return sum(isinstance(stmt, DoWhile) for stmt in parted(body)[1]) > 1


def _most_iterations(kernel: ir.Kernel, executions: int) -> int | None:
    """Of the flat loop, by far: `executions` are those of the bodies of loops, more than `MANY` if not known.

    Each iteration executes one of them, or is among the few that a loop takes to begin and to end, or to fill
    its rows. Those in which nothing is received, and the turns of rare branches, nobody counts.
    """
    if executions > MANY or kernel.bubbles or kernel.rare:
        return None
    return 4 * (executions + 1) * (kernel.row + kernel.delay + 1)


class Finder:
    """Walks in program order; `forms` are what the variables are as affine forms.

    `most`: so often are bodies of loops executed that were walked, or still less.
    """

    def __init__(self, stored: set[Array]) -> None:
        self.stored = stored
        self.forms = Forms(stored)
        self.count = 0
        self.branches = 0  # around here in the innermost loop
        self.arms: tuple[tuple[object, bool], ...] = ()  # the same, as `Site` has them
        self.most = 0

    def body(self, body: Body) -> tuple[Body, int]:
        """The body, and how many flat iterations the loops in it make at least."""
        made, least = list[Stmt](), 0
        for stmt in body:
            inner, fewest = self.statement(stmt)
            self.forms.go_on(stmt)
            made.append(inner)
            least = max(least, fewest)
        return tuple(made), least

    def statement(self, stmt: Stmt) -> tuple[Stmt, int]:
        match stmt:
            case Assign(variable, value):
                form = self.forms.of(value)
                stmt = self.located(stmt)
                self.forms.known[variable] = form
            case If():
                return self.branch(stmt)
            case DoWhile():
                return self.loop(stmt)
            case ir.Store(array, index):
                address = self.forms.address(array, index)
                stmt = self.located(stmt)
                stmt = updated(stmt, site=self.site(address))
            case _:
                stmt = self.located(stmt)
                self.forms.forget(targets(stmt))
        return stmt, 0

    def located(self, stmt: Stmt) -> Stmt:
        """The statement with sites on the loads that it evaluates itself."""
        if not any(map(loads_in, operands(stmt))):
            return stmt
        return map_operands(stmt, lambda expr: map_expr(expr, self.leaf))

    def leaf(self, expr: Expr) -> Expr:
        match expr:
            case Load(array, index) if array in self.stored:
                return Load(array, index, self.site(self.forms.address(array, index)))
            case _:
                return expr

    def site(self, address: Affine) -> Site:
        self.count += 1
        return Site(tuple(self.forms.loops), address, self.count, self.branches == 0, self.arms)

    def branch(self, stmt: If) -> tuple[Stmt, int]:
        located = self.located(stmt)
        changed = assigned_in((*stmt.then, *stmt.orelse))
        before = self.forms.some(changed)
        self.branches += 1
        outside, branch = self.arms, object()
        self.arms = (*outside, (branch, True))
        then, first = self.body(stmt.then)
        after = self.forms.some(changed)
        self.forms.known.update(before)
        self.arms = (*outside, (branch, False))
        orelse, second = self.body(stmt.orelse)
        self.arms = outside
        self.branches -= 1
        self.forms.join(after)
        assert isinstance(located, If)
        return replace(located, then=then, orelse=orelse), min(first, second)

    def loop(self, stmt: DoWhile) -> tuple[Stmt, int]:
        sure, changed = is_constant(stmt.guard, 1), assigned_in(stmt.body)
        before = self.forms.some(changed)
        outer, self.most = self.most, 0
        if is_constant(stmt.condition, 0):
            self.branches += not sure
            body, inside = self.body(stmt.body)
            self.most += outer + 1
            self.branches -= not sure
            if not sure:
                self.forms.join(before)
            return replace(stmt, body=body), inside if sure else 0
        loop, counters = Loop(), find_counters(stmt, changed)
        circles = find_circles(loop, stmt, [v for v in changed if v not in counters], self.forms)
        self.forms.loops.append(loop)
        self.forms.enter(loop, counters, changed, circles)
        self.limited(loop, stmt, counters)
        outside = self.branches, self.arms
        self.branches, self.arms = 0, ()
        body, inside = self.body(stmt.body)
        self.branches, self.arms = outside
        self.most = outer + min(loop.trips or MANY, MANY) * min(self.most + 1, MANY)
        loop.least = max(1, inside)
        self.forms.loops.pop()
        self.forms.leave(loop, stepped_at_last(stmt, counters), changed, before, sure)
        return replace(stmt, body=body), loop.fewest * loop.least if sure else 0

    def limited(self, loop: Loop, stmt: DoWhile, counters: Mapping[Variable, int]) -> None:
        """Note how often a loop runs that is entered here."""
        limit(loop, stmt, self.forms.at_end(loop, counters), self.forms)
