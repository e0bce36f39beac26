# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The inner loop of `course`: computes rows of words from those before them.

Compiled by Cython, or run as it is: both give the same results.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

import cython

WIDTH = 32
"""Words have so many bits here."""

OPERANDS = 3
"""Each step has room for so many."""

NEVER = 1 << 60
"""So many rows there never are: in place of a constant's."""

_M = cython.declare(cython.ulonglong, 0xFFFFFFFF)
_SIGN = cython.declare(cython.ulonglong, 0x80000000)
_HIGH = cython.declare(cython.ulonglong, 0xFFFFFFFF00000000)

# fmt: off
CODES = {
    op: code
    for code, op in enumerate((
        "and", "or", "xor", "select", "add", "slt", "eq", "ne", "mov", "sub", "sle", "ult", "ule",
        "not", "neg", "shl", "shr", "sar", "smin", "smax", "umin", "umax", "mul", "muladd",
    ))
}  # fmt: on
"""The operations computed here, by the numbers in `_computed`; others are functions of `arch.ops`."""


@dataclass(frozen=True, slots=True)
class Program:
    """What computes a row, step by step: each computes the word in one `place` by an operation.

    Of an operand `at` is the place of its word in the row that is so many rows `back`; `first` is its value
    where there is no such row yet. All `codes` that are not in `CODES` are places in `others`.
    """

    codes: array[int]
    places: array[int]
    arity: array[int]
    at: array[int]
    back: array[int]
    first: array[int]
    others: tuple[Callable[..., int], ...]


@cython.cfunc
@cython.inline
def _computed(
    code: cython.int, a: cython.ulonglong, b: cython.ulonglong, c: cython.ulonglong
) -> cython.ulonglong:
    """What an operation makes of words; as `arch.ops` has it."""
    if code == 0:
        return a & b
    if code == 1:
        return a | b
    if code == 2:
        return a ^ b
    if code == 3:
        return b if a != 0 else c
    if code == 4:
        return (a + b) & _M
    if code == 5:
        return 1 if (a ^ _SIGN) < (b ^ _SIGN) else 0
    if code == 6:
        return 1 if a == b else 0
    if code == 7:
        return 1 if a != b else 0
    if code == 8:
        return a
    if code == 9:
        return (a - b) & _M
    if code == 10:
        return 1 if (a ^ _SIGN) <= (b ^ _SIGN) else 0
    if code == 11:
        return 1 if a < b else 0
    if code == 12:
        return 1 if a <= b else 0
    if code == 13:
        return a ^ _M
    if code == 14:
        return (0 - a) & _M
    if code == 15:
        return (a << (b & 31)) & _M
    if code == 16:
        return a >> (b & 31)
    if code == 17:
        return ((a | _HIGH if a & _SIGN else a) >> (b & 31)) & _M
    if code == 18:
        return a if (a ^ _SIGN) < (b ^ _SIGN) else b
    if code == 19:
        return b if (a ^ _SIGN) < (b ^ _SIGN) else a
    if code == 20:
        return a if a < b else b
    if code == 21:
        return b if a < b else a
    if code == 22:
        return (a * b) & _M
    return (a * b + c) & _M


@cython.locals(
    n=cython.longlong,
    s=cython.int,
    k=cython.int,
    steps=cython.int,
    width=cython.longlong,
    known=cython.int,
    row=cython.longlong,
    a=cython.ulonglong,
    b=cython.ulonglong,
    c=cython.ulonglong,
    word=cython.ulonglong,
    codes=cython.int[::1],
    places=cython.int[::1],
    arity=cython.int[::1],
    at=cython.int[::1],
    back=cython.longlong[::1],
    first=cython.ulonglong[::1],
    words=cython.ulonglong[::1],
)
def compute(program: Program, words: array[int], begin: int, end: int) -> None:
    """Fill rows `begin` to `end` of `words`, of which all rows before are known."""
    codes, places, arity = program.codes, program.places, program.arity
    at, back, first = program.at, program.back, program.first
    steps, known = len(codes), len(CODES)
    width = steps
    for n in range(begin, end):
        row = n * width
        for s in range(steps):
            k = OPERANDS * s
            a = _operand(k, n, row, width, at, back, first, words)
            b = c = 0
            if arity[s] > 1:
                b = _operand(k + 1, n, row, width, at, back, first, words)
            if arity[s] > 2:
                c = _operand(k + 2, n, row, width, at, back, first, words)
            if codes[s] < known:
                word = _computed(codes[s], a, b, c)
            else:
                word = program.others[codes[s] - known](WIDTH, *(a, b, c)[: arity[s]])
            words[row + places[s]] = word


@cython.cfunc
@cython.inline
def _operand(
    k: cython.int,
    n: cython.longlong,
    row: cython.longlong,
    width: cython.longlong,
    at: cython.int[::1],
    back: cython.longlong[::1],
    first: cython.ulonglong[::1],
    words: cython.ulonglong[::1],
) -> cython.ulonglong:
    """The word of an operand in a row."""
    if back[k] > n:
        return first[k]
    return words[row - back[k] * width + at[k]]
