"""A kernel that does not fit is mapped again only as another graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.dfg import DFG
from backend.mapping import DoesNotFit, Shortage
from macah import compile as compilation
from macah.compile import fronts, map_front
from macah.diagnostic import MacahError
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages

SOURCE = Path(__file__).parents[2] / "benchmarks" / "literature" / "dct.macah"


def test_a_graph_that_differs_in_names_alone_is_not_mapped_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what makes it grow, this kernel has the same operations; some lose a variable's name."""
    asked: list[DFG] = []

    def refuse(dfg: DFG, *_: object) -> None:
        asked.append(dfg)
        raise DoesNotFit("no routes", Shortage.ROUTES, 1, 0)

    monkeypatch.setattr(compilation, "map_kernel", refuse)
    options, stages = Options(SOURCE, arch="satmapit:2x2", unroll=("none",)), Stages()
    front = fronts(read_program(SOURCE), {}, options, stages)[0]
    with pytest.raises(MacahError):
        map_front(front, compilation.fabric_of(options.arch), options, stages)
    assert len(asked) == 1


def test_names_and_places_are_no_part_of_a_bare_graph() -> None:
    options, stages = Options(SOURCE, arch="satmapit:2x2", unroll=("none",)), Stages()
    dfg = fronts(read_program(SOURCE), {}, options, stages)[0].dfg
    bare = dfg.bare()
    assert bare != dfg
    assert [(node.op, node.operands) for node in bare.nodes] == [(n.op, n.operands) for n in dfg.nodes]
    assert all(node.where is None and node.variable is None for node in bare.nodes)
