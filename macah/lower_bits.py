"""GNU's functions on the bits of a number: counting, finding and turning them around.

What they leave open for 0 is the number of bits here.
"""

from __future__ import annotations

from typing import Any

from macah import ctypes, ir
from macah.ctypes import Integer
from macah.diagnostic import Place
from macah.lower_arithmetic import apply, convert
from macah.lower_functions import Functions, check_count
from macah.lower_values import Rvalue, Value

_WIDTHS: dict[str, Integer] = {"": ctypes.UINT, "l": ctypes.ULONG, "ll": ctypes.ULLONG}
_COUNTS = ("popcount", "parity", "clz", "ctz", "ffs")
_ARGUMENTS: dict[str, Integer] = {
    **{f"__builtin_{name}{suffix}": width for name in _COUNTS for suffix, width in _WIDTHS.items()},
    "__builtin_bswap16": ctypes.USHORT,
    "__builtin_bswap32": ctypes.UINT,
    "__builtin_bswap64": ctypes.ULONG,
}
BIT_FUNCTIONS = frozenset(_ARGUMENTS)


class Bits(Functions):
    """Calls of functions on bits, as arithmetic."""

    def bit_function(self, name: str, arguments: list[Any], where: Place) -> Value:
        """Lower a call of one of `BIT_FUNCTIONS`."""
        check_count(name, len(arguments), 1, where)
        expr, source = self.number(arguments[0])
        ctype = _ARGUMENTS[name]
        x = self.keep(convert(expr, source, ctype), "bits", where)
        if "bswap" in name:
            return Rvalue(ctype, self.swapped(x, ctype, where))
        match name.removeprefix("__builtin_").rstrip("l"):
            case "popcount":
                found = self._ones(x, where)
            case "parity":
                found = apply("and", self._ones(x, where), ir.Const(1))
            case "ctz":
                found = self._trailing(x, where)
            case "ffs":
                after = apply("add", self._trailing(x, where), ir.Const(1))
                found = apply("select", x, after, ir.Const(0))
            case _:
                found = self._leading(x, where)
        return Rvalue(ctypes.INT, found)

    def _halves(self, x: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        return apply("trunc", x), apply("trunc", apply("shr", x, ir.Const(32), bits=64))

    def _ones(self, x: ir.Expr, where: Place) -> ir.Expr:
        if x.bits == 64:
            low, high = self._halves(x)
            return apply("add", self._ones(low, where), self._ones(high, where))
        for shift, mask in ((1, 0x55555555), (2, 0x33333333)):
            first = apply("and", x, ir.Const(mask))
            second = apply("and", apply("shr", x, ir.Const(shift)), ir.Const(mask))
            x = self.keep(apply("add", first, second), "bits", where)
        x = apply("and", apply("add", x, apply("shr", x, ir.Const(4))), ir.Const(0x0F0F0F0F))
        return apply("shr", apply("mul", x, ir.Const(0x01010101)), ir.Const(24))

    def _trailing(self, x: ir.Expr, where: Place) -> ir.Expr:
        below = apply("sub", x, ir.Const(1, x.bits), bits=x.bits)
        zeros = apply("and", apply("not", x, bits=x.bits), below, bits=x.bits)
        return self._ones(self.keep(zeros, "bits", where), where)

    def _leading(self, x: ir.Expr, where: Place) -> ir.Expr:
        if x.bits == 64:
            low, high = self._halves(x)
            upper, lower = self._leading(high, where), self._leading(low, where)
            return apply("select", apply("eq", high, ir.Const(0)), apply("add", lower, ir.Const(32)), upper)
        for shift in (1, 2, 4, 8, 16):
            x = self.keep(apply("or", x, apply("shr", x, ir.Const(shift))), "bits", where)
        return self._ones(self.keep(apply("not", x), "bits", where), where)

    def swapped(self, x: ir.Expr, ctype: Integer, where: Place) -> ir.Expr:
        """The bytes of an unsigned number in reverse order."""
        if ctype.size == 1:
            return x
        if ctype.size == 8:
            low, high = (self.swapped(half, ctypes.UINT, where) for half in self._halves(x))
            upper = apply("shl", apply("zext32", low, bits=64), ir.Const(32), bits=64)
            return apply("or", upper, apply("zext32", high, bits=64), bits=64)
        pairs = self.keep(apply("rotl", x, ir.Const(16)), "bits", where) if ctype.size == 4 else x
        up = apply("shl", apply("and", pairs, ir.Const(0x00FF00FF)), ir.Const(8))
        down = apply("and", apply("shr", pairs, ir.Const(8)), ir.Const(0x00FF00FF))
        return apply("or", up, down)
