"""Puts several copies of a plain loop's body into one iteration, for the loops that `Kernel.unroll` names.

for (i = 0; i < n; i++) s += a[i];              with factor 2 becomes

    i_first = i = 0;
    L: while (i_first < n) {
        i_now = i_first; i_first = i_first + 2;
        i = i_now;     s += a[i]; i = i_now + 1;
        if (!(i < n)) leave L;
        s += a[i]; i = i_now + 2;
    }

The copies run one after the other, each behind the loop's own test, so nothing but the number of iterations
changes. A counter is stepped for all copies at once, before anything can leave the loop: so the tests do not
wait for one another. Where the number of trips is known, one test is left, after those copies that the last
iteration runs, and none if all iterations run all copies. Factor 0 unrolls completely, as `FOR` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arch.ops import word
from backend.dfg import Place
from macah import ir
from macah.affine import small
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Label, Read, Stmt, Variable
from macah.passes.trips import trip_count
from macah.passes.unroll_for import LIMIT, Unroller
from macah.walk import (
    Renaming,
    is_constant,
    map_expr,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)

Loop = ir.While | ir.DoWhile


def unroll_loops(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the loops of `Kernel.unroll` unrolled."""
    if not kernel.unroll:
        return kernel
    return replace(kernel, body=LoopUnroller(dict(kernel.unroll)).body(kernel.body), unroll=())


@dataclass(frozen=True, slots=True)
class Counter:
    """A variable that steps once in every iteration; `write` is where.

    `first` is what it is before all copies, `now` the same within an iteration. `trips` may be unknown, and
    `most`: a loop that runs unknown often makes no more iterations.
    """

    variable: Variable
    step: int
    write: Stmt
    trips: int | None
    most: int | None
    first: Variable
    now: Variable


class LoopUnroller(Unroller):
    """Puts copies into loops, with what is known to be constant before them."""

    what = "loop"
    hint = "give the number of copies, or bounds that are constants"

    def __init__(self, factors: dict[Place, int]) -> None:
        super().__init__()
        self.factors = factors
        self.copied: Loop | None = None  # a loop that has its copies already

    def loop(self, stmt: ir.While, out: list[Stmt]) -> None:
        if not self.unrolled(stmt, out):
            super().loop(stmt, out)

    def do_loop(self, stmt: ir.DoWhile, out: list[Stmt]) -> None:
        if not self.unrolled(stmt, out):
            super().do_loop(stmt, out)

    def unrolled(self, stmt: Loop, out: list[Stmt]) -> bool:
        """Emit a loop with its copies; False if it keeps its one body."""
        factor = 1 if stmt.where is None or stmt is self.copied else self.factors.get(stmt.where, 1)
        if factor == 1:
            return False
        if isinstance(stmt, ir.DoWhile) and not is_constant(stmt.guard, 1):
            inner = replace(stmt, guard=ir.TRUE)
            self.branch(ir.If(stmt.guard, (inner,), (), None, stmt.where), out)
            return True
        counter = self.counter(stmt, factor) if factor else None
        if factor == 0 or (counter is not None and counter.trips is not None and counter.trips <= factor):
            self.completely(stmt, out)
            return True
        self.bodies += factor
        if self.bodies > LIMIT:
            raise self.too_long(f"{LIMIT} copies of its body", stmt.where)
        label = Label("break unrolled")
        if counter is not None:
            self.statement(Assign(counter.first, Read(counter.variable), stmt.where), out)
        self.copied = _with_copies(stmt, label, factor, counter)
        self.block(ir.Block(label, (self.copied,), stmt.where), out)
        return True

    def completely(self, stmt: Loop, out: list[Stmt]) -> None:
        if isinstance(stmt, ir.While):
            self.unroll(ir.UnrolledFor((), stmt.before, stmt.condition, stmt.body, (), stmt.where), out)
            return
        out.extend(self.body(stmt.body))
        if self.known is not None:
            self.unroll(ir.UnrolledFor((), (), stmt.condition, stmt.body, (), stmt.where), out)

    def counter(self, stmt: Loop, factor: int) -> Counter | None:
        """The counter that a loop's condition depends on, if there is one."""
        changing = written((stmt,))
        known = {v: c for v, c in (self.known or {}).items() if isinstance(c, Const)}
        steady = {v: c for v, c in known.items() if v not in changing}
        condition = map_expr(replace_reads(stmt.condition, steady), fold)
        for variable in dict.fromkeys(variables_in(condition)):
            writes = [inner for inner in statements((stmt,)) if variable in targets(inner)]
            if len(writes) != 1 or not any(inner is writes[0] for inner in stmt.body):
                continue
            step = _step(writes[0], variable)
            if step is None:
                continue
            trips = most = None
            if variable in known:
                start = known[variable].value
                trips = trips_from(stmt, condition, variable, start, step, factor)
                if isinstance(stmt, ir.While) and step == 1 and _ends_below(stmt.condition, variable):
                    most = (1 << 31) - 1 - small(start)
            first, now = (
                Variable(f"{variable.name}_{n}", variable.bits, stmt.where) for n in ("first", "now")
            )
            return Counter(variable, step, writes[0], trips, most, first, now)
        return None


def trips_from(
    loop: Loop, condition: Expr, variable: Variable, start: int, step: int, factor: int = 1
) -> int | None:
    """How often a loop runs, if it does not go on either where the counter takes `factor` steps at once."""

    def count(step: int) -> int | None:
        if isinstance(loop, ir.While):
            return trip_count(condition, variable, start, step)
        later = trip_count(condition, variable, word(variable.bits, start + step), step)
        return None if later is None else later + 1

    trips = count(step)
    if trips is None or trips <= factor:
        return trips
    return trips if count(word(variable.bits, factor * step)) == -(-trips // factor) else None


def _ends_below(condition: Expr, counter: Variable) -> bool:
    """Whether a counter that steps by one ends its loop before it wraps around, as a signed number."""
    match condition:
        case Apply("slt", (Read(variable), _)):
            return variable is counter and counter.bits == 32
        case _:
            return False


def _step(write: Stmt, variable: Variable) -> int | None:
    """What a statement adds to a variable, if that is a constant."""
    match write:
        case Assign(_, Apply("add", (Read(v), Const(step)))) if v is variable:
            return step
        case Assign(_, Apply("sub", (Read(v), Const(step)))) if v is variable:
            return word(variable.bits, -step)
        case _:
            return None


def _with_copies(stmt: Loop, label: Label, factor: int, counter: Counter | None) -> Loop:
    """The loop with `factor` copies of its body, which leave the block of that label when it is over."""
    if counter is None:
        return replace(stmt, body=_copies(stmt, label, factor, None))
    variable, first, now, where = counter.variable, counter.first, counter.now, stmt.where
    by = Const(word(variable.bits, factor * counter.step), variable.bits)
    head = (
        Assign(now, Read(first), where),
        Assign(first, Apply("add", (Read(first), by), variable.bits), where),
        Assign(variable, Read(now), where),
    )
    body = (*head, *_copies(stmt, label, factor, counter))
    renaming = Renaming({variable: first})
    # The counter of all copies would wrap around, were the loop not left before that.
    most = None if counter.most is None else -(-counter.most // factor)
    loop: Loop = replace(stmt, body=body, condition=renaming.expr(stmt.condition), most=most)
    return replace(loop, before=renaming.body(loop.before)) if isinstance(loop, ir.While) else loop


def _copies(stmt: Loop, label: Label, factor: int, counter: Counter | None) -> Body:
    """The copies of a loop's body, with the tests between them."""
    before: Body = stmt.before if isinstance(stmt, ir.While) else ()
    copies = [
        tuple(_stepped(counter, number) if counter and s is counter.write else s for s in stmt.body)
        for number in range(1, factor + 1)
    ]
    leave = ir.If(stmt.condition, (), (ir.Leave(label, stmt.where),), None, stmt.where)
    if counter is None or counter.trips is None:
        return (*copies[0], *_joined(copies[1:], (*before, leave)))
    last = counter.trips % factor  # so many copies in the last iteration, if not all
    whole = (*copies[0], *_joined(copies[1 : last or factor], before))
    if not last:
        return whole
    rest = (*copies[last], *_joined(copies[last + 1 :], before))
    if before:
        return (*whole, *before, leave, *rest)
    # No need to leave: the loop's own test is about to say the same, and that is all that it does.
    return (*whole, ir.If(stmt.condition, rest, (), None, stmt.where))


def _joined(copies: list[Body], between: Body) -> Body:
    """The copies, each behind what is between two."""
    return tuple(stmt for copy in copies for stmt in (*between, *copy))


def _stepped(counter: Counter, copies: int) -> Assign:
    """The step of a counter, from what it was before all copies."""
    bits = counter.variable.bits
    by = Const(word(bits, copies * counter.step), bits)
    return Assign(counter.variable, Apply("add", (Read(counter.now), by), bits), counter.write.where)
