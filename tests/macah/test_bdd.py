"""Decision diagrams against truth tables, and relations between atoms against words."""

import random
from itertools import product

import pytest

from macah.bdd import FALSE, TRUE, Bdd

SIZE = 4
ROWS = list(product((0, 1), repeat=SIZE))


def table(bdd, f):
    found = []
    for row in ROWS:
        node = f
        while node > TRUE:
            node = (bdd.highs if row[bdd.levels[node]] else bdd.lows)[node]
        found.append(node)
    return tuple(found)


def some(bdd, rng, depth):
    if depth == 0:
        return rng.choice([FALSE, TRUE, *map(bdd.variable, range(SIZE))])
    return bdd.choose(*(some(bdd, rng, depth - 1) for _ in range(3)))


@pytest.mark.parametrize("seed", range(10))
def test_functions_are_what_their_tables_say(seed):
    rng, bdd, numbers = random.Random(seed), Bdd(), {}
    for _ in range(60):
        f, g, h = (some(bdd, rng, 2) for _ in range(3))
        tables = [table(bdd, function) for function in (f, g, h)]
        for function, known in zip((f, g, h), tables, strict=True):
            assert numbers.setdefault(known, function) == function  # equal functions are the same
        a, b, c = tables
        assert table(bdd, bdd.choose(f, g, h)) == tuple(
            y if x else z for x, y, z in zip(a, b, c, strict=True)
        )
        assert table(bdd, bdd.both(f, g)) == tuple(x & y for x, y in zip(a, b, strict=True))
        assert table(bdd, bdd.either(f, g)) == tuple(x | y for x, y in zip(a, b, strict=True))
        assert table(bdd, bdd.opposite(f)) == tuple(1 - x for x in a)
        assert bdd.implies(f, g) == all(x <= y for x, y in zip(a, b, strict=True))
        depends = {
            k for k in range(SIZE) if any(a[n] != a[n ^ 1 << (SIZE - 1 - k)] for n in range(len(ROWS)))
        }
        assert bdd.support(f) == depends
        kept = frozenset(rng.sample(range(SIZE), 2))
        assert table(bdd, bdd.possible(f, kept)) == tuple(
            max(x for x, other in zip(a, ROWS, strict=True) if all(row[k] == other[k] for k in kept))
            for row in ROWS
        )
        restricted = table(bdd, bdd.restrict(f, g))
        assert all(x == y for x, y, care in zip(restricted, a, b, strict=True) if care)


def test_what_nobody_asks_for_makes_functions_smaller():
    bdd = Bdd()
    x, y = bdd.variable(0), bdd.variable(1)
    assert bdd.restrict(bdd.both(x, y), x) == y
    assert bdd.restrict(bdd.either(x, y), bdd.opposite(x)) == y
    assert bdd.restrict(bdd.both(x, y), bdd.choose(x, y, TRUE)) == x


def test_diagrams_have_as_many_tests_as_are_allowed():
    bdd, few, many = Bdd(), TRUE, FALSE
    for k in range(20):
        few = bdd.both(few, bdd.variable(k))
    for k in range(8):  # each of the first ones goes with one of the last: all of them must be remembered
        many = bdd.either(many, bdd.both(bdd.variable(k), bdd.variable(8 + k)))
    assert bdd.is_small(few, 20) and not bdd.is_small(few, 19)
    assert bdd.is_small(TRUE, 0) and not bdd.is_small(many, 255) and bdd.is_small(many, 600)
