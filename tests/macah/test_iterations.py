"""No iteration of the final loop is in vain but those of loops that do not run."""

import pytest
from test_lower import lowered

from macah.iterations import Iterations, count_iterations

HEAD = "int a[64], b[64]; void f(int stream in, int stream out, int n, int m) { kernel { "


def counted(body: str, n: int = 5, m: int = 3) -> Iterations:
    kernel = lowered(HEAD + body + " } }")
    arrays = {"a": [x * 7 % 5 for x in range(64)], "b": [x * x % 11 for x in range(64)]}
    inputs = {"in": [(x * x % 7,) for x in range(200)]}
    names = {c.what.name for c in kernel.captured}
    given = {name: values for name, values in arrays.items() if name in names}
    return count_iterations(kernel, {"n": n, "m": m}, given, inputs)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < 9; i++) out <! i;",
        "for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) for (int k = 0; k < 3; k++)"
        "  for (int l = 0; l < 2; l++) out <! i + j * k - l;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < n; k++)"
        "  for (int l = 0; l < m; l++) out <! i + j * k - l;",
        "for (int i = 0; i < n; i++) { a[i] = i; for (int j = 0; j < 3; j++) out <! j; a[i + 1]++; }",
        "for (int i = 0; i < n; i++) { int s = a[i]; for (int j = 0; j < 3; j++) s += b[j];"
        "  for (int j = 0; j < m; j++) { s ^= a[j]; for (int k = 0; k < 2; k++) out <! s; } a[i] = s; }",
        "for (int i = 0; i < 12; i++) for (int j = 0; j <= i; j++) out <! i - j;",
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) for (int k = j; k <= n + i; k++) out <! k;",
        "for (int i = 0; i < n; i++) { int j = 0; do { out <! j; j += 2; } while (j < a[i]); }",
        "for (int i = 0; i < 9; i++) for (int j = 0; j < 8; j++) { if (j > a[i]) break; out <! j; }",
        "for (int i = 0; i < 9; i++) { for (int j = 0; j < 8; j++) { if (j & a[i]) continue; out <! j; }"
        "  if (i == n) break; }",
        "for (int i = 0; i < 9; i++) if (i & 1) for (int j = 0; j < 4; j++) out <! j;"
        "  else for (int j = 0; j < 3; j++) out <! -j;",
        "for (int i = 0; i < 6; i++) for (int j = 0; j < 5; j++) { int x; x <? in; do x >>= 1; while (x); }",
    ],
)
def test_every_iteration_is_useful(body: str) -> None:
    found = counted(body)
    assert found.executed == found.useful > 0


@pytest.mark.parametrize(
    ("body", "idle"),
    [
        ("for (int i = 0; i < 12; i++) for (int j = 0; j < i; j++) out <! i - j;", 1),
        ("for (int i = 0; i < 12; i++) for (int j = 0; j < (i & 1); j++) out <! i - j;", 6),
        ("for (int i = 0; i < 10; i++) if (i & 1) for (int j = 0; j < 4; j++) out <! j;", 5),
        ("for (int i = 0; i < 10; i++) { for (int j = 0; j < a[i]; j++) out <! j;"
         "  for (int j = 0; j < b[i]; j++) out <! -j; }", 3),
        ("for (int i = 0; i < 6; i++) { int x; x <? in; while (x > 0) { out <! x; x--; } }", 1),
    ],
)  # fmt: skip
def test_a_loop_that_does_not_run_costs_one_iteration_at_most(body: str, idle: int) -> None:
    found = counted(body)
    assert found.executed - found.useful <= idle


def test_a_kernel_without_loops_is_one_iteration() -> None:
    assert counted("out <! 1;") == Iterations(1, 1)
    assert counted("out <! 1;").share == 1
