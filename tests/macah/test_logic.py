"""Conditions as logic: what is simplified, and random nests of conditions that stay what they are."""

import random

import pytest
from kernels import outcome, outcome_of_graph, seldom_shortened
from test_lower import lowered

from backend.dfg import Use, Word, show_dfg
from macah import ir
from macah.ir import Apply, Array, Assign, Const, If, Read, Stream, Variable
from macah.passes.pipeline import optimize
from macah.show import show_kernel
from macah.todfg import build_dfg

I, X, Y, A, B = (Variable(name) for name in "ixyab")
IN, SMALL = Stream("s", 4, (Word(0, 4, True),)), Stream("small", 1, (Word(0, 1, False),))
OUT = Stream("out", 4, (Word(0, 4, True),))
PLACES = Array("p", (4,))
DATA = {
    "scalars": {"a": 3, "b": 5},
    "arrays": {"p": [7, 8, 9, 10]},
    "inputs": {
        "s": [
            (w & 0xFFFFFFFF,)
            for w in (0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, 100, 2**31 - 1, -(2**31), 3, 5, 9, 10, 11, 12)
        ],
        "small": [(w,) for w in (0, 3, 5, 255, 128, 4, 6, 1, 2, 9, 3, 3, 4, 5, 0, 7, 8, 200, 10, 2)],
    },
}


def apply(op, *args):
    return Apply(
        op, tuple(Const(a) if isinstance(a, int) else Read(a) if isinstance(a, Variable) else a for a in args)
    )


def sent(value):
    return ir.Send(OUT, (), (apply("mov", value),))


def loop(*body):
    captures = (
        ir.Capture(A, "a", "int"),
        ir.Capture(B, "b", "int"),
        ir.Capture(PLACES, "p", "int", True, True),
    )
    streams = tuple(ir.StreamCapture(s, s.name) for s in (IN, SMALL, OUT))
    whole = (
        ir.Receive(IN, (), (X,)),
        ir.Receive(SMALL, (), (Y,)),
        *body,
        Assign(I, apply("add", I, 1)),
    )
    return ir.Kernel("k", captures, streams, (Assign(I, Const(0)), ir.While((), apply("slt", I, 20), whole)))


def ops(*body):
    """The operations of a loop's graph besides those of receiving and counting."""
    kernel = loop(*body)
    dfg = build_dfg(optimize(kernel))
    assert outcome_of_graph(kernel, dfg, DATA) == outcome(kernel, DATA), show_dfg(dfg)
    found = [node.op for node in dfg.nodes]
    for node in build_dfg(optimize(loop())).nodes:
        found.remove(node.op)
    return sorted(found)


Z = Variable("z")
EIGHT, NINE = (Assign(Z, Const(8)),), (Assign(Z, Const(9)),)


def either(c, then, orelse=()):
    return If(c, tuple(then), tuple(orelse))


def test_a_condition_that_another_implies_is_decided():
    inner = either(apply("slt", X, 5), EIGHT, NINE)
    assert ops(either(apply("slt", X, 3), [inner], [Assign(Z, Read(Y))]), sent(Z)) == [
        "select",
        "send",
        "slt",
    ]
    inner = either(apply("eq", X, 5), EIGHT, NINE)
    assert ops(either(apply("slt", X, 3), [inner], [Assign(Z, Read(Y))]), sent(Z)) == [
        "select",
        "send",
        "slt",
    ]


def test_comparisons_of_two_values_exclude_each_other():
    inner = either(apply("slt", Y, X), EIGHT, NINE)
    assert ops(either(apply("slt", X, Y), [inner], [Assign(Z, Read(X))]), sent(Z)) == [
        "select",
        "send",
        "slt",
    ]
    inner = either(apply("eq", Y, X), EIGHT, NINE)
    assert ops(either(apply("slt", X, Y), [inner], [Assign(Z, Read(X))]), sent(Z)) == [
        "select",
        "send",
        "slt",
    ]


def test_what_is_sent_is_simplified_as_if_it_were_sent():
    assert ops(
        Assign(Z, Read(Y)),
        either(apply("slt", X, A), [Assign(Z, apply("add", Y, 1))]),
        either(apply("slt", X, A), [sent(Z)]),
    ) == ["add", "and", "send", "slt"]


def test_a_value_that_is_known_where_it_is_used_is_a_constant():
    assert ops(either(apply("eq", X, 7), [Assign(Z, apply("add", Y, 1))], [Assign(Z, Read(X))]), sent(Z)) == [
        "add",
        "eq",
        "select",
        "send",
    ]
    assert ops(either(apply("eq", X, 7), [ir.Send(OUT, (), (Read(X),))])) == ["and", "eq", "send"]


def test_guards_have_no_more_parts_than_they_need():
    nest = either(apply("slt", X, 9), [either(apply("slt", X, 7), [either(apply("slt", X, 5), [sent(Y)])])])
    assert ops(nest) == ["and", "send", "slt"]


def test_bounds_of_the_words_themselves_count():
    assert ops(either(apply("ult", Y, 9), [either(apply("slt", Y, 9), [sent(Y)])])) == ["and", "send", "ult"]


# --- At random


class Nest:
    """Random nests of conditions on few values and constants, so that they have to do with each other."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.variables = [Variable(f"v{k}") for k in range(3)]

    def word(self):
        return self.rng.choice((X, Y, A, *self.variables, self.rng.randrange(8), self.rng.randrange(8)))

    def condition(self, depth=2):
        if depth and self.rng.random() < 0.5:
            parts = self.condition(depth - 1), self.condition(depth - 1)
            match self.rng.randrange(4):
                case 0:
                    return apply("and", *parts)
                case 1:
                    return apply("or", *parts)
                case 2:
                    return apply("xor", *parts)
                case _:
                    return apply("select", self.condition(0), *parts)
        op = self.rng.choice(("eq", "ne", "slt", "sle", "ult", "ule"))
        return apply(
            op, self.rng.choice((X, Y, self.variables[0])), self.rng.choice((A, Y, 0, 1, 3, 4, 5, 7, 255))
        )

    def statement(self, depth):
        rng = self.rng
        match rng.randrange(7 if depth else 4):
            case 0:
                return ir.Store(PLACES, (apply("and", self.word(), 3),), apply("mov", self.word()))
            case 1:
                return sent(self.word())
            case 2:
                return Assign(rng.choice(self.variables), apply("mov", self.word()))
            case 3:
                op = rng.choice(("add", "sub", "and", "smin"))
                return Assign(rng.choice(self.variables), apply(op, self.word(), self.word()))
            case _:
                return either(
                    self.condition(), self.body(depth - 1), self.body(depth - 1) if rng.random() < 0.6 else ()
                )

    def body(self, depth):
        return [self.statement(depth) for _ in range(self.rng.randrange(1, 4))]

    def kernel(self):
        start = tuple(Assign(v, Const(k)) for k, v in enumerate(self.variables))
        kernel = loop(*self.body(3), *self.body(2))
        return ir.Kernel("k", kernel.captured, kernel.streams, (*start, *kernel.body))


@pytest.mark.quick(75)
@pytest.mark.sweep(25)
@pytest.mark.parametrize("seed", range(150))
def test_random_nests_of_conditions(seed):
    kernel = seldom_shortened(Nest(seed).kernel(), seed)
    dfg = build_dfg(optimize(kernel))
    rng = random.Random(seed)
    for _ in range(4):
        inputs = {
            "s": [(rng.choice((rng.randrange(9), rng.getrandbits(32))),) for _ in range(20)],
            "small": [(rng.randrange(9),) for _ in range(20)],
        }
        data = {**DATA, "scalars": {"a": rng.randrange(9), "b": 1}, "inputs": inputs}
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data), show_kernel(kernel) + show_dfg(
            dfg
        )


@pytest.mark.parametrize("stored", ["", "t[x & 7] = i;"])
def test_an_address_is_what_it_is_where_the_element_matters(stored: str) -> None:
    """Also if the orders of accesses are found from a part of it."""
    body = f"int y = x & 1 ? x & 6 : i & 3; {stored} if (x & 1) s += y; else s += t[t[y] + 1 & 7]; out <! s;"
    loop = f"for (int i = 0; i < n; i++) {{ int x; x <? in; {body} }}"
    source = f"void f(int stream in, int stream out, int t[9], int n) {{ int s = 0; kernel {{ {loop} }} }}"
    dfg = build_dfg(optimize(lowered(source)))
    address = next(node.operands[0] for node in dfg.nodes if node.op == "load")
    assert isinstance(address, Use)
    behind = {address.node} | {u.node for u in dfg.nodes[address.node].operands if isinstance(u, Use)}
    assert "select" not in {dfg.nodes[node].op for node in behind}
