"""Splits 64-bit values into lower and upper halves of 32 bits.

    x = (x + 1)                     x.lo' = (x.lo + 1)
                          ->        x.hi = (x.hi + (x.lo' <u x.lo))
                                    x.lo = x.lo'

Captured variables and arrays become two, with `half` 0 and 1; so do words of stream elements.
A division by a constant becomes products, another one a loop that finds one bit of the quotient each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arch.ops import COMPARISONS, evaluate
from backend.dfg import Place, Word
from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Load, Read, Stmt, Stream, Variable
from macah.passes.wide_division import division
from macah.walk import variables_in
from macah.wide import Pair, Wide, halves, operation

_DIVISIONS = frozenset({"sdiv", "srem", "udiv", "urem"})
_SHIFTS = frozenset({"shl", "shr", "sar", "rotl"})


def split_wide(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with words of 32 bits only."""
    splitter = _Splitter()
    body = splitter.body(kernel.body)
    captured: list[ir.Capture] = []
    for capture in kernel.captured:
        if capture.what.bits == 32:
            captured.append(capture)
        else:
            low, high = splitter.names.of(capture.what)
            captured += [replace(capture, what=low, half=0), replace(capture, what=high, half=1)]
    streams = tuple(replace(c, stream=splitter.names.stream(c.stream)) for c in kernel.streams)
    return replace(kernel, captured=tuple(captured), streams=streams, body=body)


class _Names:
    """The halves of variables, arrays and stream words."""

    def __init__(self) -> None:
        self.variables: dict[Variable, tuple[Variable, Variable]] = {}
        self.arrays: dict[Array, tuple[Array, Array]] = {}
        self.streams: dict[Stream, Stream] = {}

    def of(self, what: Variable | Array) -> tuple[Variable, Variable] | tuple[Array, Array]:
        return self.variable(what) if isinstance(what, Variable) else self.array(what)

    def variable(self, variable: Variable) -> tuple[Variable, Variable]:
        if variable not in self.variables:
            low, high = (Variable(variable.name + end, 32, variable.where) for end in (".lo", ".hi"))
            self.variables[variable] = low, high
        return self.variables[variable]

    def array(self, array: Array) -> tuple[Array, Array]:
        if array not in self.arrays:
            pairs = [halves(value) for value in array.initial]
            low, high = (
                replace(
                    array,
                    name=array.name + (".lo", ".hi")[half],
                    element=ir.ElementType(32, array.element.signed),
                    initial=tuple(pair[half].value for pair in pairs),
                )
                for half in (0, 1)
            )
            self.arrays[array] = low, high
        return self.arrays[array]

    def stream(self, stream: Stream) -> Stream:
        if all(word.size < 8 for word in stream.words):
            return stream
        if stream not in self.streams:
            words: list[Word] = []
            for word in stream.words:
                if word.size == 8:
                    words += [Word(word.offset, 4, False), Word(word.offset + 4, 4, word.signed)]
                else:
                    words.append(word)
            self.streams[stream] = replace(stream, words=tuple(words))
        return self.streams[stream]


class _Splitter:
    """Rewrites statements; what their operands need is put before them."""

    def __init__(self) -> None:
        self.names = _Names()
        self.out: list[Stmt] = []
        self.where: Place | None = None
        self.wide = Wide(self.keep)

    def keep(self, expr: Expr) -> Expr:
        """The expression if it is simple, or a variable that it is assigned to."""
        if isinstance(expr, Const | Read):
            return expr
        variable = Variable("half", 32, self.where)
        self.out.append(Assign(variable, expr, self.where))
        return Read(variable)

    # --- Expressions

    def narrow(self, expr: Expr) -> Expr:
        """A 32-bit expression without anything wide in it; of a 64-bit one, the lower half."""
        if expr.bits == 64:
            return self.pair(expr)[0]
        match expr:
            case Const() | Read():
                return expr
            case Load(array, index):
                return Load(array, self.each(index))
            case Apply("trunc", (a,)):
                return self.pair(a)[0]
            case Apply(op, (a, b)) if op in COMPARISONS and a.bits == 64:
                return self.wide.compare(op, self.pair(a), self.pair(b))
            case Apply("select", (condition, a, b)):
                return Apply("select", (self.condition(condition), self.narrow(a), self.narrow(b)))
            case Apply(op, args):
                return Apply(op, self.each(args))

    def each(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([self.narrow(expr) for expr in exprs])

    def condition(self, expr: Expr) -> Expr:
        """Something that is 0 iff the expression is."""
        return self.wide.truth(self.pair(expr)) if expr.bits == 64 else self.narrow(expr)

    def pair(self, expr: Expr) -> Pair:
        """The halves of a 64-bit expression, each simple."""
        match expr:
            case Const(value):
                return halves(value)
            case Read(variable):
                low, high = self.names.variable(variable)
                return Read(low), Read(high)
            case Load(array, index):
                lows, highs = self.names.array(array)
                places = tuple(self.keep(place) for place in self.each(index))
                return self.keep(Load(lows, places)), self.keep(Load(highs, places))
            case Apply(op, args):
                return self.apply(op, args)

    def apply(self, op: str, args: tuple[Expr, ...]) -> Pair:
        if op in _DIVISIONS:
            return self.divide(op, *args)
        match op, args:
            case "sext32", (a,):
                return self.wide.extend(self.keep(self.narrow(a)))
            case "zext32", (a,):
                return self.keep(self.narrow(a)), Const(0)
            case "select", (condition, a, b):
                return self.wide.select(self.keep(self.condition(condition)), self.pair(a), self.pair(b))
            case "mul", (a, b):
                return self.multiply(a, b)
            case "muladd", (a, b, c):
                return self.pair(operation("add", operation("mul", a, b), c))
            case _, (a, count) if op in _SHIFTS:
                return self.wide.shift(op, self.pair(a), self.keep(self.narrow(count)))
            case _, (a,):
                return self.wide.unary(op, self.pair(a))
            case _, (a, b):
                return self.wide.binary(op, self.pair(a), self.pair(b))
        raise AssertionError(op)

    def multiply(self, a: Expr, b: Expr) -> Pair:
        for extension in ("sext32", "zext32"):
            x, y = _extended(extension, a), _extended(extension, b)
            if x is not None and y is not None:
                return self.wide.product(extension, self.keep(self.narrow(x)), self.keep(self.narrow(y)))
        return self.wide.binary("mul", self.pair(a), self.pair(b))

    def divide(self, op: str, a: Expr, b: Expr) -> Pair:
        if isinstance(b, Const) and op[0] == "u" and b.value and b.value & (b.value - 1) == 0:
            count = Const(b.value.bit_length() - 1)
            mask = Const(b.value - 1, 64)
            return self.pair(operation("shr", a, count) if op == "udiv" else operation("and", a, mask))
        steps, result = division(op, a, b, self.where)
        for stmt in steps:
            self.statement(stmt)
        return self.pair(result)

    # --- Statements

    def body(self, body: Body, end: Callable[[], None] | None = None) -> Body:
        """The statements of a body; `end` may add some after them."""
        saved, self.out = self.out, []
        for stmt in body:
            self.statement(stmt)
        if end is not None:
            end()
        result, self.out = tuple(self.out), saved
        return result

    def statement(self, stmt: Stmt) -> None:
        self.where = stmt.where
        match stmt:
            case ir.Assign(variable, value) if variable.bits == 64:
                self.assign(variable, value)
            case ir.Assign(variable, value, where):
                self.out.append(Assign(variable, self.narrow(value), where))
            case ir.Store():
                self.store(stmt)
            case ir.Receive(stream, _, targets, worked, guard, where):
                stream, guard = self.names.stream(stream), self.condition(guard)
                halved = tuple(half for target in targets for half in self.target(target))
                self.out.append(ir.Receive(stream, self.each(stmt.index), halved, worked, guard, where))
            case ir.Send(stream, _, values, worked, guard, where):
                words: list[Expr] = []
                for value in values:
                    words += self.pair(value) if value.bits == 64 else [self.narrow(value)]
                stream, guard = self.names.stream(stream), self.condition(guard)
                index = self.each(stmt.index)
                self.out.append(ir.Send(stream, index, tuple(words), worked, guard, where))
            case ir.Close() | ir.Ended():
                stream, guard = self.names.stream(stmt.stream), self.condition(stmt.guard)
                self.out.append(replace(stmt, stream=stream, index=self.each(stmt.index), guard=guard))
            case ir.Assert(condition, _, guard):
                holds = self.condition(condition)
                self.out.append(replace(stmt, condition=holds, guard=self.condition(guard)))
            case _:
                self.structure(stmt)

    def structure(self, stmt: Stmt) -> None:
        match stmt:
            case ir.Forget():
                pass  # scalars are made of arrays before
            case ir.If(condition, then, orelse):
                condition = self.condition(condition)
                then, orelse = self.body(then), self.body(orelse)
                self.out.append(replace(stmt, condition=condition, then=then, orelse=orelse))
            case ir.Block(_, body):
                self.out.append(replace(stmt, body=self.body(body)))
            case ir.Leave():
                self.out.append(stmt)
            case ir.While(before, condition, body):
                before, condition = self.with_condition(before, condition, stmt.where)
                self.out.append(replace(stmt, before=before, condition=condition, body=self.body(body)))
            case ir.DoWhile(body, condition, guard):
                guard = self.condition(guard)
                body, condition = self.with_condition(body, condition, stmt.where)
                self.out.append(replace(stmt, body=body, condition=condition, guard=guard))
            case _:
                raise AssertionError(stmt)

    def with_condition(self, body: Body, condition: Expr, where: Place | None) -> tuple[Body, Expr]:
        """A body, and a condition that is evaluated after it."""
        found: list[Expr] = []

        def end() -> None:
            self.where = where
            found.append(self.condition(condition))

        return self.body(body, end), found[0]

    def target(self, variable: Variable) -> tuple[Variable, ...]:
        return self.names.variable(variable) if variable.bits == 64 else (variable,)

    def assign(self, variable: Variable, value: Expr) -> None:
        low, high = self.names.variable(variable)
        lower, upper = self.pair(value)
        if low in variables_in(upper):
            copy = Variable(low.name, 32, low.where)
            self.out.append(Assign(copy, upper, self.where))
            upper = Read(copy)
        self.out.append(Assign(low, lower, self.where))
        self.out.append(Assign(high, upper, self.where))

    def store(self, stmt: ir.Store) -> None:
        index, guard = self.each(stmt.index), self.condition(stmt.guard)
        if stmt.array.bits == 32:
            self.out.append(replace(stmt, index=index, value=self.narrow(stmt.value), guard=guard))
            return
        # The second store must not see what the first one did.
        index, guard = tuple(self.keep(place) for place in index), self.keep(guard)
        for array, value in zip(self.names.array(stmt.array), self.pair(stmt.value), strict=True):
            self.out.append(ir.Store(array, index, value, guard, stmt.where))


def _extended(extension: str, expr: Expr) -> Expr | None:
    """The 32-bit value of which a 64-bit one is the extension, if that is known."""
    match expr:
        case Apply(op, (a,)) if op == extension:
            return a
        case Const(value):
            low = Const(value & 0xFFFFFFFF)
            return low if evaluate(extension, 32, low.value) == value else None
        case _:
            return None
