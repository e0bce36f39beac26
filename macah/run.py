"""The meaning of the kernel IR: an interpreter. Unspecified values are 0 here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from arch.ops import COMPARISONS, OPS, signed, word
from macah import ir
from macah.ir import Apply, Array, Body, Const, Expr, Label, Load, Read, Stmt, Stream, Variable


class RunFailed(Exception):
    """The run could not be finished."""


class AssertionFailed(RunFailed):
    """An `assert` of the kernel failed."""


class LimitExceeded(RunFailed):
    """The run took too many steps."""


@dataclass(frozen=True, slots=True)
class KernelRun:
    """What a run left: the captured scalars and arrays by name, and the elements sent to each stream."""

    scalars: dict[str, int]
    arrays: dict[str, list[int]]
    outputs: dict[str, list[tuple[int, ...]]]
    closed: frozenset[str] = frozenset()


def run_kernel(
    kernel: ir.Kernel,
    scalars: Mapping[str, int] | None = None,
    arrays: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Sequence[tuple[int, ...]]] | None = None,
    limit: int = 10**6,
    late: Callable[[], bool] = lambda: False,
) -> KernelRun:
    """Run a kernel on captured values by name; arrays are flattened, row-major.

    `inputs` gives the elements of a stream (`name`, or `name[i]` in an array of streams); after them it has
    ended. Sends always work. `limit` is the largest number of statements executed. `late` says at each
    receive that need not wait whether it would have to.
    """
    state = _State(limit, {name: deque(elements) for name, elements in (inputs or {}).items()}, late)
    for capture in kernel.captured:
        match capture.what:
            case Variable(name=name, bits=bits) as variable:
                state.variables[variable] = word(bits, (scalars or {}).get(name, 0))
            case Array(name=name) as array:
                given = (arrays or {}).get(name, ())
                assert len(given) <= array.size, name
                for place, value in enumerate(given):
                    state.memory(array)[place] = word(array.bits, value)
    left = state.body(kernel.body)
    assert left is None, left
    captured = [capture.what for capture in kernel.captured]
    return KernelRun(
        {v.name: state.variables[v] for v in captured if isinstance(v, Variable)},
        {a.name: list(state.memory(a)) for a in captured if isinstance(a, Array)},
        state.outputs,
        frozenset(state.closed),
    )


@dataclass(slots=True)
class _State:
    limit: int
    inputs: dict[str, deque[tuple[int, ...]]]
    late: Callable[[], bool]
    variables: dict[Variable, int] = field(default_factory=dict)
    memories: dict[Array, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    # what a callee's arrays and streams stand for
    views: dict[Array, tuple[Array, tuple[int, ...]]] = field(default_factory=dict)
    stream_views: dict[Stream, tuple[Stream, tuple[int, ...]]] = field(default_factory=dict)

    # --- Expressions

    def value(self, expr: Expr, known: dict[int, int] | None = None) -> int:
        """What an expression is now; `known` are the parts of it that were computed, by their identity.

        Passes share parts, so that an expression's tree may be exponentially larger than what it takes up.
        """
        match expr:
            case Const(value):
                return value
            case Read(variable):
                return self.variables.get(variable, 0)
        known = {} if known is None else known
        if id(expr) not in known:
            known[id(expr)] = self.computed(expr, known)
        return known[id(expr)]

    def computed(self, expr: Load | Apply, known: dict[int, int]) -> int:
        match expr:
            case Load(array, index):
                base, place = self.place(array, self.values(index, known))
                return 0 if place is None else self.memory(base)[place]
            case Apply(op, args, bits):
                evaluate = OPS[op].evaluate
                assert evaluate is not None
                width = args[0].bits if op in COMPARISONS or op in ("trunc", "sext32") else bits
                return evaluate(width, *[self.value(arg, known) for arg in args])

    def values(self, exprs: tuple[Expr, ...], known: dict[int, int] | None = None) -> tuple[int, ...]:
        return tuple([signed(e.bits, self.value(e, known)) for e in exprs])

    def memory(self, array: Array) -> list[int]:
        if array not in self.memories:
            missing = array.size - len(array.initial)
            self.memories[array] = [*array.initial, *[0] * missing]
        return self.memories[array]

    def resolve(self, array: Array, index: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
        """The real array and index behind a callee's."""
        while array in self.views:
            array, base = self.views[array]
            if base:
                head = index[0] if index else 0
                index = (*base[:-1], base[-1] + head, *index[1:])
        return array, index

    def place(self, array: Array, index: tuple[int, ...]) -> tuple[Array, int | None]:
        array, index = self.resolve(array, index)
        place = 0
        for i, extent in zip(index, array.shape, strict=True):
            if not 0 <= i < extent:
                return array, None
            place = place * extent + i
        return array, place

    def stream(self, stream: Stream, index: tuple[Expr, ...]) -> str:
        places = self.values(index)
        while stream in self.stream_views:
            stream, base = self.stream_views[stream]
            places = (*base, *places)
        assert all(0 <= i < n for i, n in zip(places, stream.shape, strict=True)), (stream, places)
        return stream.name + "".join(f"[{i}]" for i in places)

    # --- Statements

    def body(self, body: Body) -> Label | None:
        """Run a body; the label to leave to, if it left."""
        for stmt in body:
            self.limit -= 1
            if self.limit < 0:
                raise LimitExceeded(f"the limit of steps was exceeded at {stmt.where}")
            left = self.statement(stmt)
            if left is not None:
                return left
        return None

    def statement(self, stmt: Stmt) -> Label | None:
        match stmt:
            case ir.Assign(variable, value):
                self.variables[variable] = self.value(value)
            case ir.If(condition, then, orelse):
                return self.body(then if self.value(condition) else orelse)
            case ir.Block(label, body):
                left = self.body(body)
                return None if left is label else left
            case ir.Leave(label):
                return label
            case ir.While(before, condition, body):
                return self.loop((), before, condition, body, ())
            case ir.UnrolledFor(init, before, condition, body, step):
                return self.loop(init, before, condition, body, step)
            case ir.DoWhile(body, condition, guard):
                again = self.value(guard)
                while again:
                    left = self.body(body)
                    if left is not None:
                        return left
                    self.step(stmt)
                    again = self.value(condition)
            case ir.Call():
                self.call(stmt)
            case ir.Forget(array):
                self.memories.pop(array, None)
            case ir.Receive(passed=Variable() as passed):
                wanted = self.value(stmt.guard) != 0
                waits = wanted and self.late()
                self.variables[passed] = int(not waits)
                if wanted and not waits:
                    self.effect(stmt)
            case _:
                if self.value(stmt.guard):
                    self.effect(stmt)
        return None

    def step(self, stmt: Stmt) -> None:
        self.limit -= 1
        if self.limit < 0:
            raise LimitExceeded(f"the limit of steps was exceeded at {stmt.where}")

    def loop(self, init: Body, before: Body, condition: Expr, body: Body, step: Body) -> Label | None:
        left = self.body(init)
        while left is None:
            left = self.body(before)
            if left is not None or not self.value(condition):
                break
            self.limit -= 1
            left = self.body(body) or self.body(step)
            if self.limit < 0:
                raise LimitExceeded("the limit of steps was exceeded in a loop")
        return left

    def call(self, call: ir.Call) -> None:
        function = call.function
        arrays: dict[Array, tuple[Array, tuple[int, ...]]] = {}
        streams: dict[Stream, tuple[Stream, tuple[int, ...]]] = {}
        variables: dict[Variable, int] = {}
        for parameter, argument in zip(function.parameters, call.arguments, strict=True):
            match parameter, argument:
                case Array(), ir.View(array, index):
                    arrays[parameter] = (array, self.values(index))
                case Stream(), ir.StreamView(stream, index):
                    streams[parameter] = (stream, self.values(index))
                case Variable(), Const() | Read() | Load() | Apply():
                    variables[parameter] = self.value(argument)
                case _:
                    raise AssertionError(call)
        self.views |= arrays
        self.stream_views |= streams
        self.variables |= variables
        left = self.body(function.body)
        assert left is None, left
        results = [self.variables.get(result, 0) for result in function.results]
        self.variables |= dict(zip(call.results, results, strict=True))

    def effect(self, stmt: Stmt) -> None:
        """An effect whose guard is true."""
        match stmt:
            case ir.Store(array, index, value):
                base, place = self.place(array, self.values(index))
                stored = self.value(value)
                if place is not None:
                    self.memory(base)[place] = stored
            case ir.Shift(array, index, amount):
                self.shift(array, self.values(index), signed(amount.bits, self.value(amount)))
            case ir.Receive(stream, index, variables, worked):
                elements = self.inputs.get(self.stream(stream, index), deque())
                if worked is not None:
                    self.variables[worked] = int(bool(elements))
                if elements:
                    self.variables |= dict(zip(variables, elements.popleft(), strict=True))
            case ir.Send(stream, index, values, worked):
                sent = tuple([self.value(value) for value in values])
                self.outputs.setdefault(self.stream(stream, index), []).append(sent)
                if worked is not None:
                    self.variables[worked] = 1
            case ir.Close(stream, index):
                self.closed.add(self.stream(stream, index))
            case ir.Ended(stream, index, target):
                self.variables[target] = int(not self.inputs.get(self.stream(stream, index)))
            case ir.Turns():
                pass
            case ir.Late(target, value):
                self.variables[target] = self.value(value)
            case ir.Assert(condition, message):
                if not self.value(condition):
                    raise AssertionFailed(f"{stmt.where}: {message}")
            case _:
                raise AssertionError(stmt)

    def shift(self, array: Array, index: tuple[int, ...], amount: int) -> None:
        dimension = shifted_dimension(array, len(index))
        while array in self.views:
            array, base = self.views[array]
            if base:
                assert index or base[-1] == 0, "a shift of a part of a dimension"
                index = (*base[:-1], base[-1] + index[0], *index[1:]) if index else base[:-1]
                dimension += len(base) - 1
        if any(not 0 <= i < n for i, n in zip(index, array.shape, strict=False)):
            return
        ranges = [range(n) for n in array.shape]
        ranges[: len(index)] = [range(i, i + 1) for i in index]
        memory = self.memory(array)
        old = list(memory)
        for place in product(*ranges):
            source = place[dimension] - amount
            if 0 <= source < array.shape[dimension]:
                before = (*place[:dimension], source, *place[dimension + 1 :])
                memory[_row_major(array, place)] = old[_row_major(array, before)]


def shifted_dimension(array: Array, indexed: int) -> int:
    """The dimension that a shift moves: the first shiftable one not yet indexed."""
    return next(d for d in range(indexed, len(array.shape)) if array.shiftable[d])


def _row_major(array: Array, index: tuple[int, ...]) -> int:
    place = 0
    for i, extent in zip(index, array.shape, strict=True):
        place = place * extent + i
    return place
