"""Kernels with streams that another thread uses in turn, and that hold few elements."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah.lint import flow_of
from macah.program import parse_program

PROGRAM = """
static int stream a, b;
void *other(void *p) {{ int x, y, w; {} return p; }}
int main(void) {{
  unsigned long t; int x, y, w;
  a = pstream_create(int, {}); b = pstream_create(int{});
  pthread_create(&t, 0, other, 0);
  k: kernel {{ {} }}
}}"""
EACH = "for (int i = 0; i < 40; i++)"
FILL, TAKE = f"{EACH} {{ a <! i; b <! i; }}", f"{EACH} {{ x <? a; y <? b; }}"
ONE, OTHER = f"{EACH} a <! i;", f"{EACH} b <! i;"


@pytest.mark.parametrize(
    ("other", "depths", "kernel", "waits"),
    [
        (FILL, ("1", ", 100"), TAKE, True),
        (FILL, ("16", ", 7"), TAKE, True),
        (TAKE, ("2", ""), FILL, True),
        (FILL, ("N", ""), TAKE, False),
        # they hold what the kernel may be ahead
        (FILL, ("8", ""), TAKE, False),
        # one is over before the other begins
        (ONE + OTHER, ("40", ", 7"), TAKE, False),
        (FILL, ("1", ", 1"), f"{EACH} x <? a; {EACH} y <? b;", False),
        # what does not wait holds up nothing
        (FILL, ("1", ", 1"), f"{EACH} {{ w :: x <? a; w :: y <? b; }}", False),
    ],
)
def test_kernels_that_few_elements_hold_up_are_found(
    other: str, depths: tuple[str, str], kernel: str, waits: bool
) -> None:
    text = PROGRAM.format(other, *depths, kernel)
    head = "enum { N = 4 }; int pthread_create(unsigned long *t, void *a, void *(*f)(void *), void *p);"
    assert flow_of(parse_program(head + text, Path("t.macah"))).lock_step == ({"k"} if waits else set())
