"""Facts that `Relevance` keeps from `Widths` would have told it nothing."""

from __future__ import annotations

from random import Random

import pytest

from backend.dfg import Const, Use
from macah.graph import Before, Draft, Graph, Value
from macah.ir import Variable
from macah.relevance import DEPTH, Relevance
from macah.rewrite import Loop
from macah.widths import Widths

X, Y, ALIVE = Variable("x"), Variable("y"), Variable("alive")
OPS = ("add", "sub", "and", "or", "xor", "mul", "shr", "eq", "ne", "slt", "sle", "ult", "ule", "select")
OPERANDS = {"select": 3}


def test_what_a_condition_is_of() -> None:
    drafts = [
        Draft("slt", (Before(X), Const(9))),
        Draft("add", (Before(X), Const(1))),
        Draft("mul", (Use(1), Const(2))),
        Draft("mul", (Before(Y), Const(2))),
        Draft("eq", (Use(3), Const(4))),
        Draft("and", (Use(0), Use(4))),
        Draft("slt", (Use(1), Const(9))),
    ]
    relevance = Relevance(drafts)
    assert relevance.concerns(Use(0), Before(X))
    assert relevance.concerns(Use(0), Use(2))
    assert not relevance.concerns(Use(0), Use(3))
    assert not relevance.concerns(Use(4), Before(Y))  # what is equal to y * 2 is known, not y
    assert relevance.concerns(Use(5), Use(3))
    assert relevance.concerns(Use(6), Before(X))  # x + 1 < 9 says something of x


def _random_loop(random: Random) -> Loop:
    graph = Graph()
    values: list[Value] = [Before(X), Before(Y), Const(1), Const(7), Const(200)]
    for _ in range(30):
        op = random.choice(OPS)
        recent = values[:5] + values[-8:]
        operands = tuple(random.choice(recent) for _ in range(OPERANDS.get(op, 2)))
        values.append(Use(graph.add(Draft(op, operands))))
    logical = [value for value in values[5:] if isinstance(value, Use)]
    final: dict[Variable, Value] = {X: values[-1], Y: values[-2], ALIVE: random.choice(logical)}
    graph.add(Draft("result", (Before(X), Const(1)), effect=True))
    graph.add(Draft("result", (Before(Y), Before(ALIVE)), index=1, effect=True))
    return Loop(graph, {X: Const(3)}, final, ALIVE)


@pytest.mark.parametrize("seed", range(200))
def test_ranges_do_not_depend_on_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = _random_loop(Random(seed))
    found = Widths(loop, {})
    everything = frozenset({Before(X), Before(Y), *map(Use, range(len(loop.graph.drafts)))})
    monkeypatch.setattr(Relevance, "concerns", lambda self, condition, value: True)
    monkeypatch.setattr(Relevance, "origins", lambda self, value, depth=DEPTH: everything)
    expected = Widths(loop, {})
    assert found.ranges == expected.ranges
    assert found.before == expected.before
