"""The course of control that depends on nothing but itself, and the compiled loop that computes it."""

from __future__ import annotations

import importlib.util
import sys
from array import array
from itertools import product
from pathlib import Path

import pytest
from test_lower import lowered

import macah.course as course
from arch.ops import OPS
from macah.course import course_of, independent
from macah.course_rows import CODES, NEVER, OPERANDS, WIDTH, Program, compute
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg

WORDS = (0, 1, 2, 7, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF)


@pytest.fixture(params=["built", "plain"])
def rows(request, monkeypatch):
    """The module as it is built, and as plain Python."""
    if request.param == "built":
        return compute
    path = Path(course.__file__).with_name("course_rows.py")
    spec = importlib.util.spec_from_file_location("plain_course_rows", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plain_course_rows", module)
    spec.loader.exec_module(module)
    return module.compute


def one_step(op: str, operands: tuple[int, ...]) -> Program:
    """A program that computes one operation on constants."""
    others = () if op in CODES else (OPS[op].evaluate,)
    first = [*operands, *[0] * (OPERANDS - len(operands))]
    return Program(
        array("i", [CODES.get(op, len(CODES))]),
        array("i", [0]),
        array("i", [len(operands)]),
        array("i", [0] * OPERANDS),
        array("q", [NEVER] * OPERANDS),
        array("Q", first),
        others,
    )


@pytest.mark.parametrize("op", [name for name, op in OPS.items() if op.pure and op.outputs == 1])
def test_an_operation_means_what_the_table_says(op, rows):
    words = WORDS if OPS[op].arity < 3 else WORDS[::2]
    for operands in product(words, repeat=OPS[op].arity):
        found = array("Q", [0])
        rows(one_step(op, operands), found, 0, 1)
        assert found[0] == OPS[op].evaluate(WIDTH, *operands), operands


def courses(text: str, most: int):
    """Those of all values of a kernel that need nothing else."""
    dfg = build_dfg(optimize(lowered(text)))
    own = independent(dfg)
    return [(node, course_of(dfg, own, [node], most)) for node in sorted(own)]


NEST = """
void f(int stream out, int n) {
  kernel {
    int odd = 1;
    for (int k = 0; k < n; k++)
      for (int i = 0; i < 5; i++) { odd = (odd * 5 + i) % 9; out <! odd; }
  }
}
"""


def test_a_course_is_the_same_built_and_plain(rows, monkeypatch):
    built = courses(NEST, 200)
    assert sum(found is not None and len(found.rows) > 4 for _, found in built) > 3
    monkeypatch.setattr(course, "compute", rows)
    course._rows.cache_clear()
    assert courses(NEST, 200) == built
    course._rows.cache_clear()


def test_what_takes_longer_has_no_course():
    longest = max(len(found.rows) for _, found in courses(NEST, 200) if found is not None)
    found = [one and len(one.rows) for _, one in courses(NEST, longest - 2)]
    assert None in found and any(found)
