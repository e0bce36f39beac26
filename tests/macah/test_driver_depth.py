"""Deep nesting is compiled, or refused with a message."""

import subprocess
import sys
from pathlib import Path

import pytest

BODIES = {
    "parentheses": "y = " + "(" * 500 + "x" + ")" * 500 + ";",
    "ifs": "if (x > 0) { y++; " * 300 + "}" * 300,
    "sums": "y = " + " + ".join(["x"] * 1000) + ";",
    "xors": "y = " + "(x ^ " * 500 + "x" + " + 1)" * 500 + ";",
    "hopeless": "y = " + "(" * 100_000 + "x" + ")" * 100_000 + ";",
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", BODIES)
def test_deep_nesting_does_not_end_in_a_traceback(name: str, tmp_path: Path) -> None:
    source = tmp_path / "deep.macah"
    source.write_text(f"int main(void) {{ int x = 3, y = 0; kernel {{ {BODIES[name]} }} return y; }}\n")
    command = [sys.executable, "-m", "macah", "--emit", "dfg", "-o", str(tmp_path / "out"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if name == "hopeless" else 0), done.stderr
