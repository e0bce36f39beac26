"""Rewritings of products and what is added to them, for `shorten_rules`.

c - a * late  ->  muladd(-a, late, c)                  muladd(a, b, late) - d  ->  muladd(a, b, late - d)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from macah.balance import latency
from macah.graph import ONE, ZERO, Value

if TYPE_CHECKING:
    from macah.shorten_rules import Pair


def merge_product(pair: Pair) -> Iterator[Value]:
    """select(c, muladd(x, k, y), x) -> muladd(x, select(c, k, 1), select(c, y, 0))

    And select(c, muladd(a, b, x), x) -> muladd(select(c, a, 0), b, x), where a may be known before b.
    """
    if pair.op != "select" or pair.at == 0 or pair.inner.op != "muladd":
        return
    x, k, y = pair.inside
    for same, other in ((x, k), (k, x)):
        if same == pair.args[3 - pair.at]:
            arms = [(other, ONE), (y, ZERO)] if pair.at == 1 else [(ONE, other), (ZERO, y)]
            yield pair.make("muladd", same, *[pair.make("select", pair.args[0], *arm) for arm in arms])
    if y == pair.args[3 - pair.at]:
        for early, late in ((x, k), (k, x)):
            if not pair.late(1 + latency("muladd"), early):
                arm = (early, ZERO) if pair.at == 1 else (ZERO, early)
                yield pair.make("muladd", pair.make("select", pair.args[0], *arm), late, y)


_ZERO_IF_ONE_IS = frozenset({"mul", "umulh", "smulh", "and", "umin"})


def choose_factor(pair: Pair) -> Iterator[Value]:
    """select(c, 0, late * k) -> late * select(c, 0, k)

    What a row begins with is a product of what the last one left and 0.
    """
    op = pair.inner.op
    if pair.op != "select" or pair.at == 0 or op not in _ZERO_IF_ONE_IS or pair.args[3 - pair.at] != ZERO:
        return
    for early, late in (pair.inside, pair.inside[::-1]):
        if not pair.late(1 + latency(op), early):
            chosen = (early, ZERO) if pair.at == 1 else (ZERO, early)
            yield pair.make(op, late, pair.make("select", pair.args[0], *chosen))


def multiply_and_add(pair: Pair) -> Iterator[Value]:
    """a * b + c <-> muladd(a, b, c);  c - a * b -> muladd(-a, b, c);  muladd(a, b, c) - d, as c - d

    A filter that subtracts what it feeds back waits for a product and a shift then, and no more.
    """
    if pair.op == "muladd":
        a, b, c = pair.args
        yield pair.make("add", pair.make("mul", a, b), c)
    elif pair.op in ("add", "sub"):
        if pair.inner.op == "mul" and pair.args[0] != pair.args[1]:
            a, b = pair.inside
            yield from _added(pair, a, b, None)
        elif pair.inner.op == "muladd":
            a, b, c = pair.inside
            yield from _added(pair, a, b, c)


def _added(pair: Pair, a: Value, b: Value, c: Value | None) -> Iterator[Value]:
    """The sum or difference of a * b + c and something else; a factor that is there early is negated."""
    if pair.op == "add" or pair.at == 0:
        if c is not None:
            rest = pair.make(pair.op, c, pair.other)
        else:
            rest = pair.other if pair.op == "add" else pair.make("neg", pair.other)
        yield pair.make("muladd", a, b, rest)
        return
    rest = pair.other if c is None else pair.make("sub", pair.other, c)
    for early, late in ((a, b), (b, a)):
        if not pair.late(1 + latency("muladd"), early):
            yield pair.make("muladd", pair.make("neg", early), late, rest)
