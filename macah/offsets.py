"""Which variables are others plus a constant, at one point of a walk in program order.

u = v + 1; w = u + 2;               w is v + 3 until v changes
"""

from __future__ import annotations

from collections.abc import Iterable

from arch.ops import word
from macah.affine import small
from macah.fold import fold_apply
from macah.ir import Apply, Assign, Const, Expr, Read, Stmt, Variable
from macah.walk import children, targets


class Offsets:
    """Sums of 32-bit words taken apart into what varies and a constant."""

    def __init__(self) -> None:
        self.known: dict[Variable, tuple[Variable, int]] = {}
        self.copies: dict[Variable, set[Variable]] = {}

    def step(self, stmt: Stmt) -> None:
        """A statement without others in it has been executed."""
        match stmt:
            case Assign(variable, value) if variable.bits == 32:
                base, offset = self.split(value)
                self.forget((variable,))
                if isinstance(base, Read) and base.variable is not variable:
                    self.known[variable] = base.variable, offset
                    self.copies.setdefault(base.variable, set()).add(variable)
            case _:
                self.forget(targets(stmt))

    def forget(self, variables: Iterable[Variable]) -> None:
        """These have new values."""
        for variable in variables:
            self.known.pop(variable, None)
            for copy in self.copies.pop(variable, ()):
                if copy in self.known and self.known[copy][0] is variable:
                    del self.known[copy]

    def split(self, expr: Expr) -> tuple[Expr | None, int]:
        """An expression as another, None for 0, plus a constant."""
        done: dict[int, tuple[Expr | None, int]] = {}

        def visit(inner: Expr) -> tuple[Expr | None, int]:
            if id(inner) not in done:
                done[id(inner)] = self._split(inner, [visit(arg) for arg in children(inner)])
            return done[id(inner)]

        return visit(expr)

    def _split(self, expr: Expr, parts: list[tuple[Expr | None, int]]) -> tuple[Expr | None, int]:
        match expr, parts:
            case Const(value), _:
                return None, value
            case Read(variable), _ if variable in self.known:
                base, offset = self.known[variable]
                return Read(base), offset
            case Apply("add"), [(a, first), (b, second)]:
                both = a or b if a is None or b is None else fold_apply("add", (a, b), 32)
                return both, word(32, first + second)
            case Apply("shl", (_, Const(count))), [(a, first), _] if a is not None and count < 32:
                return fold_apply("shl", (a, Const(count)), 32), word(32, first << count)
            case Apply("mul", (_, Const(factor))), [(a, first), _] if a is not None:
                return fold_apply("mul", (a, Const(factor)), 32), word(32, first * factor)
            case _:
                return expr, 0

    def about(self, expr: Expr, rest: int, unit: int) -> Expr:
        """A value with the same quotient by `unit`, a power of two, as one that is `rest` modulo that.

        It is one that as many others as possible have, too.
        """
        base, offset = self.split(expr)
        if base is None:
            return Const(offset)
        down = small(offset) - rest  # to a multiple of the unit: what is added to that below the unit is lost
        return base if down <= 0 < down + unit else fold_apply("add", (base, Const(word(32, down))), 32)

    def less(self, expr: Expr, amount: int) -> Expr:
        """A value minus a constant, as others that differ by a constant have it, too."""
        base, offset = self.split(expr)
        down = Const(word(32, offset - amount))
        return down if base is None else fold_apply("add", (base, down), 32)

    def divided(self, expr: Expr, rest: int, by: int) -> Expr:
        """The quotient by an odd number of a value that is `rest` modulo that, as many others have it, too.

        Modulo 2**32, a multiple of an odd number is divided by a multiplication with its inverse.
        """
        base, offset = self.split(expr)
        inverse = pow(by, -1, 1 << 32)
        constant = Const(word(32, (offset - rest) * inverse))
        if base is None:
            return constant
        return fold_apply("add", (fold_apply("mul", (base, Const(inverse)), 32), constant), 32)
