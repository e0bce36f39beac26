"""Folding of one operation whose operands are folded already: constants, identities, predicates."""

from __future__ import annotations

from collections.abc import Callable, Container

from arch.ops import COMPARISONS, OPS, evaluate
from macah import ir
from macah.fold_choices import fold_choice
from macah.fold_shifts import SHIFTS, fold_rotation, fold_shift
from macah.ir import FALSE, TRUE, Apply, Array, Const, Expr, Load, Read, Variable
from macah.walk import LEAVES, operands, parted, targets, variables_in

CONVERSIONS = frozenset({"sext32", "zext32", "trunc"})
_ZERO_RIGHT = frozenset({"add", "sub", "or", "xor", "shl", "shr", "sar", "rotl", "umax"})
_IDEMPOTENT = frozenset({"and", "or", "smin", "smax", "umin", "umax"})
_REFLEXIVE = {"eq": 1, "sle": 1, "ule": 1, "ne": 0, "slt": 0, "ult": 0}
_INVERSE = {"eq": "ne", "ne": "eq"}
_TURNED = {"slt": "sle", "sle": "slt", "ult": "ule", "ule": "ult"}
_LOGICAL = COMPARISONS | {"and", "or", "xor", "select"}
"""Nothing else certainly gives 0 or 1."""
NARROWING = {"sext8": 8, "zext8": 8, "sext16": 16, "zext16": 16}
"""Of how many low bits of their operand conversions are made."""

Holds = Callable[[Expr], bool]


def is_predicate(expr: Expr, variables: Container[Variable] = ()) -> bool:
    """True if the value is certainly 0 or 1; `variables` are those that always are."""
    if isinstance(expr, Read):
        return expr.variable in variables
    if isinstance(expr, Const):
        return expr.value < 2
    if isinstance(expr, Load):
        return False
    if expr.op in COMPARISONS:
        return True
    if expr.bits != 32 or expr.op not in ("and", "or", "xor", "select"):
        return False
    for arg in expr.args[expr.op == "select" :]:  # noqa: SIM110 - `all` takes twice as long
        if not is_predicate(arg, variables):
            return False
    return True


def fold(expr: Expr, predicate: Holds = is_predicate) -> Expr:
    """The same value, said more simply where that is possible; looks two levels deep."""
    match expr:
        case Apply(op, args, bits):
            found = simpler(op, args, bits, predicate)
            if found is not None:
                return found
            # The same object where it stays as it is: what is known of it need not be found again.
            ordered = _constant_last(op, args)
            return expr if ordered is args else Apply(op, ordered, bits)
        case Load(array, index) if array.initial and all(isinstance(i, Const) for i in index):
            return _entry(array, [i.value for i in index if isinstance(i, Const)])
        case _:
            return expr


def _entry(table: Array, index: list[int]) -> Const:
    """An element of a constant table; 0 where there is none."""
    place = 0
    for i, extent in zip(index, table.shape, strict=True):
        if i >= extent:
            return Const(0, table.bits)
        place = place * extent + i
    return Const(table.initial[place] if place < len(table.initial) else 0, table.bits)


def fold_apply(op: str, args: tuple[Expr, ...], bits: int, predicate: Holds = is_predicate) -> Expr:
    """`fold` of an operation that need not be built first."""
    found = simpler(op, args, bits, predicate)
    if found is not None:
        return found
    return Apply(op, _constant_last(op, args), bits)


def simpler(op: str, args: tuple[Expr, ...], bits: int, predicate: Holds = is_predicate) -> Expr | None:
    """What `fold` makes of an operation; None if that is the operation itself, perhaps in another order."""
    for arg in args:
        if not isinstance(arg, Const):
            break
    else:
        width = args[0].bits if op in COMPARISONS or op in CONVERSIONS else bits
        return Const(evaluate(op, width, *[a.value for a in args if isinstance(a, Const)]), bits)
    args = _constant_last(op, args)
    if op in COMPARISONS:
        return _comparison(op, args, predicate)
    if op == "select":
        return _select(args, bits, predicate)
    if len(args) == 1:
        return _unary(op, args[0])
    return _arithmetic(op, args, bits, predicate)


def _constant_last(op: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return (args[1], args[0]) if isinstance(args[0], Const) and OPS[op].commutative else args


def same(a: Expr, b: Expr) -> bool:
    """True if the two are certainly equal; compares operands, but not theirs."""
    return a is b or (isinstance(a, LEAVES) and a == b)


def inverse(condition: Expr, predicate: Holds = is_predicate) -> Expr:
    """1 where the condition is 0, else 0."""
    match condition:
        case Const(value):
            return FALSE if value else TRUE
        case Apply(op, args) if op in _INVERSE:
            return Apply(_INVERSE[op], args)
        case Apply(op, (a, b)) if op in _TURNED:
            return fold_apply(_TURNED[op], (b, a), 32, predicate)
        case Apply("xor", (a, Const(1))) if predicate(a):
            return a
        case _ if predicate(condition):
            return Apply("xor", (condition, TRUE))
        case _:
            return Apply("eq", (condition, Const(0, condition.bits)))


def _arithmetic(op: str, args: tuple[Expr, ...], bits: int, predicate: Holds) -> Expr | None:
    if op == "muladd":
        a, b, c = args
        return fold_apply("add", (Apply("mul", (a, b), bits), c), bits) if isinstance(b, Const) else None
    a, b = args
    if isinstance(b, Const):
        return _with_constant(op, a, b, bits, predicate)
    if op in SHIFTS:
        return Const(0, bits) if isinstance(a, Const) and not a.value else fold_shift(op, a, b, bits)
    if same(a, b):
        if op in _IDEMPOTENT:
            return a
        if op in ("sub", "xor", "absdiff"):
            return Const(0, bits)
    return _combined(op, a, b, bits, predicate)


def _combined(op: str, a: Expr, b: Expr, bits: int, predicate: Holds) -> Expr | None:
    """An operation on two different values, the second of which is not a constant."""
    if op == "sub" and isinstance(a, Const) and not a.value:
        return fold_apply("neg", (b,), bits)
    if not isinstance(b, Apply):
        return None
    if op in ("or", "xor", "add") and isinstance(a, Apply):
        rotation = fold_rotation(op, a, b, bits, same)
        if rotation is not None:
            return rotation
    if op == "add" and (product := _product(b)) is not None:
        left = _without(a, *product, bits)
        if left is not None:
            return left
    match op, b:
        case "sub", Apply("and", (x, Const(c))) if same(a, x):
            return fold_apply("and", (a, Const(c ^ (1 << bits) - 1, bits)), bits, predicate)
        case (("add" | "sub"), Apply("neg", (x,))):
            return fold_apply("sub" if op == "add" else "add", (a, x), bits)
    return None


def _without(total: Expr, value: Expr, factor: int, bits: int, depth: int = 3) -> Expr | None:
    """A sum and a multiple of what it has the opposite of: y * 20 + x and y * -20 are x.

    That is what the difference of two pointers into one row is; deeper sums are not searched.
    """
    match total:
        case Apply("add", (a, b)) if depth:
            left = _without(a, value, factor, bits, depth - 1)
            if left is not None:
                return fold_apply("add", (left, b), bits)
            right = _without(b, value, factor, bits, depth - 1)
            return None if right is None else fold_apply("add", (a, right), bits)
        case _:
            other = _product(total)
            gone = other and same(value, other[0]) and not (factor + other[1]) % (1 << bits)
            return Const(0, bits) if gone else None


def _product(term: Expr) -> tuple[Expr, int] | None:
    """The two factors of a product with a constant."""
    match term:
        case Apply("mul", (value, Const(factor))):
            return value, factor
        case Apply("shl", (value, Const(places)), bits) if places < bits:
            return value, 1 << places
        case _:
            return None


def _with_constant(op: str, a: Expr, constant: Const, bits: int, predicate: Holds) -> Expr | None:
    """An operation on a value and a constant."""
    c, ones = constant.value, (1 << bits) - 1
    if c == 0 and op in _ZERO_RIGHT:
        return a
    if op in SHIFTS:
        return fold_shift(op, a, constant, bits)
    match op:
        case "add":
            if isinstance(a, Apply) and a.op == "add" and isinstance(a.args[1], Const):
                return fold_apply("add", (a.args[0], Const(c + a.args[1].value & ones, bits)), bits)
        case "sub":
            return fold_apply("add", (a, Const(-c & ones, bits)), bits)
        case "mul":
            return Const(0, bits) if c == 0 else _times(a, c, bits)
        case "and":
            return _masked(a, c, bits, predicate)
        case "or" | "umax" if c == ones:
            return Const(ones, bits)
        case "or" if c == 1 and bits == 32 and predicate(a):
            return TRUE
        case "xor":
            return fold_apply("not", (a,), bits) if c == ones else _flipped(a, c, bits, predicate)
        case "umin" if c == ones:
            return a
        case "umin" | "umulh" | "smulh" if c == 0:
            return Const(0, bits)
        case "udiv" | "sdiv" | "urem" | "srem":
            return _quotient(op, a, c, bits, predicate)
    return None


def _masked(a: Expr, c: int, bits: int, predicate: Holds) -> Expr | None:
    if c == 0:
        return Const(0, bits)
    if c == (1 << bits) - 1:
        return a
    if isinstance(a, Apply) and a.op == "and" and isinstance(a.args[1], Const):
        return fold_apply("and", (a.args[0], Const(a.args[1].value & c, bits)), bits, predicate)
    return a if bits == 32 and c & 1 and predicate(a) else None


def _flipped(a: Expr, c: int, bits: int, predicate: Holds) -> Expr | None:
    if c == 1 and bits == 32 and isinstance(a, Apply):
        if a.op in COMPARISONS:
            return inverse(a, predicate)
        if a.op == "xor" and a.args[1] == TRUE:
            return a.args[0]
    return None


def _quotient(op: str, a: Expr, c: int, bits: int, predicate: Holds) -> Expr | None:
    """Division by powers of two; that of signed words is left to `narrow`, which knows more of them."""
    if c == 1:
        return a if op in ("udiv", "sdiv") else Const(0, bits)
    if c == 0 or c & (c - 1) or (op[0] == "s" and bits == 32):
        return None
    if op == "udiv":
        return Apply("shr", (a, Const(c.bit_length() - 1)), bits)
    if op == "urem":
        return fold_apply("and", (a, Const(c - 1, bits)), bits, predicate)
    return _signed_division(op, a, c, bits) if c < 1 << (bits - 1) else None


def _signed_division(op: str, a: Expr, c: int, bits: int) -> Expr:
    """By a power of two, towards zero: a negative dividend is raised by c - 1 first."""
    sign = Apply("sar", (a, Const(bits - 1)), bits)
    raised = Apply("add", (a, Apply("and", (sign, Const(c - 1, bits)), bits)), bits)
    if op == "sdiv":
        return Apply("sar", (raised, Const(c.bit_length() - 1)), bits)
    whole = Apply("and", (raised, Const((1 << bits) - c, bits)), bits)
    return Apply("sub", (a, whole), bits)


def _times(a: Expr, c: int, bits: int) -> Expr | None:
    if c == (1 << bits) - 1:
        return fold_apply("neg", (a,), bits)
    if c & (c - 1) == 0:
        return fold_apply("shl", (a, Const(c.bit_length() - 1)), bits)
    if isinstance(a, Apply) and a.op == "mul" and isinstance(a.args[1], Const):
        return fold_apply("mul", (a.args[0], Const(a.args[1].value * c & (1 << bits) - 1, bits)), bits)
    return None


def _unary(op: str, a: Expr) -> Expr | None:
    match op, a:
        case "mov", _:
            return a
        case ("neg", Apply("neg", (b,))) | ("not", Apply("not", (b,))):
            return b
        case "neg", Apply("sub", (b, c), bits):
            return Apply("sub", (c, b), bits)
        case ("abs", Apply("neg", (b,), bits)) | ("abs", Apply("abs", (b,), bits)):
            return Apply("abs", (b,), bits)
        case "abs", Apply("sub", (b, c), bits):
            return Apply("absdiff", (b, c), bits)
        case "abs", Apply("absdiff"):
            return None
        case "trunc", Apply("sext32" | "zext32", (b,)):
            return b
    if op in NARROWING:
        return _narrow(op, a)
    return None


def _narrow(op: str, a: Expr) -> Expr | None:
    bits = NARROWING[op]
    match a:
        case Apply(inner, (b,)) if inner in NARROWING:
            if inner == op or (NARROWING[inner] < bits and (inner[0] == "z" or op[0] == "s")):
                return a
            return fold_apply(op, (b,), a.bits) if bits <= NARROWING[inner] else None
        case Apply("and", (b, Const(c))):
            if c < 1 << (bits - (op[0] == "s")):
                return a
            # The mask keeps all the bits that the narrowing does.
            return fold_apply(op, (b,), a.bits) if c & ((1 << bits) - 1) == (1 << bits) - 1 else None
        case _:
            return a if a.bits == 32 and is_predicate(a) else None


def _comparison(op: str, args: tuple[Expr, ...], predicate: Holds) -> Expr | None:
    if not isinstance(args[0], Const) and not isinstance(args[1], Const):
        return Const(_REFLEXIVE[op]) if same(*args) else None
    width = args[0].bits
    match op, args:
        case _, (a, b) if same(a, b):
            return Const(_REFLEXIVE[op])
        case ("ne", (a, Const(0))) | ("eq", (a, Const(1))) if predicate(a):
            return a
        case ("eq", (a, Const(0))) | ("ne", (a, Const(1))) if predicate(a):
            return None if _plain(a) else inverse(a, predicate)
        case (("eq" | "ne"), (a, Const(value=c))) if c > 1 and predicate(a):
            return Const(int(op == "ne"))
        case (("ne" | "eq"), (Apply("add" | "xor" as inner, (a, Const(c))), Const(d))):
            other = (d - c) % (1 << a.bits) if inner == "add" else d ^ c
            return fold_apply(op, (a, Const(other, a.bits)), 32, predicate)
        case (("ne" | "eq"), (Apply("sub" | "xor", (a, b)), Const(0))):
            return fold_apply(op, (a, b), 32, predicate)
        case (("ne" | "eq"), (Apply("srem", (a, Const(c, bits))), Const(0))) if c and not c & (c - 1):
            return fold_apply(
                op, (Apply("and", (a, Const(c - 1, bits)), bits), Const(0, bits)), 32, predicate
            )
        case "ne", (Apply("smax", (a, Const(0))), Const(0)):
            return fold_apply("slt", (Const(0, a.bits), a), 32, predicate)
        case "eq", (Apply("smax", (a, Const(0))), Const(0)):
            return fold_apply("sle", (a, Const(0, a.bits)), 32, predicate)
        case _, (Apply("select", (c, Const(p), Const(q))), Const(r)):
            return _outcome(c, evaluate(op, width, p, r), evaluate(op, width, q, r), predicate)
        case _, (Const(r), Apply("select", (c, Const(p), Const(q)))):
            return _outcome(c, evaluate(op, width, r, p), evaluate(op, width, r, q), predicate)
        case "ult", (_, Const(0)):
            return FALSE
        case "ule", (Const(0), _):
            return TRUE
        case (("ult" | "ule"), (Const(c), a)) if c == (op == "ule"):
            return fold_apply("ne", (a, Const(0, a.bits)), 32, predicate)
    return None


def _outcome(condition: Expr, then: int, other: int, predicate: Holds) -> Expr:
    """What a comparison of one of two constants gives: `(c ? 8 : 0) == 8` is `c`."""
    if then == other:
        return Const(then)
    if other:
        return inverse(condition, predicate)
    return condition if predicate(condition) else Apply("ne", (condition, Const(0, condition.bits)))


def _plain(a: Expr) -> bool:
    """True if the inverse of a predicate would need an operation of its own anyway."""
    return not (isinstance(a, Apply) and (a.op in COMPARISONS or a.op == "xor"))


def _select(args: tuple[Expr, ...], bits: int, predicate: Holds) -> Expr | None:
    c, a, b = args
    match c:
        case Const(value):
            return a if value else b
        case Apply("ne", (d, Const(0))):
            return fold_apply("select", (d, a, b), bits, predicate)
        case Apply("eq", (d, Const(0))) | Apply("xor", (d, Const(1))) if c.op == "eq" or predicate(d):
            return fold_apply("select", (d, b, a), bits, predicate)
        case Apply("select", (d, Const(p), Const(q))):
            return fold_apply("select", (d, a if p else b, a if q else b), bits, predicate)
    if same(a, b) or (same(a, c) and b == Const(0, bits)):
        return a
    return _choice(c, a, b, predicate) if bits == 32 else None


def _choice(c: Expr, a: Expr, b: Expr, predicate: Holds) -> Expr | None:
    """A choice between predicates is one itself."""
    if isinstance(a, Const) and isinstance(b, Const) and {a.value, b.value} == {0, 1} and c.bits == 32:
        if a.value == 0:
            return inverse(c, predicate)
        return c if predicate(c) else Apply("ne", (c, FALSE))
    if not predicate(c):
        return None
    if b == FALSE and predicate(a):
        return fold_apply("and", (c, a), 32, predicate)
    if a == TRUE and predicate(b):
        return fold_apply("or", (c, b), 32, predicate)
    return fold_choice(c, a, b, same)


def predicates(kernel: ir.Kernel) -> frozenset[Variable]:
    """The variables that are never anything but 0 or 1 (or unspecified)."""
    # What is read and never written is unspecified: 0, to all that run a kernel.
    found = set[Variable]()
    other = {c.what for c in kernel.captured if isinstance(c.what, Variable)}
    assigns, effects = parted(kernel.body)
    for stmt in effects:
        found.update(targets(stmt))
        for expr in operands(stmt):
            found.update(variables_in(expr))
        match stmt:
            case ir.Receive():
                other.update(stmt.targets)
            case ir.Late():
                other.add(stmt.target)
            case ir.Call():
                other.update(stmt.results)
            case _:
                pass
    for assign in assigns:
        value = assign.value
        found.update(variables_in(value))
        if isinstance(value, Load) or isinstance(value, Apply) and value.op not in _LOGICAL:
            other.add(assign.variable)
    pending = [assign for assign in assigns if assign.variable not in other]
    found.update([assign.variable for assign in pending])
    found -= other
    users: dict[Variable, list[ir.Assign]] = {}
    for assign in pending:
        for variable in variables_in(assign.value):
            users.setdefault(variable, []).append(assign)
    while pending:
        assign = pending.pop()
        if assign.variable in found and not is_predicate(assign.value, found):
            found.discard(assign.variable)
            pending.extend(users.get(assign.variable, ()))
    return frozenset(found)
