"""Operands are chosen instead of results where units are scarce, nowhere else, and never on a recurrence."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, check_dfg
from backend.run_dfg import run_dfg
from macah import ir
from macah.chosen_terms import choose_terms
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
WORDS = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 12345, 0xDEADBEEF]


def kernel(body: str) -> ir.Kernel:
    program = parse_program(
        f"""void f(int stream in, int stream out) {{ kernel {{ int kept = 1;
  for (int i = 0; i < 8; i++) {{ int x, y; x <? in; y = x * 77 ^ i;
{body}
  }} }} }}""",
        Path("t.macah"),
    )
    return lower(program, program.kernels[0])


def graph(made: ir.Kernel, *without: str) -> DFG:
    return build_dfg(optimize(replace(made, without=frozenset(without))), FABRIC)


def operations(dfg: DFG) -> Counter[str]:
    return Counter(node.op for node in dfg.nodes)


def alike(one: DFG, other: DFG) -> bool:
    check_dfg(other)
    return run_dfg(one, (), {0: WORDS}, {}).outputs == run_dfg(other, (), {0: WORDS}, {}).outputs


def test_a_sign_serves_all_choices_by_one_condition() -> None:
    dfg = graph(
        kernel("int a = x >> 3, b = y >> 5; out <! (x < 0 ? y + a : y - a) ^ (x < 0 ? x + b : x - b);")
    )
    found = choose_terms(dfg)
    before, after = operations(dfg), operations(found)
    assert (before["add"] - after["add"], before["sub"] - after["sub"]) == (2, 2)
    assert (after["muladd"], after["select"]) == (before["muladd"] + 2, 1)
    assert alike(dfg, found)


def test_what_differs_is_chosen() -> None:
    dfg = graph(kernel("out <! (x < 0 ? x * y : x * i) + (y < 0 ? x - 5 : x - 9);"))
    found = choose_terms(dfg)
    before, after = operations(dfg), operations(found)
    assert (before["mul"] - after["mul"], before["add"] - after["add"]) == (1, 1)
    assert after["select"] == before["select"]
    assert any(node.op == "select" and node.operands[1:] in CONSTANTS for node in found.nodes)
    assert alike(dfg, found)


CONSTANTS = [(Const(2**32 - 5), Const(2**32 - 9)), (Const(2**32 - 9), Const(2**32 - 5))]


def test_recurrences_and_what_is_used_twice_stay() -> None:
    for body in (
        "kept = x < 0 ? kept + x : kept - x; out <! kept;",
        "int a = x + y, b = x - y; out <! i & 1 ? a : b; out <! a; out <! b;",
    ):
        dfg = graph(kernel(body))
        assert choose_terms(dfg) == dfg


def rotations(count: int) -> str:
    return "\n".join(
        f"{{ int s = x >> {n}, t = y >> {n}, z = y & {1 << n};"
        " x = z ? x + t : x - t; y = z ? y - s : y + s; }"
        for n in range(1, count + 1)
    )


def test_it_is_done_where_units_bind_alone() -> None:
    made = kernel(f"{rotations(5)} out <! x ^ y;")
    fewer, plain = graph(made), graph(made, "chosen_terms")
    assert (minimum_interval(fewer, FABRIC).mii, minimum_interval(plain, FABRIC).mii) == (1, 1)
    assert fewer == plain
    made = kernel(f"{rotations(7)} out <! x ^ y;")
    fewer, plain = graph(made), graph(made, "chosen_terms")
    assert (minimum_interval(fewer, FABRIC).mii, minimum_interval(plain, FABRIC).mii) == (1, 2)
    assert alike(plain, fewer)


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_do_the_same(seed: int) -> None:
    source = random.Random(seed)
    names = ["x", "y", "kept", "i"]
    lines = []
    for n in range(12):
        p, q, r = source.choices(names, k=3)
        k = source.choice((1, 5, 0x40000000, -3))
        one, other = source.choices(
            [
                f"{p} + {q}",
                f"{p} - {q}",
                f"{q} + {p}",
                f"{p} ^ {q}",
                f"{p} + {k}",
                f"{p} - {k}",
                f"{p} * {r}",
            ],
            k=2,
        )
        choice = f"{source.choice(names)} < {source.choice(names)} ? {one} : {other}"
        if n > 3 and source.random() < 0.4:
            choice = f"{p} & 1 ? ({choice}) : {p} + {r}"
        lines.append(f"int v{n} = {choice};")
        names.append(f"v{n}")
    dfg = graph(kernel("\n".join(lines) + "kept = v11; out <! v11 + v10; out <! v9 ^ v8 ^ v7;"))
    assert alike(dfg, choose_terms(dfg))
