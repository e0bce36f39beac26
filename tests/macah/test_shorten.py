"""Shorter recurrences: the same results, from graphs whose iterations can start sooner."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from recurrence_graphs import WORD, recurrent
from test_lower import lowered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, LiveIn, Memory, Node, StreamPort, Use, check_dfg
from backend.run_dfg import run_dfg
from macah import shorten_time
from macah.capacity import Capacity
from macah.passes.pipeline import optimize
from macah.shorten import MOST_TRIES, _Search, _shortest, shorten, slow_cycles
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
ANY_NUMBER = Capacity(units=1 << 20)


def with_late_constant(dfg):
    """With a value that changes once only, after the first iteration, on a recurrence an iteration later."""
    slow = next(n for n in dfg.nodes if n.id in slow_cycles(dfg, 1)[1] and n.op in ("add", "sub", "xor"))
    new = len(dfg.nodes)
    fixed = Node(new, "neg", (LiveIn(0),))
    late = Node(new + 1, "mov", (Use(new, 1, Const(1)),))
    later = Node(new + 2, "add", (slow.operands[0], Use(new + 1, 1, Const(0))))
    slow = replace(slow, operands=(Use(new + 2), slow.operands[1]))
    return replace(dfg, nodes=(*(slow if n.id == slow.id else n for n in dfg.nodes), fixed, late, later))


@pytest.mark.sweep(14)
@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(60))
def test_shortened_graphs_do_the_same(seed):
    same(recurrent(seed))


@pytest.mark.parametrize("seed", range(9))
def test_a_value_that_waits_for_nothing_may_have_several_first_values(seed):
    same(with_late_constant(recurrent(seed)))


def same(dfg):
    shorter = shorten(dfg, ANY_NUMBER)
    check_dfg(shorter)
    assert slow_cycles(shorter, 1)[0] <= slow_cycles(dfg, 1)[0]
    for values, words in (((5, 0xFFFFFFF0), [3, 1 << 31, 77, 0xFFFFFFFF]), ((0, 1), [])):
        live_ins = dict(zip("ab", values, strict=True))
        runs = [run_dfg(g, [live_ins[n] for n in g.live_ins], {0: words}) for g in (dfg, shorter)]
        assert runs[0].outputs == runs[1].outputs and runs[0].iterations == runs[1].iterations


def plain(name, monkeypatch):
    """A module as plain Python, whether it is compiled or not."""
    path = Path(shorten_time.__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"plain_{name}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, f"plain_{name}", module)
    spec.loader.exec_module(module)
    return module


def test_times_are_raised_the_same_by_plain_python(monkeypatch):
    graphs = [recurrent(seed) for seed in range(8)]
    compiled = [shorten(dfg, ANY_NUMBER) for dfg in graphs]
    for module, names in (("shorten_plan", ["ordered", "planned"]), ("shorten_sweep", ["awaited", "sweep"])):
        for name in names:
            monkeypatch.setattr(shorten_time, name, getattr(plain(module, monkeypatch), name))
    _shortest.cache_clear()
    assert [shorten(dfg, ANY_NUMBER) for dfg in graphs] == compiled


def test_random_graphs_do_get_shorter():
    gains = [
        slow_cycles(g, 1)[0] - slow_cycles(shorten(g, ANY_NUMBER), 1)[0] for g in map(recurrent, range(20))
    ]
    assert sum(gains) > 10


def test_graphs_slower_than_any_that_is_of_use_are_left_as_they_are() -> None:
    dfg = next(g for g in map(recurrent, range(20)) if shorten(g, ANY_NUMBER) is not g)
    slowest = slow_cycles(dfg, 1)[0]
    assert shorten(dfg, replace(ANY_NUMBER, slowest=slowest)) is not dfg
    assert shorten(dfg, replace(ANY_NUMBER, slowest=slowest - 1)) is dfg


def test_a_search_that_gets_nowhere_ends(monkeypatch):
    tried = []
    rewrite = _Search._rewrite
    monkeypatch.setattr(_Search, "_rewrite", lambda *words: (tried.append(1), rewrite(*words)))
    body = "int x; for (int i = 0; i < n; i++) { if (i & 1) x = i; x = x * x ^ 5; out <! x; }"
    build_dfg(optimize(lowered(f"void f(int stream out, int n) {{ kernel {{ {body} }} }}")))
    assert 1000 < len(tried) < 3 * MOST_TRIES  # it was over 800,000


def test_what_comes_from_earlier_iterations_goes_into_the_addend():
    step = "int y = (7 * y1 - 2 * y2 + i) >> 3; y2 = y1; y1 = y;"
    body = f"int y1 = 0, y2 = 0; for (int i = 0; i < n; i++) {{ {step} }}"
    dfg = build_dfg(
        optimize(lowered(f"int f(int n) {{ int z; kernel {{ {body} z = y1; }} return z; }}")), FABRIC
    )
    assert minimum_interval(dfg, FABRIC).mii == 3  # a product with an addition, and a shift


def test_of_tables_only_elements_that_may_be_loaded_are_known():
    """What is chosen by a carried number is a choice of constants, also behind the end of the table."""
    for words, size in (((9, 5), 3), ((7, 0, 1 << 31, 4), 4)):
        nodes = (
            Node(0, "recv", (Const(0), Use(7, 1, Const(1))), stream=0),
            Node(1, "slt", (Use(3, 1, Const(0)), Use(0))),
            Node(2, "select", (Use(1), Const(size), Const(1))),
            Node(3, "load", (Use(2),), memory=0),
            Node(4, "send", (Use(3), Use(7, 1, Const(1))), stream=1),
            Node(5, "add", (Use(5, 1, Const(0)), Const(1))),
            Node(6, "ult", (Use(5), Const(9))),
            Node(7, "and", (Use(6), Use(7, 1, Const(1)))),
            Node(8, "xor", (Use(7), Use(7, 1, Const(1)))),
            Node(9, "stop", (Use(8),)),
        )
        streams = (StreamPort("i", False, 4, WORD), StreamPort("o", True, 4, WORD))
        dfg = DFG("table", nodes, (), streams, (Memory("t", size, initial=words),), (), ())
        check_dfg(dfg)
        shorter = shorten(dfg, ANY_NUMBER)
        assert slow_cycles(shorter, 1)[0] < slow_cycles(dfg, 1)[0] == 4
        assert not any(node.op == "load" for node in shorter.nodes)
        received = {0: [3, 1 << 31, 77, 5, 0xFFFFFFFF]}
        assert run_dfg(dfg, [], received).outputs == run_dfg(shorter, [], received).outputs


FILLED = "for (int k = 0; k < 64; k++) t[k] <? in;"
WALKS = {
    "read": (8, "q = t[q & 63] == x ? q + 1 : t[q + 7 & 63]; if (x & 1) q = t[q & 63]; out <! q;"),
    "written before": (8, "t[x & 63] = i; q = t[q & 63]; q = t[(q & 4 ? q : q + x) & 63]; out <! q;"),
    "written after": (6, "q = t[(t[q & 63] == x ? q + 1 : q ^ 5) & 63]; t[i & 63] = x; out <! q;"),
    "two": (
        7,
        "int y = t[q & 63]; q = y > x ? y : q - 1; y = t[(y & 1 ? q : 3) & 63]; t[i & 63] = y; out <! y;",
    ),
}
"""What is loaded decides where else to load, from an array that is stored to: recurrences of so many cycles,
and of one or two more where these loads are made in one way only."""


@pytest.mark.parametrize("name", WALKS)
def test_loads_of_what_is_stored_to_are_chosen_from_with_the_same_orders(name: str) -> None:
    cycles, body = WALKS[name]
    loop = f"for (int i = 0; i < n; i++) {{ int x; x <? in; {body} }}"
    source = (
        f"void f(int stream in, int stream out, int n) {{ int t[64], q = 0; kernel {{ {FILLED} {loop} }} }}"
    )
    dfg = build_dfg(optimize(replace(lowered(source), without=frozenset({"shorten"}))), FABRIC)
    shorter = shorten(dfg, ANY_NUMBER)
    assert slow_cycles(shorter, 1)[0] == cycles
    received = {0: [(k * 37 + k * k) & 63 for k in range(300)]}
    runs = [run_dfg(g, [200] * len(g.live_ins), received) for g in (dfg, shorter)]
    assert runs[0].outputs == runs[1].outputs
    assert orders(shorter) == {*orders(dfg)} != set()


def test_stores_keep_their_order_where_a_load_between_them_is_not_needed() -> None:
    """Theirs is told by those of either with the load alone."""
    body = "t[x & 63] = i; q = t[(t[q & 63] == x ? q + 1 : q ^ 5) & 63]; int y = t[i & 63]; t[q & 63] = y;"
    loop = f"for (int i = 0; i < n; i++) {{ int x; x <? in; {body} out <! q; }}"
    source = f"void f(int stream in, int stream out, int n) {{ int t[64], q = 0; kernel {{ {loop} }} }}"
    dfg = build_dfg(optimize(replace(lowered(source), without=frozenset({"shorten"}))), FABRIC)
    stores = [node for node in dfg.nodes if node.op == "store"]
    needed = {u.node for store in stores for u in store.operands[1:2] if isinstance(u, Use)}
    load = next(node for node in dfg.nodes if node.id in needed and node.op == "load")
    without = [
        replace(n, operands=tuple(Const(7) if o == Use(load.id) else o for o in n.operands))
        for n in dfg.nodes
    ]
    dfg = replace(dfg, nodes=tuple(without))
    shorter = shorten(dfg, ANY_NUMBER)
    assert slow_cycles(shorter, 1)[0] < slow_cycles(dfg, 1)[0]
    assert orders(shorter) == {*orders(dfg)}
    assert {load.where} <= {where for pair in orders(shorter) for _, where in pair[:2]}


def orders(dfg: DFG) -> set[tuple[object, ...]]:
    """Which loads, by their places in the program, stand in which orders with stores."""
    ends = ([dfg.nodes[o.before], dfg.nodes[o.after]] for o in dfg.orders)
    found = ((*((n.op, n.where) for n in pair), o) for pair, o in zip(ends, dfg.orders, strict=True))
    return {(*pair, o.distance, o.delay) for *pair, o in found if {op for op, _ in pair} == {"load", "store"}}


PRODUCT = """
void f(unsigned stream in, unsigned stream out, int n) {
  unsigned x[64], y[64];
  kernel {
    for (int i = 0; i < n; i++) { unsigned t; t <? in; x[i] = t; y[i] = 0; }
    for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) { unsigned a; a <? in; y[i] += a * x[j]; }
    for (int i = 0; i < n; i++) out <! y[i];
    pstream_close(out);
  }
}"""


@pytest.mark.slow
def test_who_looks_longer_finds_more():
    made = lowered(PRODUCT)
    graphs = [build_dfg(optimize(replace(made, patient=patient)), FABRIC) for patient in (False, True)]
    hasty, patient = (minimum_interval(graph, FABRIC).mii for graph in graphs)
    assert patient < hasty
    assert spread(made, FABRIC).kernel.patient
