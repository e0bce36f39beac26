"""What is written never takes the place of what is read, nor of what else is written."""

import subprocess
import sys
from pathlib import Path

import pytest

SUM = """
int main(void) {
  int n = 10, sum = 0;
  total: kernel { for (int i = 1; i <= n; i++) sum += i; }
  return sum == 55 ? 7 : 1;
}
"""


def macahc(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=600, check=False)


@pytest.mark.quick(4)
@pytest.mark.parametrize("how", ["same", "relative", "symlink", "hard link"])
@pytest.mark.parametrize("words", [("--mode", "c"), ("--emit", "c"), ("--report",)])
def test_the_output_never_overwrites_the_program(how: str, words: tuple[str, ...], tmp_path: Path) -> None:
    source, other = tmp_path / "p.macah", tmp_path / "other"
    source.write_text(SUM)
    match how:
        case "same":
            other = source
        case "relative":
            other = tmp_path / ".." / tmp_path.name / "p.macah"
        case "symlink":
            other.symlink_to(source)
        case "hard link":
            other.hardlink_to(source)
    done = macahc(*words, source, "-o", other)
    assert done.returncode == 1
    assert "is the input itself" in done.stderr
    assert source.read_text() == SUM


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-o", "own.toml"), "is the input itself"),
        (("--save-report", "own.toml"), "is the input itself"),
        (("--save-report", "p.macah"), "is the input itself"),
        (("-o", "both.json", "--save-report", "./both.json"), "the same file"),
    ],
)
def test_outputs_are_no_inputs_and_not_each_other(words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    arch = (Path(__file__).parent.parent.parent / "arch" / "satmapit.toml").read_text()
    (tmp_path / "own.toml").write_text(arch)
    (tmp_path / "p.macah").write_text(SUM)
    done = macahc("--arch", "own.toml", *words, "p.macah", cwd=tmp_path)
    assert done.returncode == 1
    assert why in done.stderr
    assert (tmp_path / "own.toml").read_text() == arch and (tmp_path / "p.macah").read_text() == SUM
    assert {path.name for path in tmp_path.iterdir()} == {"own.toml", "p.macah"}
