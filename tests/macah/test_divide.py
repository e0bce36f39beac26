"""Division by constants as products: against division, on words next to where the quotient changes."""

import random

import pytest

from arch.ops import evaluate, signed, word
from macah.divide import magic, remainder, signed_quotient, signed_remainder, unsigned_quotient
from macah.ranges import HALF, WORD

DIVISORS = sorted(
    {
        *range(1, 400),
        *(641, 1000, 1461, 3600, 10000, 65535, 65537, 86400, 146097, 1000000, 6700417, 1000000007),
        *(2**k + d for k in range(8, 32) for d in (-3, -1, 0, 1, 3)),
        *(HALF - 1, HALF + 1, WORD - 1, WORD),
    }
)


class Counted:
    """Evaluates operations, and counts them."""

    def __init__(self):
        self.ops = []

    def __call__(self, op, *operands):
        if op not in ("shr", "sar") or operands[1]:
            self.ops.append(op)
        return evaluate(op, 32, *operands)


def near(divisor, most, rng):
    """Words up to `most` around multiples of the divisor."""
    multiples = {
        0,
        1,
        2,
        most // divisor,
        most // divisor - 1,
        *(rng.randrange(most // divisor + 1) for _ in range(8)),
    }
    found = {m * divisor + d for m in multiples for d in (-1, 0, 1)} | {
        most,
        most - 1,
        HALF - 1,
        HALF,
        HALF + 1,
    }
    return [x for x in sorted(found) if 0 <= x <= most]


@pytest.mark.parametrize("most", [WORD, HALF - 1, HALF, 0x01000000, 65535, 1000, 255])
def test_unsigned(most):
    rng = random.Random(most)
    for divisor in DIVISORS:
        for x in near(divisor, most, rng):
            do = Counted()
            quotient = unsigned_quotient(do, x, divisor, most)
            assert quotient == x // divisor, (x, divisor, most)
            assert remainder(do, x, divisor, quotient) == x % divisor
            assert len(do.ops) <= (7 if most == WORD else 4), (divisor, do.ops)


@pytest.mark.parametrize("size", [HALF, HALF - 1, 32768, 255])
def test_signed(size):
    rng = random.Random(size)
    for number in DIVISORS:
        for divisor in (number, -number):
            if abs(divisor) < 2 or not -HALF <= divisor < HALF:
                continue
            for most in near(number, size, rng):
                for x in {word(32, most), word(32, -most)} - ({HALF} if size < HALF else set()):
                    do = Counted()
                    quotient = signed_quotient(do, x, divisor, -size, min(size, HALF - 1))
                    assert quotient == evaluate("sdiv", 32, x, word(32, divisor)), (
                        signed(32, x),
                        divisor,
                        size,
                    )
                    left = remainder(do, x, divisor, quotient)
                    assert left == evaluate("srem", 32, x, word(32, divisor))
                    assert len(do.ops) <= 7, (divisor, do.ops)


@pytest.mark.parametrize(("divisor", "most"), [(3, 65535), (7, 9999), (10, 65535), (255, 65535), (100, 255)])
def test_every_word(divisor, most):
    for x in range(most + 1):
        assert unsigned_quotient(Counted(), x, divisor, most) == x // divisor
        for sign in (x, word(32, -x)):
            assert signed_quotient(Counted(), sign, divisor, -most, most) == evaluate(
                "sdiv", 32, sign, divisor
            )


@pytest.mark.parametrize("shift", range(1, 31))
def test_remainders_of_powers_of_two_have_the_sign_of_the_dividend(shift):
    for x in near(1 << shift, WORD, random.Random(shift)):
        assert signed_remainder(Counted(), x, shift) == evaluate("srem", 32, x, 1 << shift)


def test_small_dividends_take_one_operation():
    for divisor in (3, 7, 10, 1000):
        do = Counted()
        unsigned_quotient(do, 999, divisor, 65535)
        assert do.ops == ["umulh"]
    assert magic(10, WORD).factor == 0xCCCCCCCD
