"""The report says in words and in one word what limits a kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.dfg import DFG, Const, Node, Place, Use
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.refusals import Refusal, refusal_text, refusals
from macah.report import report_text
from macah.report_facts import Account, facts
from macah.spread import spread
from macah.todfg import build_dfg

COUNT = """int f(int n) { int s = 0;
  kernel { for (int i = 0; i < n; i++) s += i; }
  return s; }
"""
RECURRENCE = """int f(int n, unsigned s) {
  kernel {
    for (int i = 0; i < n; i++)
      s = (s * 5 + 3) * 7;
  }
  return s; }
"""
STREAM = """void f(int stream in, int stream out, int n) {
  kernel { for (int i = 0; i < n; i++) { int a, b, c; a <? in; b <? in; c <? in; out <! a * b + c; } }
}
"""
TWICE = """void f(int stream in, int h[2][64], int n) {
  kernel { for (int i = 0; i < n; i++) { int x; x <? in; FOR (int k = 0; k < 2; k++) h[k][x & 63] *= 7; } }
}
"""


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("text", "arch", "word", "phrases"),
    [
        (COUNT, "grid4x4", "none", ["nothing: an iteration begins in every cycle"]),
        (
            RECURRENCE,
            "grid4x4",
            "recurrence",
            ["a recurrence: ", "p.macah:4: ", " of s", "| s = (s * 5 + 3) * 7;"],
        ),
        (  # what begins with a constant goes two iterations at once: its operations are none of a variable
            RECURRENCE.replace(", unsigned s) {", ") { unsigned s = 1;"),
            "grid4x4",
            "recurrence",
            ["a recurrence: ", "p.macah:4: ", "| s = (s * 5 + 3) * 7;", "cycles in 2 iterations"],
        ),
        (TWICE, "grid8x8", "recurrence", ["a recurrence: ", "    and 1 more of the same\n"]),
        (COUNT, "grid2x2", "resources", ["resources: 5 operations (2 add, ", ") on 4 units"]),
        (
            STREAM,
            "grid4x4",
            "resources",
            [
                "resources: 3 operations on stream in, which has 1 port",
                "what would help      stream 'in' moves",
            ],
        ),
    ],
)
def test_what_binds_is_named(text: str, arch: str, word: str, phrases: list[str], tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(text)
    program = read_program(source)
    site = program.kernels[0]
    kernel = lower(program, site)
    fabric = load_fabric(arch)
    mapping = map_kernel(build_dfg(optimize(kernel), fabric), fabric, MapOptions(seed=1))
    account = Account(site.where, kernel, mapping)
    assert facts(account)["binding"] == word
    shown = report_text([account])
    for phrase in phrases:
        assert phrase in shown


NEST = """void f(int a[64], int stream out) {
  kernel {
    for (int i = 0; i < 64; i += 4) {
      int s = 0;
      for (int k = 0; k < 4; k++) s += a[i + k];
      out <! s;
    }
  } }
"""


def test_the_report_tells_what_an_iteration_does_at_once_and_of_empty_ones(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(NEST)
    program = read_program(source)
    site = program.kernels[0]
    lowered, fabric = lower(program, site), load_fabric("grid4x4")
    copied = replace(lowered, unroll=((Place(str(source), 5, 7), 4),))
    mapping = map_kernel(build_dfg(optimize(copied), fabric), fabric, MapOptions(seed=1))
    account = Account(site.where, copied, mapping)
    assert facts(account)["at_once"] == [{"file": str(source), "line": 5, "iterations": 4}]
    shown = "".join(report_text([account]).split())  # a path may be wrapped anywhere
    assert f"{source}:5:{mapping.interval / 4:.3g}cyclesforeach" in shown.split("atonce")[1]
    once = replace(lowered, unroll=((Place(str(source), 3, 5), 0), (Place(str(source), 5, 7), 0)))
    assert facts(replace(account, lowered=once))["at_once"] == []  # there is no iteration but one
    slow = replace(lowered, delay=2, row=3)
    account = Account(site.where, slow, mapping)
    assert (facts(account)["at_once"], facts(account)["empty_between_rows"]) == ([], 2)
    shown = " ".join(report_text([account]).split())
    assert "between rows 2 iterations are left empty, in which the next one's start is computed" in shown
    assert "one of each stream in an iteration" not in shown
    account = Account(site.where, replace(lowered, once=True), mapping)
    assert facts(account)["receives_once"]
    assert "receives one of each stream in an iteration, and" in " ".join(report_text([account]).split())
    assert "rows take 3 iterations at least" in shown


def test_arrays_in_variables_are_told_and_none_that_they_are_in_a_memory(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(
        "void f(int x[9]) { int h[4]; kernel { for (int i = 0; i < 9; i++) h[x[i] & 3] = i; } }\n"
    )
    program, fabric = read_program(source), load_fabric("grid4x4")
    site = program.kernels[0]
    lowered = replace(lower(program, site), partitioned=("h",))
    mapping = map_kernel(build_dfg(optimize(lowered), fabric), fabric, MapOptions(seed=1))
    account = Account(site.where, lowered, mapping)
    assert facts(account)["partitioned"] == ["h"]
    assert "in variables array 'h': an element each" in " ".join(report_text([account]).split())
    assert {found.name for found in account.refusals if found.kind == "scalarization"} == {"x"}


KEPT = """int a[64], b[64], t[4], n; void f(int stream in) { int s = 0;
  kernel {
    for (int i = 0; i < 40; i++) a[i] = b[i] * t[0];
    for (int i = 0; i < 40; i++) b[i] = a[i + 1];
    for (int i = 0; i < 20; i++) s += b[i];
    for (int i = 0; i < 20; i++) a[i] = s;
    for (int i = 0; i < 20; i++) { int x; x <? in; a[n] = x; }
    for (int i = 0; i < 20; i++) { int x; x <? in; s = x; }
    while (s & 7) s++;
} }
"""


def test_what_was_not_converted_is_told_with_its_reason(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(KEPT)
    program = read_program(source)
    found = refusals(lower(program, program.kernels[0]), {"a"})
    said = [refusal_text(refusal).replace(f"{source}", "p") for refusal in found]
    assert [text for text in said if text.startswith("loops")] == [
        "loops at p:3 and p:4 are not joined: 'a[i + 1]' (line 4), which the second one needs,"
        " may be what the first one changes as 'a[i]' (line 3) in a later iteration",
        "loops at p:4 and p:5 are not joined: the first one runs 40 times, the second one 20",
        "loops at p:5 and p:6 are not joined: the second one needs 's' as the first one leaves it",
        "loops at p:6 and p:7 are not joined: 'a[n]' (line 7), which the second one changes,"
        " may be what the first one changes as 'a[i]' (line 6) in a later iteration",
        "loops at p:7 and p:8 are not joined: both use streams, which the host may serve one after the other",
        "loops at p:8 and p:9 are not joined: how often the second one runs is not decided by a counter"
        " alone",
    ]
    assert [text for text in said if text.startswith("array")] == [
        "array 'b' is in a memory: the index of 'b[i]' (line 3) is not constant",
        "array 'a' is in a memory: the index of 'a[i]' (line 3) is not constant",
        "array 'a' is not spread over banks: which one 'a[i]' (line 3) is in changes from iteration to"
        " iteration",
    ]
    copies = [text for text in said if "gets no copies of its body" in text]
    assert copies[4:] == [
        "the loop at p:7 gets no copies of its body: it uses streams, and copies would wait for more"
        " elements at once",
        "the loop at p:8 gets no copies of its body: it uses streams, and copies would wait for more"
        " elements at once",
        "the loop at p:9 gets no copies of its body: how often it runs is not known when it begins",
    ]


def test_a_shift_by_what_is_no_constant_is_why_an_array_is_in_a_memory(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("""void f(int stream in, int stream out, int n) { kernel {
      int c[^8^];
      for (int i = 0; i < 8; i++) c[i] = i;
      for (int k = 0; k < n; k++) {
        int x; x <? in;
        c >>= x & 3;
        c[0] = x;
        out <! c[1] + c[7];
      }
    } }""")
    program = read_program(source)
    said = [refusal_text(refusal) for refusal in refusals(lower(program, program.kernels[0]))]
    assert "array 'c' is in a memory: it is shifted by what is no constant (line 6)" in said


def test_intervals_of_several_iterations_are_compared_for_each(tmp_path: Path) -> None:
    """Where the kernel does better than the source's bound for one iteration, no way to that is missing."""
    source = tmp_path / "p.macah"
    source.write_text("""void f(const int a[256], const int x[64], const char c[256], int y[256]) { kernel {
        for (int i = 0; i < 256; i++) y[i] = a[i] * x[c[i] & 63] + x[i & 63];
    } }""")
    program = read_program(source)
    fabric = load_fabric("grid8x8")
    chosen = spread(lower(program, program.kernels[0]), fabric)
    assert chosen is not None
    mapping = map_kernel(chosen.dfg, fabric, MapOptions(seed=1))
    account = Account(program.kernels[0].where, chosen.kernel, mapping)
    assert (mapping.interval, facts(account)["source_bound"]) == (2, 1)
    assert "of the source 1 without copies\n" in report_text([account])
    assert account.advice is not None
    assert "the source would allow" not in account.advice.text


def test_the_report_tells_what_was_not_converted(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(
        "int f(int a[9], int n) { int s = 0;\n  kernel { for (int i = 0; i < n; i++) s += a[i]; } return s; }"
    )
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    mapping = map_kernel(build_dfg(optimize(kernel)), load_fabric("grid4x4"), MapOptions(seed=1))
    account = Account(program.kernels[0].where, kernel, mapping, automatic=False)
    loop, array = facts(account)["not_converted"]
    assert (loop["kind"], loop["places"][0]["line"], loop["name"]) == ("unrolling", 2, None)
    access = {"of": "a", "stores": False, "file": str(source), "line": 2}
    assert (array["kind"], array["name"], array["accesses"]) == ("scalarization", "a", [access])
    assert "not converted        the loop at " in report_text([account])
    assert "only loops that are named get copies" in " ".join(report_text([account]).split())


def test_what_is_the_same_of_all_banks_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "p.macah"
    source.write_text(COUNT)
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    mapping = map_kernel(build_dfg(optimize(kernel)), load_fabric("grid4x4"), MapOptions(seed=1))
    whole = Refusal("scalarization", None, "is too large", name="h")
    banks = [replace(whole, name=f"h[2n{k}]") for k in ("", "+1")]
    monkeypatch.setattr("macah.report_facts.refusals", lambda *_: [*banks, replace(whole, name="g")])
    told = facts(Account(program.kernels[0].where, kernel, mapping))["not_converted"]
    assert [refusal["text"] for refusal in told] == [
        refusal_text(whole),
        refusal_text(replace(whole, name="g")),
    ]


def test_a_crowded_recurrence_is_what_binds(tmp_path: Path) -> None:
    """Three sums are made of the same two values, and these of them: no grid has three such tiles."""
    source = tmp_path / "p.macah"
    source.write_text(COUNT)
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    where = [Place(str(source), line) for line in (1, 2)]
    ends = [Node(k, "select", (Use(2), Use(3), Use(4)), where=where[0]) for k in (0, 1)]
    sums = [Node(k, "add", (Use(0, 1), Use(1, 1)), where=where[1]) for k in (2, 3, 4)]
    stop = Node(5, "stop", (Const(1),))
    dfg = DFG("crowd", (*ends, *sums, stop), (), (), (), (), ())
    mapping = map_kernel(dfg, load_fabric("grid4x4"), MapOptions(seed=1))
    account = Account(program.kernels[0].where, kernel, mapping)
    assert (mapping.interval, facts(account)["mii"], facts(account)["binding"]) == (3, 3, "recurrence")
    assert "too many to be next to each other at 2: lines 1, 2" in report_text([account])
    assert "placement and routing" not in report_text([account])
