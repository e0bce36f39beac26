"""Executes the body of a flat loop once, on symbols: each value becomes an operation of a graph.

A variable that is read before it is written has its value from the iteration before: the graph needs no node
for that, a use reaches back by a distance.

Iterations are started before it is known that the loop goes on. So every effect is guarded by `alive`: the
one before was alive and went on. `alive` depends on the loop's condition alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backend.dfg import Const, LiveIn, Place, Use
from macah import ir
from macah.congruence import congruent
from macah.deciding import deciding
from macah.graph import ONE, ZERO, Before, Draft, Graph, Recurrences, Value
from macah.ir import Apply, Body, Expr, Load, Read, Stmt, Stream, Variable
from macah.names import host_names
from macah.optional import enabled
from macah.pack_words import groups_of, moved, packed, unpacked, words_apart
from macah.ranges import Range, extended
from macah.receive_packing import Packing, shared_name
from macah.symbolic_memory import Memories
from macah.walk import arrays_written, folded, written


class Symbolic:
    """One execution of the loop's body on symbols, after `leading`; `result` of todfg.py reads it off.

    `known`: which variables never change, or always have what another one has. `hold`: what is received and
    decides whether the loop goes on is what it was where nothing is, if a program leaves open what it is
    then (see `held.py`); `holds` says whether there is such a thing.
    """

    def __init__(
        self,
        kernel: ir.Kernel,
        leading: Body,
        loop: ir.DoWhile,
        alive: Variable,
        logical: frozenset[Variable],
        known: Mapping[Variable, Const | LiveIn | Before],
        packing: Packing,
        hold: bool = False,
    ) -> None:
        self.kernel = kernel
        self.loop = loop
        self.alive = alive
        self.graph = Graph(logical)
        self.known = known
        self.packing = packing
        self.changing = (written(loop.body) | {self.alive, *packing.last.values()}) - known.keys()
        self.names: dict[object, str] = {}
        for name, capture in host_names(kernel).items():
            thing = capture.what if isinstance(capture, ir.Capture) else capture.stream
            self.names[(thing, True) if thing in self.names else thing] = name
        self.taken = dict.fromkeys(self.names.values())
        self.captured = {c.what: c for c in kernel.captured}
        self.live_ins: dict[Variable, int] = {}  # with their numbers
        self.ports: dict[tuple[Stream, bool], int] = {}
        self.stored = arrays_written(loop.body)
        self.operations: dict[Stream | None, list[int]] = {}
        self.words: dict[int, Range] = {}  # of what is loaded or received
        changing = {*self.captured} | self.stored
        self.memory = Memories(self.graph, changing, self.words, enabled(kernel, "chosen_elements"))
        self.assertions: list[str] = []
        self.live_outs: list[Variable] = []
        self.values: dict[Variable, Value] = {}
        self.unset: set[Variable] = set()  # whose values the compiler may choose
        self.hold = deciding(loop) if hold else frozenset()
        self.holds = False
        self.befores: dict[Variable, Before] = {}  # one for each, as the same object is found faster
        self.where: Place | None = None
        self.initial: dict[Variable, Const | LiveIn] = {self.alive: ONE, **packing.initial}
        self._start(leading)

    def _start(self, leading: Body) -> None:
        """Find what every variable is before the loop."""
        mentioned = written(self.loop.body)
        for variable in sorted(mentioned & self.captured.keys(), key=lambda v: self.names[v]):
            if self.captured[variable].into:
                self.initial[variable] = self.live_in(variable)
        for stmt in leading:
            assert isinstance(stmt, ir.Assign)
            match stmt.value:
                case ir.Const(value):
                    self.initial[stmt.variable] = Const(value)
                case Read(variable):
                    self.initial[stmt.variable] = self.before_loop(variable)
        self.assigned = written(leading) | mentioned

    def live_in(self, variable: Variable) -> LiveIn:
        return LiveIn(self.live_ins.setdefault(variable, len(self.live_ins)))

    def before_loop(self, variable: Variable) -> Const | LiveIn:
        if variable not in self.initial and variable in self.captured and self.captured[variable].into:
            self.initial[variable] = self.live_in(variable)
        return self.initial.get(variable, ZERO)

    # --- Expressions

    def read(self, variable: Variable) -> Value:
        found = self.values.get(variable)
        return self.before(variable) if found is None else found

    def before(self, variable: Variable) -> Value:
        """What a variable is at the start of an iteration."""
        while variable in self.known:
            known = self.known[variable]
            if not isinstance(known, Before):
                return known
            variable = known.variable
        if variable not in self.changing:
            return self.before_loop(variable)
        before = self.befores.get(variable)
        if before is None:
            before = self.befores[variable] = Before(variable)
        return before

    def is_unset(self, variable: Variable) -> bool:
        """True if nothing has given a variable a value that it still has."""
        return variable in self.unset or not (variable in self.assigned or variable in self.captured)

    def value(self, expr: Expr) -> Value:
        return folded(expr, self._evaluate)

    def _evaluate(self, expr: Expr, args: list[Value]) -> Value:
        if isinstance(expr, Read):
            return self.read(expr.variable)
        if isinstance(expr, Apply):
            return self.graph.pure(expr.op, *args, where=self.where)
        return Const(expr.value) if isinstance(expr, ir.Const) else self.load(expr, args)

    def predicate(self, expr: Expr) -> Value:
        """A condition as 0 or 1."""
        return self.graph.pure("ne", self.value(expr), ZERO, where=self.where)

    def guard(self, expr: Expr) -> Value:
        return self.graph.pure("and", self.predicate(expr), self.read(self.alive), where=self.where)

    def kept(self, condition: Value, new: Value, variable: Variable) -> Value:
        """`new` where the condition holds, else what the variable was; `new` is 0 where it does not."""
        old = self.read(variable)
        return new if old == ZERO else self.graph.pure("select", condition, new, old, where=self.where)

    def load(self, load: Load, index: list[Value]) -> Value:
        return self.memory.load(load, index, self.where)

    def store(self, stmt: ir.Store) -> None:
        place = self.memory.place(stmt.array, [self.value(i) for i in stmt.index], self.where)
        guarded = (place.address, self.value(stmt.value), self.guard(stmt.guard))
        node = self.effect("store", *guarded, memory=place.memory, variable=stmt.array.name)
        self.memory.note_store(stmt, node, place)

    # --- Effects

    def effect(self, op: str, *values: Value, variable: str | None = None, **fields: int) -> int:
        draft = Draft(op, values, where=self.where, variable=variable, effect=True, **fields)
        return self.graph.add(draft)

    def on_stream(self, op: str, stream: Stream, *values: Value, variable: str | None = None) -> Use:
        sends = op in ("send", "try_send", "close")
        port = self.ports.setdefault((stream, sends), len(self.ports))
        node = self.effect(op, *values, stream=port, variable=variable or stream.name)
        # Both ends in one list, so that a kernel receives what it has sent itself.
        self.operations.setdefault(None if self.kernel.ordered else stream, []).append(node)
        return Use(node)

    def run(self) -> dict[Variable, Const | LiveIn | Before]:
        """Execute the body; returns which variables never change, or are always as another."""
        for stmt in self.loop.body:
            self.where = stmt.where
            self.statement(stmt)
        self.where = self.loop.where
        alive, goes_on = self.read(self.alive), self.goes_on()
        self.graph.name(goes_on, "alive")
        # 1 in the iteration that is alive and does not go on
        leaves = self.graph.pure("xor", alive, goes_on, where=self.where)
        self.effect("stop", leaves)
        for capture in self.kernel.captured:
            if isinstance(capture.what, Variable) and capture.out and capture.what in self.assigned:
                index = len(self.live_outs)
                value = self.read(capture.what)
                self.effect("result", value, leaves, index=index, variable=capture.what.name)
                self.live_outs.append(capture.what)
        self.values[self.alive] = goes_on
        # in the order in which they got values: that of a set would be another one in each run
        final = {variable: value for variable, value in self.values.items() if variable in self.changing}
        self.recurrences = Recurrences(self.graph, self.initial, final)
        invariants = self.recurrences.invariants()
        if invariants or not enabled(self.kernel, "congruence"):
            return {**invariants}
        return {v: Before(other) for v, other in congruent(self.graph, self.initial, final).items()}

    def goes_on(self) -> Value:
        """Whether there is an iteration after this one."""
        alive = self.read(self.alive)
        match self.loop.condition:
            case Apply("or", (waits, condition)) if self.kernel.bubbles or self.kernel.rare:
                # What is known last, that the iteration is a bubble, decides last: it is on a recurrence.
                more = self.graph.pure("and", self.predicate(condition), alive, where=self.where)
                return self.graph.pure("select", self.predicate(waits), alive, more, where=self.where)
            case condition:
                return self.graph.pure("and", self.predicate(condition), alive, where=self.where)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case ir.Assign(variable, value):
                self.values[variable] = result = self.value(value)
                self.unset.discard(variable)
                if isinstance(value, Read) and self.is_unset(value.variable):
                    self.unset.add(variable)
                self.graph.name(result, variable.name)
            case ir.Store():
                self.store(stmt)
            case ir.Receive():
                self.receive(stmt)
            case ir.Send(stream, _, values, worked, guard):
                self.send(stream, [self.value(v) for v in values], worked, guard)
            case ir.Close(stream, _, guard):
                self.on_stream("close", stream, self.guard(guard))
            case ir.Ended(stream, _, target, guard):
                # To ask does nothing, so that the question need not wait for its guard.
                ended = self.on_stream("ended", stream, ONE, variable=target.name)
                self.values[target] = self.kept(self.value(guard), ended, target)
            case ir.Assert(condition, message, guard):
                holds = self.graph.pure("eq", self.value(condition), ZERO, where=self.where)
                failed = self.graph.pure("and", holds, self.guard(guard), where=self.where)
                if failed != ZERO:
                    self.effect("fail", failed, index=len(self.assertions))
                    self.assertions.append(message)
            case _:
                raise AssertionError(f"not in the final form: {type(stmt).__name__}")

    def receive(self, stmt: ir.Receive) -> None:
        condition, guard = self.value(stmt.guard), self.guard(stmt.guard)
        first = "try_recv" if stmt.worked is not None else "await" if stmt.passed is not None else "recv"
        left = stmt.targets
        for position, group in enumerate(self.groups(stmt.stream)):
            together, left = left[: len(group)], left[len(group) :]
            op, word = "recv" if position else first, moved(group)
            old = self.last(group, together, blocking=op == "recv")
            got = self.on_stream(op, stmt.stream, old, guard, variable=shared_name(together))
            self.words[got.node] = extended(8 * word.size, word.signed)
            self.unset.difference_update(together)
            self.values |= zip(together, unpacked(self.graph, group, got, self.where), strict=True)
            if (variable := self.packing.last.get(together)) is not None:
                self.values[variable] = got
            if position == 0 and first != "recv":
                happened = replace(got, output=1)
                both = self.graph.pure("and", guard, happened, where=self.where)
                guard = happened if stmt.passed is None else both
        if stmt.passed is not None:
            self.values[stmt.passed] = happened
        if stmt.worked is not None:
            self.values[stmt.worked] = self.kept(condition, happened, stmt.worked)

    def last(self, group: Sequence[ir.Word], targets: tuple[Variable, ...], blocking: bool) -> Value:
        """What a word is that targets are received in together, where nothing is received."""
        if (variable := self.packing.last.get(targets)) is None:
            olds = [self.old(target, blocking) for target in targets]
            return packed(self.graph, (group,), olds, self.where)[0]
        if blocking and any(target in self.hold and self.is_unset(target) for target in targets):
            self.holds = True
            return self.before(variable)
        return ZERO if all(map(self.is_unset, targets)) else self.read(variable)

    def old(self, target: Variable, blocking: bool) -> Value:
        """What a variable is where it is not received."""
        if blocking and target in self.hold and self.is_unset(target):
            self.holds = True
            return self.before(target)
        return self.read(target)

    def groups(self, stream: Stream) -> tuple[tuple[ir.Word, ...], ...]:
        """The words of an element, those together that move in one."""
        return words_apart(stream.words) if stream in self.packing.apart else groups_of(stream.words)

    def send(self, stream: Stream, values: list[Value], worked: Variable | None, guarded: Expr) -> None:
        condition, guard = self.value(guarded), self.guard(guarded)
        for position, value in enumerate(packed(self.graph, self.groups(stream), values, self.where)):
            if worked is not None and position == 0:
                guard = self.on_stream("try_send", stream, value, guard, variable=worked.name)
            else:
                self.on_stream("send", stream, value, guard)
        if worked is not None:
            self.values[worked] = self.kept(condition, guard, worked)
