"""What an element of an array was before something is received into it is not loaded if it was nothing."""

from pathlib import Path

import pytest

from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.run import run_kernel
from macah.walk import loads_in, operands, statements

ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
SUM = "int s = 0; for (int i = 0; i < 9; i++) s += i * a[i]; out <! s;"
GONE = {
    "one loop": "int a[64]; for (int i = 0; i < n; i++) a[i] <? in;",
    "from an offset down": "int a[64]; for (int i = 9; i > n; i -= 3) a[i + 2] <? in;",
    "two loops": f"int a[8][8]; {ROWS} a[j][i + 1] <? in;",
    "under a condition": "int a[64]; for (int i = 0; i < n; i++) if (i != 3) a[i] <? in;",
    "stored to later": "int a[64]; for (int i = 0; i < n; i++) a[i] <? in; a[n] = 2;",
}
KEPT = {
    "stored to before": "int a[64]; a[3] = 1; for (int i = 0; i < n; i++) a[i] <? in;",
    "stored to beside it": "int a[64]; for (int i = 0; i < n; i++) { a[i] <? in; a[i + 1] = i; }",
    "some elements again": f"int a[64]; {ROWS} a[j] <? in;",
    "an index that wraps around": "int a[64]; for (int i = 0; i < n; i++) a[i & 7] <? in;",
    "a counter that is set": "int a[64]; for (int i = 0; i < n; i++) { a[i] <? in; if (a[i] > 9) i = 0; }",
    "a counter of two steps": "int a[64], k = 0; for (int i = 0; i < n; i++) { a[k] <? in; k++; k--; }",
    "words that soon come again": "int a[64]; for (unsigned i = 0; i < n; i += 1u << 31) a[i] <? in;",
    "captured": "for (int i = 0; i < n; i++) b[i] <? in;",
    "the index changes in between": "int a[64], k = 0, t;"
    " for (int i = 0; i < n; i++) { t = a[k]; k++; t <? in; a[k] = t; }",
}


def lowered(body: str) -> ir.Kernel:
    text = "void end(int stream s) { pstream_close(s); }\n"  # else elements need no old values
    text += f"void f(int stream in, int stream out, int n, int b[64]) {{ kernel {{ {body} }} }}"
    program = parse_program(text, Path("t.macah"))
    return lower(program, program.kernels[0])


def loads(body: str) -> int:
    """How many loads are left where loops are inverted."""
    stages: dict[str, ir.Kernel] = {}
    optimize(lowered(body), lambda name, kernel: stages.update({name: kernel}))
    found = statements(stages["fresh_elements"].body)
    return sum(len(loads_in(expr)) for stmt in found for expr in operands(stmt))


@pytest.mark.parametrize("body", GONE.values(), ids=GONE)
def test_such_elements_are_not_loaded(body: str) -> None:
    assert loads(body) == 0


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_others_are(body: str) -> None:
    assert loads(body)


@pytest.mark.parametrize("body", [b for b in (*GONE.values(), *KEPT.values()) if "[8]" not in b])
def test_what_was_received_and_stored_is_there(body: str) -> None:
    array = "b" if " b[" in body else "a"
    made = lowered(f"{body} {SUM.replace('a[', f'{array}[')}")
    words = [(word,) for word in (3, 1, 4, 1, 5, 9, 2, 6, 5)]
    n = 9 if "i < n" in body else 0
    runs = [run_kernel(k, {"n": n}, {"b": [7] * 64}, {"in": words}) for k in (made, optimize(made))]
    assert runs[0].arrays == runs[1].arrays
    if "a[i] <? in" in body and "&" not in body and "set" not in body:
        assert runs[0].outputs == runs[1].outputs
