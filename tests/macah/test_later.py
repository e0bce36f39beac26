"""What is told not to be joined, as something has to come between, could not be: it would need itself."""

from __future__ import annotations

from collections import Counter

import pytest
from test_share_units import NARROW, Maker

from backend.dfg import DFG, Operand, is_ordered
from macah import share_units
from macah.exclusion import Exclusion
from macah.join_nodes import Pairs, joined
from macah.later import Later
from macah.passes.pipeline import optimize
from macah.share_units import relieved
from macah.todfg import build_dfg


@pytest.mark.slow
def test_only_what_would_need_itself_is_told_not_to_be_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Counter[tuple[bool, bool]]()
    told: list[bool] = []
    forbids = Later.forbids

    def tell(later: Later, firsts: tuple[int, ...], seconds: tuple[int, ...], test: Operand) -> bool:
        told.append(forbids(later, firsts, seconds, test))
        return False

    def join(exclusion: Exclusion, pairs: Pairs, test: Operand, first: bool) -> DFG:
        made = joined(exclusion, pairs, test, first)
        found[told.pop(), is_ordered(made)] += 1
        return made

    monkeypatch.setattr(Later, "forbids", tell)
    monkeypatch.setattr(share_units, "joined", join)
    for seed in range(30):
        relieved(build_dfg(optimize(Maker(seed).kernel())), NARROW, 1)
    assert found[True, True] == 0
    assert found[True, False] >= 10 and found[False, True] >= 50
