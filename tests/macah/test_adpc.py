"""Pseudo-constants: values from the command line, and the compiler's own choice."""

import json
from pathlib import Path

import pytest

from arch.describe import load_fabric
from macah.adpc import given, pseudo_constants
from macah.choose import choose
from macah.diagnostic import MacahError
from macah.program import Program, parse_program
from macah.report import report_json, report_text

PROGRAM = """
const int UNROLL = ADPC(1, 64);
enum { WIDTH = ADPC(UNROLL, 2 * UNROLL) };
int add(const int *a, int stream s) {
  const int N = ADPC(4, 8);
  int sum = 0;
  kernel {
    for (int i = 0; i < 64; i += UNROLL)
      FOR (int k = 0; k < UNROLL; k++) { int x; x <? s; sum += x * (i ^ k); }
  }
  return sum;
}
void host(void) { static const int N = ADPC(-2, 0x10), M = 3; }
"""


def program(text: str = PROGRAM) -> Program:
    return parse_program(text, Path("t.macah"))


def chosen(text: str, arch: str = "grid8x8", *options: str) -> dict[str, int]:
    source = program(text)
    return choose(source, given(source, options), load_fabric(arch))


def message(*options: str) -> str:
    with pytest.raises(MacahError) as raised:
        given(program(), options)
    found = raised.value.diagnostics[0]
    return f"{found.message} | {found.hint}"


def test_all_are_listed_with_their_ranges_which_may_depend_on_each_other() -> None:
    found = pseudo_constants(program(), {"UNROLL": 5})
    assert [(c.key, c.minimum, c.maximum, c.value, c.where.line) for c in found] == [
        ("UNROLL", 1, 64, 5, 2),
        ("WIDTH", 5, 10, 5, 3),
        ("add.N", 4, 8, 4, 5),
        ("host.N", -2, 16, -2, 13),
    ]


def test_a_function_of_the_programs_own_is_no_pseudo_constant() -> None:
    assert pseudo_constants(program("int ADPC(int, int); int f(void) { int N = ADPC(1, 2); }"), {}) == ()


def test_values_are_given_by_name_or_function_and_name() -> None:
    assert given(program(), ["UNROLL=8", "add.N=0x6", "WIDTH=16"]) == {"UNROLL": 8, "add.N": 6, "WIDTH": 16}


def test_an_option_that_means_nothing_names_the_choices() -> None:
    assert message("M=1") == (
        "--adpc: the program has no pseudo-constant 'M' | its pseudo-constants: UNROLL, WIDTH, add.N, host.N"
    )
    assert message("N=5") == "--adpc: several pseudo-constants are called 'N' | say which: add.N, host.N"
    assert message("UNROLL=65").startswith("--adpc UNROLL=65: 65 is not in the range of 'UNROLL', 1 to 64")
    assert message("UNROLL=x").startswith("--adpc UNROLL=x: 'x' is not an integer")
    assert message("UNROLL").startswith("--adpc UNROLL: expected NAME=VALUE")


def test_the_local_one_does_not_get_the_value_of_the_one_it_hides() -> None:
    text = "const int N = ADPC(1, 9); void f(void) { const int N = ADPC(1, 3); int x = 0; kernel { x = N; } }"
    assert chosen(text, "grid8x8", "N=7") == {"N": 7, "f.N": 3}


# A stream has one port, so more receives for an iteration cost time; sums of products cost units only.
SUMS = """
enum { N = ADPC(1, 64), DEPTH = ADPC(16, 99) };
int f(int n) {
  int sum = 0;
  kernel { for (int i = 0; i < n; i++) FOR (int k = 0; k < N; k++) sum += i * (i ^ k); }
  return sum;
}
"""


def test_a_constant_grows_as_long_as_the_lower_bound_does_not() -> None:
    small, large = chosen(SUMS, "grid4x4"), chosen(SUMS, "grid8x8")
    assert 1 <= small["N"] < large["N"] < 20
    assert chosen(PROGRAM)["UNROLL"] == 1


def test_what_no_kernel_depends_on_is_the_least() -> None:
    assert chosen(SUMS)["DEPTH"] == 16


def test_a_kernel_in_error_leaves_the_least_value() -> None:
    assert chosen(SUMS.replace("sum +=", "nothing +=")) == {"N": 1, "DEPTH": 16}


def test_the_report_lists_them() -> None:
    found = pseudo_constants(program(), {"UNROLL": 5})
    assert "pseudo-constant add.N (t.macah:5) is 4, of 4 to 8\n" in report_text([], found)
    listed = json.loads(report_json([], found))["pseudo_constants"]
    assert listed[0] == {
        "name": "UNROLL",
        "function": None,
        "file": "t.macah",
        "line": 2,
        "value": 5,
        "minimum": 1,
        "maximum": 64,
    }


def test_a_constant_of_a_kernel_with_an_array_larger_than_a_memory_grows_as_in_others() -> None:
    text = """enum {{ COPIES = ADPC(1, 4) }};
        int f(const int t[{}]) {{
          int sum = 0;
          kernel {{
            for (int i = 0; i < 1000; i += COPIES) FOR (int k = 0; k < COPIES; k++) sum += t[i + k] ^ k;
          }}
          return sum;
        }}"""
    small, large = (chosen(text.format(words)) for words in (2000, 5000))
    assert large == small == {"COPIES": 4}


def test_a_constant_that_only_sizes_an_array_grows_up_to_what_a_memory_holds() -> None:
    words = chosen(
        """enum { LOG = ADPC(2, 20) };
        int f(int n) {
          int sum = 0;
          kernel {
            int a[^1 << LOG^];
            for (int i = 0; i < n; i++) { a >>= 1; a[0] = i; sum += a[i & 3]; }
          }
          return sum;
        }"""
    )
    assert words == {"LOG": 11}
