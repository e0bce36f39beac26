"""How errors and warnings are shown: text, colours, JSON, SARIF, and gcc's options about them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from macah.diagnostic import Diagnostic, Note, Place
from macah.render import render
from macah.warn import WarningOptions

WRONG = """#define WIDTH missing
static int helper(int n) { return unknown; }
int main(void) {
  int n = 1;
  kernel { n = totl + 1; }
  kernel { n = WIDTH; }
  return n + other;
}
"""


def macahc(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=600)


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    (tmp_path / "t.macah").write_text(WRONG)
    return tmp_path


def shown(diagnostic: Diagnostic, line: str = "\tn = totl + 1;", color: bool = False) -> list[str]:
    return render(diagnostic, lambda _: line, color).splitlines()


# ---- text ------------------------------------------------------------------------------------------


def test_a_diagnostic_underlines_what_it_is_about_and_ends_with_its_code() -> None:
    where = Place("t.macah", 5, 6, 6, 10)
    note = Note("previously here", Place("t.macah", 2, 2))
    assert shown(Diagnostic("'totl' undeclared", where, (note,), "a hint", code="undeclared")) == [
        "t.macah:5:6: error: 'totl' undeclared [undeclared]",
        "    5 | \tn = totl + 1;",
        "      | \t    ^~~~",
        "t.macah:2:2: note: previously here",
        "    2 | \tn = totl + 1;",
        "      | \t^",
        "t.macah:5:6: note: a hint",
    ]


def test_the_caret_may_stand_inside_the_extent() -> None:
    assert shown(Diagnostic("m", Place("t", 1, 8, 5, 12)), "a = bb + cc;")[-1] == "      |     ~~~^~~~"[:19]


def test_colours_are_those_of_gcc() -> None:
    line = shown(Diagnostic("'x' is wrong", Place("t", 1, 1), code="syntax"), "x", color=True)[0]
    assert "\33[01m\33[Kt:1:1:\33[m\33[K" in line
    assert "\33[01;31m\33[Kerror:" in line
    assert "\33[" not in "".join(shown(Diagnostic("'x'", Place("t", 1, 1)), "x"))


def test_a_header_says_where_it_is_included_from(tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("int x = ;\n")
    (tmp_path / "outer.h").write_text('\n#include "inner.h"\n')
    (tmp_path / "t.macah").write_text('#include "outer.h"\nint main(void) { return 0; }\n')
    lines = macahc("--mode", "c", "t.macah", cwd=tmp_path).stderr.splitlines()
    assert lines[:3] == [
        "In file included from outer.h:2,",
        "                 from t.macah:1:",
        "inner.h:1:9: error: expected expression before ';' [syntax]",
    ]


def test_all_mistakes_of_all_kernels_and_functions_are_shown_in_order(wrong: Path) -> None:
    done = macahc("--mode", "c", "t.macah", cwd=wrong)
    heads = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert heads == [
        "t.macah:2:35: error: 'unknown' undeclared (first use in this function) [c-compiler]",
        "t.macah:5:16: error: 'totl' undeclared [undeclared]",
        "t.macah:6:16: error: 'missing' undeclared [undeclared]",
        "t.macah:7:14: error: 'other' undeclared (first use in this function) [c-compiler]",
    ]
    assert "t.macah:1:9: note: expanded from macro 'WIDTH'" in done.stderr
    assert done.returncode == 1


def test_a_macro_of_the_system_is_told_where_it_is_used(tmp_path: Path) -> None:
    kernel = "kernel { errno = 3; x = INT_MAX; if (INT_MIN) y = 2; }"
    (tmp_path / "t.macah").write_text(
        f"#include <errno.h>\n#include <limits.h>\nint main(void) {{ {kernel} }}\n"
    )
    said = macahc("t.macah", cwd=tmp_path).stderr
    assert "t.macah:3:27: note: expanded from macro 'errno'" in said
    assert "t.macah:3:38: error: 'x' undeclared" in said
    assert "t.macah:3:64: error: 'y' undeclared" in said


def test_what_macros_with_arguments_expand_to_is_told_where_they_are_used(tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text("""#define TWICE(s, x) do { s += (x) * 2; s -= first; } while (0)
#define CALL(f, a) f(a, second)
#define LIMIT (third + 1)
static int add(int a, int b) { return a + b; }
int main(void) {
  int s = 0;
  kernel {
    for (int i = 0; i < 4; i++) TWICE(s, i);
    if (s > LIMIT) CALL(add, s); else { TWICE(s, fourth); }
  }
}
""")
    said = macahc("t.macah", cwd=tmp_path).stderr
    for place, name in ("8:33", "first"), ("9:20", "second"), ("9:13", "third"), ("9:50", "fourth"):
        assert f"t.macah:{place}: error: '{name}' undeclared" in said
    for definition in ("1:9", "2:9", "3:9"):
        assert f"t.macah:{definition}: note: expanded from macro" in said


def test_mistakes_of_host_code_are_shown_before_kernels_are_mapped(tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text("int main(void) { int n = 0; kernel { n = 1; } return count; }\n")
    done = macahc("--report", "t.macah", cwd=tmp_path)
    assert "t.macah:1:54: error: 'count' undeclared" in done.stderr
    assert (done.stdout, done.returncode) == ("", 1)


def test_max_errors_limits_what_is_shown(wrong: Path) -> None:
    done = macahc("-fmax-errors=2", "t.macah", cwd=wrong)
    assert done.stderr.count(" error: ") == 2
    assert done.stderr.endswith("compilation terminated due to -fmax-errors=2.\n")
    assert macahc("-fmax-errors=0", "t.macah", cwd=wrong).stderr.count(" error: ") == 4


# ---- JSON and SARIF --------------------------------------------------------------------------------


def test_json_has_the_shape_of_gcc(wrong: Path) -> None:
    found = json.loads(macahc("--diagnostics-format=json", "--mode", "c", "t.macah", cwd=wrong).stderr)
    assert [d["kind"] for d in found] == ["error"] * 4
    assert {"kind", "message", "locations", "children", "column-origin"} <= set(found[1])
    assert found[1]["code"] == "undeclared"
    [location] = found[1]["locations"]
    caret, finish = location["caret"], location["finish"]
    assert (caret["file"], caret["line"], caret["column"]) == ("t.macah", 5, 16)
    assert (finish["line"], finish["column"]) == (5, 19)


def test_there_is_one_document_without_diagnostics_too(tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text("int main(void) { return 0; }\n")
    done = macahc("--diagnostics-format=json", "t.macah", cwd=tmp_path)
    assert (json.loads(done.stderr), done.returncode) == ([], 0)


@pytest.mark.quick(2)
@pytest.mark.parametrize("words", [["--no-such-option"], [], ["missing.macah"], ["-v", "t.macah"]])
def test_wrong_usage_is_a_document_too(words: list[str], wrong: Path) -> None:
    for form in ("json", "sarif"):
        document = json.loads(macahc(f"--diagnostics-format={form}", *words, cwd=wrong).stderr)
        results = document if form == "json" else document["runs"][0]["results"]
        assert any("error" in (result.get("kind"), result.get("level")) for result in results)


def check_sarif(log: Any) -> None:
    """What SARIF 2.1.0 demands of the parts that are written."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str)
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        assert all(isinstance(i["executionSuccessful"], bool) for i in run["invocations"])
        for result in run["results"]:
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            if "ruleId" in result:
                assert ids[result["ruleIndex"]] == result["ruleId"]
            for location in [*result["locations"], *result["relatedLocations"]]:
                if "physicalLocation" in location:
                    region = location["physicalLocation"]["region"]
                    assert region["startLine"] >= 1 and region["endColumn"] > region["startColumn"] >= 1
                    assert location["physicalLocation"]["artifactLocation"]["uri"]


def test_sarif_is_valid(wrong: Path) -> None:
    log = json.loads(macahc("--diagnostics-format=sarif", "--mode", "c", "t.macah", cwd=wrong).stderr)
    check_sarif(log)
    assert [r.get("ruleId") for r in log["runs"][0]["results"]] == [
        "c-compiler",
        "undeclared",
        "undeclared",
        "c-compiler",
    ]


# ---- warnings --------------------------------------------------------------------------------------

FLOAT = "int main(void) { double d = 1; kernel { d = d * 2; } int unused; return d != 2; }\n"


@pytest.mark.parametrize(
    ("names", "on", "error"),
    [
        ((), True, False),
        (("error",), True, True),
        (("error=not-mappable",), True, True),
        (("no-not-mappable",), False, False),
        (("no-not-mappable", "not-mappable"), True, False),
        (("error", "no-error=not-mappable"), True, False),
        (("no-error=not-mappable", "error"), True, False),
        (("error", "no-error"), True, False),
    ],
)
def test_options_decide_as_gccs_do(names: tuple[str, ...], on: bool, error: bool) -> None:
    options = WarningOptions(names)
    assert (options.is_on("not-mappable"), options.is_error("not-mappable")) == (on, error)


def test_groups_turn_warnings_on_and_a_name_counts_for_more() -> None:
    assert not WarningOptions().is_on("unchecked-transfer")
    assert WarningOptions(("all",)).is_on("unchecked-transfer")
    assert not WarningOptions(("no-unchecked-transfer", "all")).is_on("unchecked-transfer")
    assert not WarningOptions(("all",), quiet=True).is_on("unchecked-transfer")


def test_our_names_do_not_reach_the_c_compiler_and_others_do() -> None:
    names = ("all", "no-stream-deadlock", "error=vacated-element", "shadow", "error", "no-error=shadow")
    expected = ("-Wall", "-Wshadow", "-Werror", "-Wno-error=shadow", "-w")
    assert WarningOptions(names, quiet=True).for_compiler() == expected


def test_what_cannot_be_mapped_is_a_warning_in_mode_c_and_an_error_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text(FLOAT)
    done = macahc("run", "--mode", "c", "t.macah", cwd=tmp_path)
    if "not-mappable" not in done.stderr:
        pytest.skip("the default architecture has floating point")
    assert "[-Wnot-mappable]" in done.stderr and done.returncode == 0
    assert "[floating-point]" in macahc("t.macah", cwd=tmp_path).stderr
    done = macahc("--mode", "c", "-Werror", "t.macah", cwd=tmp_path)
    assert "error: " in done.stderr and "[-Werror=not-mappable]" in done.stderr and done.returncode == 1
    assert macahc("run", "--mode", "c", "-w", "t.macah", cwd=tmp_path).stderr == ""


def test_gccs_own_warnings_follow_the_same_options(tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text("int main(void) { int unused; return 0; }\n")
    assert "[-Wunused-variable]" in macahc("--mode", "c", "-Wall", "t.macah", cwd=tmp_path).stderr
    done = macahc("--mode", "c", "-Wall", "-Werror", "t.macah", cwd=tmp_path)
    assert "[-Werror=unused-variable]" in done.stderr and done.returncode == 1
    done = macahc("--mode", "c", "-Wall", "--diagnostics-format=json", "t.macah", cwd=tmp_path)
    assert [d["option"] for d in json.loads(done.stderr)] == ["-Wunused-variable"]


IN_KERNEL = """int main(void) {
  int n = 3, unused;
  kernel {
    if (n = 5) n++; } if (n = 6) return n;
}
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", ["c", "dataflow", "mapped"])
def test_gcc_warns_of_kernels_in_every_mode(mode: str, tmp_path: Path) -> None:
    (tmp_path / "t.macah").write_text(IN_KERNEL)
    said = macahc("--mode", mode, "-Wall", "t.macah", cwd=tmp_path).stderr
    assert said.count("t.macah:4:9: warning: ") == said.count("t.macah:4:27: warning: ") == 1
    assert said.count("[-Wparentheses]") == 2
    assert said.count("[-Wunused-variable]") == 1
    assert macahc("--mode", mode, "-Wall", "-w", "t.macah", cwd=tmp_path).stderr == ""
    done = macahc("--mode", mode, "-Werror=parentheses", "t.macah", cwd=tmp_path)
    assert "t.macah:4:9: error: " in done.stderr and done.returncode == 1


# ---- --explain -------------------------------------------------------------------------------------


def test_explain_prints_the_page_and_lists_the_names(tmp_path: Path) -> None:
    assert macahc("--explain", "recursion", cwd=tmp_path).stdout.startswith("# recursion\n")
    assert "for-trip-count" in macahc("--explain", cwd=tmp_path).stdout
    done = macahc("--explain", "recurson", cwd=tmp_path)
    assert "did you mean recursion" in done.stderr and done.returncode == 2
