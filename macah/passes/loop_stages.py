"""Loops in sequence as stages of one loop that is yet to be made: what follows each, and what each needs.

Which variables are live is kept for each variable, as the stages where it is, not for each stage: with many
loops and many variables, only what changes from one loop to the next costs time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Body, DoWhile, Stmt, Variable
from macah.passes.liveness import lived_through
from macah.walk import is_constant, own_loops, statements, targets, variables_in


@dataclass(frozen=True, slots=True)
class Stage:
    """A loop and what follows it, up to the next one; `number`: how many come before it.

    `local` is what the loop assigns and nobody needs after it.
    """

    loop: DoWhile
    then: Body
    number: int
    assigned: tuple[Variable, ...]
    local: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Stages:
    """`resumes`: in which stages, as bits, a variable is live where another iteration starts."""

    before: Body
    all: tuple[Stage, ...]
    resumes: dict[Variable, int]

    def forgotten(self, others: list[Stage], some: list[Stage]) -> list[Variable]:
        """What other stages write and none of some that follow each other needs."""
        span = (2 << some[-1].number) - (1 << some[0].number)
        variables = dict.fromkeys(v for stage in others for v in stage.assigned)
        return [v for v in variables if not self.resumes.get(v, 0) & span]

    def renewed(self, body: Body, stage: Stage) -> list[Variable]:
        """What a body assigns behind a stage that no other iteration of the stage needs."""
        variables = dict.fromkeys(v for stmt in statements(body) for v in targets(stmt))
        return [v for v in variables if not self.resumes.get(v, 0) >> stage.number & 1]


def stages_of(body: Body, after: Iterable[Variable]) -> Stages:
    """A body with loops, of which `after` is live after it."""
    number = own_loops(body)
    resumes = _Resumes(after, number)
    then, stages = list[Stmt](), list[Stage]()
    for stmt in reversed(body):
        if isinstance(stmt, DoWhile):
            number -= 1
            assigned = dict.fromkeys(v for inner in statements(stmt.body) for v in targets(inner))
            local = tuple(v for v in assigned if v not in resumes.live)
            stages.append(Stage(stmt, tuple(reversed(then)), number, tuple(assigned), local))
            then = []
            resumes.loop(stmt)
        else:
            then.append(stmt)
            resumes.step(*lived_through(stmt))
    return Stages(tuple(reversed(then)), tuple(reversed(stages)), resumes.all())


class _Resumes:
    """Goes backwards through loops and what stands between them.

    `live` says of what is live here up to which loop it stays so, `number` is that of the loop behind.
    """

    def __init__(self, after: Iterable[Variable], number: int) -> None:
        self.number = number
        self.live = dict.fromkeys(after, number - 1)
        self.found: dict[Variable, int] = {}

    def loop(self, loop: DoWhile) -> None:
        self.number -= 1
        bit = 1 << self.number
        inside, lost = lived_through(replace(loop, guard=ir.TRUE))
        surely = is_constant(loop.guard, 1)
        self.step(inside.union(variables_in(loop.guard)), lost if surely else set())
        for variable in lost - inside if surely else ():
            self.found[variable] &= ~bit
        for variable in inside:
            self.found[variable] = self.found.get(variable, 0) | bit

    def step(self, needed: set[Variable], lost: set[Variable]) -> None:
        for variable in lost - needed:
            self.end(variable)
        for variable in needed:
            self.live.setdefault(variable, self.number - 1)

    def end(self, variable: Variable) -> None:
        """It is not live before this."""
        last = self.live.pop(variable, self.number - 1)
        span = (1 << last + 1) - (1 << self.number)
        self.found[variable] = self.found.get(variable, 0) | span

    def all(self) -> dict[Variable, int]:
        for variable in tuple(self.live):
            self.end(variable)
        return self.found
