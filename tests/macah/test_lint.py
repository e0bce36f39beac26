"""Warnings, each with its place and wording: `// warning: … [code]` stands on its line, or alone above it.

In the programs that ship with the compiler, and in those of the other tests, there are only such warnings.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from macah.codes import CODES
from macah.diagnostic import Diagnostic, Place
from macah.lint import flow_of, warnings
from macah.program import Program, parse_program, read_program
from macah.survey import kernels_of

ROOT = Path(__file__).parent.parent.parent
CASES = sorted((ROOT / "tests/cases/warnings").glob("*.macah"))
SOURCES = (ROOT / "macah").glob("lint_*.py")
OWN = {code for path in SOURCES for code in re.findall(r'code="([\w-]+)"', path.read_text())}
PROGRAMS = sorted((ROOT / "tests/cases/programs").glob("*.macah")) + sorted(
    (ROOT / "examples").glob("*.macah")
)


def warned(program: Program, fabric: Fabric | None = None, *ordered: str) -> tuple[Diagnostic, ...]:
    kernels, mistakes = kernels_of(program, {})
    assert not mistakes
    return warnings(program, [kernel for kernel in kernels if kernel is not None], fabric, ordered)


def expected_in(path: Path) -> list[tuple[int, str]]:
    lines = path.read_text().splitlines()
    found = [(n, line, m[1]) for n, line in enumerate(lines, 1) if (m := re.search("// warning: (.*)", line))]
    return [(n + line.lstrip().startswith("// warning: "), text) for n, line, text in found]


@pytest.mark.quick(16)
@pytest.mark.parametrize("path", CASES + PROGRAMS, ids=lambda path: path.stem)
def test_a_program_has_the_warnings_that_its_comments_say(path: Path) -> None:
    found = [(d.where.line if d.where else 0, f"{d.message} [{d.code}]") for d in warned(read_program(path))]
    assert found == expected_in(path)


def test_arrays_that_the_memories_cannot_hold_are_told_before_mapping() -> None:
    text = """void f(const int t[50000], int stream s) {
  k: kernel { for (int i = 0; i < 50000; i++) s <! t[i]; }
  scalars: kernel {
    struct { int a[1000], b[1000], c[1000], d[1000], e[1000], f[1000], g[1000], h[1000], i[1000]; } v;
    FOR (int i = 0; i < 1000; i += 250) {
      v.a[i] = v.b[i] = v.c[i] = v.d[i] = v.e[i] = v.f[i] = v.g[i] = v.h[i] = v.i[i] = i;
    }
    s <! v.a[0] + v.b[0] + v.c[0] + v.d[0] + v.e[0] + v.f[0] + v.g[0] + v.h[0] + v.i[0];
  }
}
"""
    program = parse_program(text, Path("t.macah"))
    (found,) = warned(program, load_fabric("grid4x4"))
    assert found.message.startswith("kernel 'k' will not fit on grid4x4: the arrays have 50000 words; the")
    assert (found.code, found.where, found.severity) == ("memory-size", Place("t.macah", 2, 3), "warning")
    assert [note.where.line for note in found.notes if note.where] == [2]
    assert warned(program) == ()
    spread = parse_program(text.replace("50000", "5000"), Path("t.macah"))
    assert warned(spread, load_fabric("grid4x4")) == ()


def test_a_kernel_whose_order_is_kept_gets_no_warning_of_deadlock() -> None:
    program = read_program(ROOT / "tests/cases/warnings/ping_pong.macah")

    def names(*ordered: str) -> list[str]:
        return [d.message.split("'")[1] for d in warned(program, None, *ordered)]

    assert names() == ["left", "right", "around_kernel"]
    assert names("left") == ["right", "around_kernel"]
    assert names("*") == []


def test_the_notes_of_a_deadlock_lead_round_the_cycle() -> None:
    found = warned(read_program(ROOT / "tests/cases/warnings/lock_step.macah"))[0]
    assert [(note.message, note.where.line if note.where else 0) for note in found.notes] == [
        ("the send to 'e->question'", 17),
        ("'serve' receives it from 'e->question' here", 9),
        ("and sends to 'e->answer'", 10),
    ]


def test_the_notes_of_a_deadlock_name_the_join_on_the_way() -> None:
    found = warned(read_program(ROOT / "tests/cases/warnings/joined.macah"))[0]
    assert [note.message for note in found.notes] == [
        "the send to 'b'",
        "'from_b' receives it from 's' here",
        "its end is waited for here",
        "before 'to_a' sends to 's'",
    ]


ONE_WAY = """#include <pthread.h>
static int stream a, b;
static void *produce(void *p) {{ for (int i = 0; i < 9; i++) a <! i; return 0; }}
static void *consume(void *p) {{ for (int i = 0; i < 9; i++) {{ int x; x <? b; }} return 0; }}
static void *work(void *p) {{
  kernel {{ for (int i = 0; i < 9; i++) {{ int x; x <? a; b <! x; }} }}
  return 0;
}}
pthread_mutex_t m; pthread_cond_t c;
{} {{
  pthread_t p, q, r;
  int x;
  a = stream_create(int), b = stream_create(int);
  {}
}}"""
STARTS = "pthread_create(&p, 0, produce, 0); pthread_create(&q, 0, consume, 0); "


@pytest.mark.parametrize(
    ("main", "body", "certain"),
    [
        ("int main(void)", STARTS + "work(0); pthread_join(p, 0); pthread_join(q, 0);", True),
        ("int main(void)", "produce(0); pthread_create(&r, 0, work, 0); consume(0);", True),
        ("int main(void)", "pthread_create(&r, 0, work, 0); for (;;) { a <! 1; x <? b; }", False),
        ("int main(void)", "pthread_create(&r, 0, work, 0); produce(0); consume(0); produce(0);", False),
        # what is looked at without waiting may be waited for in a loop
        ("int main(void)", "pthread_create(&r, 0, work, 0); while (pstream_empty(b)) a <! 1;", False),
        # somebody waits for a thread that is not known, and sends then
        (
            "int main(void)",
            "pthread_t any(void); pthread_create(&r, 0, work, 0); a <! 1; pthread_join(any(), 0); a <! 2;",
            False,
        ),
        ("int main(void)", "pthread_t any(void); " + STARTS + "work(0); pthread_join(any(), 0);", True),
        # threads that wait for each other in other ways; a stream that somebody else uses; no main
        ("int main(void)", STARTS + "pthread_cond_wait(&c, &m); work(0);", False),
        ("int main(void)", STARTS + "void other(int stream); other(b); work(0);", False),
        ("int start(void)", STARTS + "work(0); pthread_join(p, 0); pthread_join(q, 0);", False),
    ],
)
def test_whether_what_a_kernel_receives_may_come_of_what_it_sends(
    main: str, body: str, certain: bool, tmp_path: Path
) -> None:
    source = tmp_path / "t.macah"
    source.write_text(ONE_WAY.format(main, body))
    assert flow_of(read_program(source)).one_way == ({"work_kernel"} if certain else set())


SERVED = """#include <pthread.h>
static int stream a, b, c;
static void *both(void *p) {{ for (int i = 0; i < 9; i++) {{ a <! i; b <! i; }} return 0; }}
static void *first(void *p) {{ for (int i = 0; i < 9; i++) a <! i; return 0; }}
static void *second(void *p) {{ for (int i = 0; i < 9; i++) {{ int x; x <? c; b <! x; }} return 0; }}
static void *more(void *p) {{ for (int i = 0; i < 9; i++) {{ a <! i; c <! i; }} return 0; }}
static void *third(void *p) {{ for (int i = 0; i < 9; i++) c <! i; return 0; }}
int main(void) {{
  pthread_t t, u;
  int x, y, s = 0;
  a = stream_create(int), b = stream_create(int), c = stream_create(int);
  {}
  kernel {{ for (int i = 0; i < 9; i++) {{ x <? a; y <? b; s += x * y; }} }}
  return s;
}}"""


@pytest.mark.parametrize(
    ("served", "certain"),
    [
        ("pthread_create(&t, 0, both, 0);", False),
        ("pthread_create(&t, 0, first, 0); pthread_create(&t, 0, second, 0);", True),
        # in a roundabout way
        ("pthread_create(&t, 0, more, 0); pthread_create(&u, 0, second, 0);", False),
        ("pthread_create(&t, 0, first, 0); pthread_create(&t, 0, second, 0); third(0);", True),
    ],
)
def test_whether_somebody_serves_two_streams_of_a_kernel_in_turn(
    served: str, certain: bool, tmp_path: Path
) -> None:
    source = tmp_path / "t.macah"
    source.write_text(SERVED.format(served))
    assert flow_of(read_program(source)).one_way == ({"main_kernel"} if certain else set())


def test_a_program_too_large_to_walk_gets_no_warning_of_its_streams() -> None:
    calls = "".join(f"static void f{n + 1}(int stream s) {{ f{n}(s); f{n}(s); }}\n" for n in range(12))
    text = (
        f"static void f0(int stream s) {{ s <! 1; }}\n{calls}int main(void) {{ f12(pstream_create(int)); }}"
    )
    assert warned(parse_program(text, Path("t.macah"))) == ()


PAGES = sorted(path for path in (ROOT / "docs/diagnostics").glob("*.md") if path.stem in OWN)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_examples_of_a_page_are_wrong_and_right(path: Path, tmp_path: Path) -> None:
    examples = re.findall(r"^```macah\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    found = []
    for number, example in enumerate(examples):
        source = tmp_path / f"{number}.macah"
        source.write_text(example)
        found.append({d.code for d in warned(read_program(source), load_fabric("grid8x8"))})
    assert found == [{path.stem}, set()]


def test_every_warning_is_registered_and_has_a_case_and_a_page() -> None:
    tested = {code for path in CASES for code in re.findall(r"// warning: .*\[([\w-]+)\]", path.read_text())}
    assert tested == OWN - {"memory-size"}
    assert {path.stem for path in PAGES} == OWN
    assert all(CODES[code].kind == "warning" for code in OWN)
