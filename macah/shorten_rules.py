"""Rewritings of an operation on the result of another one, which let what comes late be used last.

    (late + a) + b  ->  late + (a + b)               select(late, a, b) + x  ->  select(late, a + x, b + x)

Each rule gets a draft, its operands, which of them is late, and a way to make that one; it yields values that
are equal to the draft's, for words that wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from arch.ops import OPS
from backend.dfg import Const, Place
from macah.balance import latency
from macah.fold import NARROWING
from macah.graph import ONE, WIDTH, ZERO, Draft, Value
from macah.shorten_compare import ORDERS, choose_best, compare_earlier, compare_extremes, relate
from macah.shorten_graph import Choices
from macah.shorten_inverse import neutral
from macah.shorten_products import choose_factor, merge_product, multiply_and_add
from macah.shorten_time import Times

ASSOCIATIVE = frozenset({"add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"})
_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr", "sar", "rotl"})
_FACTORS = {("xor", "and"), ("or", "and"), ("and", "or"), ("add", "mul"), ("sub", "mul")}
_CASES = frozenset({"add", "sub", "xor", "and", "or", "mul", "shl", "shr", "sar", "eq", "ne"})
Triple = tuple[Value, Value, Value]


@dataclass
class Pair:
    """An operation and the operation that makes its operand `at`; results later than `latest` are put off."""

    choices: Choices
    draft: Draft
    args: tuple[Value, ...]
    at: int
    inner: Draft
    inside: tuple[Value, ...]
    times: Times
    latest: int
    put_off: bool = False

    @property
    def op(self) -> str:
        return self.draft.op

    @property
    def where(self) -> Place | None:
        return self.draft.where

    @property
    def other(self) -> Value:
        """The other operand of an operation with two."""
        return self.args[1 - self.at]

    def make(self, op: str, *values: Value) -> Value:
        return self.choices.apply(op, *values, where=self.where)

    def again(self, values: tuple[Value, ...]) -> Value:
        return self.choices.again(self.draft, values)

    def with_late(self, value: Value) -> tuple[Value, ...]:
        late = self.args[self.at]
        return tuple([value if arg == late else arg for arg in self.args])

    def late(self, cycles: int, *values: Value) -> bool:
        """True if what is made of values in so many cycles is certainly too late; notes it."""
        latest = self.latest - cycles
        for value in values:
            if self.times.of_value(value) > latest:
                self.put_off = True
                return True
        return False

    def views(self, value: Value) -> Iterator[tuple[str, tuple[Value, ...]]]:
        for node, operands in self.choices.views(value):
            yield self.choices.graph.drafts[node].op, operands

    def made_by(self, op: str, value: Value) -> Iterator[tuple[Value, ...]]:
        """What an operation is applied to in the ways to make a value with it."""
        for _, operands in self.choices.views(value, op):
            yield operands

    @cached_property
    def choice(self) -> list[Triple]:
        """The inner operation as choices."""
        return list(as_choices(self.choices, self.inner.op, self.inside))


Rule = Callable[[Pair], Iterator[Value]]


def as_choices(choices: Choices, op: str, operands: tuple[Value, ...]) -> Iterator[Triple]:
    """Condition, then, else: operations on predicates are choices as well."""
    if op == "select":
        c, a, b = operands
        yield c, a, b
    elif op in _BITWISE and all(choices.is_predicate(value) for value in operands):
        for u, v in (operands, operands[::-1]):
            if isinstance(u, Const):
                continue
            match op:
                case "and":
                    yield u, v, ZERO
                case "or":
                    yield u, ONE, v
                case _:
                    yield u, choices.apply("xor", v, ONE), v


def choose_last(pair: Pair) -> Iterator[Value]:
    """op(select(c, a, b), y) -> select(c, op(a, y), op(b, y))"""
    for c, a, b in pair.choice:
        if c == pair.args[pair.at] or pair.late(1, c):
            continue
        inverse = pair.choices.inverse(c)
        then = [_given(pair, arg, c, inverse, True) for arg in pair.with_late(a)]
        if _late_again(pair, then):
            continue
        other = [_given(pair, arg, c, inverse, False) for arg in pair.with_late(b)]
        if not _late_again(pair, other):
            yield pair.make("select", c, pair.again(tuple(then)), pair.again(tuple(other)))


def _late_again(pair: Pair, values: list[Value]) -> bool:
    """Whether the operation on these, and a choice of it, is too late."""
    folds = any(isinstance(value, Const) for value in values)
    return pair.late(1 if folds else 1 + latency(pair.op), *values)


def _given(pair: Pair, value: Value, condition: Value, inverse: Value | None, holds: bool) -> Value:
    """What a value is where the condition holds, or where it does not, and its inverse does."""
    if isinstance(value, Const):
        return value
    if inverse is not None:
        if value == condition:
            return ONE if holds else ZERO
        if value == inverse:
            return ZERO if holds else ONE
    for _, operands in pair.choices.views(value, "select"):
        if operands[0] == condition:
            return operands[1 if holds else 2]
        if inverse is not None and operands[0] == inverse:
            return operands[2 if holds else 1]
    return value


def rotate_choices(pair: Pair) -> Iterator[Value]:
    """select(c, a, select(d, x, y)) -> select(c | d, select(c, a, x), y), and so on for each arm"""

    def inverse(v: Value) -> Value:
        return pair.make("xor", v, ONE)

    for c, then, other in as_choices(pair.choices, pair.op, pair.args):
        for d, x, y in pair.choice:
            if pair.late(2, c, d):
                continue
            c, d = _as_predicate(pair, c), _as_predicate(pair, d)
            if other == pair.args[pair.at] and not pair.late(1, then, x, y):
                yield pair.make("select", pair.make("or", c, d), pair.make("select", c, then, x), y)
                yield pair.make("select", pair.make("or", c, inverse(d)), pair.make("select", c, then, y), x)
            elif then == pair.args[pair.at] and not pair.late(1, other, x, y):
                yield pair.make("select", pair.make("and", c, d), x, pair.make("select", c, y, other))
                yield pair.make(
                    "select", pair.make("and", c, inverse(d)), y, pair.make("select", c, x, other)
                )


def _as_predicate(pair: Pair, condition: Value) -> Value:
    """A condition as 0 or 1."""
    return condition if pair.choices.is_predicate(condition) else pair.make("ne", condition, ZERO)


def split_predicate(pair: Pair) -> Iterator[Value]:
    """x + c -> select(c, x + 1, x), where c is 0 or 1; x | c -> select(c, x | 1, x), if x is a number"""
    late = pair.args[pair.at]
    if pair.op in ("and", "or") and all(map(pair.choices.is_predicate, pair.args)):
        return
    if pair.op in _CASES and pair.choices.is_predicate(late):
        yield pair.make("select", late, pair.again(pair.with_late(ONE)), pair.again(pair.with_late(ZERO)))


def choose_by_sign(pair: Pair) -> Iterator[Value]:
    """(x >> 31) >>> 28 -> select(x < 0, 15, 0), as the sign of what is divided by 16 rounds it"""
    if pair.op != "shr" or pair.inner.op != "sar" or pair.at:
        return
    (x, copies), count = pair.inside, pair.other
    if not isinstance(copies, Const) or not isinstance(count, Const):
        return
    if max(copies.value, count.value) < WIDTH <= copies.value + count.value + 1:  # only the sign is left
        ones = Const((1 << WIDTH - count.value) - 1)
        yield pair.make("select", pair.make("slt", x, ZERO), ones, ZERO)


def reassociate(pair: Pair) -> Iterator[Value]:
    """(a + b) + y -> a + (b + y)"""
    if pair.op == pair.inner.op and pair.op in ASSOCIATIVE:
        a, b = pair.inside
        yield pair.make(pair.op, a, pair.make(pair.op, b, pair.other))
        yield pair.make(pair.op, b, pair.make(pair.op, a, pair.other))


_SUMS = frozenset({"add", "sub", "neg"})


def regroup_sum(pair: Pair) -> Iterator[Value]:
    """(a - b) + y -> a + (y - b)"""
    if pair.op not in _SUMS or pair.inner.op not in _SUMS or pair.op == pair.inner.op == "add":
        return
    outer = _signs(pair.op, pair.args)
    sign = outer[pair.at][0]
    inner = [(sign * s, value) for s, value in _signs(pair.inner.op, pair.inside)]
    rest = outer[: pair.at] + outer[pair.at + 1 :]
    for k, term in enumerate(inner):
        yield _sum(pair, term, inner[:k] + inner[k + 1 :] + rest)


def _signs(op: str, operands: tuple[Value, ...]) -> list[tuple[int, Value]]:
    if op == "neg":
        return [(-1, operands[0])]
    return [(1, operands[0]), (1 if op == "add" else -1, operands[1])]


def _sum(pair: Pair, last: tuple[int, Value], others: list[tuple[int, Value]]) -> Value:
    """A sum of signed terms to which `last` is added in the end."""
    plus = [value for sign, value in others if sign > 0]
    minus = [value for sign, value in others if sign < 0]
    sign, value = last
    if not others:
        return value if sign > 0 else pair.make("neg", value)
    if plus:
        total = plus[0]
        for term in plus[1:]:
            total = pair.make("add", total, term)
        for term in minus:
            total = pair.make("sub", total, term)
        return pair.make("add" if sign > 0 else "sub", *((value, total) if sign > 0 else (total, value)))
    total = minus[0]
    for term in minus[1:]:
        total = pair.make("add", total, term)
    if sign > 0:
        return pair.make("sub", value, total)
    return pair.make("sub", pair.make("neg", total), value)


def distribute(pair: Pair) -> Iterator[Value]:
    """(a ^ b) & m -> (a & m) ^ (b & m)"""
    op, inner = pair.op, pair.inner.op
    if (
        (op == "and" and inner in ("or", "xor"))
        or (op == "or" and inner == "and")
        or (op in _SHIFTS and pair.at == 0 and pair.args[0] != pair.args[1] and inner in _BITWISE)
        or (op in NARROWING and inner in _BITWISE)
        or (op == "shl" and pair.at == 0 and pair.args[0] != pair.args[1] and inner in ("add", "sub"))
        or (op == "mul" and inner in ("add", "sub") and isinstance(pair.other, Const))
    ):
        a, b = (pair.again(pair.with_late(value)) for value in pair.inside)
        yield pair.make(inner, a, b)
    elif op == "not" and inner == "xor":
        a, b = pair.inside
        yield pair.make("xor", a, pair.make("not", b))
        yield pair.make("xor", b, pair.make("not", a))
    elif op == "not" and inner in ("and", "or"):
        a, b = (pair.make("not", value) for value in pair.inside)
        yield pair.make("or" if inner == "and" else "and", a, b)


def merge_arms(pair: Pair) -> Iterator[Value]:
    """select(c, x + y, x) -> x + select(c, y, 0), and select(c, x + y, x + z) -> x + select(c, y, z)"""
    op, inside = pair.inner.op, pair.inside
    if pair.op != "select" or pair.at == 0 or op == "select" or len(inside) != 2 or not OPS[op].pure:
        return
    other = pair.args[3 - pair.at]
    found = list(pair.made_by(op, other))
    identity = neutral(op)
    if identity is not None:
        found.append((other, identity))
    orders = [inside, inside[::-1]] if OPS[op].commutative else [inside]
    for x, y in orders:
        for there in found:
            turns = [there, there[::-1]] if OPS[op].commutative else [there]
            for u, z in turns:
                if u == x:
                    arms = (y, z) if pair.at == 1 else (z, y)
                    yield pair.make(op, x, pair.make("select", pair.args[0], *arms))
                elif z == y and not OPS[op].commutative:
                    arms = (x, u) if pair.at == 1 else (u, x)
                    yield pair.make(op, pair.make("select", pair.args[0], *arms), y)


def factor(pair: Pair) -> Iterator[Value]:
    """(a & b) ^ (a & c) -> a & (b ^ c)"""
    if (pair.op, pair.inner.op) not in _FACTORS:
        return
    op = pair.inner.op
    for operands in pair.made_by(op, pair.other):
        for a, b in (pair.inside, pair.inside[::-1]):
            for x, c in (operands, operands[::-1]):
                if a == x:
                    rest = (b, c) if pair.at == 0 else (c, b)
                    yield pair.make(op, a, pair.make(pair.op, *rest))


def choose_bits(pair: Pair) -> Iterator[Value]:
    """(e & f) | (~e & g) -> ((f ^ g) & e) ^ g"""
    if pair.op not in ("or", "xor", "add") or pair.inner.op != "and":
        return
    for operands in pair.made_by("and", pair.other):
        for e, f in (pair.inside, pair.inside[::-1]):
            for n, g in (operands, operands[::-1]):
                if _complements(pair, e, n):
                    for mask, x, y in ((e, f, g), (n, g, f)):
                        yield pair.make("xor", pair.make("and", mask, pair.make("xor", x, y)), y)


def _complements(pair: Pair, a: Value, b: Value) -> bool:
    return any(made[0] == y for x, y in ((a, b), (b, a)) for made in pair.made_by("not", x))


_ANY = frozenset(OPS)
_OUTER: tuple[tuple[Rule, frozenset[str]], ...] = (
    (choose_last, _ANY),
    (rotate_choices, _BITWISE | {"select"}),
    (split_predicate, _CASES),
    (choose_by_sign, frozenset({"shr"})),
    (reassociate, ASSOCIATIVE),
    (regroup_sum, _SUMS),
    (compare_earlier, frozenset({"eq", "ne"})),
    (compare_extremes, frozenset(ORDERS)),
    (relate, _BITWISE),
    (distribute, _BITWISE | _SHIFTS | NARROWING.keys() | {"not", "mul"}),
    (merge_arms, frozenset({"select"})),
    (merge_product, frozenset({"select"})),
    (choose_factor, frozenset({"select"})),
    (choose_best, frozenset({"select"})),
    (factor, frozenset(op for op, _ in _FACTORS)),
    (choose_bits, frozenset({"or", "xor", "add"})),
    (multiply_and_add, frozenset({"muladd", "add", "sub"})),
)
RULES = tuple([rule for rule, _ in _OUTER])
RULES_FOR = {op: tuple([rule for rule, ops in _OUTER if op in ops]) for op in sorted(_ANY)}
"""The rules that may do something with an operation."""
