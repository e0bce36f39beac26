"""Many values alive at once: gentle schedules, and what is said when there are too many."""

import time

import pytest
from graphs import Builder

from arch.describe import load_fabric
from backend.bound import delays
from backend.check import check_mapping
from backend.dfg import DFG, Const, Node, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import EFFORTS, DoesNotFit, MapOptions, Shortage
from backend.pressure import demand, gentle_schedule, lives
from backend.schedule import modulo_schedule

SMALL = load_fabric("grid4x4")


def accumulators(count: int, chain: int = 1) -> DFG:
    """Values that live across iterations, each with a chain of operations."""
    b = Builder(f"acc{count}x{chain}")
    b.counter(9)
    for k in range(count):
        first = last = b.add("add", Const(k), Const(1))
        for _ in range(chain - 1):
            last = b.add("xor", last, Const(3))
        b.patch(first, 0, Use(last, 1))
    return b.build()


def test_a_value_is_held_from_its_result_to_its_last_reader() -> None:
    a = Node(0, "add", (Const(1), Const(2)))
    b = Node(1, "add", (Use(0), Use(0)))
    c = Node(2, "add", (Use(1), Use(0)))
    problem = Problem(DFG("line", (a, b, c), (), (), (), (), ()), SMALL)
    assert lives(problem, 8, [0, 2, 7]) == {(0, 0): 7, (1, 0): 5}
    assert demand(problem, 8, [0, 2, 7]) == [0, 1, 1, 2, 2, 2, 2, 2]
    assert demand(problem, 3, [0, 2, 7]) == [4, 5, 3]


def test_a_gentle_schedule_keeps_every_delay_and_holds_fewer_values() -> None:
    problem = Problem(accumulators(12, 8), SMALL)
    soon, gentle = modulo_schedule(problem, 40, 1), gentle_schedule(problem, 40)
    assert soon is not None
    assert gentle is not None
    for a in delays(problem):
        assert gentle[a.source] + a.cycles <= gentle[a.target] + a.distance * 40
    assert sum(demand(problem, 40, gentle)) <= sum(demand(problem, 40, soon))


def test_many_short_lives_do_not_overlap_when_there_is_time() -> None:
    b = Builder("pairs")
    b.counter(9)
    for k in range(60):
        b.add("xor", b.add("add", Const(k), Const(1)), Const(3))
    problem = Problem(b.build(), SMALL)
    gentle = gentle_schedule(problem, 64)
    assert gentle is not None
    assert max(demand(problem, 64, gentle)) <= 6


def test_more_values_across_iterations_than_registers_are_refused_soon_and_by_name() -> None:
    begun = time.process_time()
    with pytest.raises(DoesNotFit) as caught:
        map_kernel(accumulators(130), SMALL, MapOptions())
    assert caught.value.shortage is Shortage.REGISTERS
    assert caught.value.needed >= 130
    assert caught.value.available == 112
    assert caught.value.nodes
    assert time.process_time() - begun < 10


@pytest.mark.slow
def test_values_that_all_wait_for_one_are_refused_for_lack_of_registers_not_of_routes() -> None:
    count = 26
    nodes = [Node(k, "alu_0", ()) for k in range(count)]
    for other in (*range(1, count), *range(count)):
        last = len(nodes) - 1 if len(nodes) > count else 0
        nodes.append(Node(len(nodes), "alu_2", (Use(last), Use(other))))
    dfg = DFG("crossing", tuple(nodes), (), (), (), (), ())
    with pytest.raises(DoesNotFit) as caught:
        map_kernel(dfg, load_fabric("satmapit:2x2"), MapOptions(effort=EFFORTS["low"]))
    assert caught.value.shortage is Shortage.REGISTERS
    assert caught.value.needed > caught.value.available
    assert set(caught.value.nodes) <= set(range(count))


def test_values_across_iterations_in_two_thirds_of_the_registers_map() -> None:
    mapping = map_kernel(accumulators(72, 3), SMALL, MapOptions())
    check_mapping(mapping)
    assert mapping.interval <= 30
