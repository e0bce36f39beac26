from dataclasses import replace

from control_kernels import (
    ALL,
    A,
    after,
    copy_through,
    count,
    i,
    j,
    kernel,
    let,
    n,
    op,
    receive,
    send,
    text,
    x,
    y,
)

from macah import ir
from macah.passes.fuse_loops import fuse_loops
from macah.passes.invert_loops import invert_loops
from macah.run import LimitExceeded, run_kernel
from macah.walk import bodies, statements


def fused(made: ir.Kernel) -> ir.Kernel:
    return fuse_loops(invert_loops(made))


def loops_in_sequence(body: ir.Body) -> int:
    """The largest number of loops that stand directly in one body."""
    here = sum(isinstance(stmt, ir.DoWhile) for stmt in body)
    return max([here, *(loops_in_sequence(inner) for stmt in body for inner in bodies(stmt))])


def steps(made: ir.Kernel, **scalars: int) -> int:
    """How many iterations the outermost loop makes, by running it with a counter in it."""
    counter = ir.Variable("iterations")
    body = tuple(
        ir.DoWhile((let(counter, op("add", counter, 1)), *s.body), s.condition, s.guard)
        if isinstance(s, ir.DoWhile)
        else s
        for s in made.body
    )
    capture = ir.Capture(counter, "iterations", "int", False, True)
    run = run_kernel(
        ir.Kernel("k", (*made.captured, capture), made.streams, body), scalars, inputs={"in": [(1,)] * 99}
    )
    return run.scalars["iterations"]


def test_two_loops_become_one() -> None:
    assert text(fused(replace(copy_through(), without=frozenset({"count_ahead"})))) == (
        "i = 0\n"
        "i'2 = 0\n"
        "past = 0\n"
        "do:\n"
        "  turn = past\n"
        "  if turn:\n"
        "    past = 1\n"
        "    x = unspecified\n"
        "    i = unspecified'2\n"
        "    out <! A[0][i'2]\n"
        "    i'2 = (i'2 + 1)\n"
        "    again = (i'2 < 8)\n"
        "  else:\n"
        "    x <? in\n"
        "    A[0][i] = x\n"
        "    i = (i + 1)\n"
        "    more = (i < 8)\n"
        "    past = (more ^ 1)\n"
        "    again = 1\n"
        "while again\n"
    )


def test_no_iteration_is_in_vain() -> None:
    made = kernel(*count(i, 8, receive(x)), *count(i, 5, send(i)), *count(i, 7, send(x)))
    assert steps(fused(made)) == 8 + 5 + 7


def test_a_loop_that_does_not_run_costs_one_iteration() -> None:
    made = kernel(*count(i, 8, receive(x)), *count(i, n, send(i)), *count(i, 7, send(x)), into=(n,))
    assert steps(fused(made), n=0) == 8 + 1 + 7
    assert steps(fused(made), n=3) == 8 + 3 + 7


def test_loops_in_two_branches_become_one() -> None:
    both = ir.If(op("slt", n, 3), (*count(i, 3, send(i)), send(7)), (send(8), *count(j, 5, send(j))))
    made = kernel(both, send(9), into=(n,))
    assert loops_in_sequence(fused(made).body) == 1
    assert not any(loops_in_sequence(bodies(s)[0]) for s in fused(made).body if isinstance(s, ir.If))
    for bound in (1, 4):
        assert run_kernel(fused(made), {"n": bound}) == run_kernel(made, {"n": bound})
        assert steps(fused(made), n=bound) == (3 if bound < 3 else 5)


def test_loops_inside_fused_loops_are_fused() -> None:
    row = (*count(j, 3, send(j)), send(x), *count(j, n, receive(x)))
    made = fused(kernel(*count(i, 4, *row), *count(i, 2, *row), into=(n,)))
    assert loops_in_sequence(made.body) == 1
    assert sum(isinstance(stmt, ir.DoWhile) for stmt in statements(made.body)) == 1


def test_a_variable_keeps_its_last_value() -> None:
    made = kernel(*count(i, 3, send(i)), *count(i, n, send(i)), send(i), into=(n,), out=(i,))
    for bound in range(4):
        assert run_kernel(fused(made), {"n": bound}) == run_kernel(made, {"n": bound})


def test_all_small_kernels_have_one_loop_per_body() -> None:
    for made in ALL.values():
        assert loops_in_sequence(after("fuse_loops", made).body) <= 1


def test_what_stands_between_loops_happens_once() -> None:
    between = (receive(y), ir.Store(A, (ir.Const(0), ir.Read(y)), ir.Read(x)))
    made = kernel(*count(i, n, receive(x)), *between, *count(j, n, send(y)), send(x), into=(n,), out=(A,))
    for bound in range(4):
        inputs = {"in": [(5,), (6,), (7,), (2,)]}
        assert run_kernel(fused(made), {"n": bound}, inputs=inputs) == run_kernel(
            made, {"n": bound}, inputs=inputs
        )


def test_a_loop_without_end_stays_one() -> None:
    made = kernel(*count(i, 2, send(i)), ir.DoWhile((send(x),), ir.TRUE), *count(i, 2, send(i)))
    for one in (made, fused(made)):
        try:
            run_kernel(one, limit=200)
        except LimitExceeded:
            continue
        raise AssertionError
