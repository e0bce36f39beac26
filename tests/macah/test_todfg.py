"""Graphs of kernels in their final form: shapes that are pinned, and random ones that must agree."""

import pytest
from kernels import Maker, outcome, outcome_of_graph, seldom_shortened

from backend.dfg import Const as Word0
from backend.dfg import LiveIn, Order, Use, Word, show_dfg
from backend.run_dfg import GraphAssertionFailed, run_dfg
from macah import ir
from macah.capacity import Capacity
from macah.ir import Apply, Array, Assign, Const, Load, Read, Stream, Variable
from macah.passes.pipeline import optimize
from macah.show import show_kernel
from macah.todfg import build_dfg, graph_of

INT = (Word(0, 4, True),)


def loop(body, condition, leading=(), captured=(), streams=(), out=()):
    captures = tuple(ir.Capture(c, c.name, "int", True, c in out) for c in captured)
    handles = tuple(ir.StreamCapture(s, s.name) for s in streams)
    return ir.Kernel("k", captures, handles, (*leading, ir.DoWhile(tuple(body), condition)))


def increment(variable):
    return Assign(variable, Apply("add", (Read(variable), Const(1))))


def less(a, b):
    return Apply("slt", (a, b))


def ops(dfg):
    return [node.op for node in dfg.nodes]


@pytest.mark.quick(40)
@pytest.mark.parametrize("seed", range(150))
def test_random_flat_kernels_run_alike(seed):
    maker = Maker(seed, flat=True)
    kernel = seldom_shortened(maker.kernel(2 + seed % 12), seed)
    dfg = build_dfg(kernel)
    for _ in range(3):
        data = maker.data()
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data), show_kernel(kernel) + show_dfg(
            dfg
        )


def test_an_accumulation_is_one_node():
    i, total, n, s = Variable("i"), Variable("total"), Variable("n"), Stream("s", 4, INT)
    x = Variable("x")
    body = [ir.Receive(s, (), (x,)), Assign(total, Apply("add", (Read(total), Read(x)))), increment(i)]
    leading = [Assign(i, Const(0)), Assign(total, Const(5))]
    dfg = build_dfg(loop(body, less(Read(i), Read(n)), leading, [total, n], [s], out=[total]))
    assert (
        show_dfg(dfg)
        == """\
graph k
  stream 0 in s: s32@0 of 4
  %0 = recv s %0@1[0], %4@1[1]  ; x
  %1 = add %0, %1@1[5]  ; total
  %2 = add %2@1[0], 1  ; i
  %3 = slt %2, n
  %4 = and %3, %4@1[1]  ; alive
  %5 = xor %4, %4@1[1]
  %6: stop %5
  %7: result total %1, %5  ; total
"""
    )
    run = run_dfg(dfg, [3], {0: [1, 2, 3, 4]})
    assert run.live_outs == [11] and run.iterations == 3


def delay_line(starts):
    """d1 = d0 of the iteration before, and so on."""
    s, q = Stream("s", 4, INT), Stream("q", 4, INT)
    d = [Variable(f"d{k}") for k in range(4)]
    shift = [Assign(d[k], Read(d[k - 1])) for k in (3, 2, 1)]
    i = Variable("i")
    body = [*shift, ir.Receive(s, (), (d[0],)), ir.Send(q, (), (Read(d[3]),)), increment(i)]
    leading = [Assign(v, Const(c)) for v, c in zip(d, starts, strict=True) if c is not None]
    kernel = loop(body, less(Read(i), Const(9)), [*leading, Assign(i, Const(0))], streams=[s, q])
    return kernel, build_dfg(kernel)


def test_a_delay_line_is_a_distance():
    _, dfg = delay_line([7, 7, 7, 7])
    assert "mov" not in ops(dfg)
    send = next(node for node in dfg.nodes if node.op == "send")
    assert send.operands[0] == Use(0, 3, Word0(7))


def test_unspecified_initial_values_agree_with_any():
    _, dfg = delay_line([None, 7, None, 7])
    assert "mov" not in ops(dfg)


def test_initial_values_that_differ_take_a_move():
    kernel, dfg = delay_line([1, 2, 3, 4])
    assert ops(dfg).count("mov") == 2
    data = {"scalars": {}, "arrays": {}, "inputs": {"s": [(k,) for k in range(10, 20)]}}
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)


def test_variables_that_swap():
    a, b, i = Variable("a"), Variable("b"), Variable("i")
    t = Variable("t")
    body = [Assign(t, Read(a)), Assign(a, Read(b)), Assign(b, Read(t)), increment(i)]
    kernel = loop(body, less(Read(i), Const(3)), [Assign(i, Const(0))], [a, b], out=[a, b])
    dfg = build_dfg(kernel)
    data = {"scalars": {"a": 1, "b": 2}, "arrays": {}, "inputs": {}}
    assert (
        outcome_of_graph(kernel, dfg, data)["scalars"] == {"a": 2, "b": 1} == outcome(kernel, data)["scalars"]
    )


def test_what_never_changes_is_an_operand():
    n, copy, i, total = Variable("n"), Variable("copy"), Variable("i"), Variable("total")
    body = [
        Assign(total, Apply("add", (Read(total), Read(copy)))),
        Assign(copy, Read(n)),
        increment(i),
    ]
    leading = [Assign(copy, Read(n)), Assign(i, Const(0))]
    dfg = build_dfg(loop(body, less(Read(i), Const(4)), leading, [n, total], out=[total]))
    assert "mov" not in ops(dfg)
    assert dfg.nodes[0].operands == (Use(0, 1, LiveIn(0)), LiveIn(1)) and dfg.live_ins == ("total", "n")


def test_a_kernel_without_a_loop_is_one_iteration():
    x, s = Variable("x"), Stream("s", 4, INT)
    body = (Assign(x, Apply("add", (Read(x), Const(1)))), ir.Send(s, (), (Read(x),)))
    captures = (ir.Capture(x, "x", "int", out=True),)
    dfg = build_dfg(ir.Kernel("k", captures, (ir.StreamCapture(s, "s"),), body))
    run = run_dfg(dfg, [4])
    assert run.iterations == 1 and run.live_outs == [5] and run.outputs == {0: [5]}


def array_loop(statements, array, captured=()):
    i = Variable("i")
    body = [*statements(Read(i)), increment(i)]
    return graph_of(
        loop(body, less(Read(i), Const(4)), [Assign(i, Const(0))], [array, *captured], out=captured)
    )


def test_orders_between_loads_and_stores():
    a = Array("a", (4,))
    step = Load(a, (Read(Variable("anywhere")),))
    dfg = array_loop(lambda i: [ir.Store(a, (i,), Apply("add", (step, Const(1))))], a)
    load, store = ops(dfg).index("load"), ops(dfg).index("store")
    assert set(dfg.orders) == {Order(load, store, 0, 0), Order(store, load, 1, 1)}


def test_different_places_of_one_iteration_have_no_order():
    a, x = Array("a", (4, 2)), Variable("x")

    def swap(i):
        return [
            Assign(x, Load(a, (i, Const(0)))),
            ir.Store(a, (i, Const(1)), Read(x)),
        ]

    dfg = array_loop(swap, a)
    assert dfg.orders and all(o.distance for o in dfg.orders)


def test_constant_places_have_no_order_at_all():
    a, x = Array("a", (4,)), Variable("x")
    dfg = array_loop(lambda i: [Assign(x, Load(a, (Const(0),))), ir.Store(a, (Const(1),), i)], a, [x])
    assert dfg.orders == ()


def test_tables_are_read_without_orders_and_constant_places_of_them_are_constants():
    t, x = Array("t", (4,), initial=(9, 8)), Variable("x")
    i = Variable("i")
    value = Apply("add", (Load(t, (Read(i),)), Load(t, (Const(1),))))
    body = [Assign(x, value), increment(i)]
    dfg = build_dfg(loop(body, less(Read(i), Const(2)), [Assign(i, Const(0))], [x], out=[x]))
    assert ops(dfg).count("load") == 1 and not dfg.orders and dfg.memories[0].initial == (9, 8)
    assert run_dfg(dfg, []).live_outs == [16]


def test_words_of_an_element_follow_each_other_and_depend_on_the_first():
    pair = Stream("p", 8, (Word(0, 4, True), Word(4, 4, True)))
    x, y, worked, i = Variable("x"), Variable("y"), Variable("worked"), Variable("i")
    body = [ir.Receive(pair, (), (x, y), worked), increment(i)]
    dfg = build_dfg(loop(body, less(Read(i), Const(3)), [Assign(i, Const(0))], [x, y], [pair], out=[x, y]))
    first, second = dfg.nodes[0], dfg.nodes[1]
    assert (first.op, second.op) == ("try_recv", "recv")
    assert second.operands[1] == Use(0, 0, output=1)
    assert set(dfg.orders) == {Order(0, 1), Order(1, 0, 1)}


def test_a_stream_used_both_ways_has_two_ports():
    s, x = Stream("s", 4, INT), Variable("x")
    kernel = ir.Kernel(
        "k", (), (ir.StreamCapture(s, "s"),), (ir.Receive(s, (), (x,)), ir.Send(s, (), (Read(x),)))
    )
    ports = build_dfg(kernel).streams
    assert [(p.name, p.sends) for p in ports] == [("s", False), ("s_sent", True)]
    assert [p.shown for p in ports] == ["s", "s"]


def test_assertions_fail_in_live_iterations_only():
    i = Variable("i")
    body = [ir.Assert(less(Read(i), Const(3)), "small"), increment(i)]
    fine = build_dfg(loop(body, less(Read(i), Const(3)), [Assign(i, Const(0))]))
    assert run_dfg(fine).iterations == 3
    bad = build_dfg(loop(body, less(Read(i), Const(4)), [Assign(i, Const(0))]))
    with pytest.raises(GraphAssertionFailed, match="small"):
        run_dfg(bad)


def test_nothing_dead_is_left():
    x, i, a = Variable("x"), Variable("i"), Array("a", (4,))
    body = [Assign(x, Apply("mul", (Read(i), Load(a, (Read(i),))))), increment(i)]
    dfg = build_dfg(loop(body, less(Read(i), Const(4)), [Assign(i, Const(0))], [a]))
    assert ops(dfg) == ["add", "slt", "and", "xor", "stop"] and dfg.memories == ()


def test_a_sum_of_many_has_a_recurrence_of_one_addition():
    total, i, n, a = Variable("total"), Variable("i"), Variable("n"), Array("a", (64,))
    value = Read(total)
    for k in range(8):
        value = Apply("add", (value, Load(a, (Apply("add", (Read(i), Const(k))),))))
    body = [Assign(total, value), increment(i)]
    kernel = loop(body, less(Read(i), Read(n)), [Assign(i, Const(0))], [total, n, a], out=[total])
    dfg = build_dfg(kernel)
    depth = {}
    for node in dfg.nodes:
        before = [
            depth[o.node] for o in node.operands if isinstance(o, Use) and o.distance == 0 and o.node in depth
        ]
        depth[node.id] = 1 + max(before, default=0)
    around = [
        n for n in dfg.nodes if any(isinstance(o, Use) and o.distance and o.node == n.id for o in n.operands)
    ]
    assert sorted(node.variable for node in around if node.op == "add") == ["i", "total"]
    assert max(depth.values()) <= 7
    data = {"scalars": {"n": 9}, "arrays": {"a": list(range(64))}, "inputs": {}}
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)


@pytest.mark.quick(20)
@pytest.mark.sweep(14)
@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_run_alike_as_graphs(seed):
    maker = Maker(seed, wide=seed % 5 == 0, divisions=seed % 4 == 0)
    kernel = seldom_shortened(maker.kernel(5, 3), seed)
    dfg = build_dfg(optimize(kernel))
    data = maker.data()
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data), show_kernel(kernel)


def test_products_are_fused_with_additions_but_not_into_an_accumulation():
    total, i, x, y = Variable("total"), Variable("i"), Variable("x"), Variable("y")
    product = Apply("mul", (Read(x), Read(i)))
    body = [Assign(total, Apply("add", (Read(total), product))), increment(i)]
    leading = [Assign(i, Const(0))]
    kernel = loop(body, less(Read(i), Const(9)), leading, [total, x, y], out=[total])
    assert "muladd" not in ops(build_dfg(kernel))
    other = Apply("add", (product, Apply("mul", (Read(y), Read(i)))))
    body = [Assign(total, Apply("add", (Read(total), other))), increment(i)]
    kernel = loop(body, less(Read(i), Const(9)), leading, [total, x, y], out=[total])
    dfg = build_dfg(kernel)
    assert ops(dfg).count("muladd") == 1 and ops(dfg).count("mul") == 1
    data = {"scalars": {"x": 3, "y": 5, "total": 1}, "arrays": {}, "inputs": {}}
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)


def test_a_shift_and_an_addition_are_one_operation_but_not_on_a_recurrence():
    total, i, x = Variable("total"), Variable("i"), Variable("x")
    shifted = Apply("add", (Apply("shl", (Read(i), Const(5))), Read(x)))
    body = [Assign(total, Apply("xor", (Read(total), shifted))), increment(i)]
    kernel = loop(body, less(Read(i), Const(9)), [Assign(i, Const(0))], [total, x], out=[total])
    dfg = build_dfg(kernel)
    assert (ops(dfg).count("muladd"), ops(dfg).count("shl")) == (1, 0)
    data = {"scalars": {"x": 3, "total": 1}, "arrays": {}, "inputs": {}}
    assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
    assert "muladd" not in ops(graph_of(kernel, Capacity(multiplies=False)))
    again = Apply("add", (Apply("shl", (Read(total), Const(5))), Read(x)))
    body = [Assign(total, again), increment(i)]
    assert "muladd" not in ops(
        build_dfg(loop(body, less(Read(i), Const(9)), [Assign(i, Const(0))], [total, x], out=[total]))
    )


def test_variables_that_are_always_the_same_are_one():
    i, j, k = Variable("i"), Variable("j"), Variable("k")
    body = [increment(v) for v in (i, j, k)]
    leading = [Assign(i, Const(0)), Assign(j, Const(0)), Assign(k, Const(1))]
    kernel = loop(body, less(Read(i), Const(5)), leading, [i, j, k], out=[i, j, k])
    dfg = build_dfg(kernel)
    assert ops(dfg).count("add") == 2
    assert run_dfg(dfg, []).live_outs == [5, 5, 6]
