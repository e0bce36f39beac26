"""Fuzzes the compiler's front end for a while: coverage-guided with atheris, else at random.

    tools/fuzz SECONDS [--seed N] [--corpus DIR] [--failures DIR]

Failures are collected, one of each kind, shrunk, and listed at the end; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
import time
import traceback
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

# What one input may take, and how much more where coverage is counted.
SECONDS, _SLOWER = 5.0, 4.0
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]


class Fuzzer:
    """Counts what becomes of inputs and keeps one of each kind of failure."""

    def __init__(self, failures: Path, seconds: float) -> None:
        from fuzz_oracle import check

        self.check = check
        self.failures, self.seconds = failures, seconds
        self.kinds: dict[str, Path] = {}
        self.reached: Counter[str] = Counter()
        self.begin = self.reported = time.monotonic()

    def one(self, text: str) -> str:
        """Tries one input; how far it got."""
        from fuzz_oracle import Hang, limits, signature

        try:
            with limits(self.seconds):
                outcome = self.check(text)
        except (Exception, Hang) as problem:
            outcome = "failed"
            kind = signature(problem)
            if kind not in self.kinds:
                self.keep(kind, text, problem)
        self.reached[outcome] += 1
        if time.monotonic() > self.reported + 60:
            self.reported = time.monotonic()
            print(self.summary(), file=sys.stderr, flush=True)
        return outcome

    def keep(self, kind: str, text: str, problem: BaseException) -> None:
        """Records the first failure of its kind."""
        from fuzz_oracle import failure, signature
        from fuzz_shrink import shrink

        path = self.failures / f"{len(self.kinds)}.macah"
        self.kinds[kind] = path
        self.failures.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"FAILURE {kind}: {problem} in {path}", file=sys.stderr, flush=True)
        traceback.print_exception(problem, limit=-6)

        def fails(shorter: str) -> bool:
            found = failure(shorter, self.seconds)
            return found is not None and signature(found) == kind

        small = shrink(text, fails, 400 if kind != "Hang" else 40)
        path.write_text(small)
        print(f"  shrunk to {small!r}", file=sys.stderr, flush=True)

    def end(self) -> int:
        """Says how it went; the exit status."""
        print(f"{'FAILED' if self.kinds else 'clean'}: {self.summary()}", file=sys.stderr, flush=True)
        for kind, path in self.kinds.items():
            print(f"  {path}: {kind}", file=sys.stderr, flush=True)
        return 1 if self.kinds else 0

    def summary(self) -> str:
        """What has been tried so far, in one line."""
        seconds = time.monotonic() - self.begin
        reached = ", ".join(f"{count} {stage}" for stage, count in self.reached.most_common())
        failures = f"{len(self.kinds)} kinds of failure"
        return f"{self.reached.total()} inputs in {seconds:.0f} s ({reached}), {failures}"


def run_random(fuzzer: Fuzzer, seconds: float, seed: int) -> None:
    """Without coverage: every input is a seed with changes."""
    from fuzz_corpus import seeds
    from fuzz_mutator import Mutator

    texts, chance = seeds(), random.Random(seed)
    mutator = Mutator(texts, chance)
    while time.monotonic() - fuzzer.begin < seconds:
        fuzzer.one(mutator.mutate(chance.choice(texts)))


def run_guided(atheris: Any, fuzzer: Fuzzer, seconds: float, seed: int, corpus: Path) -> int:
    """With coverage: inputs that reach something new are changed further. Ends the process."""
    from fuzz_corpus import seeds
    from fuzz_mutator import Mutator

    texts = seeds()
    mutator = Mutator(texts, random.Random(seed))
    corpus.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (corpus / f"seed{number}").write_text(text)

    def mutate(data: bytes, limit: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.03:
            return bytes(atheris.Mutate(data, limit))
        # Often from a whole program again: long chains of changes end in what the parser refuses.
        text = chance.choice(texts) if chance.random() < 0.4 else data.decode(errors="replace")
        mutator.chance = chance
        return mutator.mutate(text).encode()[:limit]

    def cross(one: bytes, two: bytes, limit: int, number: int) -> bytes:
        return (
            Mutator([two.decode(errors="replace")], random.Random(number))
            .mutate(one.decode(errors="replace"))
            .encode()[:limit]
        )

    def one(data: bytes) -> int:
        outcome = fuzzer.one(data.decode(errors="replace"))
        if time.monotonic() - fuzzer.begin > seconds:
            # libFuzzer would end the process with a status of its own.
            os._exit(fuzzer.end())
        # Of the many inputs that are no programs, only some are changed further.
        return -1 if outcome == "refused" and zlib.crc32(data) % 64 else 0

    # The limits of `fuzz_oracle` count processor time; libFuzzer's counts how busy the machine is.
    arguments = [sys.argv[0], f"-seed={seed}", "-max_len=65536"]
    arguments += ["-timeout=86400", "-rss_limit_mb=0", "-print_final_stats=0", "-verbosity=0", str(corpus)]
    atheris.Setup(arguments, one, custom_mutator=mutate, custom_crossover=cross)
    atheris.Fuzz()
    return fuzzer.end()


def main() -> int:
    """Fuzzes as the command line says."""
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, default=ROOT / "build" / "fuzz" / "corpus")
    parser.add_argument("--failures", type=Path, default=ROOT / "build" / "fuzz" / "failures")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: fuzzing without coverage", file=sys.stderr)
        fuzzer = Fuzzer(options.failures, SECONDS)
        run_random(fuzzer, options.seconds, options.seed)
        return fuzzer.end()
    import atheris

    with atheris.instrument_imports(include=["macah", "pycparser"]):
        fuzzer = Fuzzer(options.failures, SECONDS * _SLOWER)
    return run_guided(atheris, fuzzer, options.seconds, options.seed, options.corpus)


if __name__ == "__main__":
    sys.exit(main())
