"""Folding of single operations: each rule against the meaning of operations, on words that try it."""

import random
from itertools import product

import pytest

from arch.ops import COMPARISONS, evaluate
from macah.fold import fold
from macah.fold_shifts import SHIFTS
from macah.ir import Apply, Assign, Const, Read, Variable
from macah.show import show_body
from macah.walk import map_expr, subexpressions

X, Y, N = Read(Variable("x")), Read(Variable("y")), Read(Variable("n"))
EDGES = (
    0,
    1,
    2,
    7,
    31,
    32,
    33,
    127,
    128,
    255,
    256,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFFFE,
    0xFFFFFFFF,
)


def show_expr(expr):
    return show_body((Assign(Variable("it"), expr),))


def value(expr, given, bits=32):
    match expr:
        case Const(number):
            return number
        case Read(variable):
            return given[variable]
        case Apply(op, args, bits):
            width = args[0].bits if op in COMPARISONS else bits
            return evaluate(op, width, *[value(arg, given) for arg in args])


def folded(expr):
    return map_expr(expr, fold)


def check(before, words=EDGES, counts=EDGES):
    """The expression folded; it must have the same value for all of the words."""
    after = folded(before)
    for x, y, n in product(words, words if Y in subexpressions(before) else (0,), counts):
        given = {X.variable: x, Y.variable: y, N.variable: n}
        assert value(before, given) == value(after, given), (show_expr(before), show_expr(after), given)
    return after


def operations(expr):
    return sum(isinstance(inner, Apply) for inner in subexpressions(expr))


@pytest.mark.parametrize(("first", "second"), list(product(sorted(SHIFTS), repeat=2)))
def test_two_shifts_by_constants(first, second):
    for c, d in product((0, 1, 5, 8, 16, 24, 31, 32, 40), repeat=2):
        after = check(Apply(second, (Apply(first, (X, Const(c))), Const(d))), counts=(0,))
        assert operations(after) <= 1 or first != second


@pytest.mark.parametrize("op", ["or", "xor", "add"])
def test_rotations_by_constants(op):
    for c, d in product((0, 1, 7, 16, 25, 31), repeat=2):
        pair = Apply("shl", (X, Const(c))), Apply("shr", (X, Const(d)))
        for args in (pair, pair[::-1]):
            after = check(Apply(op, args), counts=(0,))
            assert c + d != 32 or (after.op, after.args) == ("rotl", (X, Const(c)))


def rest(n):
    """32 - n, as it is written."""
    yield Apply("sub", (Const(32), n))
    yield Apply("neg", (n,))
    yield Apply("and", (Apply("sub", (Const(32), n)), Const(31)))
    yield Apply("and", (Apply("neg", (n,)), Const(31)))


@pytest.mark.parametrize("op", ["or", "xor", "add"])
@pytest.mark.parametrize("count", [N, Apply("and", (N, Const(31))), Apply("zext8", (N,))])
def test_rotations_by_variables(op, count):
    for other, (left, right) in product(rest(count), (("shl", "shr"), ("shr", "shl"))):
        after = check(Apply(op, (Apply(left, (X, count)), Apply(right, (X, other)))))
        if op == "or":
            assert after.op == "rotl" and operations(after) <= 2


def multiple(x, factor):
    return Apply("mul", (x, Const(factor & 0xFFFFFFFF)))


@pytest.mark.parametrize("factor", [3, 20, 32, 1 << 31])
def test_a_multiple_and_its_opposite_are_none(factor):
    """As in the difference of a pointer into a row and the row's end."""
    for other in (-factor, -factor + 1, factor):
        at = Apply("add", (multiple(X, factor), Y))
        after = check(Apply("add", (Apply("add", (at, multiple(X, other))), Const(7))))
        assert operations(after) == 1 or (factor + other) % (1 << 32)
        check(Apply("add", (Apply("add", (Y, multiple(X, other))), multiple(X, factor))))


def test_products_with_places_that_are_too_many_do_not_cancel():
    for places, more in product((0, 31, 32, 40), repeat=2):
        at = Apply("add", (Apply("shl", (X, Const(places))), Y))
        check(Apply("add", (at, Apply("shl", (X, Const(more))))))


def test_values_that_differ_are_not_rotated():
    after = check(Apply("or", (Apply("shl", (X, Const(8))), Apply("shr", (Y, Const(24))))), counts=(0,))
    assert operations(after) == 3


@pytest.mark.parametrize("op", ["slt", "sle", "ult", "ule"])
@pytest.mark.parametrize("limit", [0, 1, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_bounds_by_constants(op, limit):
    for delta, turned, swapped in product((-2, -1, 0, 1, 2), (False, True), (False, True)):
        bound = Const(limit + delta & 0xFFFFFFFF)
        condition = Apply(op, (Const(limit), X) if turned else (X, Const(limit)))
        arms = (X, bound) if swapped else (bound, X)
        check(Apply("select", (condition, *arms)), counts=(0,))


@pytest.mark.parametrize("kind", ["s", "u"])
def test_clamping_takes_two_operations(kind):
    least, most = Apply(f"{kind}min", (X, Const(255))), Apply(f"{kind}max", (X, Const(3)))
    for op, delta in product(("lt", "le"), (0, 1)):
        low = Apply(kind + op, (X, Const(3 + (op == "lt" and delta) - (op == "le" and delta))))
        after = check(Apply("select", (low, Const(3), least)), range(300), (0,))
        assert operations(after) == 2
        high = Apply(kind + op, (Const(255), X))
        assert operations(check(Apply("select", (high, Const(255), most)), range(300), (0,))) == 2


def test_bounds_that_conflict():
    words = (*EDGES, *range(10))
    for low, high, kind in product((0, 3, 5, 6, 9), (0, 3, 5, 6, 9), "su"):
        inner = Apply(f"{kind}min", (X, Const(high)))
        check(Apply("select", (Apply(f"{kind}lt", (X, Const(low))), Const(low), inner)), words, (0,))
        inner = Apply(f"{kind}max", (X, Const(high)))
        check(Apply("select", (Apply(f"{kind}lt", (Const(low), X)), Const(low), inner)), words, (0,))


@pytest.mark.parametrize("op", ["slt", "sle"])
@pytest.mark.parametrize("number", [0, 1, 0xFFFFFFFF])
def test_absolute_values(op, number):
    for size in (X, Apply("sub", (X, Y))):
        minus = Apply("neg", (X,)) if size is X else Apply("sub", (Y, X))
        for args, arms in product(
            ((size, Const(number)), (Const(number), size)), ((size, minus), (minus, size))
        ):
            after = check(Apply("select", (Apply(op, args), *arms)), counts=(0,))
            if number == 0:
                assert operations(after) <= 2 and "select" not in show_expr(after)


@pytest.mark.parametrize("op", ["eq", "ne"])
def test_choices_between_what_is_compared(op):
    for arms in ((X, Y), (Y, X)):
        assert operations(check(Apply("select", (Apply(op, (X, Y)), *arms)), counts=(0,))) == 0


def chosen(condition, then, other):
    return Apply("select", (condition, Const(then), Const(other)))


@pytest.mark.parametrize("op", sorted(COMPARISONS))
@pytest.mark.parametrize("condition", [X, Apply("slt", (X, Y))], ids=["number", "predicate"])
def test_comparisons_of_one_of_two_constants_are_its_condition(op, condition):
    for then, other, limit in product((0, 1, 7, 8, 0x80000000, 0xFFFFFFFF), repeat=3):
        for args in (
            (chosen(condition, then, other), Const(limit)),
            (Const(limit), chosen(condition, then, other)),
        ):
            assert "select" not in show_expr(check(Apply(op, args), counts=(0,)))


def test_choices_by_one_of_two_constants_are_by_its_condition():
    for then, other in product((0, 1, 8, 0xFFFFFFFF), repeat=2):
        for condition in (N, Apply("ult", (N, X))):
            after = check(Apply("select", (chosen(condition, then, other), X, Y)), EDGES[:8])
            assert show_expr(after).count("select") <= (then == 0 or other == 0)


@pytest.mark.parametrize("seed", range(20))
def test_random_shifts_and_choices(seed):
    rng = random.Random(seed)

    def expr(depth):
        if depth == 0:
            return rng.choice((X, Y, N, Const(rng.choice(EDGES))))
        match rng.randrange(4):
            case 0:
                return Apply(rng.choice(sorted(SHIFTS)), (expr(depth - 1), expr(depth - 1)))
            case 1:
                op = rng.choice(("or", "xor", "add", "and", "sub", "smin", "smax", "umin", "umax"))
                return Apply(op, (expr(depth - 1), expr(depth - 1)))
            case 2:
                a, b = expr(depth - 1), expr(depth - 1)
                condition = Apply(rng.choice(sorted(COMPARISONS)), (a, b))
                return Apply("select", (condition, *rng.choice(((a, b), (b, a), (a, Apply("neg", (a,)))))))
            case _:
                return Apply(rng.choice(("neg", "abs", "sext8", "zext8", "zext16")), (expr(depth - 1),))

    for _ in range(60):
        before = expr(rng.randrange(1, 4))
        words = [*rng.sample(EDGES, 3), rng.getrandbits(32)]
        check(before, words, [*rng.sample(EDGES, 3), rng.getrandbits(32)])


def test_products_with_constants_are_one():
    inverse = pow(3, -1, 1 << 32)
    assert folded(Apply("mul", (Apply("mul", (X, Const(3))), Const(inverse)))) == X
    check(Apply("mul", (Apply("mul", (X, Const(0x80000003))), Const(5))))
