"""Makes one loop of several in sequence, without an iteration in vain.

    S0; do A while (a);  S1; do B while (b) if g;  S2;

becomes

    S0; past = 0;
    do {
        run = !past;       [run] A;   now = past | !a;
        left = now ^ past; [left] S1; run = now & (past | g);
                           [run] B;   past = now;
    } while (now ? run & b : 1);
    S2;

where `[p] X` is X under the predicate p: the last iteration of A is also the first one of B. Constants that
S1 assigns to variables of its own move up to S0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_in_loop, step_back
from macah.passes.merge import guarded
from macah.passes.predicate import Predicates, either, negate, select
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

    `after` is live after the loop, `resumes` where another of its iterations starts. `past` says whether the
    loop was over when the iteration began, `now` whether it is over by now.
    """

    loop: DoWhile
    guard: Expr
    then: Body
    after: Live
    resumes: Live
    past: Variable
    now: Variable


@dataclass(frozen=True, slots=True)
class _Here:
    """How an iteration comes to a stage: `at` if it does, and `entered` if the loop runs then."""

    at: Expr
    entered: Expr


def _fuse(body: Body, after: Live, predicates: Predicates) -> Body:
    setup, stages = _stages(body, after, predicates)
    start, entered = predicates.named(stages[0].guard, "entered", stages[0].loop.where)
    here = _Here(ir.TRUE, entered)
    more: Expr = ir.TRUE
    made: list[Stmt] = []
    for k, stage in enumerate(stages):
        resumes = [other.resumes for other in stages if other is not stage]
        last = stage is stages[-1]
        code, more = _iteration(stage, here, last, frozenset[Variable]().union(*resumes), predicates)
        made += code
        if not last:
            resumes.append(stage.resumes)
            made.append(_over(stage, here, more))
            code, here = _between(stage, stages[k + 1], frozenset[Variable]().union(*resumes), predicates)
            made += code
    again = predicates.variable("again", stages[-1].loop.where)
    made.append(Assign(again, select(here.at, more, ir.TRUE), again.where))
    made += [Assign(stage.past, Read(stage.now), stage.loop.where) for stage in stages[:-1]]
    start += tuple(Assign(stage.past, ir.FALSE, stage.loop.where) for stage in stages[:-1])
    loop = DoWhile(tuple(made), Read(again), ir.TRUE, stages[0].loop.where)
    return (*setup, *start, loop, *stages[-1].then)


def _stages(body: Body, after: Live, predicates: Predicates) -> tuple[Body, list[_Stage]]:
    """What stands before the first loop, and the loops."""
    live, then, stages = set(after), list[Stmt](), list[_Stage]()
    for stmt in reversed(body):
        if isinstance(stmt, DoWhile):
            past, now = (predicates.variable(name, stmt.where) for name in ("past", "now"))
            guard, resumes = predicates.truth(stmt.guard), live_in_loop(stmt, live)
            stage = _Stage(stmt, guard, tuple(reversed(then)), frozenset(live), resumes, past, now)
            stages.append(stage)
            then = []
        else:
            then.append(stmt)
        step_back(stmt, live)
    return tuple(reversed(then)), stages[::-1]


def _iteration(
    stage: _Stage, here: _Here, last: bool, others: Live, predicates: Predicates
) -> tuple[Body, Expr]:
    """One iteration of a stage's loop, if it is its turn; and whether there will be another one.

    What the other stages need must stay as it is, and what follows the loop needs if it may run zero times.
    """
    where = stage.loop.where
    run, more = (predicates.variable(name, where) for name in ("run", "more"))
    keep = others if is_constant(here.entered, 1) else others | stage.after
    # the last stage is never over: the fused loop is left with it
    turn = here.at if last else Apply("xor", (here.at, Read(stage.past)))
    body = (*stage.loop.body, Assign(more, predicates.truth(stage.loop.condition), where))
    code = (Assign(run, both(turn, here.entered), where), *guarded(body, Read(run), keep, predicates))
    return code, both(here.entered, Read(more))


def _over(stage: _Stage, here: _Here, more: Expr) -> Stmt:
    """Take note of whether a stage's loop is over."""
    return Assign(stage.now, either(Read(stage.past), both(here.at, negate(more))), stage.loop.where)


def _between(stage: _Stage, following: _Stage, keep: Live, predicates: Predicates) -> tuple[Body, _Here]:
    """What stands between two stages, if the first has just been left; and how the second is reached."""
    where = following.loop.where
    left, entered = (predicates.variable(name, where) for name in ("left", "entered"))
    leaves = Assign(left, Apply("xor", (Read(stage.now), Read(stage.past))), where)
    if is_constant(following.guard, 1):
        return (leaves, *guarded(stage.then, Read(left), keep, predicates)), _Here(Read(stage.now), ir.TRUE)
    body = (*stage.then, Assign(entered, following.guard, where))
    here = _Here(Read(stage.now), either(Read(stage.past), Read(entered)))
    return (leaves, *guarded(body, Read(left), keep, predicates)), here


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
