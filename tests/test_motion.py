"""Motion estimation: right vectors from any frames, the same in each mode, errors for what is no video."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent.parent / "examples" / "motion" / "motion.macah"
BLOCK, RADIUS = 16, 15


def compiled(directory: Path, *words: str) -> Path:
    program = directory / "motion"
    command = [sys.executable, "-m", "macah", *words, str(PROGRAM), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in mode c."""
    return compiled(tmp_path_factory.mktemp("motion"), "--mode", "c")


def run(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(program), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def image(width: int, height: int, value: Callable[[int, int], int]) -> bytes:
    return bytes(value(x, y) & 255 for y in range(height) for x in range(width))


def texture(x: int, y: int) -> int:
    return round(
        110 + 60 * math.sin(x * 0.17 + 0.9 * math.sin(y * 0.11)) + 50 * math.cos(y * 0.13 + x * 0.05)
    )


def pair(directory: Path, width: int, height: int, dx: int, dy: int) -> tuple[Path, Path]:
    """A frame, and one in which all has moved from (dx, dy) pixels further."""
    names = directory / "0.pgm", directory / "1.pgm"
    for name, (u, v) in zip(names, ((0, 0), (dx, dy)), strict=True):
        pixels = image(width, height, lambda x, y, u=u, v=v: texture(x + u, y + v))  # type: ignore[misc]
        name.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + pixels)
    return names


def best(previous: Path, current: Path) -> list[str]:
    """Full search in plain Python, over frames that go on up to whole blocks."""
    frames = []
    for path in (previous, current):
        _, size, _, pixels = path.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        wide, high = -(-width // BLOCK) * BLOCK, -(-height // BLOCK) * BLOCK
        frames.append(
            [
                [pixels[min(y, height - 1) * width + min(x, width - 1)] for x in range(wide)]
                for y in range(high)
            ]
        )
    lines = []
    for by in range(0, high, BLOCK):
        for bx in range(0, wide, BLOCK):
            found = []
            for dy in range(max(-RADIUS, -by), min(RADIUS, high - BLOCK - by) + 1):
                for dx in range(max(-RADIUS, -bx), min(RADIUS, wide - BLOCK - bx) + 1):
                    total = sum(
                        abs(a - b)
                        for y in range(BLOCK)
                        for a, b in zip(
                            frames[1][by + y][bx : bx + BLOCK],
                            frames[0][by + dy + y][bx + dx : bx + dx + BLOCK],
                            strict=True,
                        )
                    )
                    found.append((total, abs(dx) + abs(dy), dy, dx))
            total, _, dy, dx = min(found)
            lines.append(f"frame 1 block {bx // BLOCK},{by // BLOCK}: vector {dx},{dy} distortion {total}")
    return lines


@pytest.mark.parametrize(("width", "height"), [(32, 32), (37, 21), (16, 48)])
def test_full_search_finds_the_best_vectors(motion: Path, tmp_path: Path, width: int, height: int) -> None:
    frames = pair(tmp_path, width, height, 3, -2)
    done = run(motion, "--search", "full", "--vectors", tmp_path / "v", *frames)
    assert (done.returncode, done.stderr) == (0, "")
    assert " 0 wrong" in done.stdout
    assert (tmp_path / "v").read_text().splitlines() == best(*frames)


@pytest.mark.parametrize("order", [(), ("--ordered",)])
def test_hexagonal_search_finds_a_movement(motion: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    frames = pair(tmp_path, 96, 64, 4, -3)
    done = run(motion, *order, "--vectors", "-", "--prediction", tmp_path / "p.pgm", *frames)
    assert (done.returncode, done.stderr) == (0, "")
    assert " 0 wrong" in done.stdout
    # All blocks but those at the borders, from which the picture has come.
    inner = [line for line in done.stdout.splitlines() if " vector 4,-3 distortion 0" in line]
    assert len(inner) == 5 * 3
    assert (tmp_path / "p.pgm").read_bytes().startswith(b"P5\n96 64\n255\n")


def test_one_video_in_all_formats_gives_the_same(motion: Path, tmp_path: Path) -> None:
    frames = pair(tmp_path, 50, 35, -2, 1)
    pixels = [frame.read_bytes()[-50 * 35 :] for frame in frames]
    raw, y4m = tmp_path / "v.yuv", tmp_path / "v.y4m"
    chroma = bytes(2 * 25 * 18)
    raw.write_bytes(b"".join(p + chroma for p in pixels))
    head = b"YUV4MPEG2 W50 H35 F25:1 C420jpeg\n"
    y4m.write_bytes(head + b"".join(b"FRAME\n" + p + chroma for p in pixels))
    picture, prediction = tmp_path / "v.png", tmp_path / "p.y4m"
    outputs = {
        run(motion, "--ordered", "--vectors", "-", *words).stdout
        for words in (frames, (y4m,), ("--size", "50x35", raw))
    }
    assert len(outputs) == 1 and " 0 wrong" in outputs.pop()
    assert run(motion, "--picture", picture, "--prediction", prediction, y4m).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\xc8\0\0\0\x8c")
    assert len(prediction.read_bytes()) == len(b"YUV4MPEG2 W50 H35 F25:1 Ip A1:1 Cmono\nFRAME\n") + 50 * 35


HEADER = b"YUV4MPEG2 W16 H16 Cmono\n"
FRAME = b"FRAME\n" + bytes(256)
BAD = {
    b"": "neither binary PGM nor YUV4MPEG2",
    b"P2\n1 1\n255\n5\n": "neither binary PGM nor YUV4MPEG2",
    b"P5\n16 16\n65535\n": "256 grey values",
    b"P5\n16\n": "broken PGM header",
    b"P5\n0 16\n255\n": "no size",
    b"P5\n99999 16\n255\n": "larger than 8192",
    b"P5\n99999999999 16\n255\n": "larger than 8192",
    b"P5\n-20 16\n255\n": "broken PGM header",
    b"P5\n16 16\n255\n" + bytes(255): "ends within a frame",
    b"YUV4MPEG2 W16": "broken header",
    b"YUV4MPEG2 W16\n": "no size",
    b"YUV4MPEG2 W4294967312 H16\n": "larger than 8192",
    b"YUV4MPEG2 W16abc H16\n": "no size",
    b"YUV4MPEG2 W16 H16 C420p10\n": "more than 8 bits",
    b"YUV4MPEG2 W16 H16 C410\n": "another form",
    HEADER: "has no frame",
    HEADER + FRAME: "only one frame",
    HEADER + FRAME + FRAME[:-1]: "ends within a frame",
    HEADER + FRAME + b"XRAME\n" + bytes(256): "something else where a frame should begin",
    HEADER + FRAME + b"FRAMES\n" + bytes(256): "something else where a frame should begin",
    HEADER + FRAME + FRAME + FRAME[:-1]: "ends within a frame",
}


@pytest.mark.parametrize("content", BAD)
def test_what_is_no_video_is_refused(motion: Path, tmp_path: Path, content: bytes) -> None:
    bad, out, picture = tmp_path / "bad", tmp_path / "out", tmp_path / "picture"
    bad.write_bytes(content)
    done = run(motion, "--prediction", out, "--picture", picture, bad)
    assert done.returncode == 1
    assert f"motion: {bad}: " in done.stderr and BAD[content] in done.stderr
    assert not out.exists() and not picture.exists()


def test_frames_of_different_sizes_are_refused(motion: Path, tmp_path: Path) -> None:
    small, _ = pair(tmp_path, 16, 16, 0, 0)
    other = tmp_path / "other.pgm"
    other.write_bytes(b"P5\n17 16\n255\n" + bytes(17 * 16))
    assert "differs in size" in run(motion, small, other).stderr
    assert run(motion, "--size", "16", small).returncode == 2
    assert run(motion).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "interval"), [("grid8x8", 2), ("grid16x16", 1)])
def test_a_row_of_pixels_takes_so_many_cycles(motion: Path, tmp_path: Path, arch: str, interval: int) -> None:
    report = tmp_path / "report.json"
    mapped = compiled(tmp_path, "--arch", arch, "--save-report", str(report))
    assert json.loads(report.read_text())["kernels"][0]["ii"] <= interval
    frames = pair(tmp_path, 70, 40, -5, 2)
    expected = run(motion, "--ordered", "--vectors", "-", *frames).stdout
    assert run(mapped, "--ordered", "--vectors", "-", *frames).stdout == expected
    assert " 0 wrong" in run(mapped, *frames).stdout


@pytest.mark.slow
def test_dataflow_finds_the_same(motion: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, "--mode", "dataflow")
    words = ("--ordered", "--vectors", "-", *pair(tmp_path, 33, 32, 2, 2))
    assert run(program, *words).stdout == run(motion, *words).stdout
