"""Division of 64-bit values, as statements on such values that do not divide.

By a constant, the quotient is the upper half of a product with its reciprocal, unless 32 bits are enough:

    x / 1000        ->     t = (x >> 32) * m.lo + ((x & 0xFFFFFFFF) * m.lo >> 32); ...

Otherwise a loop finds one bit of the quotient each time.
"""

from __future__ import annotations

from arch.ops import COMPARISONS, signed
from backend.dfg import Place
from macah import ir
from macah.divide import unsigned_quotient
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Variable
from macah.wide import operation

_WIDTH = 64
_ALL, _LOW = (1 << _WIDTH) - 1, (1 << 32) - 1


def division(op: str, a: Expr, b: Expr, where: Place | None) -> tuple[Body, Expr]:
    """Statements that divide, and the result."""
    if isinstance(b, Const) and b.value:
        return _by_constant(op, a, b.value, where)
    body, result = _by_variable(op, a, b, where)
    return body, Read(result)


def _by_constant(op: str, a: Expr, divisor: int, where: Place | None) -> tuple[Body, Expr]:
    number = signed(_WIDTH, divisor) if op[0] == "s" else divisor
    match a:
        case Apply("zext32", (x,)) if 0 < number <= _LOW:
            return (), Apply("zext32", (Apply("u" + op[1:], (x, Const(number))),), _WIDTH)
        case Apply("sext32", (x,)) if op[0] == "s" and -(1 << 31) <= number < 1 << 31 and number != -1:
            return (), Apply("sext32", (Apply(op, (x, Const(number & _LOW))),), _WIDTH)
    do = _Steps(where)
    dividend = do("mov", a)
    size = do("abs", dividend) if op[0] == "s" else dividend
    most = 1 << _WIDTH - 1 if op[0] == "s" else _ALL
    quotient = unsigned_quotient(do, size, abs(number), most, _WIDTH)
    result, negative = quotient, number < 0
    if op[1:] == "rem":
        result, negative = do("sub", size, do("mul", quotient, abs(number))), False
    if op[0] == "s":
        sign = do("sar", do("not", dividend) if negative else dividend, Const(_WIDTH - 1))
        result = do("sub", do("xor", result, sign), sign)
    return tuple(do.body), result


class _Steps:
    """Makes operations on 64-bit values, each assigned to a variable."""

    def __init__(self, where: Place | None) -> None:
        self.where = where
        self.body: list[ir.Stmt] = []

    def __call__(self, op: str, *operands: Expr | int) -> Expr:
        counts = op in ("shl", "shr", "sar")
        args = [
            Const(arg, 32 if counts and place else _WIDTH) if isinstance(arg, int) else arg
            for place, arg in enumerate(operands)
        ]
        if op == "umulh":
            return self._upper(args[0], args[1])
        value = operation(op, *args)
        return self._named(Apply("zext32", (value,), _WIDTH) if op in COMPARISONS else value)

    def _named(self, value: Expr) -> Expr:
        variable = Variable("divided", _WIDTH, self.where)
        self.body.append(Assign(variable, value, self.where))
        return Read(variable)

    def _upper(self, a: Expr, b: Expr) -> Expr:
        """The upper 64 bits of a product, from those of halves; no sum overflows."""
        (low, high), (below, above) = self._halves(a), self._halves(b)
        middle = self("add", self("mul", high, below), self("shr", self("mul", low, below), 32))
        other = self("add", self("mul", low, above), _extended(middle))
        carried = self("add", self("shr", middle, 32), self("shr", other, 32))
        return self("add", self("mul", high, above), carried)

    def _halves(self, value: Expr) -> tuple[Expr, Expr]:
        if isinstance(value, Const):
            return Const(value.value & _LOW, _WIDTH), Const(value.value >> 32, _WIDTH)
        return _extended(value), _extended(self("shr", value, 32))


def _extended(value: Expr) -> Expr:
    """The lower half, in the form in which products of halves are recognised."""
    return Apply("zext32", (Apply("trunc", (value,)),), _WIDTH)


def _by_variable(op: str, a: Expr, b: Expr, where: Place | None) -> tuple[Body, Variable]:
    """Statements that divide, still on 64-bit values, and the variable with the result."""
    dividend, divisor = Variable("dividend", 64, where), Variable("divisor", 64, where)
    x, y = Read(dividend), Read(divisor)
    start = (Assign(dividend, a, where), Assign(divisor, b, where))
    if op[0] == "u":
        loop, quotient, remainder = _long_division(x, y, where)
        return (*start, *loop), quotient if op == "udiv" else remainder
    loop, quotient, remainder = _long_division(operation("abs", x), operation("abs", y), where)
    zero, result = Const(0, 64), Variable("result", 64, where)
    if op == "sdiv":
        differ = operation("slt", operation("xor", x, y), zero)
        value = operation("select", differ, operation("neg", Read(quotient)), Read(quotient))
        # As `arch.ops` has it
        value = operation("select", operation("eq", y, zero), Const((1 << 64) - 1, 64), value)
    else:
        negative = operation("slt", x, zero)
        value = operation("select", negative, operation("neg", Read(remainder)), Read(remainder))
    return (*start, *loop, Assign(result, value, where)), result


def _long_division(a: Expr, b: Expr, where: Place | None) -> tuple[Body, Variable, Variable]:
    """Bit by bit: the dividend moves through `quotient` into `remainder`; dividing by 0 gives all ones."""
    quotient, remainder = Variable("quotient", 64, where), Variable("remainder", 64, where)
    divisor, count = Variable("divisor", 64, where), Variable("bit", 32, where)
    over, fits = Variable("over", 32, where), Variable("fits", 32, where)
    q, r, d, one = Read(quotient), Read(remainder), Read(divisor), Const(1)
    start = (
        Assign(quotient, a, where),
        Assign(divisor, b, where),
        Assign(remainder, Const(0, 64), where),
        Assign(count, Const(64), where),
    )
    entering = operation("shr", q, Const(63))
    body = (
        # The remainder has 65 bits for a moment.
        Assign(over, operation("slt", r, Const(0, 64)), where),
        Assign(remainder, operation("or", operation("shl", r, one), entering), where),
        Assign(fits, Apply("or", (Read(over), operation("ule", d, r))), where),
        Assign(remainder, operation("select", Read(fits), operation("sub", r, d), r), where),
        Assign(
            quotient,
            operation("or", operation("shl", q, one), Apply("zext32", (Read(fits),), 64)),
            where,
        ),
        Assign(count, Apply("sub", (Read(count), one)), where),
    )
    loop = ir.DoWhile(body, Apply("ne", (Read(count), Const(0))), where=where)
    return (*start, loop), quotient, remainder
