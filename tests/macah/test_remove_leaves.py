from control_kernels import i, kernel, let, loop, m, n, op, receive, send, text, until_zero, x, y

from macah import ir
from macah.passes.remove_leaves import remove_leaves
from macah.run import run_kernel

L, M = ir.Label("L"), ir.Label("M")


def leave_if(condition: ir.Expr, label: ir.Label = L) -> ir.Stmt:
    return ir.If(condition, (ir.Leave(label),))


def test_a_leave_at_the_end_of_a_branch_needs_no_flag() -> None:
    made = kernel(ir.Block(L, (leave_if(op("slt", x, 5)), send(x), leave_if(op("slt", x, 9)), send(y))))
    assert text(remove_leaves(made)) == (
        "if (x < 5):\n"
        "else:\n"
        "  out <! x\n"
        "  if (x < 9):\n"
        "  else:\n"
        "    out <! y\n"
    )  # fmt: skip


def test_code_after_a_leave_goes_away() -> None:
    made = kernel(ir.Block(L, (send(x), ir.Leave(L), send(y))), send(1))
    assert text(remove_leaves(made)) == "out <! x\nout <! 1\n"


def test_a_leave_in_the_middle_of_both_branches_sets_a_flag() -> None:
    both = ir.If(op("slt", x, 5), (leave_if(op("eq", y, 1)), send(x)), (send(y),))
    assert text(remove_leaves(kernel(ir.Block(L, (both, send(3)))))) == (
        "left_L = 0\n"
        "if (x < 5):\n"
        "  if (y == 1):\n"
        "    left_L = 1\n"
        "  else:\n"
        "    out <! x\n"
        "else:\n"
        "  out <! y\n"
        "if (left_L ^ 1):\n"
        "  out <! 3\n"
    )


def test_a_loop_that_is_left_stops() -> None:
    assert text(remove_leaves(until_zero)) == (
        "left_done = 0\n"
        "loop:\n"
        "while (left_done ^ 1):\n"
        "  left_done = 0\n"
        "  x <? in\n"
        "  if (x == 0):\n"
        "    left_done = 1\n"
        "  else:\n"
        "    out <! x\n"
    )


def test_effects_of_a_condition_do_not_happen_after_a_break() -> None:
    body = ir.While((receive(x),), op("ne", x, 0), (leave_if(op("eq", x, 7)), send(x)))
    made = kernel(ir.Block(L, (body,)), receive(y), send(y))
    inputs = {"in": [(3,), (7,), (5,), (0,)]}
    run = run_kernel(remove_leaves(made), inputs=inputs)
    assert run.outputs == run_kernel(made, inputs=inputs).outputs == {"out": [(3,), (5,)]}


def test_break_and_continue_of_nested_loops() -> None:
    step = let(i, op("add", i, 1))
    inner = ir.Block(
        M, (loop(op("slt", i, n), step, leave_if(op("eq", i, m)), leave_if(op("eq", i, 3), M), send(i)),)
    )
    made = kernel(
        ir.Block(L, (loop(op("slt", i, 9), inner, step, send(op("neg", i))),)), send(i), into=(i, n, m)
    )
    for bound in range(8):
        for stop in range(10):
            given = {"n": bound, "m": stop}
            assert run_kernel(remove_leaves(made), given).outputs == run_kernel(made, given).outputs
