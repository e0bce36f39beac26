"""Longest paths in words of 64 bits, and with numbers of any size."""

from random import Random

import pytest

from backend.longest import LARGEST, Arcs, longest


@pytest.mark.parametrize("seed", range(40))
def test_numbers_may_have_any_size(seed: int) -> None:
    """Cycles and distances that are so many times as large allow the same interval, and bind alike."""
    random, nodes = Random(seed), 12
    small, large, much = Arcs(), Arcs(), LARGEST // 1000
    for _ in range(30):
        source, target, cycles = random.randrange(nodes), random.randrange(nodes), random.randrange(6)
        distance = int(source >= target) + random.randrange(2)
        small.add(source, target, distance, cycles)
        large.add(source, target, distance * much, cycles * much)
    for interval in range(1, 12):
        starts, cycle = longest(nodes, small, interval)
        others, other = longest(nodes, large, interval)
        assert cycle == other
        assert others == [start * much for start in starts]
