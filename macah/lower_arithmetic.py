"""C's arithmetic on the words of the IR: which operation, at which width, and every conversion."""

from __future__ import annotations

from arch.ops import COMPARISONS, evaluate, word
from macah import ctypes, ir
from macah.ctypes import Integer, common_type, promote

# Operation for signed operands, for unsigned ones, and whether the operands change places.
_OPERATIONS = {
    "+": ("add", "add", False),
    "-": ("sub", "sub", False),
    "*": ("mul", "mul", False),
    "/": ("sdiv", "udiv", False),
    "%": ("srem", "urem", False),
    "&": ("and", "and", False),
    "|": ("or", "or", False),
    "^": ("xor", "xor", False),
    "<": ("slt", "ult", False),
    "<=": ("sle", "ule", False),
    ">": ("slt", "ult", True),
    ">=": ("sle", "ule", True),
    "==": ("eq", "eq", False),
    "!=": ("ne", "ne", False),
    "min": ("smin", "umin", False),
    "max": ("smax", "umax", False),
}
_CONVERSIONS = {"sext32", "zext32", "trunc"}
BINARY = frozenset(_OPERATIONS) | {"<<", ">>"}


def constant(value: int, ctype: Integer = ctypes.INT) -> ir.Const:
    """A number as a word of its type."""
    return ir.Const(word(ctype.bits, value), ctype.bits)


def apply(op: str, *args: ir.Expr, bits: int = 32) -> ir.Expr:
    """An operation, computed at once if all operands are constants."""
    if all(isinstance(arg, ir.Const) for arg in args):
        width = args[0].bits if op in COMPARISONS or op in _CONVERSIONS else bits
        values = [arg.value for arg in args if isinstance(arg, ir.Const)]
        return ir.Const(evaluate(op, width, *values), bits)
    return ir.Apply(op, args, bits)


def truth(expr: ir.Expr) -> ir.Expr:
    """1 if `expr` is not 0, else 0."""
    if is_truth(expr):
        return expr
    if isinstance(expr, ir.Apply) and expr.op in {"sext32", "zext32"}:
        return truth(expr.args[0])
    return apply("ne", expr, ir.Const(0, expr.bits))


def is_truth(expr: ir.Expr) -> bool:
    """Whether a value is known to be 0 or 1."""
    match expr:
        case ir.Const(value):
            return value <= 1 and expr.bits == 32
        case ir.Apply("and" | "or" | "xor", (a, b)):
            return is_truth(a) and is_truth(b)
        case ir.Apply("select", (_, a, b)):
            return is_truth(a) and is_truth(b)
        case ir.Apply(op):
            return op in COMPARISONS
        case _:
            return False


def negation(expr: ir.Expr) -> ir.Expr:
    """1 if `expr` is 0, else 0."""
    if isinstance(expr, ir.Apply) and expr.op in {"eq", "ne"}:
        return apply("ne" if expr.op == "eq" else "eq", *expr.args)
    return apply("eq", expr, ir.Const(0, expr.bits))


def convert(expr: ir.Expr, source: Integer, target: Integer) -> ir.Expr:
    """A value of type `source` as one of type `target`, as C converts."""
    if target.is_bool:
        return expr if source.is_bool else truth(expr)
    if target.bits == 64:
        if source.bits == 32:
            expr = apply("sext32" if source.signed else "zext32", expr, bits=64)
        return narrowed(expr, target) if target.width and not target.holds(source) else expr
    if source.bits == 64:
        expr = apply("trunc", expr)
    if target.precision == 32 or target.holds(source):
        return expr
    if target.width:
        return narrowed(expr, target)
    return apply(f"{'sext' if target.signed else 'zext'}{8 * target.size}", expr)


def narrowed(expr: ir.Expr, ctype: Integer) -> ir.Expr:
    """A word cut to the width of a bit-field's type."""
    bits = ctype.bits
    if not ctype.signed:
        return apply("and", expr, ir.Const((1 << ctype.precision) - 1, bits), bits=bits)
    gap = ir.Const(bits - ctype.precision)
    return apply("sar", apply("shl", expr, gap, bits=bits), gap, bits=bits)


def index_word(expr: ir.Expr) -> ir.Expr:
    """An integer of any type as an index or an amount."""
    return apply("trunc", expr) if expr.bits == 64 else expr


def binary(op: str, a: ir.Expr, a_type: Integer, b: ir.Expr, b_type: Integer) -> tuple[ir.Expr, Integer]:
    """The value and type of `a op b`, for operators that evaluate both operands, `min` and `max`."""
    if op in {"<<", ">>"}:
        ctype = promote(a_type)
        name = "shl" if op == "<<" else "sar" if ctype.signed else "shr"
        shifted = apply(name, convert(a, a_type, ctype), index_word(b), bits=ctype.bits)
        return narrowed(shifted, ctype) if ctype.width else shifted, ctype
    common = common_type(a_type, b_type)
    signed, unsigned, swapped = _OPERATIONS[op]
    name = signed if common.signed else unsigned
    operands = (convert(a, a_type, common), convert(b, b_type, common))
    if swapped:
        operands = (operands[1], operands[0])
    if name in COMPARISONS:
        return apply(name, *operands), ctypes.INT
    result = apply(name, *operands, bits=common.bits)
    return narrowed(result, common) if common.width else result, common


def unary(op: str, a: ir.Expr, a_type: Integer) -> tuple[ir.Expr, Integer]:
    """The value and type of `+a`, `-a`, `~a`, `!a`, and of `abs(a)`."""
    if op == "!":
        return negation(a), ctypes.INT
    ctype = promote(a_type)
    a = convert(a, a_type, ctype)
    match op:
        case "-":
            a = apply("neg", a, bits=ctype.bits)
        case "~":
            a = apply("not", a, bits=ctype.bits)
        case "abs" if ctype.signed:
            a = apply("abs", a, bits=ctype.bits)
    return narrowed(a, ctype) if ctype.width and op in {"-", "~"} else a, ctype
