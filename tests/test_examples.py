"""Every example prints the same in C and on the accelerator, and what its reference says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
DATA = EXAMPLES / "data"
FRAMES = (DATA / "frame0.pgm", DATA / "frame1.pgm")
REAL = ROOT.parent / "shared" / "data" / "people_160x96"
TEXT = b"aaaabccccccccd\n" * 3 + b"\0\0\0\xff\xff" + b"x" * 300


def macahc(
    *arguments: object, stdin: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "macah", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=600, env={**os.environ})


def output(*arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> bytes:
    done = macahc("run", *arguments, stdin=stdin, cwd=cwd)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout


CASES = {
    "fir": ((DATA / "chirp.wav", "out.wav"), b""),
    "histogram": ((), TEXT),
    "matmul": ((8,), b""),
    "rle": ((), TEXT),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "overlap",
    [pytest.param((), id="apart"), pytest.param(("--overlap",), id="overlap", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", CASES)
def test_an_example_prints_the_same_as_dataflow(name: str, overlap: tuple[str, ...], tmp_path: Path) -> None:
    arguments, stdin = CASES[name]
    source = EXAMPLES / f"{name}.macah"
    expected = output("--mode", "c", source, *arguments, stdin=stdin, cwd=tmp_path)
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    options = ("--mode", "dataflow", *overlap)
    assert output(*options, source, *arguments, stdin=stdin, cwd=tmp_path) == expected
    assert files == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


@pytest.mark.parametrize("arch", ["grid4x4", pytest.param("grid8x8", marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", CASES)
def test_an_example_prints_the_same_mapped_as_in_c(name: str, arch: str, seed: int, tmp_path: Path) -> None:
    arguments, stdin = CASES[name]
    source = EXAMPLES / f"{name}.macah"
    expected = output("--mode", "c", source, *arguments, stdin=stdin, cwd=tmp_path)
    assert expected
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    mapped = output("--arch", arch, "--seed", seed, source, *arguments, stdin=stdin, cwd=tmp_path)
    assert mapped == expected
    assert files == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_fir_takes_a_sample_in_every_cycle() -> None:
    report = macahc("--report", "--json", EXAMPLES / "fir.macah").stdout
    assert [kernel["ii"] for kernel in json.loads(report)["kernels"]] == [1]


def test_rle_prints_the_runs() -> None:
    assert output(EXAMPLES / "rle.macah", stdin=b"aab" + b"c" * 300).decode().splitlines() == [
        "2 x 97",
        "1 x 98",
        "300 x 99",
    ]


def test_histogram_counts_bytes() -> None:
    counts = {value: TEXT.count(value) for value in set(TEXT)}
    expected = "".join(f"{value:3d} {count}\n" for value, count in sorted(counts.items()))
    assert output(EXAMPLES / "histogram.macah", stdin=TEXT).decode() == expected


def best_vectors(previous: Path, current: Path) -> str:
    """Full search in plain Python, as the reference of `sad`."""

    def read(path: Path) -> tuple[int, int, bytes]:
        _, size, _, pixels = path.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        return width, height, pixels

    width, height, new = read(current)
    _, _, old = read(previous)
    lines = []
    for by in range(height // 16):
        for bx in range(width // 16):
            best = (0xFFFF, 0, 0)
            for dy in range(-7, 8):
                for dx in range(-7, 8):
                    total = 0
                    for y in range(by * 16, by * 16 + 16):
                        row = min(max(y + dy, 0), height - 1) * width
                        for x in range(bx * 16, bx * 16 + 16):
                            total += abs(new[y * width + x] - old[row + min(max(x + dx, 0), width - 1)])
                    if total < best[0]:
                        best = (total, dx, dy)
            lines.append(f"block {bx},{by}: vector {best[1]},{best[2]} sad {best[0]}\n")
    return "".join(lines)


@pytest.mark.parametrize("arch", [pytest.param("grid4x4", marks=pytest.mark.slow), "grid8x8"])
def test_sad_finds_the_best_vectors(arch: str) -> None:
    expected = best_vectors(*FRAMES)
    source = EXAMPLES / "sad.macah"
    assert output("--mode", "c", source, *FRAMES).decode() == expected
    assert output("--arch", arch, source, *FRAMES).decode() == expected


@pytest.mark.slow
def test_sad_finds_the_best_vectors_as_dataflow() -> None:
    assert output("--mode", "dataflow", EXAMPLES / "sad.macah", *FRAMES).decode() == best_vectors(*FRAMES)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="needs the real video frames")
def test_sad_on_real_video_prints_the_same_mapped_as_in_c() -> None:
    frames = (REAL / "frame0.pgm", REAL / "frame1.pgm")
    source = EXAMPLES / "sad.macah"
    assert output(source, *frames) == output("--mode", "c", source, *frames)
