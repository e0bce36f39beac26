"""Ranges of operations hold what the operations give, for random words from random ranges of operands."""

import random

import pytest

from arch.ops import OPS, evaluate
from macah.ranges import ALL, HALF, WORD, Range, exactly, extended, joined, made, signed, unsigned
from macah.ranges_of import range_of

PURE = sorted(name for name, op in OPS.items() if op.pure and name not in ("sext32", "zext32", "trunc"))
EDGES = (0, 1, 2, 7, 31, 32, 255, 0x7FFF, HALF - 1, HALF, HALF + 1, WORD - 1, WORD)


def holds(found, value):
    number = value - WORD - 1 if value >= HALF else value
    return (
        found.low <= value <= found.high and found.least <= number <= found.most and not value & ~found.bits
    )


def some_range(rng):
    def number(least, most):
        return rng.choice((rng.randint(least, most), max(least, min(most, rng.randint(-300, 300)))))

    match rng.randrange(7):
        case 0:
            return ALL
        case 1:
            return exactly(rng.choice((*EDGES, rng.getrandbits(32))))
        case 2:
            return extended(rng.choice((1, 8, 16)), rng.random() < 0.5)
        case 3:
            return unsigned(*sorted((number(0, WORD), number(0, WORD))))
        case 4:
            return signed(*sorted((number(-HALF, HALF - 1), number(-HALF, HALF - 1))))
        case 5:
            return made(bits=rng.getrandbits(32) & rng.getrandbits(32))
        case _:
            return some_range(rng) | some_range(rng)


def members(found, rng):
    """Some of the words that a range allows."""
    words = {
        found.low,
        found.high,
        found.least & WORD,
        found.most & WORD,
        found.bits,
        rng.getrandbits(32),
        *EDGES,
    }
    words |= {word & found.bits for word in words} | {rng.randint(found.low, found.high) for _ in range(4)}
    words |= {rng.randint(found.least, found.most) & WORD for _ in range(4)}
    return sorted(word for word in words if holds(found, word))


def test_bounds_follow_from_each_other():
    assert made(bits=0xFF) == unsigned(0, 255) == Range(0, 255, 0, 255, 255)
    assert made(least=-5, most=-2) == Range(WORD - 4, WORD - 1, -5, -2, WORD)
    assert made(low=HALF, high=HALF + 1).most == -HALF + 1


@pytest.mark.parametrize("op", PURE)
def test_results_are_in_range(op):
    rng = random.Random(op)
    useful = 0
    for _ in range(400):
        args = tuple(some_range(rng) for _ in range(OPS[op].arity))
        found = range_of(op, args)
        useful += found != ALL
        choices = [members(arg, rng) for arg in args]
        for _ in range(20):
            words = [rng.choice(choice) for choice in choices]
            assert holds(found, evaluate(op, 32, *words)), (args, words, found)
    assert useful


@pytest.mark.parametrize("seed", range(5))
def test_meets_and_joins(seed):
    rng = random.Random(seed)
    for _ in range(300):
        a, b = some_range(rng), some_range(rng)
        for word in members(a, rng):
            assert holds(a | b, word) and holds(joined((b, a)), word)
            assert not holds(b, word) or holds(a & b, word)
        assert a.within(a | b) and a.within(ALL)
