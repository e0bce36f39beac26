"""Operations of kernels that C gives no result: divisions by a constant 0, shifts by too much.

    r = n / 0;      r = n << 32;

The C compiler does not see them, as kernels are translated into operations that have one, the same in every
view. Functions that a kernel calls are C, too: there it does.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.ops import signed
from macah import ir
from macah.diagnostic import Diagnostic
from macah.ir import Apply, Const, Expr
from macah.walk import operands, statements, subexpressions

_DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})
_SHIFTS = {"shl": "left", "shr": "right", "sar": "right"}


def undefined_operations(kernel: ir.Kernel) -> Iterator[Diagnostic]:
    """The warnings of a kernel as it is lowered, each once for a statement."""
    for stmt in statements(kernel.body):
        said = dict.fromkeys(
            message
            for operand in operands(stmt)
            for expr in subexpressions(operand)
            if (message := _undefined(expr))
        )
        yield from (Diagnostic(message, stmt.where, code="undefined-result") for message in said)


def _undefined(expr: Expr) -> str:
    match expr:
        case Apply(op, (_, Const(0))) if op in _DIVISIONS:
            return "division by zero"
        case Apply(op, (_, Const(value, bits)), width) if op in _SHIFTS:
            count = signed(bits, value)
            if count < 0:
                return f"{_SHIFTS[op]} shift count is negative"
            if count >= width:
                return f"{_SHIFTS[op]} shift count {count} is not less than the {width} bits of the type"
            return ""
        case _:
            return ""
