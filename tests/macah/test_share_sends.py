"""Sends that exclude each other become one; what is sent, and in which order, stays the same."""

import random

import pytest
from kernels import outcome, outcome_of_graph

from backend.dfg import Word
from macah import ir
from macah.ir import Apply, Assign, Const, If, Read, Stream, Variable
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg

I, X = Variable("i"), Variable("x")
IN = Stream("in", 4, (Word(0, 4, True),))
ONE = Stream("one", 4, (Word(0, 4, True),))
TWO = Stream("two", 8, (Word(0, 4, True), Word(4, 4, True)))


def op(name, *args):
    return Apply(
        name,
        tuple(Const(a) if isinstance(a, int) else Read(a) if isinstance(a, Variable) else a for a in args),
    )


def send(stream, value):
    return ir.Send(stream, (), tuple(op("add", value, k) for k in range(len(stream.words))))


def kernel(*body):
    step = Assign(I, op("add", I, 1))
    loop = ir.DoWhile((ir.Receive(IN, (), (X,)), *body, step), op("slt", I, 30))
    streams = tuple(ir.StreamCapture(s, s.name) for s in (IN, ONE, TWO))
    return ir.Kernel("k", (), streams, (Assign(I, Const(0)), loop))


def sends(made):
    """How many operations send to each stream; what they send is checked."""
    made = optimize(made)
    dfg = build_dfg(made)
    words = [(k * 0x9E3779B1 % 2**32 >> 20,) for k in range(30)]
    data = {"scalars": {}, "arrays": {}, "inputs": {"in": words}}
    assert outcome_of_graph(made, dfg, data) == outcome(made, data)
    names = [dfg.streams[n.stream].name for n in dfg.nodes if n.op == "send"]
    return names.count("one"), names.count("two")


def test_the_two_branches_of_an_if():
    assert sends(kernel(If(op("slt", X, 99), (send(ONE, X),), (send(ONE, 7),)))) == (1, 0)


def test_branches_that_send_several_words_each():
    longer = send(ONE, X), send(ONE, 7), send(ONE, 8)
    assert sends(kernel(If(op("slt", X, 99), longer, (send(ONE, 1), send(ONE, X))))) == (3, 0)
    assert sends(kernel(If(op("slt", X, 99), longer[:1], longer[1:]))) == (2, 0)


def test_conditions_that_exclude_each_other():
    cases = [If(op("eq", X, k), (send(TWO, k),), ()) for k in (3, 4, 5)]
    assert sends(kernel(*cases)) == (0, 2)


def test_the_cases_of_a_large_switch():
    cases = ()
    for k in range(30):
        cases = (If(op("eq", X, 7 * k), (send(TWO, k),), cases),)
    assert sends(kernel(*cases, If(op("slt", 203, X), (send(ONE, 1),), ()))) == (1, 2)


def test_conditions_that_may_hold_both():
    assert sends(
        kernel(If(op("slt", X, 9), (send(ONE, 1),), ()), If(op("slt", X, 10), (send(ONE, 2),), ()))
    ) == (2, 0)


def test_what_stands_between_keeps_its_place():
    before, between = If(op("slt", X, 9), (send(ONE, 1),), ()), send(ONE, 2)
    after = If(op("sle", 9, X), (send(ONE, 3),), ())
    assert sends(kernel(before, between, after)) == (3, 0)


def test_the_last_iteration_does_not_send_what_the_others_send():
    made = kernel(
        If(op("slt", I, 20), (send(ONE, X),), ()), If(op("eq", I, 25), (send(ONE, I), send(ONE, X)), ())
    )
    assert sends(made) == (2, 0)


@pytest.mark.parametrize("seed", range(40))
def test_random_branches(seed):
    chosen = random.Random(seed)

    def body(depth):
        made = []
        for _ in range(chosen.randint(1, 2)):
            if depth and chosen.random() < 0.7:
                test = op(
                    chosen.choice(("slt", "eq", "ult")), chosen.choice((X, I)), chosen.choice((3, 9, 500))
                )
                made.append(If(test, body(depth - 1), body(depth - 1) if chosen.random() < 0.7 else ()))
            else:
                made.append(send(chosen.choice((ONE, TWO)), chosen.choice((X, I, 5))))
        return tuple(made)

    assert sum(sends(kernel(*body(3))))
