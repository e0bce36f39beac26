"""Data in kernels is laid out, converted and captured as gcc does: small programs print the same."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from graph_host import compile_c, printed_by_graphs

FOLDER = Path(__file__).parent.parent / "cases" / "data"
HEADERS = "stdio.h stdint.h stddef.h stdbool.h limits.h string.h"


def programs() -> list[tuple[str, str]]:
    """The name and text of each program; a line `//// name` begins one."""
    found = []
    for path in sorted(FOLDER.glob("*.macah")):
        parts = re.split(r"^//// (\w+).*$", path.read_text(), flags=re.MULTILINE)
        found += [(f"{path.stem}-{name}", text) for name, text in zip(parts[1::2], parts[2::2], strict=True)]
    return found


PROGRAMS = programs()


@pytest.mark.sweep(40)
@pytest.mark.quick(5)
@pytest.mark.parametrize(("name", "text"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_a_program_prints_what_gcc_makes_it_print(name: str, text: str, tmp_path: Path) -> None:
    text = "".join(f"#include <{header}>\n" for header in HEADERS.split()) + text
    plain = text.replace("kernel {", "{").replace("[^", "[").replace("^]", "]")
    (tmp_path / "plain.c").write_text(plain)
    compile_c([tmp_path / "plain.c"], tmp_path / "plain", "-DFOR=for")
    expected = subprocess.run([tmp_path / "plain"], check=False, capture_output=True, text=True).stdout
    assert expected
    (tmp_path / "program.macah").write_text(text)
    assert printed_by_graphs(tmp_path / "program.macah", tmp_path) == expected
