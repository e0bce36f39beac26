"""The work of the passes grows with a kernel's size: Python's own function calls are counted, not seconds."""

import sys
from types import FrameType

from control_kernels import count, kernel, let, n, op, receive, send, x, y

from macah.ir import Body, If
from macah.passes.pipeline import optimize


def ifs(size: int) -> Body:
    """`if` in `if` in `if`."""
    body: Body = ()
    for number in range(size):
        body = (If(op("slt", x, number), (let(y, op("add", y, number)), *body)),)
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


def test_twice_as_many_nested_ifs_are_about_twice_the_work() -> None:
    assert calls(ifs(200)) < 2.35 * calls(ifs(100))
