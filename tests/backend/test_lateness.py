"""Trees of joins before operations with many inputs: those on tight recurrences enter last."""

from __future__ import annotations

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Place, Use
from backend.foreign import assemble, to_dfg

GRID = load_fabric("grid4x4")  # whose operations take three inputs
Edge = tuple[int, int, int]


def graph(edges: list[Edge]) -> DFG:
    """The graph of edges (source, target, distance), with trees for the grid."""
    nodes = [(n, "add") for n in range(1 + max(max(source, target) for source, target, _ in edges))]
    found = [(source, target, distance, False) for source, target, distance in edges]
    return to_dfg(assemble("g", nodes, found, lambda *_: Place("", 1)), GRID)


def depths(dfg: DFG, node: int, nodes: int) -> dict[int, int]:
    """How many joins are between a node and its inputs."""
    found: dict[int, int] = {}
    waiting = [(use, 0) for use in dfg.nodes[node].operands]
    for use, depth in waiting:
        assert isinstance(use, Use)
        if use.node < nodes:
            found[use.node] = depth
        else:
            waiting += [(other, depth + 1) for other in dfg.nodes[use.node].operands]
    return found


def joins(dfg: DFG, nodes: int) -> int:
    return len(dfg.nodes) - nodes


def circle(first: int, length: int, distance: int) -> list[Edge]:
    """A way of new nodes from node 0 that comes back to it after so many iterations."""
    way = [0, *range(first, first + length)]
    return [*((a, b, 0) for a, b in zip(way, way[1:], strict=False)), (way[-1], 0, distance)]


def test_inputs_that_are_equally_late_have_a_balanced_tree() -> None:
    dfg = graph([edge for k in range(8) for edge in circle(1 + 3 * k, 3, 3)])
    assert joins(dfg, 25) == 3
    assert set(depths(dfg, 0, 25).values()) == {1}
    assert minimum_interval(dfg, GRID).recurrence == 2


def test_earlier_values_that_are_on_no_recurrence_have_a_balanced_tree() -> None:
    dfg = graph([(1 + k, 0, 1) for k in range(27)])
    assert joins(dfg, 28) == 12
    assert set(depths(dfg, 0, 28).values()) == {2}


@pytest.mark.parametrize("tight", range(9))
def test_the_input_on_the_tightest_recurrence_enters_last(tight: int) -> None:
    edges = [edge for k in range(9) for edge in circle(1 + 4 * k, 4, 1 if k == tight else 6)]
    dfg = graph(edges)
    assert joins(dfg, 37) == 3
    found = depths(dfg, 0, 37)
    assert found[4 + 4 * tight] == 0
    assert minimum_interval(dfg, GRID).recurrence == 5
    assert max(found.values()) == 2
    assert graph(edges).nodes == dfg.nodes


def test_an_input_of_this_iteration_may_be_the_latest() -> None:
    """The recurrence goes into its next iteration elsewhere."""
    tight = [(1, 2, 0), (2, 0, 0), (0, 1, 1)]
    dfg = graph([*tight, *((3 + k, 0, k % 3) for k in range(8))])
    assert joins(dfg, 11) == 3
    assert depths(dfg, 0, 11)[2] == 0
    assert minimum_interval(dfg, GRID).recurrence == 3
