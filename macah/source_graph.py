"""The dependences of a kernel as its source has them, before loops are fused and flattened.

    for (i = 0; i < n; i++) { x <? in; while (x > 1) x = x / 2; }          inner loop:  x -> div -> x
                                                                           its test:    div -> > -> x <? in

Every loop is executed once on symbols (`macah.graph` folds). A variable that a loop changes is a join at the
start of its iterations, of what it was before the loop and what it is at the end of an iteration. Distances
count iterations of innermost loops: an iteration of an outer loop has as many as the loops in it run at
least. What a test of a loop decides, an arc says: which of both a join takes, and whether a receive takes
place, unless the test can be told ahead. A load depends on stores that it may meet.

`macah/source_cost.py` says how few cycles an arc takes, `macah/source_bound.py` what follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.dfg import Const, Place, Use
from macah import ir
from macah.circles import find_circles
from macah.evolution import Forms
from macah.fold import predicates
from macah.graph import ONE, ZERO, Before, Draft, Graph, Value
from macah.ir import Apply, Array, Body, Expr, Load, Read, Stmt, Stream, Variable
from macah.pack_words import groups_of
from macah.site import Loop, Site
from macah.source_facts import Facts
from macah.source_terms import Terms
from macah.trips import assigned_in, find_counters, limit, stepped_at_last
from macah.walk import arrays_written, folded, loads_in, targets


@dataclass(slots=True, eq=False)
class Join:
    """A value that comes from one of several places: `(value, distance)`, without an operation.

    `entry`: so many iterations lie between what is not of the loop itself (distance 0) and its first one.
    """

    name: str
    where: Place | None
    sources: list[tuple[Value, int]] = field(default_factory=list)
    loop: SourceLoop | None = None  # whose test chooses
    entry: int = 0


@dataclass(slots=True, eq=False)
class SourceLoop:
    """A loop of the source. One of its iterations is at least `length` iterations of innermost loops."""

    where: Place | None
    parent: SourceLoop | None
    order: int
    fewest: int = 1
    length: int = 1
    condition: Value = ZERO
    inner: list[SourceLoop] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def chain(self) -> list[SourceLoop]:
        """This loop and those around it."""
        return [self, *(self.parent.chain() if self.parent else [])]


@dataclass(frozen=True, slots=True)
class Effect:
    """An access to a stream or an array, under conditions that must all hold."""

    node: int
    order: int
    what: Stream | Array
    sends: bool
    guards: tuple[Value, ...]
    loop: SourceLoop | None
    site: Site | None = None
    value: Value = ZERO  # that a store stores


class SourceGraph:
    """The dependences of a kernel after `find_sites`."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.logical = predicates(kernel)
        self.graph = Graph(self.logical)
        self.terms = Terms(self.graph)
        self.facts = Facts(self.graph)
        self.joins: dict[Variable, Join] = {}
        self.loops: list[SourceLoop] = []
        self.effects: list[Effect] = []
        self.stored = arrays_written(kernel.body)
        self.values: dict[Variable, Value] = {}
        self.guards: list[Value] = []
        self.loop: SourceLoop | None = None
        self.where: Place | None = None
        self.forms = Forms(self.stored)
        self.versions: dict[Array, int] = {}
        self.memories: dict[Array, int] = {}
        self.body(kernel.body)

    # --- Values

    def read(self, variable: Variable) -> Value:
        return self.values.get(variable, Before(variable))

    def value(self, expr: Expr) -> Value:
        return folded(expr, self._evaluate)

    def _evaluate(self, expr: Expr, args: list[Value]) -> Value:
        match expr:
            case ir.Const(value):
                return Const(value)
            case Read(variable):
                return self.read(variable)
            case Apply("select"):
                return self.select(args[0], args[1], args[2])
            case Apply(op):
                return self.terms.made(op, args, self.where)
            case Load(array, _, site):
                return self.load(array, args, site)

    def load(self, array: Array, index: list[Value], site: Site | None) -> Value:
        address = self.address(array, index)
        draft = Draft("load", (address,), memory=self.memory(array), where=self.where, variable=array.name)
        count = len(self.graph.drafts)
        use = self.graph.shared(draft, self.versions.get(array, 0))
        if use.node >= count:
            self.effect(use.node, array, False, site)
        return use

    def address(self, array: Array, index: list[Value]) -> Value:
        total: Value = ZERO
        stride = 1
        for value, extent in zip(reversed(index), reversed(array.shape), strict=True):
            part = self.graph.pure("mul", value, Const(stride), where=self.where)
            total = self.graph.pure("add", total, part, where=self.where)
            stride *= extent
        return total

    def memory(self, array: Array) -> int:
        return self.memories.setdefault(array, len(self.memories))

    def predicate(self, expr: Expr) -> Value:
        return self.facts.decided(self.graph.pure("ne", self.value(expr), ZERO, where=self.where))

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.graph.pure("select", *self.facts.chosen(condition, a, b), where=self.where)

    def join(self, variable: Variable, *sources: tuple[Value, int]) -> Before:
        """A new value that is one of others."""
        made = Variable(variable.name, variable.bits, variable.where)
        if variable in self.logical:
            self.graph.predicates.add(made)
        self.joins[made] = Join(variable.name, self.where, list(sources))
        return Before(made)

    # --- Statements

    def body(self, body: Body) -> None:
        for stmt in body:
            self.where = stmt.where
            self.statement(stmt)
            self.forms.go_on(stmt)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case ir.Assign(variable, value):
                self.values[variable] = result = self.value(value)
                self.graph.name(result, variable.name)
                self.forms.known[variable] = self.forms.of(value)
                return
            case ir.If():
                self.branch(stmt)
                return
            case ir.DoWhile():
                self.repeat(stmt)
                return
            case ir.Store(array, index, value):
                address = self.address(array, [self.value(i) for i in index])
                stored = self.value(value)
                draft = Draft("store", (address, stored), memory=self.memory(array), where=self.where)
                draft.variable = array.name
                self.effect(self.graph.add(draft), array, True, stmt.site, stored)
                self.versions[array] = self.versions.get(array, 0) + 1
            case ir.Receive(stream, _, variables, worked):
                self.receive(stream, variables, worked)
            case ir.Send(stream, _, values, worked):
                left = [self.value(value) for value in values]
                for group in groups_of(stream.words):
                    together, left = left[: len(group)], left[len(group) :]
                    use = self.on_stream("send", stream, stream.name, *together)
                if worked is not None:
                    self.values[worked] = Use(use)
            case ir.Ended(stream, _, target):
                self.values[target] = Use(self.on_stream("ended", stream, target.name))
            case _:
                pass
        self.forms.forget(targets(stmt))

    def receive(self, stream: Stream, variables: tuple[Variable, ...], worked: Variable | None) -> None:
        left = list(variables)
        for group in groups_of(stream.words):
            together, left = left[: len(group)], left[len(group) :]
            self.values |= dict.fromkeys(together, Use(self.on_stream("recv", stream, together[0].name)))
        if worked is not None and variables:
            self.values[worked] = self.values[variables[0]]

    def on_stream(self, op: str, stream: Stream, name: str, *values: Value) -> int:
        node = self.graph.add(Draft(op, values, where=self.where, variable=name))
        self.effect(node, stream, op == "send")
        return node

    def effect(
        self, node: int, what: Stream | Array, sends: bool, site: Site | None = None, value: Value = ZERO
    ) -> None:
        made = Effect(node, len(self.effects), what, sends, tuple(self.guards), self.loop, site, value)
        self.effects.append(made)
        if self.loop is not None:
            self.loop.effects.append(made)

    def branch(self, stmt: ir.If) -> None:
        condition = self.predicate(stmt.condition)
        changed = assigned_in((*stmt.then, *stmt.orelse))
        before = {v: self.read(v) for v in changed}
        known = self.forms.some(changed)
        self.under(condition, stmt.then)
        then = {v: self.read(v) for v in changed}
        after = self.forms.some(changed)
        self.values.update(before)
        self.forms.known.update(known)
        self.under(self.graph.pure("xor", condition, ONE, where=stmt.where), stmt.orelse)
        self.forms.join(after)
        self.where = stmt.where
        for v in changed:
            chosen = self.select(condition, then[v], self.read(v))
            self.graph.name(chosen, v.name)
            self.values[v] = chosen

    def under(self, condition: Value, body: Body) -> None:
        """Execute a body where a condition holds."""
        if condition != ZERO:
            self.guards.append(condition)
            with self.facts.under(condition):
                self.body(body)
            self.guards.pop()

    # --- Loops

    def repeat(self, stmt: ir.DoWhile) -> None:
        guard = self.predicate(stmt.guard)
        if guard == ZERO:
            return
        changed = assigned_in(stmt.body)
        before = {v: self.read(v) for v in changed}
        known = self.forms.some(changed)
        if stmt.condition == ir.FALSE:
            self.under(guard, stmt.body)
            if guard != ONE:
                self.forms.join(known)
        else:
            self.iterate(stmt, guard, changed, before)
            self.where = stmt.where
        if guard != ONE:
            for v in changed:
                self.values[v] = self.join(v, (self.read(v), 0), (before[v], 0))

    def length(self, loop: SourceLoop) -> int:
        """How many iterations there are at least in one of a loop, with those that stay empty."""
        if not loop.inner:
            return 1
        rows = sum(
            (inner.fewest if inner.inner else max(inner.fewest, self.kernel.row)) * inner.length
            for inner in loop.inner
        )
        return max(1, rows) + self.kernel.delay

    def iterate(
        self, stmt: ir.DoWhile, guard: Value, changed: list[Variable], before: dict[Variable, Value]
    ) -> None:
        outer, loop, trips = self.loop, SourceLoop(stmt.where, self.loop, len(self.effects)), Loop()
        self.loops.append(loop)
        if outer is not None:
            outer.inner.append(loop)
        known, counters = self.forms.some(changed), find_counters(stmt, changed)
        circles = find_circles(trips, stmt, [v for v in changed if v not in counters], self.forms)
        self.forms.loops.append(trips)
        self.forms.enter(trips, counters, changed, circles)
        limit(trips, stmt, self.forms.at_end(trips, counters), self.forms)
        starts = {v: self.join(v, (before[v], 0)) for v in changed}
        self.values.update(starts)
        self.loop = loop
        with self.facts.under(self.tested(stmt)):
            self.under(guard, stmt.body)
        self.where = stmt.where
        loop.condition = self.predicate(stmt.condition)
        self.loop = outer
        loop.fewest = trips.fewest
        loop.length = self.length(loop)
        entry = self.kernel.delay if outer is not None else 0
        with self.facts.under(loop.condition):  # else there is no next iteration
            for v in changed:
                join = self.joins[starts[v].variable]
                join.sources.append((self.facts.carried(self.read(v)), loop.length))
                join.loop, join.entry = loop, entry
                loop.joins.append(join)
        self.forms.loops.pop()
        self.forms.leave(trips, stepped_at_last(stmt, counters), changed, known, guard == ONE)

    def tested(self, stmt: ir.DoWhile) -> Value:
        """What certainly holds where an iteration starts: the test of a loop that is entered by it, too."""
        known = stmt.guard == stmt.condition and not any(loads_in(stmt.condition))
        return self.predicate(stmt.condition) if known else ONE
