"""Makes one loop of several in sequence, without an iteration in vain.

    S0; do A while (a);  S1; do B while (b) if g;  S2;

becomes

    S0; in_a = 1; in_b = 0;
    do {
        [in_a] A;   more = in_a & a;   left = in_a & !more;   in_a = more;
        [left] S1;  at = in_b | left;  run = in_b | left & g;
        [run] B;    more = run & b;    left = at & !more;     in_b = more;
    } while (!left);
    S2;

where `[p] X` is X under the predicate p: the last iteration of A is also the first one of B. Constants that
S1 assigns to variables of its own move up to S0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_in_loop, step_back
from macah.passes.predicate import Predicates, either, guarded, negate
from macah.walk import Renaming, both, is_constant, read, written


def fuse_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Leave at most one loop directly in each body; see the module for an example."""
    return replace(kernel, body=_fuse_inside(kernel.body, live_at_end(kernel), Predicates(kernel)))


def _fuse_inside(body: Body, after: Live, predicates: Predicates) -> Body:
    """A body with at most one loop, in which there is at most one loop, and so on."""
    if sum(isinstance(stmt, DoWhile) for stmt in body) > 1:
        body = _fuse(_hoist_constants(_split_variables(body, after, predicates)), after, predicates)
    live, result = set(after), list[Stmt]()
    for stmt in reversed(body):
        if isinstance(stmt, DoWhile):
            inner = _fuse_inside(stmt.body, live_at_body_end(stmt, live), predicates)
            result.append(replace(stmt, body=inner))
        else:
            result.append(stmt)
        step_back(stmt, live)
    return tuple(reversed(result))


# --- Fusing the loops of one body


@dataclass(frozen=True, slots=True)
class _Stage:
    """A loop and what follows it, up to the next one.

    `after` is live after the loop, `resumes` where another of its iterations starts. `again` is a variable
    that says whether one does.
    """

    loop: DoWhile
    then: Body
    after: Live
    resumes: Live
    again: Variable


def _fuse(body: Body, after: Live, predicates: Predicates) -> Body:
    setup, stages = _stages(body, after, predicates)
    start, here, restart = _entry(stages, predicates)
    made: list[Stmt] = []
    for k, stage in enumerate(stages):
        others = frozenset[Variable]().union(*(s.resumes for s in stages if s is not stage))
        code, left = _stage(stage, here, others, predicates)
        made += code
        if k + 1 < len(stages):
            code, here = _between(stage, stages[k + 1], left, others | stage.resumes, predicates)
            made += code
    loop = DoWhile((*made, *restart), negate(left), ir.TRUE, stages[0].loop.where)
    return (*setup, *start, loop, *stages[-1].then)


def _stages(body: Body, after: Live, predicates: Predicates) -> tuple[Body, list[_Stage]]:
    """What stands before the first loop, and the loops."""
    live, then, stages = set(after), list[Stmt](), list[_Stage]()
    for stmt in reversed(body):
        if isinstance(stmt, DoWhile):
            again = predicates.variable("in", stmt.where)
            resumes = live_in_loop(stmt, live)
            stages.append(_Stage(stmt, tuple(reversed(then)), frozenset(live), resumes, again))
            then = []
        else:
            then.append(stmt)
        step_back(stmt, live)
    return tuple(reversed(then)), stages[::-1]


@dataclass(frozen=True, slots=True)
class _Here:
    """Whether an iteration comes to a stage, and whether it runs the stage's loop."""

    at: Expr
    run: Expr


def _entry(stages: list[_Stage], predicates: Predicates) -> tuple[Body, _Here, Body]:
    """The state before the fused loop, at its first stage, and what to reset in every iteration."""
    first = stages[0]
    entered = predicates.truth(first.loop.guard)
    start = [Assign(first.again, entered, first.loop.where)]
    start += [Assign(stage.again, ir.FALSE, stage.loop.where) for stage in stages[1:]]
    run = Read(first.again)
    if is_constant(entered, 1):
        return tuple(start), _Here(run, run), ()
    skips = predicates.variable("skips", first.loop.where)
    start.append(Assign(skips, negate(entered), first.loop.where))
    return tuple(start), _Here(either(run, Read(skips)), run), (Assign(skips, ir.FALSE),)


def _stage(stage: _Stage, here: _Here, others: Live, predicates: Predicates) -> tuple[Body, Expr]:
    """One iteration of a stage's loop, if it is its turn; and whether the stage is left."""
    where = stage.loop.where
    condition, more, left = (predicates.variable(name, where) for name in ("while", "more", "left"))
    keep = others if is_constant(stage.loop.guard, 1) else others | stage.after
    body = (*stage.loop.body, Assign(condition, predicates.truth(stage.loop.condition), where))
    code = (
        *guarded(body, here.run, keep),
        Assign(more, both(here.run, Read(condition)), where),
        Assign(left, both(here.at, negate(Read(more))), where),
        Assign(stage.again, Read(more), where),
    )
    return code, Read(left)


def _between(
    stage: _Stage, following: _Stage, left: Expr, keep: Live, predicates: Predicates
) -> tuple[Body, _Here]:
    """What stands between two stages, if the first one is left; and the state at the second one."""
    where = following.loop.where
    entered, at, run = (predicates.variable(name, where) for name in ("entered", "at", "run"))
    arrives = Assign(at, either(Read(following.again), left), where)
    guard = predicates.truth(following.loop.guard)
    if is_constant(guard, 1):
        return (*guarded(stage.then, left, keep), arrives), _Here(Read(at), Read(at))
    code = guarded((*stage.then, Assign(entered, guard, where)), left, keep)
    runs = Assign(run, either(Read(following.again), both(left, Read(entered))), where)
    return (*code, arrives, runs), _Here(Read(at), Read(run))


# --- Making the stages independent


def _split_variables(body: Body, after: Live, predicates: Predicates) -> Body:
    """A variable that is set to a constant between loops becomes a new one from there on.

    for (i = 0; …) A; for (i = 0; …) B;  ->  for (i = 0; …) A; for (i' = 0; …) B; i = i';
    """
    touched, seen_loop, place = set[Variable](), False, 0
    while place < len(body):
        match body[place]:
            case Assign(variable, Const()) if seen_loop and variable in touched:
                own = predicates.like(variable)
                rest = Renaming({variable: own}).body(body[place:])
                back = (Assign(variable, Read(own)),) if variable in after else ()
                body = (*body[:place], *rest, *back)
            case _:
                pass
        seen_loop = seen_loop or isinstance(body[place], DoWhile)
        touched |= _touched(body[place])
        place += 1
    return body


def _hoist_constants(body: Body) -> Body:
    """Constants for variables that no loop has touched yet move before the first loop."""
    first = next(place for place, stmt in enumerate(body) if isinstance(stmt, DoWhile))
    touched, hoisted, rest = set[Variable](), list[Stmt](), list[Stmt]()
    for stmt in body[first:]:
        match stmt:
            case Assign(variable, Const()) if variable not in touched:
                hoisted.append(stmt)
            case _:
                rest.append(stmt)
        touched |= _touched(stmt)
    return (*body[:first], *hoisted, *rest)


def _touched(stmt: Stmt) -> set[Variable]:
    return read((stmt,)) | written((stmt,))
