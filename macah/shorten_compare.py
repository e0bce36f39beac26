"""Rewritings of comparisons, for `shorten_rules`.

late + k == n  ->  late == n - k               a != b & a <= b  ->  a < b
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from backend.dfg import Const
from macah.graph import ONE, WIDTH, ZERO, Value

if TYPE_CHECKING:
    from macah.shorten_rules import Pair


def compare_earlier(pair: Pair) -> Iterator[Value]:
    """x + k == n -> x == n - k"""
    if pair.op not in ("eq", "ne"):
        return
    n = pair.other
    match pair.inner.op, pair.inside:
        case "add", (a, b):
            yield pair.make(pair.op, a, pair.make("sub", n, b))
            yield pair.make(pair.op, b, pair.make("sub", n, a))
        case "sub", (a, b):
            yield pair.make(pair.op, a, pair.make("add", n, b))
            yield pair.make(pair.op, b, pair.make("sub", a, n))
        case "xor", (a, b):
            yield pair.make(pair.op, a, pair.make("xor", n, b))
            yield pair.make(pair.op, b, pair.make("xor", n, a))
        case (("neg" | "not"), (a,)):
            yield pair.make(pair.op, a, pair.make(pair.inner.op, n))
        case "mul", (a, Const(k)) if k & 1:
            yield pair.make(pair.op, a, pair.make("mul", n, Const(pow(k, -1, 1 << WIDTH))))
        case "muladd", (a, Const(k), c) if k & 1:
            rest = pair.make("sub", n, c)
            yield pair.make(pair.op, a, pair.make("mul", rest, Const(pow(k, -1, 1 << WIDTH))))


ORDERS = {"slt": "s", "sle": "s", "ult": "u", "ule": "u"}


def compare_extremes(pair: Pair) -> Iterator[Value]:
    """max(a, b) < n -> a < n & b < n"""
    sign = ORDERS.get(pair.op)
    if sign is None or pair.inner.op not in (sign + "min", sign + "max"):
        return
    both = pair.inner.op.endswith("max") == (pair.at == 0)
    a, b = (pair.again(pair.with_late(value)) for value in pair.inside)
    yield pair.make("and" if both else "or", a, b)


_RELATIONS = {"eq": 0b010, "ne": 0b101, "lt": 0b001, "le": 0b011}  # where <, =, > hold, from the right
_SIGNS = {"eq": "", "ne": "", **ORDERS}


def relate(pair: Pair) -> Iterator[Value]:
    """a != b & a <= b -> a < b: what is said of how two values compare is one comparison"""
    if pair.op not in ("and", "or", "xor") or pair.inner.op not in _SIGNS:
        return
    for op, operands in pair.views(pair.other):
        signs = {_SIGNS.get(op, "none"), _SIGNS[pair.inner.op]} - {""}
        if len(signs) > 1 or op not in _SIGNS or operands not in (pair.inside, pair.inside[::-1]):
            continue
        a, b = pair.inside
        one = _RELATIONS[pair.inner.op[-2:]]
        two = _RELATIONS[op[-2:]]
        if operands != pair.inside:
            two = (two & 1) << 2 | two & 2 | two >> 2
        both = {"and": one & two, "or": one | two, "xor": one ^ two}[pair.op]
        yield _relation(pair, both, "".join(signs), a, b)


def _relation(pair: Pair, where: int, sign: str, a: Value, b: Value) -> Value:
    """1 where a < b, a = b or a > b, as the bits of `where` say."""
    if where in (0, 0b111):
        return ONE if where else ZERO
    if where in (0b010, 0b101):
        return pair.make("eq" if where == 0b010 else "ne", a, b)
    name = sign + ("le" if where & 2 else "lt")
    return pair.make(name, a, b) if where & 1 else pair.make(name, b, a)


def choose_best(pair: Pair) -> Iterator[Value]:
    """select(x < min(b, y), p, select(y < b, q, a)) -> select(min(x, y) < b, select(x < y, p, q), a)

    Which of several values is the least is found before it is compared with the least one so far.
    """
    if pair.op != "select" or pair.at != 2 or pair.inner.op != "select":
        return
    (outer, p, _), (inner, q, a) = pair.args, pair.inside
    for order, operands in pair.views(outer):
        sign = ORDERS.get(order)
        if sign is None:
            continue
        for at in (0, 1):
            x, least = operands[at], operands[1 - at]
            extreme = sign + ("min" if at == 0 else "max")
            for b, y in _either_way(pair.made_by(extreme, least)):
                if pair.late(3, x, y) or (y, b)[:: 1 - 2 * at] not in pair.made_by(order, inner):
                    continue
                best = pair.make(extreme, x, y)
                nearer = pair.make(order, *(x, y)[:: 1 - 2 * at])
                test = pair.make(order, *(best, b)[:: 1 - 2 * at])
                yield pair.make("select", test, pair.make("select", nearer, p, q), a)


def _either_way(pairs: Iterator[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    for pair in pairs:
        yield pair
        yield pair[::-1]
