"""A variable declared without initialiser has no value each time: it ties no iteration to the last one."""

import pytest
from test_flatten_loops import shortest_interval
from test_lower import lowered

from macah import ir
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg

HEAD = """
typedef struct { int a; struct { short b, c[2]; } inner; } Pair;
static int pick(int x) { if (x < 0) return 3; if (x > 9) return x * x; return x; }
void f(int stream in, int stream out, int n) { kernel { for (int i = 0; i < n; i++) {
"""


def graph_interval(body: str) -> int:
    return shortest_interval(build_dfg(optimize(lowered(HEAD + body + "} } }"))))


@pytest.mark.parametrize(
    "body",
    [
        "int x; x <? in; FOR (int s = 0; s < 5; s++) x = x < 0 ? x * 3 : -x; out <! x;",
        "int x[3]; FOR (int j = 0; j < 3; j++) if (i & j) x[j] = i * j; x[2] ^= x[1] * x[0]; out <! x[2];",
        "Pair p; p.a <? in; p.inner.c[1] = p.a * 3; if (i & 1) p.inner.b = i; p.a ^= p.inner.b * 7;"
        "p.inner.b = p.a * p.inner.c[1] + p.inner.b; out <! p.inner.b;",
        "long long x; if (i & 1) x = i; x = x * 3 ^ x; x += x >> 3; out <! x >> 32;",
        "union { int w; unsigned char b[4]; } u; u.b[i & 3] = i; u.w = u.w * 5 + 1; out <! u.w;",
        "int x; x <? in; out <! pick(x) * 3;",
    ],
)
def test_nothing_is_carried_over(body: str) -> None:
    assert graph_interval(body) == 1


def test_what_is_declared_outside_is_carried_over() -> None:
    body = "} int x; for (int i = 0; i < n; i++) { if (i & 1) x = i; x = x * x ^ 5; out <! x;"
    assert graph_interval(body) > 1


def test_the_value_is_unspecified_in_loops_and_functions_only() -> None:
    text = show_kernel(lowered("void f(int n) { kernel { int x, y[2]; while (n) { int z, w[2]; } } }"))
    assert "z = unspecified" in text and "forget w" in text
    assert "x = unspecified" not in text and "forget y" not in text


def test_a_function_forgets_what_it_returned_last() -> None:
    body = "x <? in; out <! pick(x);"
    kernel = lowered(HEAD.replace("kernel {", "kernel { int x;") + body + "} } }")
    inputs = {"in": [(5,), (12,), (-4 % 2**32,)]}
    expected = [(5,), (144,), (3,)]
    assert run_kernel(kernel, {"n": 3}, inputs=inputs).outputs["out"] == expected
    assert run_kernel(optimize(kernel), {"n": 3}, inputs=inputs).outputs["out"] == expected
    assert not any(isinstance(stmt, ir.Forget) for stmt in optimize(kernel).body)
