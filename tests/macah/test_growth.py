"""The work of the passes grows with a kernel's size: Python's own function calls are counted, not seconds."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from control_kernels import count, i, kernel, let, n, op, receive, send, x, y

from macah import ir
from macah.ir import Body
from macah.passes.pipeline import optimize


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


def calls(body: Body) -> int:
    """How many functions are called to optimize a kernel that runs a body in a loop."""
    made, called = kernel(*count(n, 9, receive(x), let(y, 0), *body, send(y))), 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        optimize(made)
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize("shape,size", [(loops, 24), (constants_between, 24), (ifs, 100)])
def test_twice_the_size_is_about_twice_the_work(shape: Callable[[int], Body], size: int) -> None:
    assert calls(shape(2 * size)) < 2.35 * calls(shape(size))
