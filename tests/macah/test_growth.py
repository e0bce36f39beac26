"""The work of the passes grows with a kernel's size: Python's own function calls are counted, not seconds."""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import pytest
from control_kernels import count, i, kernel, let, n, op, receive, send, x, y
from pycparser import c_ast
from pycparser.c_parser import Coord

from macah import ir
from macah.ctypes import INT
from macah.ir import Body
from macah.lower_switch import limits_of
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg


def loops(size: int) -> Body:
    """Loops in sequence that run differently often."""
    stages = [count(i, number + 2, let(y, op("add", y, op("mul", x, i)))) for number in range(size)]
    return tuple(stmt for stage in stages for stmt in stage)


def constants_between(size: int) -> Body:
    """The same with one counter, and a send behind each."""
    return tuple(
        stmt for stage in range(size) for stmt in (*count(i, op("and", x, stage + 2), let(y, i)), send(y))
    )


def ifs(size: int) -> Body:
    """`if` in `if` in `if`."""
    body: Body = ()
    for number in range(size):
        body = (ir.If(op("slt", x, number), (let(y, op("add", y, number)), *body)),)
    return body


def in_a_loop(body: Body) -> ir.Kernel:
    """A kernel that runs a body again and again; its recurrences stay as they are."""
    return replace(
        kernel(*count(n, 9, receive(x), let(y, 0), *body, send(y))), without=frozenset({"shorten"})
    )


def calls(work: Callable[[], object]) -> int:
    """How many functions are called to do something."""
    called = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize("shape,size", [(loops, 24), (constants_between, 24), (ifs, 100)])
def test_twice_the_size_is_about_twice_the_work(shape: Callable[[int], Body], size: int) -> None:
    small, large = in_a_loop(shape(size)), in_a_loop(shape(2 * size))
    assert calls(lambda: optimize(large)) < 2.35 * calls(lambda: optimize(small))


@pytest.mark.parametrize("shape,size", [(loops, 12), (ifs, 50)])
def test_the_graph_of_twice_the_size_is_about_twice_the_work(shape: Callable[[int], Body], size: int) -> None:
    small, large = optimize(in_a_loop(shape(size))), optimize(in_a_loop(shape(2 * size)))
    assert calls(lambda: build_dfg(large)) < 2.35 * calls(lambda: build_dfg(small))


def labels(size: int) -> list[c_ast.Case]:
    """The labels of a `switch`, in an order of their own."""
    values = [(7 * number) % size for number in range(size)]
    return [c_ast.Case(c_ast.Constant("int", str(value)), [], Coord("a.c", 1)) for value in values]


def test_the_labels_of_a_switch_are_looked_up() -> None:
    def found(size: int) -> int:
        many = labels(size)
        return calls(lambda: limits_of(many, INT, lambda node: int(node.value)))

    assert found(400) < 2.35 * found(200)
