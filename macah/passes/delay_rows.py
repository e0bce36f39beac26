"""Flattens two loops with iterations between the rows, in which what the next row starts with is computed.

    do { S; do B while (b) if g; E; } while (d);

A row here is what an iteration of the outer loop does. Flattened as it is, the end of a row, E, S and the
start of the next row follow each other in one iteration, and the next iteration waits for all of it, though
few rows may end. With a delay of n it becomes

    start = 1; started_1 = ... = started_n = again = 0;  w = those v that E changes;
    do {
      u = w, and other v;  [start] S with u;  e = g with u;
      [started_n] v = the u of n iterations ago;  active = again | started_n;
      run = again | (started_n & e of n iterations ago);
      [run] B;  again = run & b;  left = active & !again;
      w = v;  [left] E with w;  more = d with w;
      started_n = started_(n-1); ... started_1 = start;  start = left;
    } while (!left | more);
    v = w;

Nothing else changes between the end of a row and the start of the next one, so what E and S do slowly has
n + 1 iterations: a load whose result decides whether the row is run at all, a division, what is received. A
row costs n iterations more. More loops around the inner one are made one before. `Kernel.delay` is n.

A loop that stands alone behind what is received, as `size <? in;`, is a nest of one row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from macah import ir
from macah.ir import Assign, Body, DoWhile, Read, Stmt, Variable
from macah.passes.ahead import Parts, parts_of
from macah.passes.flatten_loops import Flattener
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, live_in_loop
from macah.passes.merge import guarded
from macah.passes.nest import unwrapped, with_loop
from macah.passes.past import Past, past
from macah.passes.predicate import Predicates, either, negate, select
from macah.passes.sites import with_sites
from macah.site import Rows
from macah.walk import Renaming, both, read, replace_reads, statements, targets


def delay_rows(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with its nest flattened, if it says so; see the module for an example."""
    if not kernel.delay:
        return kernel
    predicates = Predicates(kernel)

    def change(loop: DoWhile, after: Live, _: Body) -> Body | None:
        return delayed(kernel, predicates, loop, after)

    after = live_at_end(kernel)
    body = with_loop(kernel.body, after, change)
    if body is kernel.body and waits_first(body):
        constants, nest = _as_nest(body, after, kernel.delay)
        made = delayed(kernel, predicates, nest, after)
        body = body if made is None else (*constants, *made)
    return replace(kernel, body=body)


def waits_first(body: Body) -> bool:
    """Whether a loop that is no nest stands behind statements that receive."""
    parts = parts_of(unwrapped(body))
    if parts is None or parts_of(unwrapped(parts.inner.body)) or parts_of(parts.after):
        return False
    return any(isinstance(stmt, ir.Receive) for stmt in statements(parts.before))


def _as_nest(body: Body, after: Live, delay: int) -> tuple[Body, DoWhile]:
    """Constants, and a loop around what receives and a loop that waits for it: as a nest of one row.

    Iterations before the row leave alone what is needed behind it: so constants of that need no choice. Nor
    do counters of the loop, which count in those iterations, too, and start that much sooner.
    """
    parts = parts_of(unwrapped(body))
    assert parts is not None
    kept = live_before(parts.after, after)
    steps = {v: step for v, step in _counted(parts.inner.body).items() if v not in kept}
    times = Counter(v for stmt in statements(parts.before) for v in targets(stmt))
    asked = Counter(v for stmt in parts.before for v in read((stmt,)))
    constants, others = list[Stmt](), list[Stmt]()
    seen, begins = set[Variable](), dict[Variable, ir.Expr]()
    for stmt in parts.before:
        match stmt:
            case Assign(v, ir.Const()) if times[v] == 1 and v in kept and v not in seen:
                constants.append(stmt)
            case Assign(v, ir.Const(value, bits)) if times[v] == 1 and v in steps and not asked[v]:
                begins[v] = stmt.value
                sooner = (value - delay * steps[v]) % (1 << bits)
                constants.append(replace(stmt, value=ir.Const(sooner, bits)))
            case _:
                others.append(stmt)
                seen |= read((stmt,))
    inner = replace(parts.inner, guard=replace_reads(parts.inner.guard, begins))
    return tuple(constants), DoWhile((*others, inner, *parts.after), ir.FALSE, where=parts.inner.where)


def _counted(body: Body) -> dict[Variable, int]:
    """The steps of variables that each iteration adds a constant to, and does nothing else with."""
    times = Counter(v for stmt in statements(body) for v in targets(stmt))
    found: dict[Variable, int] = {}
    for stmt in body:
        match stmt:
            case Assign(v, ir.Apply("add", (Read(old), ir.Const(step)))) if old is v and times[v] == 1:
                found[v] = step
    return found


def delayed(kernel: ir.Kernel, predicates: Predicates, loop: DoWhile, after: Live) -> Body | None:
    """What a loop of the kernel becomes: some statements and a loop; None if there is none in it."""
    return _Delayer(kernel, predicates).loop(loop, after)


class _Delayer:
    def __init__(self, kernel: ir.Kernel, predicates: Predicates) -> None:
        self.kernel = kernel
        self.predicates = predicates

    def loop(self, loop: DoWhile, after: Live) -> Body | None:
        """What a loop becomes: some statements and a loop; None if there is none in it."""
        loop = replace(loop, body=unwrapped(loop.body))
        innermost, depth = loop, 0
        while parts := parts_of(unwrapped(innermost.body)):
            innermost, depth = parts.inner, depth + 1
        state: Body = ()
        if depth > 1:  # what the loops around it do together is a row
            flat = Flattener(self.kernel, self.predicates, innermost).flatten(loop, after, frozenset(), {})
            state, loop = flat.state, flat.loop
        parts = parts_of(loop.body)
        return (*state, *self.delayed(loop, self.located(parts), after)) if parts else None

    def located(self, parts: Parts) -> Parts:
        """The same, with accesses that say where in a row they are."""
        rows = Rows(self.kernel.delay)

        def body(stmts: Body, inside: bool) -> Body:
            return with_sites(stmts, lambda _, site: site and replace(site, rows=rows, inside=inside))

        return replace(
            parts,
            before=body(parts.before, False),
            inner=replace(parts.inner, body=body(parts.inner.body, True)),
            after=body(parts.after, False),
        )

    def delayed(self, loop: DoWhile, parts: Parts, after: Live) -> Body:
        """The one loop of two, and what stands before it."""
        where, inner = loop.where, replace(parts.inner, guard=ir.TRUE)
        names = ("start", "active", "run", "again", "left", "more", "more")
        start, active, run, again, left, inner_more, more = (
            self.predicates.variable(n, where) for n in names
        )
        started = self.turns_ago(start)
        starts = started.values[-1]
        ends = live_at_body_end(loop, after)
        last = (*parts.after, Assign(more, self.predicates.truth(loop.condition), where))
        finish = live_before(last, ends)
        resumes = live_in_loop(inner, finish)
        ended = self.copies(parts.after)
        early = self.early(parts, start, starts, resumes | finish, ended)
        body = (*inner.body, Assign(inner_more, self.predicates.truth(inner.condition), inner.where))
        code: Body = (
            *early.code,
            Assign(active, either(Read(again), Read(starts)), where),
            Assign(run, either(Read(again), both(Read(starts), Read(early.entered))), where),
            *self.guarded(body, run, finish | ends),
            Assign(again, both(Read(run), Read(inner_more)), where),
            Assign(left, both(Read(active), negate(Read(again))), where),
            *(Assign(new, Read(v), where) for v, new in ended.items() if v in finish),
            *self.guarded(Renaming(ended).body(last), left, resumes | ends),
            *early.steps,
            *started.steps,
            Assign(start, Read(left), where),
        )
        state = (
            *(Assign(new, Read(v), where) for v, new in ended.items()),  # the loop may not run
            Assign(start, ir.TRUE, where),
            Assign(again, ir.FALSE, where),
            *started.start,
            *early.state,
        )
        flat = replace(loop, body=code, condition=either(negate(Read(left)), Read(more)))
        return (*state, flat, *(Assign(v, Read(new), where) for v, new in ended.items() if v in after))

    def early(
        self, parts: Parts, start: Variable, starts: Variable, needed: Live, ended: dict[Variable, Variable]
    ) -> _Early:
        """What stands before the inner loop, if `start`, and is taken over when that `starts`.

        `ended` says which variables have what the end of the row before has left in others.
        """
        entered, where = self.predicates.variable("entered", parts.inner.where), parts.inner.where
        before = (
            *(Assign(v, Read(v), where) for v in ended if v in needed),
            *parts.before,
            Assign(entered, self.predicates.truth(parts.inner.guard), where),
        )
        own = self.copies(before)
        # A receive that does not take place leaves its variables as they are.
        found, kept = _Early(), live_before(before, needed)
        found.code += [Assign(copy, Read(ended.get(v, v))) for v, copy in own.items() if v in kept]
        found.code += self.guarded(Renaming({**ended, **own}).body(before), start, frozenset())
        for variable, copy in own.items():
            if variable in needed or variable is entered:
                before_it = self.turns_ago(copy)
                found.state += before_it.start
                found.steps += before_it.steps
                if variable is entered:
                    found.entered = before_it.values[-1]
                else:
                    taken = select(Read(starts), Read(before_it.values[-1]), Read(variable))
                    found.code.append(Assign(variable, taken, where))
        return found

    def copies(self, body: Body) -> dict[Variable, Variable]:
        """A variable like each one that a body writes."""
        return {v: self.predicates.like(v) for v in dict.fromkeys(v for stmt in body for v in targets(stmt))}

    def turns_ago(self, variable: Variable) -> Past:
        """The values of one, two, … iterations ago, up to the delay."""
        return past(variable, self.kernel.delay, self.predicates.like)

    def guarded(self, body: Body, predicate: Variable, keep: Live) -> Body:
        return guarded(body, Read(predicate), keep, self.predicates)


@dataclass(slots=True)
class _Early:
    """The code before an inner loop, the state that it needs, and the `steps` at the end of an iteration.

    `entered` says of the row that starts whether the inner loop runs.
    """

    code: list[Stmt] = field(default_factory=list)
    state: list[Stmt] = field(default_factory=list)
    steps: list[Stmt] = field(default_factory=list)
    entered: Variable = field(init=False)
