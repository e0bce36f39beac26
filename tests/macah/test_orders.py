"""Orders between accesses: all that are needed, directly or by way of others."""

import random
import tracemalloc

import pytest

from macah.graph import ZERO, Before
from macah.ir import Variable
from macah.memory_orders import memory_orders
from macah.orders import LEAD, Access, lead_orders, stream_orders

BASES = [Before(Variable("a")), Before(Variable("b")), ZERO]


def conflict(a, b, same_iteration):
    comparable = a.base == b.base and (same_iteration or a.base == ZERO)
    return (a.stores or b.stores) and not (comparable and a.offset != b.offset)


def implied(count, orders):
    """What follows each access in the same iteration, and in the next."""
    now = [{a} for a in range(count)]
    then = [set() for _ in range(count)]
    for _ in range(count):
        for order in orders:
            if order.distance == 0:
                now[order.before] |= now[order.after]
                then[order.before] |= then[order.after]
            else:
                then[order.before] |= now[order.after]
        for a in range(count):
            then[a].update(*(then[b] for b in now[a]))
    return now, then


@pytest.mark.parametrize("seed", range(100))
def test_every_conflict_is_ordered_and_nothing_else(seed):
    rng = random.Random(seed)
    count = rng.randrange(1, 10)
    accesses = [Access(n, rng.random() < 0.5, rng.choice(BASES), rng.randrange(3)) for n in range(count)]
    orders = memory_orders(accesses)
    now, then = implied(count, orders)
    for a in range(count):
        for b in range(count):
            if b > a and conflict(accesses[a], accesses[b], True):
                assert b in now[a]
            if a != b and conflict(accesses[a], accesses[b], False):
                assert b in then[a] or b in now[a]
    for order in orders:
        assert conflict(accesses[order.before], accesses[order.after], order.distance == 0)
        assert order.delay == accesses[order.before].stores


def test_operations_on_a_stream_follow_each_other():
    assert [(o.before, o.after, o.distance) for o in stream_orders([3, 5, 8])] == [
        (3, 5, 0),
        (5, 8, 0),
        (8, 3, 1),
    ]
    assert stream_orders([3]) == []


def test_a_stream_waits_for_what_others_of_its_direction_did_some_elements_ago():
    found = lead_orders([[1, 4], [2], [7, 8, 9]], [2, 1, 3 * LEAD])
    assert [(o.before, o.after, o.distance) for o in found] == [
        (2, 1, LEAD // 2),
        (9, 1, LEAD // 2),
        (4, 2, LEAD),
        (9, 2, LEAD),
        (4, 7, 1),
        (2, 7, 1),
    ]
    assert lead_orders([[1, 2]], [2]) == []


def test_many_accesses_that_may_all_meet_follow_each_other():
    """Twenty thousand: what each does not come before takes no room in proportion to all others."""
    accesses = [Access(n, n % 2 == 0, Before(Variable(str(n))), 0) for n in range(20_000)]
    tracemalloc.start()
    orders = memory_orders(accesses)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(o.before, o.after) for o in orders if o.distance == 0] == [(n, n + 1) for n in range(19_999)][
        ::-1
    ]
    assert most < 40 << 20
