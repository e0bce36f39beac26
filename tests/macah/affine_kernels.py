"""Random small nests whose subscripts are affine or nearly so, and how far apart accesses really are."""

from __future__ import annotations

import random

from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Load, Read, Stmt, Variable
from macah.run import _State
from macah.site import Site
from macah.walk import is_constant

SIZE = 96
N = Variable("n")  # captured, and never written


class Maker:
    """Makes the kernel of a seed; `two_sided`: with branches that access arrays in both sides."""

    def __init__(self, seed: int, two_sided: bool = False) -> None:
        self.random = random.Random(seed)
        self.two_sided = two_sided
        self.arrays = [Array("a", (SIZE,)), Array("b", (SIZE,))]
        self.counters: list[Variable] = []
        self.loops = 0
        self.scalars = [Variable("x"), Variable("y")]

    def kernel(self) -> ir.Kernel:
        """One or two nests, in sequence."""
        body: Body = ()
        for _ in range(self.random.choice((1, 1, 2))):
            body += self.loop(self.random.choice((1, 2, 2, 3)))
        captured = [ir.Capture(array, array.name, "int", True, True) for array in self.arrays]
        captured += [ir.Capture(v, v.name, "int", True, v is not N) for v in (*self.scalars, N)]
        return ir.Kernel("affine", tuple(captured), (), body)

    def number(self, low: int, high: int) -> Const:
        return Const(self.random.randint(low, high) % (1 << 32))

    def subscript(self) -> Expr:
        """Mostly small multiples of counters, and an offset."""
        total: Expr = self.number(0, 12)
        for counter in self.counters:
            if self.random.random() < 0.75:
                factor = Const(self.random.choice((1, 1, 1, 2, 3, 4, 8, 10, (1 << 32) - 1)))
                total = Apply("add", (total, Apply("mul", (Read(counter), factor))))
        match self.random.randrange(10):
            case 0:
                return Apply("and", (total, Const(self.random.choice((7, 15, 12)))))
            case 1:
                scalar = Apply("and", (Read(self.random.choice(self.scalars)), Const(7)))
                return Apply("add", (total, Apply("shl", (scalar, Const(self.random.randrange(3))))))
            case 2:
                return Apply(self.random.choice(("urem", "udiv")), (total, self.number(2, 9)))
            case 3:
                return Apply("add", (total, Read(N)))
            case _:
                return total

    def expr(self) -> Expr:
        value: Expr = Load(self.random.choice(self.arrays), (self.subscript(),))
        if self.random.random() < 0.6:
            value = Apply("add", (value, Load(self.random.choice(self.arrays), (self.subscript(),))))
        return Apply("add", (value, self.number(0, 5)))

    def simple(self, depth: int = 0) -> Stmt:
        if self.two_sided and depth < 3 and self.random.random() < 0.5:
            then, orelse = (
                tuple([self.simple(depth + 1) for _ in range(self.random.randint(1, 2))]) for _ in range(2)
            )
            return ir.If(Apply("and", (self.expr(), Const(1))), then, orelse)
        if self.random.random() < 0.2:
            return Assign(self.random.choice(self.scalars), self.expr())
        store = ir.Store(self.random.choice(self.arrays), (self.subscript(),), self.expr())
        if self.random.random() < 0.25:
            return ir.If(Apply("and", (self.expr(), Const(1))), (store,))
        return store

    def some(self, most: int) -> Body:
        return tuple(self.simple() for _ in range(self.random.randint(0, most)))

    def loop(self, depth: int) -> Body:
        """`for (i = first; i < bound; i += step)`, sometimes with a break."""
        self.loops += 1
        counter, leaves = Variable(f"i{self.loops}"), ir.Label(f"L{self.loops}")
        first: Expr = self.number(0, 3)
        bound: Expr = self.number(1, 7)
        if self.counters and self.random.random() < 0.4:
            if self.random.random() < 0.5:
                first = Read(self.random.choice(self.counters))
            else:
                bound = Read(self.random.choice(self.counters))
        elif self.random.random() < 0.2:
            bound = Read(N)
        step = self.random.choice((1, 1, 1, 2, 3))
        condition = Apply("slt", (Read(counter), bound))
        if self.random.random() < 0.2:
            first, bound, step = Const(self.random.randint(1, 6)), Const(0), -1
            condition = Apply("slt", (bound, Read(counter)))
        self.counters.append(counter)
        body = self.some(2)
        for _ in range(self.random.choice((1, 1, 1, 2)) if depth > 1 else 0):
            body += self.loop(depth - 1) + self.some(1)
        body += self.some(2)
        if self.random.random() < 0.15:
            body += (ir.If(Apply("eq", (self.expr(), Const(3))), (ir.Leave(leaves),)),)
        self.counters.pop()
        count = Assign(counter, Apply("add", (Read(counter), Const(step % (1 << 32)))))
        loop = ir.While((), condition, (*body, count))
        return (Assign(counter, first), ir.Block(leaves, (loop,)))


class Watch(_State):
    """Runs a kernel with sites, before its loops are flattened, and notes how far accesses are apart."""

    def start(self) -> None:
        """Begin to count."""
        self.now, self.used = 0, False
        self.last: dict[tuple[Array, int], dict[Site, tuple[int, bool]]] = {}
        self.nearest: dict[tuple[Site, Site], int] = {}

    def computed(self, expr: Load | Apply, known: dict[int, int]) -> int:
        if isinstance(expr, Load) and expr.site is not None:
            self.meet(expr.site, expr.array, expr.index, False)
        return super().computed(expr, known)

    def effect(self, stmt: Stmt) -> None:
        super().effect(stmt)
        if isinstance(stmt, ir.Store) and stmt.site is not None:
            self.meet(stmt.site, stmt.array, stmt.index, True)

    def meet(self, site: Site, array: Array, index: tuple[Expr, ...], stores: bool) -> None:
        (place,) = [super(Watch, self).value(expr) for expr in index]
        before = self.last.setdefault((array, place), {})
        for other, (time, stored) in before.items():
            if stores or stored:
                pair = (other, site)
                self.nearest[pair] = min(self.nearest.get(pair, 1 << 30), self.now - time)
        before[site] = (self.now, stores)

    def statement(self, stmt: Stmt) -> ir.Label | None:
        if not isinstance(stmt, ir.DoWhile) or is_constant(stmt.condition, 0):
            return super().statement(stmt)
        again = super().value(stmt.guard)
        while again:
            self.now, self.used = self.now + self.used, False
            self.body(stmt.body)
            self.used = True
            self.step(stmt)
            again = super().value(stmt.condition)
        return None
