"""Makes one loop of several in sequence and of those in the two branches of an `if`.

    S0; do A while (a);  S1; do B while (b) if g;  S2;

becomes a loop that runs A or B in each of its iterations. It is known at the start of an iteration which one,
so they do not wait for each other:

    S0; past = 0;
    do {
        if (past) { if (run) { B; again = b; } else { again = 0; } }
        else { A; if (!a) { S1; past = 1; run = g; }  again = 1; }
    } while (again);
    S2;

No iteration is in vain, except one for a loop that does not run. Constants that S1 assigns to variables of
its own move up to S0. What A needs and B does not is given an unspecified value in B's turn, so that it needs
no select. A loop in a branch leaves it, as only one of the branches runs:

    if (c) { S0; do A while (a); S1; } else { T0; do B while (b); T1; }

    if (c) S0 else T0;   do { if (c) A else B; } while (c ? a : b);   if (c) S1 else T1;

Nests are made flat first: those that run a constant number of times count by themselves (`count_stages`),
others decide by themselves what is next (`flat_stages`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Assign, Body, Const, DoWhile, Expr, If, Read, Stmt, Variable
from macah.optional import enabled
from macah.passes.chain_stages import chain
from macah.passes.count_stages import Counted, CountStages
from macah.passes.counters import Starts
from macah.passes.flat_stages import FlatStages
from macah.passes.independent import independent
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, near, step_back
from macah.passes.loop_stages import Stage, Stages, stages_of
from macah.passes.predicate import Predicates, either, negate, select
from macah.passes.stack_nests import NestStacker
from macah.walk import both, has_loop, own_loops, statements, targets, variables_in, written


def fuse_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Leave at most one loop directly in each body, and none in branches; see the module for an example."""
    if _is_fused(kernel.body):
        return kernel
    predicates = Predicates(kernel)
    counts = CountStages(kernel, predicates) if enabled(kernel, "count_ahead") else None
    nests = FlatStages(kernel, predicates) if enabled(kernel, "flat_stages") else None
    chains = kernel.chained and enabled(kernel, "chain_stages")
    stacker = NestStacker(kernel, predicates) if kernel.stacked and enabled(kernel, "stack_nests") else None
    fuser = _Fuser(predicates, counts, nests, chains, stacker)
    body = fuser.body(kernel.body, live_at_end(kernel))
    return replace(kernel, body=(*(counts.state if counts else ()), *body))


def _is_fused(body: Body) -> bool:
    """True if there is at most one loop directly in a body and in each loop, and none in branches."""
    loops = [stmt for stmt in body if type(stmt) is not Assign and has_loop((stmt,))]
    match loops:
        case []:
            return True
        case [DoWhile(inner)]:
            return _is_fused(inner)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Parts:
    """A body with at most one loop in it."""

    before: Body
    loop: DoWhile | None = None
    after: Body = ()


class _Fuser:
    def __init__(
        self,
        predicates: Predicates,
        counts: CountStages | None,
        nests: FlatStages | None,
        chains: bool,
        stacker: NestStacker | None,
    ) -> None:
        self.predicates = predicates
        self.counts = counts
        self.nests = nests
        self.chains = chains
        self.stacker = stacker
        self.local = set[Variable]()  # nobody needs these behind the branch in which they are assigned

    def body(self, body: Body, after: Live) -> Body:
        """A body with at most one loop, in which there is at most one loop, and so on."""
        if not has_loop(body):
            return body
        live, pieces = set(after), list[Body]()
        for stmt in reversed(body):
            pieces.append(self.statement(stmt, near(stmt, live)) if has_loop((stmt,)) else (stmt,))
            step_back(stmt, live)
        body = tuple([stmt for piece in reversed(pieces) for stmt in piece])
        if own_loops(body) > 1:
            body = independent(body, after, self.predicates)
            return self.sequence(body, after)
        return body

    def statement(self, stmt: Stmt, after: Live) -> Body:
        match stmt:
            case DoWhile():
                return (replace(stmt, body=self.body(stmt.body, live_at_body_end(stmt, after))),)
            case If(condition, then, orelse):
                setup, chosen = self.predicates.named(condition, "if", stmt.where)
                then, orelse = self.body(then, after), self.body(orelse, after)
                then, orelse = self.forgetting(then, orelse, after), self.forgetting(orelse, then, after)
                return (*setup, *self.branches(chosen, then, orelse, stmt))
            case _:
                raise AssertionError(stmt)

    def counted(self, body: Body, after: Live) -> tuple[Body, dict[int, Counted]]:
        """A body in which nests that run equally often each time are flat already, and these by identity."""
        if self.counts is None:
            return body, {}
        live, made, found = set(after), list[Stmt](), dict[int, Counted]()
        for stmt, known in zip(reversed(body), reversed(_starts(body)), strict=True):
            if isinstance(stmt, DoWhile):
                counted = self.counts.flat(known, stmt, near(stmt, live) | near(stmt, self.counts.live))
                if counted is not None:
                    stmt = counted.loop
                    found[id(stmt)] = counted
            made.append(stmt)
            step_back(stmt, live)
        return tuple(reversed(made)), found

    def flat_nests(self, body: Body, after: Live) -> Body:
        """A body in which nests are flat loops already, but for those with rare branches."""
        if self.nests is None:
            return body
        live, pieces = set(after), list[Body]()
        for place, stmt in reversed(tuple(enumerate(body))):
            if isinstance(stmt, DoWhile) and has_loop(stmt.body) and self.nests.is_simple(stmt):
                pieces.append(self.nests.flat(stmt, body[:place], near(stmt, live)))
            else:
                pieces.append((stmt,))
            step_back(stmt, live)
        return tuple([stmt for piece in reversed(pieces) for stmt in piece])

    # --- Branches

    def branches(self, chosen: Expr, then: Body, orelse: Body, stmt: Stmt) -> Body:
        """`if (chosen) then else orelse` with the loops, at most one in each, outside of it."""
        if isinstance(chosen, Const):
            return then if chosen.value else orelse
        a, b = self.settled(_parts(then), _parts(orelse)), self.settled(_parts(orelse), _parts(then))
        before = _if(chosen, a.before, b.before, stmt)
        after = _if(chosen, a.after, b.after, stmt)
        return (*before, *self.either_loop(chosen, a, b), *after)

    def settled(self, parts: _Parts, other: _Parts) -> _Parts:
        """The same branch, with unspecified values for what is only of the other one."""
        if parts.loop is None and other.loop is not None and all(map(self.is_free, parts.before)):
            # Each where the other branch writes it, before its loop or behind it.
            early, late = written(other.before), written(other.after)
            parts = _Parts(_writing(parts.before, early), None, _writing(parts.before, late))
        assigned = dict.fromkeys(v for stmt in other.before for v in targets(stmt) if v in self.local)
        lost = [v for v in assigned if v not in written(parts.before)]
        return replace(parts, before=(*parts.before, *self.predicates.free(lost, None)))

    def is_free(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Assign) and self.predicates.is_unspecified(stmt.value)

    def either_loop(self, chosen: Expr, then: _Parts, orelse: _Parts) -> Body:
        """One loop for two of which only one runs."""
        a, b = then.loop, orelse.loop
        truth = self.predicates.truth
        if a is None or b is None:
            loop = a or b
            if loop is None:
                return ()
            runs = both(chosen if b is None else negate(chosen), truth(loop.guard))
            return (replace(loop, guard=runs),)
        if self.stacker and (made := self.stacker.one_counter(chosen, (a, b), (then.before, orelse.before))):
            first, second = made.counters
            self.local |= written(made.setup)
            body = self.branches(chosen, (first, *a.body), (second, *b.body), a)
            return (*made.setup, DoWhile((*body, made.step), made.goes_on, made.goes_on, a.where))
        body = self.branches(chosen, a.body, b.body, a)
        condition = select(chosen, truth(a.condition), truth(b.condition))
        return (DoWhile(body, condition, select(chosen, truth(a.guard), truth(b.guard)), a.where),)

    def forgetting(self, body: Body, other: Body, after: Live) -> Body:
        """A branch with unspecified values for what the other branch's loop starts with and this one not."""
        parts, others = _parts(body), _parts(other)
        if others.loop is None:
            return body
        rest = body[len(parts.before) :]
        needed = live_before(rest, after) | written(parts.before)
        dead = dict.fromkeys(v for s in statements(others.before) for v in targets(s) if v not in needed)
        return (*parts.before, *self.predicates.free(dead, others.loop.where), *rest)

    # --- Sequences

    def sequence(self, body: Body, after: Live) -> Body:
        """A body whose loops have become one."""
        if self.stacker and (stacked := self.stacker.alike(body, after)):
            sequence = stages_of(stacked, after)
            return self.linked(sequence, after, stacked=True) or self.alternating(sequence)
        if self.chains and (linked := self.linked(stages_of(body, after), after)):
            return linked
        body, found = self.counted(body, after)
        body = self.flat_nests(body, after)
        kept = near(DoWhile(body, ir.FALSE), self.counts.live) if self.counts else frozenset[Variable]()
        return self.alternating(stages_of(body, after | kept), found)

    def alternating(self, sequence: Stages, found: dict[int, Counted] | None = None) -> Body:
        """The same for stages; of those `found`, by identity, it is known ahead when they are over."""
        found = found or {}
        setup, stages = sequence.before, sequence.all
        counted = [found[id(stage.loop)] for stage in stages if id(stage.loop) in found]
        pasts = self.pasts(sequence)
        begun = tuple([Assign(past, ir.FALSE, past.where) for past in pasts])
        if self.counts and len(counted) == len(stages):
            self.counts.keep(begun)
            again, made = self.known_turns(sequence, counted, pasts)
        else:
            code, run = self.predicates.named(stages[0].loop.guard, "entered", stages[0].loop.where)
            again, made = self.turns(sequence, run, pasts)
            setup += (*code, *begun)
        made = (*(s for one in counted for s in one.first), *made, *(s for one in counted for s in one.last))
        return (*setup, DoWhile(made, again, ir.TRUE, stages[0].loop.where), *stages[-1].then)

    def turns(self, sequence: Stages, run: Expr, pasts: list[Variable]) -> tuple[Expr, Body]:
        """Whether there is another iteration, and an iteration of one loop; `run`: if the first runs."""
        stages = sequence.all
        again = self.predicates.variable("again", stages[0].loop.where)
        arms: list[_Arm] = []
        for place, stage in enumerate(stages):
            if place < len(pasts):
                code, run = self.turn(sequence, stage, run, pasts[place])
                code += (Assign(again, ir.TRUE, again.where),)
            else:
                code = self.iteration(stage, run, again)
            arms.append(_Arm(code, stage))
        return Read(again), self.choice(sequence, arms, pasts)

    def known_turns(
        self, sequence: Stages, counted: list[Counted], pasts: list[Variable]
    ) -> tuple[Expr, Body]:
        """The same if all loops know when they are over. After that, `pasts` are as they were at first."""
        stages = sequence.all
        arms: list[_Arm] = []
        turns: list[Stmt] = []
        overs = [Read(loop.over) for loop in counted]
        for stage, over in zip(stages, overs, strict=True):
            step = _if(over, stage.then, (), stage.loop) if stage is not stages[-1] else ()
            arms.append(_Arm((*stage.loop.body, *step), stage))
        for past, over in zip(pasts, overs, strict=False):
            changed = select(either(over, overs[-1]), over, Read(past))
            turns.append(Assign(past, changed, past.where))
        again = self.predicates.variable("again", stages[0].loop.where)
        made = self.choice(sequence, arms, pasts, tells=False)
        return Read(again), (*made, *turns, Assign(again, negate(overs[-1]), again.where))

    def linked(self, sequence: Stages, after: Live, stacked: bool = False) -> Body | None:
        """The same if one counter tells whose turn it is; None if it cannot."""
        pasts = self.pasts(sequence)
        linked = chain(sequence, pasts, self.predicates, stacked)
        if linked is None:
            return None
        body = list(sequence.before)
        for stage, turn in zip(sequence.all, linked.turns, strict=True):
            idle = self.predicates.free(stage.local, stage.loop.where)
            code = (*turn.counter, *self.branches(turn.runs, stage.loop.body, idle, stage.loop))
            body += (DoWhile(code, turn.more, where=stage.loop.where), *stage.then)
        sequence = stages_of(tuple(body), after)  # what they count with is not needed before them any more
        arms: list[_Arm] = []
        for stage, turn in zip(sequence.all, linked.turns, strict=True):
            step = _if(negate(turn.more), stage.then, (), stage.loop) if stage is not sequence.all[-1] else ()
            arms.append(_Arm((*stage.loop.body, *step), stage))
        made = self.choice(sequence, arms, pasts, tells=False)
        first, last = sequence.all[0], sequence.all[-1]
        loop = DoWhile((*linked.first, *made, *linked.last), linked.again, where=first.loop.where)
        return (*sequence.before, *linked.setup, loop, *last.then)

    def pasts(self, sequence: Stages) -> list[Variable]:
        """Of each loop but the last whether it is over."""
        return [self.predicates.variable("past", stage.loop.where) for stage in sequence.all[:-1]]

    def choice(self, sequence: Stages, arms: list[_Arm], pasts: list[Variable], tells: bool = True) -> Body:
        """The arm of the first stage that is not over: `pasts` say which ones are, but for the last.

        If it `tells`, they are said again in the arms, where they are known.
        """
        if len(arms) == 1:
            return arms[0].code
        middle = len(arms) // 2
        where = arms[middle].stage.loop.where
        sooner, later = arms[:middle], arms[middle:]
        ahead = pasts[middle if middle == 1 else middle - 1 :] if tells else []
        done = pasts[:middle] if tells else []
        first = (*_all(ahead, ir.FALSE), *self.forgotten(sequence, later, sooner))
        second = (*_all(done, ir.TRUE), *self.forgotten(sequence, sooner, later))
        first += self.choice(sequence, sooner, pasts[: middle - 1], tells)
        second += self.choice(sequence, later, pasts[middle:], tells)
        past = Read(pasts[middle - 1])
        code, chosen = self.predicates.named(past, "turn", where) if tells else ((), past)
        return (*code, *self.branches(chosen, second, first, arms[middle].stage.loop))

    def forgotten(self, sequence: Stages, others: list[_Arm], arms: list[_Arm]) -> Body:
        """Unspecified values for what the other arms write and nobody needs in these."""
        dead = sequence.forgotten([arm.stage for arm in others], [arm.stage for arm in arms])
        return self.predicates.free(dead, arms[0].stage.loop.where)

    def turn(self, sequence: Stages, stage: Stage, run: Expr, past: Variable) -> tuple[Body, Expr]:
        """One iteration of a loop that is not the last one, and the step to the next one if it is over.

        The second result says whether the next one runs then.
        """
        where = stage.loop.where
        following = sequence.all[stage.number + 1].loop
        more = self.predicates.variable("more", where)
        entry, entered = self.predicates.named(following.guard, "entered", following.where)
        then = (*stage.then, *entry)
        # Until the stage is over, nobody needs what the next one starts with.
        step = _if(
            negate(Read(more)), then, self.predicates.free(sequence.renewed(then, stage), where), stage.loop
        )
        return (
            *self.iteration(stage, run, more),
            *step,
            Assign(past, negate(Read(more)), where),
        ), entered

    def iteration(self, stage: Stage, run: Expr, more: Variable) -> Body:
        """One iteration of a loop if it runs; then `more` says whether there is another one."""
        loop = stage.loop
        body = (*loop.body, Assign(more, self.predicates.truth(loop.condition), loop.where))
        idle = (*self.predicates.free(stage.local, loop.where), Assign(more, ir.FALSE, loop.where))
        return self.branches(run, body, idle, loop)


@dataclass(frozen=True, slots=True)
class _Arm:
    """What happens in an iteration of a stage."""

    code: Body
    stage: Stage


def _all(pasts: list[Variable], value: Const) -> Body:
    return tuple([Assign(past, value, past.where) for past in pasts])


def _starts(body: Body) -> list[Starts]:
    """Before each loop, the constants in its condition, of variables that no loop before it writes."""
    known, changing, found = dict[Variable, Const](), set[Variable](), list[Starts]()
    for stmt in body:
        changed, counting = written((stmt,)), tuple[Variable, ...]()
        if isinstance(stmt, DoWhile):
            changing |= changed
            counting = variables_in(stmt.condition)
        found.append({v: known[v] for v in counting if v in known})
        for variable in changed:
            known.pop(variable, None)
        match stmt:
            case Assign(variable, Const() as value) if variable not in changing:
                known[variable] = value
            case _:
                pass
    return found


def _writing(body: Body, variables: set[Variable]) -> Body:
    return tuple(stmt for stmt in body if not variables.isdisjoint(targets(stmt)))


def _parts(body: Body) -> _Parts:
    for place, stmt in enumerate(body):
        if isinstance(stmt, DoWhile):
            return _Parts(body[:place], stmt, body[place + 1 :])
    return _Parts(body)


def _if(condition: Expr, then: Body, orelse: Body, stmt: Stmt) -> Body:
    return (If(condition, then, orelse, None, stmt.where),) if then or orelse else ()
