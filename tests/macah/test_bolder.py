"""More copies or banks than are sure to be mapped are taken where they are mapped, and faster then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.dfg import DFG
from backend.mapping import DoesNotFit, MapOptions, Mapping, Shortage
from macah import compile as stages_of
from macah.bolder import longest
from macah.compile import fronts, map_front
from macah.forms import Front
from macah.options import Options
from macah.program import parse_program
from macah.stages import Stages
from macah.trials import Choice

OPTIONS = Options(Path("t.macah"))
FABRIC = load_fabric("grid8x8")

MIX = """int a[64], b[64], c[64];
void f() { kernel { for (int i = 0; i < 64; i++) {
  int x = a[i] * b[i]; c[i] = (x ^ x >> 7) + (x & 255) * 5 - (x >> 3); } } }"""

POINTWISE = """unsigned short a[16], b[16], c[16];
void f() { kernel { for (int i = 0; i < 16; i++) c[i] = a[i] * b[i] % 12289; } }"""

CHASE = """int a[64];
int f() { kernel { int s = 0; for (int i = 0; i < 64; i++) s = a[s & 63] ^ i; a[0] = s; } return a[0]; }"""


def front_of(text: str) -> Front:
    program = parse_program(text, Path("t.macah"))
    return fronts(program, {}, OPTIONS, Stages())[0]


def choice_of(text: str) -> Choice:
    choice = front_of(text).choice
    assert choice is not None
    return choice


def test_twice_as_many_copies_may_be_worth_a_longer_interval() -> None:
    """With half of the units free, 16 copies are as slow as 8."""
    choice = choice_of(MIX)
    bolder = choice.bolder
    assert bolder is not None
    assert [factor for _, factor in choice.kernel.unroll] == [8]
    assert [factor for _, factor in bolder.kernel.unroll] == [16]
    assert bolder.bounds.mii <= choice.bounds.mii


def test_ports_that_hold_up_a_full_array_get_more_banks() -> None:
    """With half of the units free, four accesses at once would gain nothing."""
    choice = choice_of(POINTWISE)
    assert choice.bolder is not None
    assert choice.bolder.kernel.unroll == choice.kernel.unroll
    assert choice.bolder.bounds.mii < choice.bounds.mii
    assert len(choice.bolder.dfg.memories) > len(choice.dfg.memories)


def test_a_recurrence_leaves_nothing_to_be_bold_about() -> None:
    assert choice_of(CHASE).bolder is None


def test_a_bolder_choice_is_taken_that_is_mapped() -> None:
    front = front_of(MIX)
    assert front.choice is not None and front.choice.bolder is not None
    taken, mapping = map_front(front, FABRIC, OPTIONS, Stages())
    assert taken.dfg == front.choice.bolder.dfg
    assert mapping.interval <= longest(front.choice, front.choice.bolder, front.choice.bounds.mii)


def test_a_bolder_choice_may_have_a_longer_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    front = front_of(MIX)
    assert front.choice is not None and front.choice.bolder is not None
    asked: list[int] = []
    mapped = stages_of.map_kernel

    def listen(dfg: DFG, fabric: Fabric, wanted: MapOptions, say: object) -> Mapping:
        asked.append(wanted.max_interval)
        return mapped(dfg, fabric, wanted)

    monkeypatch.setattr(stages_of, "map_kernel", listen)
    monkeypatch.setattr(stages_of, "longest", lambda choice, bolder, interval: interval + 3)
    chosen, _ = map_front(front, FABRIC, replace(OPTIONS, max_ii=9), Stages())
    assert chosen is not front
    first, second = asked
    assert first == 9 and 3 < second <= 9


def test_what_is_not_mapped_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    front = front_of(MIX)
    mapped = stages_of.map_kernel

    def timid(dfg: object, fabric: object, wanted: MapOptions, say: object) -> Mapping:
        if dfg is not front.dfg:
            raise DoesNotFit("none", Shortage.INTERVAL, 2, 1)
        return mapped(front.dfg, FABRIC, wanted)

    monkeypatch.setattr(stages_of, "map_kernel", timid)
    taken, _ = map_front(front, FABRIC, OPTIONS, Stages())
    assert taken is front


def test_what_is_bolder_may_take_longer_for_more_work() -> None:
    """Half the iterations may take 1.66 times as long, where it is known how many there are."""
    plain = replace(choice_of(MIX), interval=4, iterations=100, fewest=100)
    half = replace(plain, interval=8, iterations=50, fewest=50)
    assert longest(plain, half, 4) == 6
    assert longest(replace(plain, fewest=10), replace(half, fewest=5), 4) == 4
