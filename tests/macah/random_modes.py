"""Compares whole random programs of threads, kernels and streams between the modes.

Each is run in modes `c`, `dataflow` and `mapped`, in lock step; output, exit status and what went through
each stream must be the same to the bit. Every fourth program has one thread and larger kernels.
`tools/random-modes` runs it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from network_generator import Network
from program_generator import program

from macah.build import build
from macah.cli_parse import parse
from macah.compile import Simulated, fronts, mapped
from macah.dataflow import circuit
from macah.diagnostic import MacahError
from macah.fabrics import fabric_of
from macah.host import Host
from macah.messages import Messages
from macah.program import read_program
from macah.stages import Stages
from macah.toolchain import compiler, workspace
from macah.traces import divergences

MODES = ("c", "dataflow", "mapped")
TIMEOUT = 120
"""Seconds for one run of a program."""


@dataclass(frozen=True)
class Outcome:
    """What a run in a mode did."""

    mode: str
    status: int
    output: str
    errors: str
    trace: Path


class Unfit(Exception):
    """The program has no kernel that fits, or none at all."""


def text_of(seed: int) -> str:
    """The program of a seed."""
    return program(seed, size=5, hardware=True, wide=False) if seed % 4 == 3 else Network(seed).program()


def flags_of(seed: int) -> tuple[str, ...]:
    """Options of the compiler. For most, cheap ones: mapping and shortening have tests of their own."""
    return () if seed % 5 == 0 else ("--effort", "low", "--disable", "shorten")


def check(text: str, directory: Path, flags: tuple[str, ...] = ()) -> str | None:
    """What differs between the modes, or None. Errors: Unfit."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        try:
            runs = list(outcomes(text, Path(name), flags))
        except MacahError as refused:
            first = refused.diagnostics[0]
            if first.code == "does-not-fit":
                raise Unfit(first.message) from None
            return f"refused: {first.where}: {first.message} {refused.output[:300]}"
        except subprocess.TimeoutExpired as late:
            return f"does not end: {late.cmd}"
        return next((found for run in runs[1:] if (found := difference(runs[0], run))), None)


def outcomes(text: str, directory: Path, flags: tuple[str, ...]) -> Iterator[Outcome]:
    """What the program does in each mode; none where compilation fails."""
    source = directory / "p.macah"
    source.write_text(text)
    options = parse(["run", "-w", "-O0", *flags, str(source)])
    stages, messages = Stages(False), Messages(options.messages)
    program = replace(read_program(source, options.cpp, compiler()), command=())  # nobody reads the C
    made, fabric = fronts(program, {}, options, stages), fabric_of(options.arch)
    for mode in MODES:
        place = directory / mode
        (place / "trace").mkdir(parents=True)
        kernels: list[Simulated] = []
        if mode != "c":
            make = mapped if mode == "mapped" else circuit
            kernels = [make(front, fabric, options, stages) for front in made]
        built = build(kernels, Host(program, {}, options, stages, messages, place), options, stages)
        yield _run(mode, built, place)


def _run(mode: str, built: Path, place: Path) -> Outcome:
    environment = {**os.environ, "MACAH_TRACE": str(place / "trace"), "MACAH_TIME": "lockstep"}
    done = subprocess.run(
        [str(built)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=TIMEOUT,
        check=False,
    )
    return Outcome(mode, done.returncode, done.stdout, done.stderr, place / "trace")


def difference(one: Outcome, other: Outcome) -> str | None:
    """How two runs differ."""
    for run in (one, other):
        if run.status or run.errors:
            return f"mode {run.mode} ends with {run.status}: {run.errors[:600]}"
    if found := divergences(one.trace, other.trace):
        first = found[0]
        return f"mode {other.mode}: stream {first.stream} element {first.index}: {first.values}"
    if {path.name for path in one.trace.iterdir()} != {path.name for path in other.trace.iterdir()}:
        return f"mode {other.mode}: other streams"
    return f"mode {other.mode}: the output differs" if one.output != other.output else None


def main() -> int:
    """Status 1 if a program failed."""
    options = _options()
    begin, results = time.process_time(), Counter[str]()
    with workspace() as directory:
        for seed in range(options.seed, options.seed + options.count):
            kind = _one(seed, options.keep, directory)
            results[kind] += 1
            if options.progress:
                with options.progress.open("a") as log:
                    log.write(f"{seed} {kind}\n")
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(results.items()))
    print(f"{options.count} programs from {options.seed}: {summary} ({time.process_time() - begin:.0f} s)")
    return 1 if results["failed"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/random-modes", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--progress", type=Path, help="a file to which each program's result is added")
    parser.add_argument("--keep", type=Path, default=Path("random-failures"), help="where failures are kept")
    return parser.parse_args()


def _one(seed: int, keep: Path, directory: Path) -> str:
    text = text_of(seed)
    if "kernel {" not in text:
        return "without kernel"
    try:
        found = check(text, directory, flags_of(seed))
    except Unfit as reason:
        print(f"{seed}: {reason}", flush=True)
        return "unfit"
    if found is None:
        return "agreed"
    print(f"{seed}: {found}", flush=True)
    keep.mkdir(parents=True, exist_ok=True)
    (keep / f"modes-{seed}.macah").write_text(f"// {found.splitlines()[0]}\n{text}")
    return "failed"


if __name__ == "__main__":
    sys.exit(main())
