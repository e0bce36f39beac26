import random
from math import ceil, log2

import pytest

from macah.source_times import After, Kind, Time, least_interval

LATE = 10_000
"""No system of a few times that has a solution is as late as that."""


def system(seed: int) -> list[Time]:
    """Sums of two to four operands, the first of which is the sum before, or of the last iteration."""
    draw = random.Random(seed)
    count = draw.randint(1, 9)
    times = []
    for n in range(count):
        operands = [After((2 * n - 1) % (2 * count), int(n == 0), draw.randint(0, 2))]
        for _ in range(draw.randint(1, 3)):
            source = draw.randrange(count)
            distance = draw.randint(1, 3) if source >= n else draw.randint(0, 2)
            operands.append(After(2 * source + 1, distance, draw.randint(0, 2)))
        times += [Time(Kind.CHAIN, after=operands), Time(Kind.RESULT, after=[After(2 * n)])]
    return times


def is_solved(times: list[Time], interval: int) -> bool:
    """Whether times that are raised from 0 by what they depend on come to rest."""
    at, before = [0.0] * len(times), [-1.0] * len(times)
    while before != at:
        before = at.copy()
        for n in range(0, len(times), 2):
            arrivals = [at[a.source] + a.cycles - a.distance * interval for a in times[n].after]
            latest = max(arrivals)
            weight = sum(2 ** (one - latest) for one in arrivals)
            at[n] = max(at[n], latest + log2(weight))
            # However early the others are, an operation is needed to add them.
            at[n + 1] = max(at[n + 1], ceil(at[n] - 1e-6), latest + 1)
        if max(at) > LATE:
            return False
    return True


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(40))
def test_the_least_interval_is_the_first_with_a_solution_wherever_the_search_ends(seed: int) -> None:
    times = system(seed)
    first = next(interval for interval in range(1, 99) if is_solved(times, interval))
    found = least_interval(times)
    assert found is not None and found[0] == first
    assert least_interval(times, most=first) == found or first == 1
    assert least_interval(times, most=first + 5)[0] == first  # type: ignore[index]
    if first > 1:
        assert least_interval(times, most=first - 1) is None
        assert found[1]
