"""Random structured kernels: nested loops with trips that depend on data, branches, leaves, streams, arrays.

Every loop counts its iterations and stops at a small bound, so that all of them end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Label, Load, Read, Stmt, Stream, Variable, Word
from macah.run import KernelRun, run_kernel

_WORD = (Word(0, 4, True),)
IN, OUT, TRY = Stream("in", 4, _WORD), Stream("out", 4, _WORD), Stream("try", 4, _WORD)
LIMIT = Variable("limit")  # captured, and never written
_OPERATIONS = ("add", "sub", "xor", "and", "or", "smin", "slt", "eq", "sle", "ult")


@dataclass(slots=True)
class Choices:
    """What a kernel may contain: the forms that a pass under test accepts."""

    leaves: bool = True
    ifs: bool = True
    whiles: bool = True
    size: int = 24


@dataclass(slots=True)
class _Maker:
    random: random.Random
    choices: Choices
    budget: int
    variables: list[Variable] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    loops: int = 0

    def expr(self, depth: int = 2) -> Expr:
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            if self.random.random() < 0.4:
                return Const(self.random.choice((0, 1, 2, 3, 5, 0xFFFFFFFF)))
            return Read(self.random.choice(self.variables))
        if pick < 0.4:
            return Load(self.random.choice(self.arrays), (Apply("and", (self.expr(depth - 1), Const(7))),))
        if pick < 0.45:
            return Apply("select", tuple(self.expr(depth - 1) for _ in range(3)))
        return Apply(self.random.choice(_OPERATIONS), (self.expr(depth - 1), self.expr(depth - 1)))

    def variable(self) -> Variable:
        return self.random.choice(self.variables)

    def body(self, depth: int, most: int = 5) -> Body:
        return tuple(
            stmt for _ in range(self.random.randint(1, most)) for stmt in self.statement(depth) if self.budget
        )

    def statement(self, depth: int) -> Body:
        self.budget = max(0, self.budget - 1)
        makers: list[tuple[float, Callable[[int], Body]]] = [(4, self.assign), (2, self.effect)]
        if depth:
            makers += [(3, self.loop)]
            makers += [(3, self.branch)] * self.choices.ifs
            makers += [(2, self.block)] * self.choices.leaves
        if self.labels and self.choices.leaves:
            makers += [(2, self.leave)]
        weights, functions = zip(*makers, strict=True)
        return self.random.choices(functions, weights)[0](depth)

    def assign(self, depth: int) -> Body:
        variable, pick = self.variable(), self.random.random()
        if pick < 0.25:
            return (Assign(variable, Apply("add", (Read(variable), self.expr()))),)
        if pick < 0.35:
            return (Assign(variable, Const(self.random.randrange(3))),)
        return (Assign(variable, self.expr()),)

    def effect(self, depth: int) -> Body:
        made: Stmt
        match self.random.randrange(7):
            case 0 | 1:
                made = ir.Send(OUT, (), (self.expr(),))
            case 2:
                made = ir.Receive(IN, (), (self.variable(),))
            case 3:
                target, worked = self.random.sample(self.variables, 2)
                made = ir.Receive(TRY, (), (target,), worked)
            case 4:
                made = ir.Ended(IN, (), self.variable())
            case 5:
                made = ir.Send(OUT, (), (self.expr(),), self.variable())
            case _:
                place = Apply("and", (self.expr(1), Const(7)))
                made = ir.Store(self.random.choice(self.arrays), (place,), self.expr())
        return (made,)

    def branch(self, depth: int) -> Body:
        if self.random.random() < 0.2:
            a, b, c, d = (self.variable() for _ in range(4))
            return (ir.If(Apply("slt", (Read(a), Read(b))), (Assign(b, Read(a)), Assign(c, Read(d)))),)
        orelse = self.body(depth - 1, 3) if self.random.random() < 0.5 else ()
        return (ir.If(self.expr(), self.body(depth - 1, 3), orelse),)

    def block(self, depth: int) -> Body:
        label = Label(f"L{len(self.labels)}")
        self.labels.append(label)
        body = self.body(depth - 1)
        self.labels.pop()
        return (ir.Block(label, body),)

    def leave(self, depth: int) -> Body:
        stmt = ir.Leave(self.random.choice(self.labels))
        return (ir.If(self.expr(), (stmt,)),) if self.choices.ifs and self.random.random() < 0.8 else (stmt,)

    def loop(self, depth: int) -> Body:
        self.loops += 1
        counter = Variable(f"n{self.loops}")
        bound: Expr = Const(self.random.randint(0, 5)) if self.random.random() < 0.6 else Read(LIMIT)
        if self.random.random() < 0.3:
            self.variables.append(counter)  # others may read it; it ends all the same, see below
        start = Assign(counter, Const(0))
        private = Variable(f"m{self.loops}")
        count = (
            Assign(private, Apply("add", (Read(private), Const(1)))),
            Assign(counter, Apply("add", (Read(counter), Const(1)))),
        )
        going_on: Expr = Apply("slt", (Read(private), bound))
        if self.random.random() < 0.5:
            going_on = Apply("and", (going_on, Apply("ne", (self.expr(), Const(0)))))
        body = (*self.body(depth - 1), *count)
        if self.random.random() < 0.5:
            body = (*count, *body[: -len(count)])
        setup = (start, Assign(private, Const(0)))
        if self.choices.whiles and self.random.random() < 0.6:
            before = self.body(0, 2) if self.random.random() < 0.4 else ()
            # a leave may jump over the count at the end, but then it leaves the loop
            return (*setup, ir.While(before, going_on, body))
        guard = ir.TRUE if self.random.random() < 0.5 else Apply("ne", (self.expr(), Const(0)))
        return (*setup, ir.DoWhile(body, going_on, guard))


def random_kernel(seed: int, choices: Choices | None = None) -> ir.Kernel:
    """The kernel of a seed."""
    choices = choices or Choices()
    maker = _Maker(random.Random(seed), choices, choices.size)
    maker.variables = [Variable(name) for name in "abcdef"]
    maker.arrays = [Array("A", (8,)), Array("B", (8,))]
    captured = [
        ir.Capture(v, v.name, "int", True, out)
        for v, out in zip(maker.variables, (True, True, False), strict=False)
    ]
    captured += [ir.Capture(LIMIT, "limit", "int"), ir.Capture(maker.arrays[0], "A", "int", True, True)]
    streams = tuple(ir.StreamCapture(stream, stream.name) for stream in (IN, OUT, TRY))
    body = maker.body(3, 7)
    start: list[Stmt] = [Assign(variable, Const(seed % 5)) for variable in maker.variables[3:]]
    start += [ir.Store(maker.arrays[1], (Const(place),), Const(place * seed % 7)) for place in range(8)]
    return ir.Kernel(f"k{seed}", tuple(captured), streams, (*start, *body))


def run_random(kernel: ir.Kernel, seed: int) -> tuple[object, ...]:
    """What a run with inputs made from a seed leaves behind for the host."""
    source = random.Random(seed)
    words = [source.choice((0, 1, 2, 3, 7, 100, 0xFFFFFFFF)) for _ in range(24)]
    inputs = {"in": [(w,) for w in words[:10]], "try": [(w,) for w in words[10:14]]}
    scalars = {**dict(zip("abc", words[14:17], strict=True)), "limit": source.randrange(6)}
    return observable(kernel, run_kernel(kernel, scalars, {"A": words[16:24]}, inputs, limit=1_000_000))


def observable(kernel: ir.Kernel, run: KernelRun) -> tuple[object, ...]:
    """The part of a run that the host sees: what is captured out, and the streams."""
    out = {capture.what.name for capture in kernel.captured if capture.out}
    scalars = {name: value for name, value in run.scalars.items() if name in out}
    arrays = {name: value for name, value in run.arrays.items() if name in out}
    return scalars, arrays, run.outputs, run.closed
