"""What the interpreter of dataflow graphs makes of them."""

import pytest

from backend.dfg import DFG, Const, LiveIn, Memory, Node, StreamPort, Use, Word
from backend.run_dfg import GraphAssertionFailed, GraphLimitExceeded, run_dfg

INT = (Word(0, 4, True),)
IN, OUT = StreamPort("in", False, 4, INT), StreamPort("out", True, 4, INT)


def graph(*nodes, streams=(), memories=(), live_ins=(), live_outs=(), assertions=()):
    drafts = tuple(Node(i, *node) if isinstance(node, tuple) else node for i, node in enumerate(nodes))
    return DFG("g", drafts, (), streams, memories, live_ins, live_outs, assertions)


ONCE = ("mov", (Const(0),)), ("stop", (Use(0, 1, Const(1)),))
ALIVE = Use(0, 1, Const(1))


def test_distances_reach_back_and_start_with_initial_values():
    # counts 1, 2, 3; sends the count of two iterations ago while it is at most 4
    dfg = graph(
        ("add", (Use(0, 1, LiveIn(0)), Const(1))),
        ("ult", (Use(0), Const(4))),
        ("and", (Use(1), Use(2, 1, Const(1)))),
        ("xor", (Use(2), Use(2, 1, Const(1)))),
        ("stop", (Use(3),)),
        ("send", (Use(0, 2, Const(77)), Use(2, 1, Const(1))), 0),
        streams=(OUT,),
        live_ins=("start",),
    )
    run = run_dfg(dfg, [0])
    assert run.outputs == {0: [77, 77, 1, 2]} and run.iterations == 4


def test_an_ended_stream_gives_the_old_value():
    dfg = graph(
        *ONCE,
        ("recv", (Const(8), ALIVE), 0),
        ("try_recv", (Const(9), ALIVE), 0),
        ("ended", (ALIVE,), 0),
        ("result", (Use(2), ALIVE), None, None, 0),
        ("result", (Use(3), ALIVE), None, None, 1),
        ("result", (Use(3, output=1), ALIVE), None, None, 2),
        ("result", (Use(4), ALIVE), None, None, 3),
        streams=(IN,),
        live_outs=("a", "b", "worked", "over"),
    )
    assert run_dfg(dfg, inputs={0: [1, 2]}).live_outs == [1, 2, 1, 1]
    assert run_dfg(dfg, inputs={0: [1]}).live_outs == [1, 9, 0, 1]
    assert run_dfg(dfg).live_outs == [8, 9, 0, 1]


def test_memories_start_with_tables_or_captured_words():
    dfg = graph(
        *ONCE,
        ("load", (Const(1),), None, 0),
        ("store", (Const(0), Use(2), ALIVE), None, 0),
        ("store", (Const(9), Use(2), ALIVE), None, 0),
        memories=(Memory("m", 3, True, True, (4, 5)),),
    )
    assert run_dfg(dfg).memories == {0: [5, 5, 0]}
    assert run_dfg(dfg, memories={0: [7, 8, 9]}).memories == {0: [8, 8, 9]}


def test_effects_past_the_exit_are_found():
    with pytest.raises(AssertionError, match="past the exit"):
        run_dfg(graph(*ONCE, ("send", (Const(1), Const(1)), 0), streams=(OUT,)))


def test_failures_are_reported():
    failing = graph(*ONCE, ("fail", (ALIVE,)), assertions=("oops",))
    with pytest.raises(GraphAssertionFailed, match="oops"):
        run_dfg(failing)
    with pytest.raises(GraphLimitExceeded):
        run_dfg(graph(("stop", (Const(0),))), limit=10)
