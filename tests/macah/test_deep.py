"""Programs that are nested deeply: they compile, and what is too deep is an error with a place."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from macah import deep, ir
from macah.deep import deep_recursion
from macah.diagnostic import MacahError
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.survey import kernels_of
from macah.todfg import build_dfg
from macah.walk import statements

NAME = Path("t.macah")


def switch(cases: int) -> str:
    text = "\n".join(f"case {7 * i}: y += x * {i + 3}; break;" for i in range(cases))
    return f"void f(int x, int y) {{\n kernel {{ switch (x) {{ {text} }} }}\n}}"


def test_a_switch_of_thousands_of_cases_is_lowered() -> None:
    program = parse_program(switch(8000), NAME)
    kernel = lower(program, program.kernels[0])
    with deep_recursion():
        assert sum(isinstance(stmt, ir.If) for stmt in statements(kernel.body)) == 8000


@pytest.mark.slow
def test_a_switch_of_thousands_of_cases_becomes_a_graph() -> None:
    program = parse_program(switch(3000), NAME)
    kernel = lower(program, program.kernels[0])
    with deep_recursion():
        assert len(build_dfg(optimize(kernel)).nodes) > 3000


def test_what_is_too_deep_is_an_error_at_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_program(switch(1000), NAME)
    monkeypatch.setattr(deep, "_DEPTH", sys.getrecursionlimit())
    (kernel,), (mistake,) = kernels_of(program, {})
    assert kernel is None or mistake.severity == "error"
    assert (str(mistake.where), mistake.code) == ("t.macah:2:2", "too-deep")


def test_limits_are_what_they_were_afterwards() -> None:
    before = sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_STACK)
    with (
        pytest.raises(MacahError, match="too deeply"),
        deep_recursion(parse_program(switch(1), NAME).kernels[0].where),
    ):
        raise RecursionError
    assert before == (sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_STACK))
