"""What variables are in terms of the numbers of iterations: counters of loops, and how often those run.

i = 3; do { ...; i = i + 2; } while (i < 9)          i is 3 + 2 * #i at the start; #i runs up to 2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from arch.ops import COMPARISONS
from macah.affine import extent, fits, is_signed, plus, small
from macah.ir import Apply, Array, Const, Expr, Load, Read, Stmt, Variable
from macah.site import WORD, Affine, Circle, Loop, Symbol, Unknown
from macah.walk import folded

Steps = Mapping[Variable, int]
Circles = Mapping[Variable, tuple[Circle, Stmt | None]]
"""And the last statements that assign to them, if those stand there once."""

_NO_CIRCLES: Circles = {}
_EXTENSIONS = {"zext8": (8, False), "zext16": (16, False), "sext8": (8, True), "sext16": (16, True)}


class Forms:
    """Affine forms of variables and expressions at one point of a walk in program order."""

    def __init__(self, stored: set[Array]) -> None:
        self.stored = stored
        self.known: dict[Variable, Affine] = {}
        self.loops: list[Loop] = []
        self.depth: dict[Loop, int] = {}
        self.symbols: dict[object, Affine] = {}
        self.gone_on: dict[int, tuple[Stmt, Variable, Affine]] = {}

    # --- Variables

    def forget(self, variables: Iterable[Variable]) -> None:
        """These have new values of which nothing is known."""
        for variable in variables:
            self.known[variable] = self.new()

    def some(self, variables: Iterable[Variable]) -> dict[Variable, Affine]:
        """What these variables are."""
        return {variable: self.read(variable) for variable in variables}

    def join(self, other: Mapping[Variable, Affine]) -> None:
        """Control comes from here or from where some variables were as in `other`."""
        self.forget([variable for variable, form in other.items() if self.read(variable) != form])

    def enter(
        self, loop: Loop, steps: Steps, changed: Iterable[Variable], circles: Circles = _NO_CIRCLES
    ) -> None:
        """An iteration of a loop starts, which is the innermost one in `loops` now."""
        self.depth[loop] = len(self.loops)
        for variable in changed:
            if variable in steps:
                count = Affine(0, ((loop, 1),))
                self.known[variable] = self.sum(self.read(variable), count, steps[variable])
            elif variable in circles:
                self.known[variable] = self.circle(variable, *circles[variable])
            else:
                self.forget((variable,))

    def circle(self, variable: Variable, circle: Circle, last: Stmt | None) -> Affine:
        """The start of an iteration for what counts in a circle; what it is after it went on, is noted."""
        level, period = len(self.loops), circle.period
        now = Affine(0, ((Symbol(level, 0, period - 1, circle), 1),))
        around = Affine(0, ((Symbol(level, -(circle.step < 0), int(circle.step > 0)), 1),))
        if last is not None:
            then = self.sum(self.sum(now, Affine(circle.step)), around, -period)
            self.gone_on[id(last)] = last, variable, then
        return now

    def go_on(self, stmt: Stmt) -> None:
        """A statement has been walked."""
        if id(stmt) in self.gone_on:
            _, variable, form = self.gone_on.pop(id(stmt))
            self.known[variable] = form

    def at_end(self, loop: Loop, steps: Steps) -> dict[Variable, Affine]:
        """What counters are after an iteration, from what they are at its start."""
        return {v: self.sum(self.read(v), Affine(step)) for v, step in steps.items()}

    def leave(
        self,
        loop: Loop,
        steps: Steps,
        changed: Iterable[Variable],
        before: Mapping[Variable, Affine],
        sure: bool,
    ) -> None:
        """The loop has ended; `before` are the variables before it, `sure`: it has run."""
        for variable in changed:
            if sure and loop.exact and loop.trips is not None and variable in steps:
                self.known[variable] = self.sum(before[variable], Affine(small(steps[variable] * loop.trips)))
            else:
                self.forget((variable,))

    def read(self, variable: Variable) -> Affine:
        return self.known.get(variable) or self.at_start(variable)

    def at_start(self, variable: Variable) -> Affine:
        """The value that a variable had when the kernel started."""
        return self.symbol(variable, 0)

    # --- Symbols

    def new(self) -> Affine:
        """A value that is only known not to change in this iteration."""
        return Affine(0, ((Symbol(len(self.loops)), 1),))

    def symbol(self, key: object, level: int, low: int = -(WORD >> 1), high: int = (WORD >> 1) - 1) -> Affine:
        """The value that `key` determines."""
        if key not in self.symbols:
            self.symbols[key] = Affine(0, ((Symbol(level, low, high), 1),))
        return self.symbols[key]

    def level(self, forms: Iterable[Affine]) -> int:
        """So many loops must be in the same iteration for the forms to have the same values."""
        levels = [self._level(unknown) for form in forms for unknown, _ in form.terms]
        return max(levels, default=0)

    def _level(self, unknown: Unknown) -> int:
        return self.depth[unknown] if isinstance(unknown, Loop) else unknown.level

    # --- Expressions

    def address(self, array: Array, index: tuple[Expr, ...]) -> Affine:
        """The place of an element, row by row."""
        total, stride = Affine(), 1
        for expr, extent_ in zip(reversed(index), reversed(array.shape), strict=True):
            total = self.sum(total, self.of(expr), stride)
            stride *= extent_
        return total

    def of(self, expr: Expr) -> Affine:
        """The value of an expression."""
        return folded(expr, self._form)

    def _form(self, expr: Expr, args: list[Affine]) -> Affine:
        match expr:
            case Const(value):
                return Affine(small(value))
            case Read(variable):
                return self.read(variable)
            case Load(array):
                return self._loaded(array, args)
            case Apply(op):
                return self._applied(op, args) or self._opaque(op, args)

    def _loaded(self, array: Array, args: list[Affine]) -> Affine:
        if array in self.stored:
            return self.new()
        bits, is_negative = array.element.bits, array.element.signed
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_negative else (0, (1 << bits) - 1)
        key = (array, *map(_key, args))
        return (
            self.symbol(key, self.level(args), low, high) if bits < 32 else self.symbol(key, self.level(args))
        )

    def _applied(self, op: str, args: list[Affine]) -> Affine | None:
        match op, args:
            case "add", [a, b]:
                return plus(a, b)
            case "sub", [a, b]:
                return plus(a, b, -1)
            case "neg", [a]:
                return plus(Affine(), a, -1)
            case "mul", [a, Affine(factor, ())] | [Affine(factor, ()), a]:
                return plus(Affine(), a, factor)
            case "shl", [a, Affine(count, ())] if 0 <= count < 32:
                return plus(Affine(), a, 1 << count)
            case (("shr" | "sar"), [a, Affine(count, ())]) if 0 <= count < 32 and fits(a, op == "sar"):
                return self.divided(a, 1 << count)[0]
            case "and", [a, Affine(mask, ())] if mask & mask + 1 == 0 and mask > 0:
                return self.divided(a, mask + 1)[1]
            case "and", [a, Affine(mask, ())] if mask < 0 and -mask & -mask - 1 == 0:
                return self.sum(a, self.divided(a, -mask)[1], -1)
            case (("udiv" | "sdiv"), [a, Affine(by, ())]) if by > 0 and fits(a, False):
                return self.divided(a, by)[0]
            case (("urem" | "srem"), [a, Affine(by, ())]) if by > 0 and fits(a, False):
                return self.divided(a, by)[1]
            case (("or" | "xor"), [a, Affine(bits, ())]) if 0 <= bits < _alignment(a):
                return plus(a, Affine(bits))
            case _, [a] if op in _EXTENSIONS:
                bits, is_negative = _EXTENSIONS[op]
                low, high = extent(a)
                if -is_negative << bits - 1 <= low and high < 1 << bits - is_negative:
                    return a
                return None if is_negative else self.divided(a, 1 << bits)[1]
            case _:
                return None

    def divided(self, form: Affine, by: int) -> tuple[Affine, Affine]:
        """Quotient, rounded down, and remainder of a form as an integer."""
        whole = Affine(form.constant // by, tuple([(u, f // by) for u, f in form.terms if f % by == 0]))
        rest = Affine(form.constant % by, tuple([(u, f) for u, f in form.terms if f % by]))
        low, high = extent(rest)
        if low // by == high // by:
            quotient = Affine(low // by)
        else:
            quotient = self.symbol(("/", by, _key(rest)), self.level((rest,)), low // by, high // by)
        counts = any(isinstance(unknown, Loop) or unknown.circle for unknown, _ in rest.terms)
        if not quotient.terms or counts:
            remainder = self.sum(rest, quotient, -by)
        else:
            remainder = self.symbol(("%", by, _key(rest)), self.level((rest,)), 0, by - 1)
        return self.sum(whole, quotient), remainder

    def sum(self, a: Affine, b: Affine, times: int = 1) -> Affine:
        """`a + times * b`."""
        return plus(a, b, times) or self._opaque("plus", [a, b, Affine(times)])

    def _opaque(self, op: str, args: list[Affine]) -> Affine:
        key, level = (op, *map(_key, args)), self.level(args)
        if op in COMPARISONS:
            return self.symbol(key, level, 0, 1)
        if op == "select" and all(is_signed(arg) for arg in args[1:]):
            ends = [end for arg in args[1:] for end in extent(arg)]
            return self.symbol(key, level, min(ends), max(ends))
        return self.symbol(key, level)


def _key(form: Affine) -> object:
    return form.constant, frozenset(form.terms)


def _alignment(form: Affine) -> int:
    """A power of two that divides the form."""
    divisor = gcd(form.constant, *(factor for _, factor in form.terms)) or WORD
    return divisor & -divisor
