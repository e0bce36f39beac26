"""What values the result of an operation may have, from those that its operands may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from macah.ranges import ALL, HALF, TRUTH, WIDTH, WORD, Range, exactly, extended, made, signed, unsigned

COMPARE: dict[str, Callable[[Range, Range], tuple[bool, bool]]] = {
    # certainly true, certainly false
    "eq": lambda a, b: (a.constant is not None and a.constant == b.constant, _apart(a, b)),
    "ne": lambda a, b: (_apart(a, b), a.constant is not None and a.constant == b.constant),
    "ult": lambda a, b: (a.high < b.low, a.low >= b.high),
    "ule": lambda a, b: (a.high <= b.low, a.low > b.high),
    "slt": lambda a, b: (a.most < b.least, a.least >= b.most),
    "sle": lambda a, b: (a.most <= b.least, a.least > b.most),
}
EXTENSIONS = {
    "sext8": extended(8, True),
    "sext16": extended(16, True),
    "zext8": extended(8, False),
    "zext16": extended(16, False),
}


def range_of(op: str, args: tuple[Range, ...]) -> Range:
    """The range of a pure operation's result."""
    if op in _BINARY:
        return _BINARY[op](args[0], args[1])
    if op in COMPARE:
        true, false = COMPARE[op](args[0], args[1])
        return exactly(1) if true else exactly(0) if false else TRUTH
    match op, args:
        case "mov", (a,):
            return a
        case "select", (c, a, b):
            return b if c.high == 0 else a if c.low > 0 else a | b
        case _, (a,) if op in EXTENSIONS:
            return a if a.within(EXTENSIONS[op]) else EXTENSIONS[op]
        case _, (a,):
            return _unary(op, a)
        case "muladd", (a, b, c):
            return _add(_multiply(a, b), c)
        case _, (a, b) if op in ("shl", "shr", "sar", "rotl"):
            return _shift(op, a, b)
    raise AssertionError(op)


def _apart(a: Range, b: Range) -> bool:
    return (
        a.high < b.low
        or b.high < a.low
        or a.most < b.least
        or b.most < a.least
        or (a.constant is not None and bool(a.constant & ~b.bits))
        or (b.constant is not None and bool(b.constant & ~a.bits))
    )


def _unary(op: str, a: Range) -> Range:
    match op:
        case "neg":
            return _subtract(exactly(0), a)
        case "not":
            return made(WORD - a.high, WORD - a.low, -1 - a.most, -1 - a.least)
        case "abs":
            return a if a.positive else unsigned(max(0, -a.most), a.size)
    raise AssertionError(op)


# --- Sums


def _trailing(bits: int) -> int:
    """A mask without the lowest bits, which are 0 in `bits` too."""
    return WORD - ((bits & -bits) - 1) if bits else 0


def _add(a: Range, b: Range) -> Range:
    if a is ALL or b is ALL:
        return ALL
    bits = _trailing(a.bits | b.bits) if a.bits & b.bits else a.bits | b.bits
    as_signed = signed(a.least + b.least, a.most + b.most, bits)
    return unsigned(a.low + b.low, a.high + b.high, bits) & as_signed


def _subtract(a: Range, b: Range) -> Range:
    if a is ALL or b is ALL:
        return ALL
    bits = _trailing(a.bits | b.bits)
    return unsigned(a.low - b.high, a.high - b.low, bits) & signed(a.least - b.most, a.most - b.least, bits)


def _multiply(a: Range, b: Range) -> Range:
    bits = _trailing((a.bits & -a.bits) * (b.bits & -b.bits) & WORD)
    found = signed(*_corners(lambda x, y: x * y, a, b), bits)
    return unsigned(a.low * b.low, a.high * b.high, bits) & found


def _corners(combine: Callable[[int, int], int], a: Range, b: Range) -> tuple[int, int]:
    """The smallest and largest result where the operation is monotonic in each operand."""
    found = [combine(x, y) for x in (a.least, a.most) for y in (b.least, b.most)]
    return min(found), max(found)


# --- Bits


def _and(a: Range, b: Range) -> Range:
    negative = a.least < 0 and b.least < 0
    least = -(1 << (-min(a.least, b.least) - 1).bit_length()) if negative else -HALF
    return made(0, min(a.high, b.high), least, bits=a.bits & b.bits)


def _or(a: Range, b: Range) -> Range:
    return _bitwise(a, b) & made(max(a.low, b.low), bits=a.bits | b.bits)


def _xor(a: Range, b: Range) -> Range:
    if a is ALL or b is ALL:
        return ALL
    return _bitwise(a, b) & made(bits=a.bits | b.bits)


def _bitwise(a: Range, b: Range) -> Range:
    """Signed operands of n bits give a result of n bits."""
    size = max((v if v >= 0 else ~v).bit_length() for r in (a, b) for v in (r.least, r.most))
    return extended(size + 1, True)


def _counts(b: Range) -> tuple[int, int]:
    return (b.low, b.high) if b.high < WIDTH else (0, WIDTH - 1)


def _shift(op: str, a: Range, b: Range) -> Range:
    fewest, most = _counts(b)
    same = fewest == most
    match op:
        case "shl":
            bits = a.bits << fewest & WORD if same else _trailing(a.bits << fewest & WORD)
            # As numbers; the sign bit stays what it is only if nothing is lost.
            least = min(a.least << fewest, a.least << most)
            found = signed(least, max(a.most << fewest, a.most << most), bits)
            return unsigned(a.low << fewest, a.high << most, bits) & found
        case "shr":
            return unsigned(a.low >> most, a.high >> fewest, a.bits >> fewest if same else WORD)
        case "sar" if a.positive:
            return _shift("shr", a, b)
        case "sar":
            ends = [v >> count for v in (a.least, a.most) for count in (fewest, most)]
            return signed(min(ends), max(ends))
        case "rotl" if same:
            return made(bits=(a.bits << fewest | a.bits >> (WIDTH - fewest)) & WORD)
    return ALL


# --- The rest


def _absdiff(a: Range, b: Range) -> Range:
    return _unary("abs", _subtract(a, b))


def _udiv(a: Range, b: Range) -> Range:
    return unsigned(a.low // b.high, a.high // b.low) if b.low else ALL


def _urem(a: Range, b: Range) -> Range:
    if b.low > a.high:
        return a
    return unsigned(0, min(a.high, b.high - 1)) if b.low else unsigned(0, a.high)


def _sdiv(a: Range, b: Range) -> Range:
    if b.least <= 0:
        return ALL

    def divide(x: int, y: int) -> int:
        return x // y if x >= 0 else -(-x // y)

    return signed(*_corners(divide, a, b))


def _srem(a: Range, b: Range) -> Range:
    if b.least <= 0 <= b.most:
        return a | signed(min(a.least, 0), max(a.most, 0))
    most = b.size - 1
    return signed(max(-most, min(a.least, 0)), min(most, max(a.most, 0)))


def _high(ends: Iterable[int]) -> tuple[int, int]:
    found = [end >> WIDTH for end in ends]
    return min(found), max(found)


_BINARY: dict[str, Callable[[Range, Range], Range]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "absdiff": _absdiff,
    "umin": lambda a, b: unsigned(min(a.low, b.low), min(a.high, b.high)),
    "umax": lambda a, b: unsigned(max(a.low, b.low), max(a.high, b.high)),
    "smin": lambda a, b: signed(min(a.least, b.least), min(a.most, b.most)),
    "smax": lambda a, b: signed(max(a.least, b.least), max(a.most, b.most)),
    "umulh": lambda a, b: unsigned(a.low * b.low >> WIDTH, a.high * b.high >> WIDTH),
    "smulh": lambda a, b: signed(*_high(_corners(lambda x, y: x * y, a, b))),
    "udiv": _udiv,
    "urem": _urem,
    "sdiv": _sdiv,
    "srem": _srem,
}
