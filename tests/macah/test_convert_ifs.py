from control_kernels import count, i, kernel, let, n, op, receive, send, t, text, x, y

from macah import ir
from macah.passes.convert_ifs import convert_ifs
from macah.passes.invert_loops import invert_loops
from macah.run import run_kernel


def converted(*body: ir.Stmt, out: tuple[ir.Variable, ...] = (x, y)) -> str:
    return text(convert_ifs(kernel(*body, into=(x, y, n), out=out)))


def test_a_variable_of_both_branches_takes_one_select() -> None:
    found = converted(ir.If(op("slt", n, 3), (let(x, op("mul", n, 5)),), (let(x, op("sub", n, 1)),)))
    assert found == (
        "if = (n < 3)\n"
        "x = (n * 5)\n"
        "x'2 = (n - 1)\n"
        "x'3 = select(if, x, x'2)\n"
    )  # fmt: skip


def test_what_is_not_read_afterwards_takes_no_select() -> None:
    found = converted(ir.If(op("slt", n, 3), (let(t, op("mul", n, 5)), let(x, op("mul", t, t)))))
    assert found.count("select") == 1
    assert "t = (n * 5)\n" in found


def test_effects_take_the_predicate() -> None:
    assert converted(ir.If(op("slt", n, 3), (send(x),), (receive(x),))) == (
        "if = (n < 3)\n"
        "path = (3 <= n)\n"
        "out <! x if if\n"
        "x <? in if path\n"
    )  # fmt: skip


def test_effects_in_nested_branches_take_the_whole_path() -> None:
    inner = ir.If(op("eq", x, 1), (send(x),))
    assert converted(ir.If(op("slt", n, 3), (inner,))) == (
        "if = (n < 3)\n"
        "if'2 = (x == 1)\n"
        "path = (if & if'2)\n"
        "out <! x if path\n"
    )  # fmt: skip


def test_a_condition_that_is_no_predicate_becomes_one() -> None:
    assert converted(ir.If(op("add", n, x), (send(x),))).startswith("if = ((n + x) != 0)\n")


def test_the_condition_is_read_once() -> None:
    body = ir.If(op("eq", x, 1), (let(x, 2), receive(y)), (let(x, 3), send(x)))
    made = kernel(body, send(x), into=(x,))
    for start in (0, 1):
        assert run_kernel(convert_ifs(made), {"x": start}) == run_kernel(made, {"x": start})


def test_a_conditional_addition_keeps_the_select_off_the_recurrence() -> None:
    found = converted(ir.If(op("slt", n, 3), (let(x, op("add", x, y)),)))
    assert found == "if = (n < 3)\nx_part = y\nx = (x + select(if, x_part, 0))\n"
    counted = converted(ir.If(op("slt", n, 3), (let(x, op("add", x, 1)),)))
    assert "select" not in counted


def test_a_loop_in_a_branch_takes_the_predicate() -> None:
    made = kernel(ir.If(op("slt", n, 3), (let(x, 7), *count(i, 4, send(x)))), send(x), into=(n, x))
    found = convert_ifs(invert_loops(made))
    assert "do if if:" in text(found)
    for bound in (1, 5):
        assert run_kernel(found, {"n": bound, "x": 2}) == run_kernel(made, {"n": bound, "x": 2})


def test_a_constant_condition_leaves_one_branch() -> None:
    assert converted(ir.If(ir.FALSE, (send(x),), (send(y),))) == "out <! y\n"


def test_receives_in_both_branches() -> None:
    body = ir.If(op("slt", n, x), (receive(x), let(y, x)), (let(y, 4), receive(y)))
    made = kernel(body, send(x), send(y), into=(x, y, n))
    for elements in ([], [(5,)]):
        for bound in (2, 3, 4):
            given, inputs = {"x": 3, "y": 1, "n": bound}, {"in": elements}
            assert run_kernel(convert_ifs(made), given, inputs=inputs) == run_kernel(
                made, given, inputs=inputs
            )
