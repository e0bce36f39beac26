"""Whatever is exchanged within a program, lowering gives a kernel or errors with their places."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pycparser import c_ast

from macah.check import check_kernel
from macah.diagnostic import MacahError
from macah.lower import lower
from macah.program import read_program, walk

CASES = Path(__file__).parent.parent / "cases"
SOURCES = sorted([*(CASES / "errors").glob("*.macah"), *(CASES / "programs").glob("*.macah")])
EXPRESSIONS = (
    c_ast.ID,
    c_ast.Constant,
    c_ast.BinaryOp,
    c_ast.UnaryOp,
    c_ast.ArrayRef,
    c_ast.StructRef,
    c_ast.Assignment,
    c_ast.FuncCall,
    c_ast.TernaryOp,
    c_ast.Cast,
)
Slot = tuple[Any, str, int | None]


def slots(root: Any) -> Iterator[Slot]:
    """Where expressions stand below a node: in an attribute, or in a list that is one."""
    for node in walk(root):
        for name in ("left", "right", "expr", "cond", "iftrue", "iffalse", "lvalue", "rvalue", "subscript"):
            if isinstance(getattr(node, name, None), EXPRESSIONS):
                yield node, name, None
        for name in ("exprs", "block_items"):
            for number, item in enumerate(getattr(node, name, None) or []):
                if isinstance(item, EXPRESSIONS):
                    yield node, name, number


def get(slot: Slot) -> Any:
    node, name, number = slot
    return getattr(node, name) if number is None else getattr(node, name)[number]


def put(slot: Slot, value: Any) -> None:
    node, name, number = slot
    if number is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[number] = value


@pytest.mark.quick(14)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_program_with_exchanged_expressions_is_lowered_or_refused(source: Path) -> None:
    program = read_program(source)
    chance = random.Random(source.stem)
    functions = [n for n in program.unit.ext if isinstance(n, c_ast.FuncDef)]
    places = [slot for function in functions for slot in slots(function.body)]
    for _ in range(40):
        changed = [chance.choice(places) for _ in range(chance.randint(1, 2))]
        before = [get(slot) for slot in changed]
        for slot in changed:
            put(slot, copy.deepcopy(get(chance.choice(places))))
        try:
            check_kernel(lower(program, chance.choice(program.kernels)))
        except MacahError as error:
            assert error.diagnostics
            assert all(d.where is not None and d.message for d in error.diagnostics)
        for slot, value in zip(reversed(changed), reversed(before), strict=True):
            put(slot, value)
