"""Which values are found to need one bit only."""

from __future__ import annotations

from graphs import Builder, random_graph

from arch.ops import OPS
from backend.dfg import Const, Use
from backend.predicates import predicates
from backend.run_dfg import _Machine


def test_comparisons_and_what_logic_makes_of_them() -> None:
    b = Builder("logic")
    x = b.live_in("x")
    less, equal = b.add("slt", x, Const(3)), b.add("eq", x, Const(1))
    masked = b.add("and", less, x)
    either, wide = b.add("or", less, equal), b.add("or", less, x)
    negated, inverted = b.add("xor", less, Const(1)), b.add("xor", less, Const(2))
    chosen, mixed = b.add("select", x, less, equal), b.add("select", less, less, x)
    total = b.add("add", less, equal)
    b.add("stop", either)
    found = predicates(b.build())
    assert {(n, 0) for n in (less, equal, masked, either, negated, chosen)} <= found
    assert not {(n, 0) for n in (wide, inverted, mixed, total)} & found


def test_recurrences_depend_on_what_they_start_from() -> None:
    for start, narrow in ((1, True), (2, False)):
        b = Builder("recurrence")
        equal = b.add("eq", b.live_in("x"), Const(3))
        node = b.add("or", equal, equal)
        b.patch(node, 0, Use(node, 1, Const(start)))
        b.add("stop", node)
        assert ((node, 0) in predicates(b.build())) is narrow


def test_streams_answer_in_one_bit_and_carry_words() -> None:
    b = Builder("streams")
    source, sink = b.stream("a", False), b.stream("b", True)
    word = b.add("try_recv", Const(0), Const(1), stream=source)
    answers = b.add("try_send", word, Const(1), stream=sink), b.add("ended", Const(1), stream=source)
    b.add("stop", answers[0])
    found = predicates(b.build())
    assert {(word, 1), (answers[0], 0), (answers[1], 0)} <= found
    assert (word, 0) not in found


def test_no_run_of_a_random_graph_shows_another_value() -> None:
    for seed in range(30):
        dfg = random_graph(seed, 40)
        words = {k: [3 * n for n in range(50)] for k, s in enumerate(dfg.streams) if not s.sends}
        found = predicates(dfg)
        assert found
        machine = _Machine(dfg, (), words, {})
        for iteration in range(40):
            machine.iterate(iteration)
            for node, output in found:
                assert OPS[dfg.nodes[node].op].outputs > output
                assert machine.past[node][iteration % machine.depth][output] in (0, 1)
