#!/usr/bin/env python3
"""What motion estimation costs: both searches of examples/motion on simulated accelerators, on real frames.

    .venv/bin/python benchmarks/motion.py [--frames N] [--modes c,dataflow,mapped] [--arch NAME...]

The frames are those of ../shared/data/people_160x96, or of examples/data where that folder is absent. The
figures are what the example prints of itself (`--statistics`): cycles are simulated ones, bytes are all that
is moved to and from the kernel, `wrong` are distortions that differ from plain C's. `ratio` says how many
times fewer cycles hexagonal search takes than full search. `same` tells whether the vectors are those of
the first mode: hexagonal search runs twice, in free order, and in the order that does not depend on timing
(`ordered`), where they must be.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from account import macahc

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "examples" / "motion" / "motion.macah"
REAL = ROOT.parent / "shared" / "data" / "people_160x96"
SEARCHES = {
    "ehs": ("--search", "ehs"),
    "ordered": ("--search", "ehs", "--ordered"),
    "full": ("--search", "full"),
}
TITLE = (
    f"{'mode':9} {'arch':9} {'search':8} {'II':>4} {'cycles':>9} {'ratio':>6} {'compared':>8} {'busy':>6}"
    f" {'stalled':>7} {'bytes':>7} {'PSNR':>7} {'wrong':>5} {'same':>4}"
)


@dataclass(frozen=True)
class Run:
    """One search: what the example printed."""

    printed: str
    vectors: str

    def number(self, pattern: str) -> float | None:
        """The number behind some words, None if they were not printed."""
        found = re.search(pattern + r" *([\d.]+)", self.printed)
        return float(found[1]) if found else None


def run(program: Path, words: tuple[str, ...], frames: int, video: tuple[Path, ...], vectors: Path) -> Run:
    """Searches once."""
    command = [program, *words, "--statistics", "--frames", str(frames), "--vectors", vectors, *video]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return Run(done.stdout, vectors.read_text())


def row(mode: str, arch: str, search: str, made: Run, full: float | None, same: bool) -> str:
    """One line of the table; nothing stands where nothing is simulated."""
    cycles = made.number("cycles per frame")
    ratio = full / cycles if full and cycles else None
    simulated = cycles is not None

    def text(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    compared = made.number("comparisons per block")
    busy = made.number("busy with comparisons") if simulated else None
    wrong = re.search(r"(\d+) wrong", made.printed)
    return (
        f"{mode:9} {arch:9} {search:8} {text(made.number('initiation interval'), '.0f'):>4}"
        f" {text(cycles, '.0f'):>9} {text(ratio, '.1f'):>6} {text(compared, '.2f'):>8}"
        f" {text(busy, '.1f'):>6} {text(made.number('stalled cycles per frame'), '.0f'):>7}"
        f" {text(made.number('bytes per block'), '.0f'):>7} {text(made.number('mean PSNR'), '.3f'):>7}"
        f" {wrong[1] if wrong else '?':>5} {'yes' if same else 'no':>4}"
    )


def main() -> int:
    """0 if every distortion is right and the order decides nothing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--frames", type=int, default=1, help="pairs of frames")
    parser.add_argument("--modes", default="c,mapped")
    parser.add_argument("--arch", nargs="*", default=["grid8x8", "grid16x16"])
    options = parser.parse_args()
    good = True
    print(TITLE)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        video = pictures(directory)
        for arch in options.arch:
            known: dict[str, str] = {}
            for mode in options.modes.split(","):
                program = directory / f"motion_{mode}_{arch}"
                macahc("--mode", mode, "--arch", arch, PROGRAM, "-lm", "-o", program)
                runs = {
                    search: run(program, words, options.frames, video, directory / "vectors")
                    for search, words in SEARCHES.items()
                }
                full = runs["full"].number("cycles per frame")
                for search, made in runs.items():
                    same = made.vectors == known.setdefault(search, made.vectors)
                    good = good and (same or search == "ehs")
                    print(row(mode, arch, search, made, full, same), flush=True)
    return 0 if good else 1


def pictures(directory: Path) -> tuple[Path, ...]:
    """The frames as one video."""
    frames = sorted(REAL.glob("*.pgm")) or sorted((ROOT / "examples" / "data").glob("frame*.pgm"))
    video = directory / "video.y4m"
    header = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", frames[0].read_bytes())
    assert header is not None, frames[0]
    width, height = int(header[1]), int(header[2])
    size = width * height
    with video.open("wb") as out:
        out.write(b"YUV4MPEG2 W%d H%d F6:1 Cmono\n" % (width, height))
        for frame in frames:
            out.write(b"FRAME\n" + frame.read_bytes()[-size:])
    return (video,)


if __name__ == "__main__":
    sys.exit(main())
