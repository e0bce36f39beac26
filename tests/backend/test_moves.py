"""Why an interval of 1 may be impossible where each tile's words leave through one register."""

from __future__ import annotations

import random

import pytest

from arch.describe import load_fabric
from backend.bound import delays, minimum_interval
from backend.dfg import DFG, Node, Use
from backend.exact import Status, prove
from backend.flat import Problem
from backend.moves import only_outputs, refuted_at_one


def graph(*operands: tuple[tuple[int, int], ...]) -> DFG:
    """Operations that read (node, distance)."""
    nodes = tuple(
        Node(k, f"alu_{len(uses)}", tuple(Use(n, d) for n, d in uses)) for k, uses in enumerate(operands)
    )
    return DFG("graph", nodes, (), (), (), (), ())


@pytest.mark.parametrize(
    ("name", "outputs", "even"),
    [
        ("satmapit:4x4", 16, True),
        ("satmapit:3x4", 12, False),
        ("adres:3x3", 9, True),
        ("hycube:4x4", 0, False),
        ("grid4x4", 0, False),
        ("mesh:3x3", 0, True),
    ],
)
def test_arrays_are_told_from_their_structure(name: str, outputs: int, even: bool) -> None:
    found = only_outputs(load_fabric(name))
    assert len(found[0]) == outputs and (not outputs or found[1] == even)


def test_words_on_their_way_are_counted() -> None:
    """What is read at the beginning and at the end of a chain has to come along with it."""
    fabric = load_fabric("satmapit:4x4")
    chain = graph((), *(((k, 0),) for k in range(8)), ((0, 0), (8, 0)))
    assert refuted_at_one(Problem(chain, fabric), delays(Problem(chain, fabric))) == (
        "10 results, and 8 words on their way, in 16 output registers"
    )
    bounds = minimum_interval(chain, fabric)
    assert bounds.mii == 2 and "8 words on their way" in bounds.binding
    assert minimum_interval(chain, load_fabric("satmapit:5x5")).mii == 1


@pytest.mark.parametrize(("name", "interval"), [("satmapit:4x4", 2), ("satmapit:3x3", 1), ("adres:3x3", 2)])
def test_a_value_read_in_this_iteration_and_in_the_next(name: str, interval: int) -> None:
    """Where all ways back are even, no reader is as far from a value in odd and in even cycles."""
    dfg, fabric = graph((), ((0, 0),), ((0, 1), (1, 0))), load_fabric(name)
    assert minimum_interval(dfg, fabric).mii == interval
    assert prove(dfg, fabric, interval, 4).status is Status.FOUND


@pytest.mark.parametrize("name", ["satmapit:2x2", "satmapit:3x3", "satmapit:4x2", "adres:3x2"])
def test_what_is_refuted_has_no_mapping(name: str) -> None:
    fabric, generator = load_fabric(name), random.Random(7)
    answers = []
    for _ in range(40):
        size = generator.randint(2, 7)
        operands = []
        for k in range(size):
            earlier = {(generator.randrange(k), generator.choice((0, 0, 1))) for _ in range(2) if k}
            operands.append((*sorted(earlier), *([(k, 1)] if generator.random() < 0.3 else [])))
        problem = Problem(graph(*operands), fabric)
        refuted = refuted_at_one(problem, delays(problem)) is not None
        if refuted or size <= 4:
            answers.append((refuted, prove(problem.dfg, fabric, 1, 5, 20_000).status))
    assert (True, Status.FOUND) not in answers
    assert (True, Status.INFEASIBLE) in answers and (False, Status.FOUND) in answers
