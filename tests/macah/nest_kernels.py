"""Random nests whose inner loop runs as often as the outer one's counter or data say: near wrapping, too."""

from __future__ import annotations

import random
from dataclasses import replace

from control_kernels import IN, OUT, let, op, receive, send

from macah import ir
from macah.ir import Apply, Array, Body, Const, Expr, Load, Read, Stmt, Variable

SIZE = 16
MOST, LEAST = (1 << 31) - 1, 1 << 31
EDGES = (0, 0, 0, 0, MOST - 3, MOST - 2, LEAST, LEAST + 2, (1 << 32) - 3)


class _Maker:
    def __init__(self, seed: int, started: bool, even: bool = False) -> None:
        self.random = random.Random(seed)
        self.even = even
        self.started = random.Random(seed) if started else None
        self.i, self.j, self.h = Variable("i"), Variable("j"), Variable("h")
        self.scalars = [Variable(name) for name in ("x", "y", "sum", "count")]
        self.n, self.guard = Variable("n"), Variable("guard")
        self.table, self.data = Array("table", (SIZE,)), Array("data", (SIZE,))
        self.base = self.random.choice(EDGES)
        self.deep = self.random.random() < 0.3

    def pick(self, *some: Expr) -> Expr:
        return self.random.choice(some)

    def small(self) -> Const:
        return Const(self.random.randint(-3, 6) % (1 << 32))

    def place(self) -> Expr:
        counter = Read(self.random.choice((self.i, self.j)))
        return op("and", op("add", counter, self.random.randrange(3)), SIZE - 1)

    def bound(self) -> Expr:
        """What a loop may start with, or end at."""
        i, base = Read(self.i), Const(self.base)
        if self.even:
            last = op("add", base, self.n)
            return self.pick(base, base, last, last, op("add", base, self.small()), Read(self.n))
        found = self.pick(
            base,
            i,
            i,
            op("add", i, self.small()),
            op("sub", op("add", base, self.random.randrange(9)), op("sub", i, base)),
            op("add", base, Load(self.table, (op("and", i, SIZE - 1),))),
            op("add", base, Load(self.table, (op("and", op("add", i, 1), SIZE - 1),))),
            op("add", base, self.n),
            op("add", base, self.small()),
            op("add", base, self.h) if self.deep else i,
        )
        if self.random.random() < 0.05:
            found = Load(self.data, (op("and", i, SIZE - 1),))
        return found

    def simple(self) -> Stmt:
        v = self.random.choice(self.scalars)
        value = self.pick(Read(self.i), Read(self.j), Load(self.data, (self.place(),)), Read(v), self.small())
        match self.random.randrange(9):
            case 0:
                return send(value)
            case 1:
                return ir.Store(self.data, (self.place(),), value)
            case 2:
                return let(v, op(self.random.choice(("xor", "smax", "sub", "umin")), v, value))
            case 3:
                return let(v, value)
            case 4:
                return receive(v)
            case 5:
                return let(self.scalars[3], op("add", self.scalars[3], self.random.choice((1, MOST))))
            case 6:
                condition = op(self.random.choice(("slt", "eq", "ult")), value, self.scalars[0])
                return ir.If(condition, (let(v, op("add", v, value)),))
            case _:
                return let(v, op("add", v, value))

    def some(self, most: int) -> Body:
        return tuple(self.simple() for _ in range(self.random.randint(0, most)))

    def loop(self, counter: Variable, first: Expr, last: Expr, body: Body) -> Body:
        """A loop that ends as a comparison says; some can be left before, some test at the end."""
        step = self.random.choice((1, 1, 1, 1, -1, -1, 2))
        operands = (Read(counter), last) if step > 0 else (last, Read(counter))
        name = self.random.choice(("slt", "slt", "sle", "ult", "ule", "ne"))
        condition: Expr = Apply(name, operands)
        stepped = let(counter, op("add", counter, step % (1 << 32)))
        body = (*body, stepped) if self.random.random() < 0.8 else (stepped, *body)
        if self.random.random() < 0.12:
            leave = ir.Label("leave")
            test = ir.If(op("eq", self.scalars[1], self.random.randrange(4)), (ir.Leave(leave),))
            return (let(counter, first), ir.Block(leave, (ir.While((), condition, (test, *body)),)))
        if self.random.random() < 0.15:
            return (let(counter, first), ir.DoWhile(body, condition))
        return (let(counter, first), ir.While((), condition, body))

    def starts(self) -> Body:
        """Variables that start anew in each row, with what is no constant; drawn apart from all else."""
        if self.started is None:
            return ()
        at = op("and", self.i, SIZE - 1)
        some = (Read(self.i), Load(self.table, (at,)), Load(self.data, (at,)), op("add", self.n, self.i))
        return tuple(let(v, self.started.choice(some)) for v in self.scalars if self.started.random() < 0.5)

    def kernel(self) -> ir.Kernel:
        resets = tuple(
            let(v, self.random.choice((0, 0, 5))) for v in self.scalars if self.random.random() < 0.4
        )
        inner = self.loop(self.j, self.bound(), self.bound(), self.some(4))
        resets += self.starts()
        head, tail = (*resets, *self.some(1)), self.some(2)
        if self.random.random() < 0.5:
            tail = (*tail, send(self.scalars[2]))
        first = self.pick(Const(self.base), Const(self.base), op("add", self.base, self.n))
        if self.deep and self.random.random() < 0.5:
            first = op("add", self.base, self.h)
        far = op("add", self.base, self.random.randint(-2, 9) % (1 << 32))
        nest = self.loop(self.i, first, self.pick(far, op("add", self.base, self.n)), (*head, *inner, *tail))
        if self.deep:
            nest = (*self.some(1), *nest, *self.some(1))
            nest = (
                let(self.h, 0),
                ir.While((), op("slt", self.h, 3), (*nest, let(self.h, op("add", self.h, 1)))),
            )
        if self.random.random() < 0.2:
            nest = (*self.some(2), *nest, *self.some(2))
        captured = [ir.Capture(v, v.name, "int", True, self.random.random() < 0.6) for v in self.scalars]
        captured += [
            ir.Capture(v, v.name, "int", v is self.n, v is not self.n) for v in (self.n, self.i, self.j)
        ]
        if self.random.random() < 0.6:
            captured = [c for c in captured if c.what not in (self.i, self.j)]
        if self.even:  # loops often do not run, and then these are what they were
            captured = [replace(c, into=True) if c.what in (self.i, self.j) else c for c in captured]
        captured += [ir.Capture(self.table, "table", "int"), ir.Capture(self.data, "data", "int", True, True)]
        streams = (ir.StreamCapture(IN, "in"), ir.StreamCapture(OUT, "out"))
        return ir.Kernel("nest", tuple(captured), streams, nest)


def random_nest(seed: int, started: bool = False, even: bool = False) -> ir.Kernel:
    """The kernel of a seed; some do not end.

    `started`: variables start in each row with some word. `even`: rows are
    equally long.
    """
    return _Maker(seed, started, even).kernel()
