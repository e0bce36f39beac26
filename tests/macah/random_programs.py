"""Compares many random programs, each with a seed of its own; `tools/random-programs` runs it.

`--every-pass` also interprets between passes (else only the lowered kernel, the last pass and the graph),
`--sanitize` has gcc hold the programs themselves to C's rules, `--hardware` simulates them as dataflow
circuits, without and with overlapping iterations, and mapped,
`--mode-c` compares the translated C as well. `--disable` leaves optimisations out, by name, or with `some` a
random choice of them for each program.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from program_generator import program
from program_generator_nests import nests
from program_generator_receives import receives
from random_checks import SANITIZE, Failure, Unfit, check, check_translation
from reducer import reduced

from arch.describe import load_fabric
from macah.optional import OPTIONAL
from macah.toolchain import workspace


def main() -> int:
    """Status 1 if a program failed."""
    options = _options()
    begin, results = time.time(), Counter[str]()
    with workspace() as directory:
        for seed in range(options.seed, options.seed + options.count):
            results[_one(seed, options, directory)] += 1
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{seed} {dict(results)} ")
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(results.items()))
    print(f"{options.count} programs in {time.time() - begin:.0f} s: {summary}")
    return 1 if results["failed"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/random-programs", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--every-pass", action="store_true")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--hardware", action="store_true")
    parser.add_argument("--mode-c", action="store_true")
    parser.add_argument("--unroll", type=int, default=1, help="copies of the bodies of all loops")
    parser.add_argument("--keep", type=Path, default=Path("random-failures"), help="where failures are kept")
    parser.add_argument("--bubbles", action="store_true", help="of receives; streams are late at random")
    parser.add_argument("--nests", action="store_true", help="kernels as people write them")
    parser.add_argument("--receives", action="store_true", help="kernels that receive in many places")
    parser.add_argument("--disable", default="", metavar="NAME,...|some")
    return parser.parse_args()


def _disabled(words: str, seed: int) -> frozenset[str]:
    chance = Random(seed)
    if words == "some":
        return frozenset([name for name in OPTIONAL if chance.random() < 0.5])
    names = frozenset(words.split(",")) - {""}
    assert names <= OPTIONAL.keys(), words
    return names


def _text(seed: int, options: argparse.Namespace) -> str:
    if options.receives:
        return receives(seed)
    if options.nests:
        return nests(seed)
    return program(seed, size=5, hardware=True, wide=False) if options.hardware else program(seed)


def _one(seed: int, options: argparse.Namespace, directory: Path) -> str:
    fabric = load_fabric("grid8x8") if options.hardware else None
    text = _text(seed, options)
    without = _disabled(options.disable, seed)
    flags = SANITIZE if options.sanitize else ()

    def failure(text: str) -> Failure | None:
        shapes = without, options.unroll, options.bubbles, options.receives
        return check(text, directory, options.every_pass, flags, fabric, *shapes) or (
            check_translation(text, directory) if options.mode_c else None
        )

    try:
        found = failure(text)
    except Unfit as reason:
        if ":" in str(reason):
            print(f"{seed}: {reason}", flush=True)
        return "unfit"
    if found is None:
        return "agreed"
    print(f"{seed}: {found}", flush=True)
    options.keep.mkdir(parents=True, exist_ok=True)
    (options.keep / f"{seed}.macah").write_text(text)
    smaller = reduced(text, found, failure)
    (options.keep / f"{seed}-small.macah").write_text(f"// {found}\n{smaller}")
    return "failed"


if __name__ == "__main__":
    sys.exit(main())
