"""Loops that end as what they receive says do not ask whether they had ended, where that changes nothing."""

from pathlib import Path
from random import Random

import pytest
from kernels import outcome, outcome_of_graph

from backend.dfg import DFG, Use
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.shorten import slow_cycles
from macah.todfg import build_dfg

HEADER = """#define L 'l'
void f(unsigned char stream in, int stream out, int n, unsigned char t[256]) {
"""


TEXTS = (b"hello\nworld wide\nx\0", b"\0ll", b"\n\nall\0l\0")


def graph(body: str, directory: Path, texts: tuple[bytes, ...] = TEXTS) -> tuple[ir.Kernel, DFG]:
    """The graph of a kernel, after it was seen to do what the kernel does.

    Some iterations that do not count are run, too.
    """
    source = directory / "p.macah"
    source.write_text(HEADER + body + "}\n")
    program = read_program(source)
    (site,) = program.kernels
    original = lower(program, site)
    made = optimize(original)
    dfg = build_dfg(made)
    for text in texts:
        data = {
            "scalars": {"n": 3},
            "arrays": {"t": [k * 37 % 256 for k in range(256)]},
            "inputs": {"in": [(c,) for c in text]},
        }
        assert outcome_of_graph(original, dfg, data) == outcome(original, data)
    return made, dfg


def waits_for_two(dfg: DFG) -> bool:
    """Whether each receive is guarded by a comparison with what was received."""
    (receive,) = [node for node in dfg.nodes if node.op == "recv"]
    return dfg.nodes[receive.operands[1].node].op in ("ne", "eq", "ule", "ult")


def test_a_loop_that_ends_at_what_it_receives(tmp_path: Path) -> None:
    _, dfg = graph("kernel { unsigned char c; do { c <? in; out <! c * 3; } while (c); }", tmp_path)
    assert waits_for_two(dfg)
    assert slow_cycles(dfg, 1)[0] == 2


def test_what_comes_round_is_not_chosen_by_the_test_that_ends_the_loop(tmp_path: Path) -> None:
    text = """kernel {
        int n = 0;
        for (;;) {
          int c = 0;
          c <? in;
          if (c == 0) break;
          n ^= n << 5;
          n ^= c;
        }
        out <! n;
      }"""
    _, dfg = graph(text, tmp_path)
    assert slow_cycles(dfg, 1)[0] == 2
    assert sum(node.op == "xor" for node in dfg.nodes) == 2  # none but those of the source


def test_lines_of_characters(tmp_path: Path) -> None:
    text = """kernel {
      unsigned char c = 1;
      while (c) {
        int n = 0;
        for (;;) {
          c <? in;
          if (c == 0 || c == '\\n') break;
          n = c == L ? n + 2 : (n > 3 ? n : 3);
        }
        out <! n;
      }
      out <! -1;
    }"""
    _, dfg = graph(text, tmp_path)
    assert slow_cycles(dfg, 1)[0] == 2


def test_a_table_that_nobody_stores_to_stays_as_it_is(tmp_path: Path) -> None:
    loop = "unsigned char c; do {{ c <? in; out <! c; {} }} while (t[c] & 255);"
    kept = graph("kernel { " + loop.format("") + " }", tmp_path)[1]
    stored = graph("kernel { " + loop.format("t[c | 1] = c;") + " }", tmp_path)[1]
    assert ["and" in {node.op for node in dfg.nodes} for dfg in (kept, stored)] == [False, True]


@pytest.mark.parametrize(
    "body",
    [
        "unsigned char c = 1, b; do { b = c; c <? in; out <! c; } while (c != b && c);",
        "unsigned char c = 0; int s = 0; do { c <? in; s += c; out <! s; } while (s < 300);",
        "unsigned char c = 1; int i = 0; do { c <? in; out <! c; i++; } while (c && i < n);",
    ],
    ids=["what was received before", "a sum", "a counter"],
)
def test_what_goes_on_in_iterations_that_do_not_count_asks(body: str, tmp_path: Path) -> None:
    _, dfg = graph("kernel { " + body + " }", tmp_path)
    assert not waits_for_two(dfg)


TESTS = (
    "c",
    "c != 10",
    "c < 200",
    "(c & 3) != 2",
    "t[c] > 40",
    "b",
    "c != b",
    "s < 900",
    "i < n + 20",
    "d != 5",
)


@pytest.mark.quick(4)
@pytest.mark.sweep(12)
@pytest.mark.parametrize("seed", range(60))
def test_random_tests_of_what_is_received_and_of_what_goes_on(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    test = random.choice(["&&", "||"]).join(random.sample(TESTS, random.randint(1, 3)))
    inner = random.choice(["", "do { d <? in; s++; } while (d & 1);", "if (c & 4) d <? in;"])
    after = random.choice(["", "s ^= d;", "t[c | 1] = s;"])
    body = f"""kernel {{
      unsigned char c = 1, b, d = 0;
      int s = 0, i = 0;
      do {{ b = c; c <? in; s += c; {inner} {after} i++; out <! s + d; }} while (({test}) && i < 60);
      out <! -i;
    }}"""
    graph(body, tmp_path, tuple(random.randbytes(400) for _ in range(3)))


def test_a_loop_that_is_left_at_what_it_receives_into_a_variable_of_its_own(tmp_path: Path) -> None:
    text = "kernel { int s = 0; for (;;) { unsigned char c; c <? in; if (c == L) break; s += c; out <! s; } }"
    _, dfg = graph(text, tmp_path, (b"hello", b"lo", b"axyl"))
    assert waits_for_two(dfg)
    assert slow_cycles(dfg, 1)[0] == 2


def test_what_a_variable_was_given_stays_in_it_where_nothing_is_received(tmp_path: Path) -> None:
    loop = "unsigned char c = n; c <? in; if (c == L) break; out <! c;"
    text = f"kernel {{ for (int k = 0; k < 9; k++) {{ {loop} }} }}"
    _, dfg = graph(text, tmp_path, (b"hello", b"lo", b"axyzl"))
    (receive,) = [node for node in dfg.nodes if node.op == "recv"]
    assert not isinstance(receive.operands[0], Use)
