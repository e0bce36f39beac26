from control_kernels import count, i, kernel, let, loop, n, op, receive, send, text, x

from macah import ir
from macah.passes.invert_loops import invert_loops


def test_a_loop_runs_if_its_condition_holds_at_first() -> None:
    assert text(invert_loops(kernel(*count(i, n, send(i)), into=(n,)))) == (
        "i = 0\n"
        "do if (i < n):\n"
        "  out <! i\n"
        "  i = (i + 1)\n"
        "while (i < n)\n"
    )  # fmt: skip


def test_the_guard_goes_where_constants_show_that_the_loop_runs() -> None:
    assert text(invert_loops(kernel(*count(i, 8, send(i))))).startswith("i = 0\ndo:\n")


def test_a_loop_that_never_runs_goes() -> None:
    assert text(invert_loops(kernel(*count(i, 0, send(i)), send(5)))) == "out <! 5\n"


def test_constants_do_not_outlive_an_assignment_in_a_loop_or_branch() -> None:
    change = ir.If(op("eq", x, 1), (let(i, 9),))
    again = loop(op("slt", i, 8), let(i, op("add", i, 1)))
    found = text(invert_loops(kernel(let(i, 0), change, again, again, into=(x,))))
    assert found.count("do if (i < 8):") == 2


def test_what_a_condition_computes_comes_before_the_loop_and_at_its_end() -> None:
    made = kernel(ir.While((let(x, op("mul", x, x)),), op("ne", x, 0), (send(x),)))
    assert text(invert_loops(made)) == (
        "x = (x * x)\n"
        "do if (x != 0):\n"
        "  out <! x\n"
        "  x = (x * x)\n"
        "while (x != 0)\n"
    )  # fmt: skip


def test_what_a_condition_does_with_a_stream_is_done_in_one_place() -> None:
    made = kernel(ir.While((receive(x),), op("ne", x, 0), (send(x),)))
    assert text(invert_loops(made)) == (
        "do:\n"
        "  x <? in\n"
        "  goes_on = (x != 0)\n"
        "  if goes_on:\n"
        "    out <! x\n"
        "while goes_on\n"
    )  # fmt: skip


def test_a_constant_guard_of_wide_words_is_evaluated_at_the_operands_width() -> None:
    wide = ir.Apply("slt", (ir.Apply("sext32", (ir.Read(i),), 64), ir.Const(0, 64)))
    made = kernel(let(i, 0xFFFFFFFF), ir.While((), wide, (let(i, op("add", i, 1)),)), send(i))
    assert text(invert_loops(made)).startswith("i = -1\ndo:\n")


def test_what_the_test_computes_from_constants_before_the_loop_is_a_constant() -> None:
    made = kernel(let(i, 16), ir.While((let(i, op("sub", i, 1)),), op("ne", i, 0), (send(i),)))
    assert text(invert_loops(made)).startswith("i = 15\ndo:\n")
