#!/usr/bin/env python3
"""Seconds that each stage of the front end takes for programs of growing sizes.

    .venv/bin/python benchmarks/scale.py [--size N]... [--shape NAME]... [--profile] [--stages]

A unit is a statement, a term, a case or whatever the shape has N of, by default 2000, 4000, 8000;
`stmts` are the statements of the largest kernel after inlining and FOR unrolling. The row `growth` has the
exponents of time between the last two sizes, from 0.1 s on: 1 is linear, 2 quadratic; `front` is read, lower,
passes and graph together, and behind the exponent stand the seconds for 100,000 statements if time goes on
like that. That says something from sizes on whose graphs `macah/shorten.py` leaves as they are (4000 nodes):
what it tries on smaller ones is bounded, but not little. Time is the processor's. `--stages` shows every
pass, `--profile` where the largest size spends it.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time as clock

from macah.deep import deep_recursion
from macah.diagnostic import MacahError
from macah.driver import compiler
from macah.fabrics import fabric_of
from macah.ir import Kernel
from macah.lint import warnings
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.start import collect_rarely
from macah.survey import kernels_of
from macah.todfg import build_dfg
from macah.translate import to_c
from macah.walk import statements

STAGES = ("read", "lower", "lint", "passes", "graph", "c")
FRONT = ("read", "lower", "passes", "graph")
GOAL = 100_000
ARCH = "grid8x8"
Times = dict[str, float]


def kernel(body: str, before: str = "", outside: str = "") -> str:
    """A program with one kernel that receives x and y in a loop."""
    return f"""{outside}
void run(int stream a, int stream out)
{{
    {before}
    kernel {{
        int x, y = 0;
        int n = 100; while (n-- > 0) {{ x <? a; {body} out <! y; }}
    }}
}}
int main(void) {{ return 0; }}
"""


def lines(count: int, line: Callable[[int], str]) -> str:
    """A line for each number."""
    return "\n".join(map(line, range(count)))


MACRO = "#define TIMES(n) ((n) * 3 + 1)"

SHAPES: dict[str, Callable[[int], str]] = {
    "statements": lambda n: kernel(lines(n, lambda i: f"y = (y ^ x) * {2 * i + 3};")),
    "line": lambda n: kernel(" ".join(f"y = (y ^ x) * {2 * i + 3};" for i in range(n))),
    "macros": lambda n: kernel(" ".join(f"y = (y ^ x) * TIMES({2 * i + 3});" for i in range(n)), "", MACRO),
    "unrolled": lambda n: kernel(f"FOR (int i = 0; i < {n}; i++) y = (y ^ x + i) * 3;"),
    "variables": lambda n: kernel(lines(n, lambda i: f"int v{i} = x * {i};") + "y = v0;"),
    "carried": lambda n: kernel(
        lines(n, lambda i: f"v{i} = v{(i + 1) % n} + x;") + "y = v0;", lines(n, lambda i: f"int v{i} = {i};")
    ),
    "captured": lambda n: kernel(
        lines(n, lambda i: f"y += v{i} * x;"), lines(n, lambda i: f"int v{i} = {i};")
    ),
    "arrays": lambda n: kernel(
        lines(n, lambda i: f"a{i}[x & 15] = y; y += a{i}[y & 15];"), lines(n, lambda i: f"int a{i}[16];")
    ),
    "nests": lambda n: kernel(
        f"FOR (int i = 0; i < {n} / 25; i++) FOR (int j = 0; j < 5; j++) FOR (int k = i; k < i + 5; k++)"
        " y = (y ^ x + i * j) * k;"
    ),
    "constants": lambda n: kernel(lines(n, lambda i: f"int c{i} = {i}; if (x > c{i}) y += c{i};")),
    "elements": lambda n: kernel(f"int v[{n}]; FOR (int i = 0; i < {n}; i++) v[i] = x * i; y = v[x & 7];"),
    "scalars": lambda n: kernel(
        f"int v[{n}]; FOR (int i = 0; i < {n}; i++) v[i] = x * i;"
        f" FOR (int i = 0; i < {n}; i++) y ^= v[i] + i;"
    ),
    "memory": lambda n: kernel(lines(n, lambda i: f"m[x + {i} & 255] = y; y ^= m[y & 255];"), "int m[256];"),
    "table": lambda n: kernel(
        "y = t[x & 255];", f"static const int t[{n}] = {{ {','.join(map(str, range(n)))} }};"
    ),
    "sum": lambda n: kernel("y = " + " + ".join(f"x * {i}" for i in range(n)) + ";"),
    "parentheses": lambda n: kernel("y = " + "(" * n + "x" + " + 1)" * n + ";"),
    "ifs": lambda n: kernel(lines(n, lambda i: f"if (x > {i}) y += {i};")),
    "else-if": lambda n: kernel("\nelse ".join(f"if (x == {7 * i}) y = x * {i + 3};" for i in range(n))),
    "returns": lambda n: kernel(
        "y = f(x);",
        outside=f"int f(int x) {{ {lines(n, lambda i: f'if (x == {7 * i}) return x * {i};')} return 0; }}",
    ),
    "nest": lambda n: kernel(lines(n, lambda i: f"if (x > {i}) {{ y += x * {i};") + "}" * n),
    "loops": lambda n: kernel(lines(n, lambda i: f"for (int i = 0; i < {i + 2}; i++) y += x * i;")),
    "switch": lambda n: kernel(
        "switch (x) {" + lines(n, lambda i: f"case {7 * i}: y = x * {i + 3}; break;") + "}"
    ),
    "calls": lambda n: kernel(
        lines(n, lambda i: f"y = f(y, x + {i});"),
        outside="int f(int a, int b) { if (a > b) a -= b; return a ^ b; }",
    ),
    "functions": lambda n: kernel(
        lines(n, lambda i: f"y = f{i}(y);"),
        outside=lines(n, lambda i: f"int f{i}(int a) {{ return a * {i}; }}"),
    ),
    "wide": lambda n: kernel(
        lines(n, lambda i: f"z = (z ^ x) + {2 * i + 3};") + "y = z;", "long long z = 0;"
    ),
    "structs": lambda n: kernel(
        lines(n, lambda i: f"s.m{i} = x + {i}; y ^= s.m{(i * 7) % n};"),
        f"struct {{ {lines(n, lambda i: f'int m{i};')} }} s;",
    ),
    "sends": lambda n: kernel(lines(n, lambda i: f"out <! x + {i};")),
    "delay": lambda n: kernel(
        lines(n - 1, lambda i: f"v{i} = v{i + 1};") + f"v{n - 1} = x; y = v0;",
        lines(n, lambda i: f"int v{i} = 0;"),
    ),
    "kernels": lambda n: kernel(
        "y = x;",
        lines(n, lambda i: f"kernel {{ int x; x <? a; out <! x * {i}; }}"),
    ),
    "host": lambda n: kernel(
        "y = x;",
        outside=lines(n, lambda i: f"int h{i}(int a) {{ for (int i = 0; i < a; i++) a ^= i; return a; }}"),
    ),
}


def measure(text: str) -> tuple[int, Times]:
    """Statements of the largest kernel once it is unrolled; seconds of each stage and of each pass."""
    times = dict.fromkeys(STAGES, 0.0)
    last, largest = clock(), 0

    def lap(name: str) -> None:
        nonlocal last
        begin, last = last, clock()
        times[name] = times.get(name, 0.0) + last - begin

    def watch(name: str, kernel: Kernel) -> None:
        nonlocal largest, last
        lap(f"- {name}")
        if name == "unroll_for":
            largest = max(largest, sum(1 for _ in statements(kernel.body)))
            last = clock()

    fabric = fabric_of(ARCH)
    with tempfile.TemporaryDirectory() as directory, deep_recursion():
        source = Path(directory) / "scale.macah"
        source.write_text(text)
        lap("write")
        program = read_program(source, (), compiler())
        lap("read")
        kernels, found = kernels_of(program, {})
        lap("lower")
        for mistake in found:
            if mistake.severity == "error":
                raise MacahError(mistake.message)
        lowered = [k for k in kernels if k is not None]
        warnings(program, lowered)
        lap("lint")
        for one in lowered:
            final = optimize(one, watch)
            build_dfg(final, fabric)
            lap("graph")
        to_c(program, {})
        lap("c")
    times["passes"] = sum(spent for name, spent in times.items() if name.startswith("- "))
    return largest, times


def growth(sizes: list[int], times: list[float]) -> str:
    """The exponent between the last two sizes, if their times say anything."""
    if len(times) < 2 or times[-1] < 0.1:
        return ""
    return f"{math.log(times[-1] / max(times[-2], 1e-3), sizes[-1] / sizes[-2]):.2f}"


def sweep(shape: str, sizes: list[int], profile: cProfile.Profile | None) -> Iterator[tuple[int, int, Times]]:
    """Prints one row for each size; all that was measured."""
    for size in sizes:
        text = SHAPES[shape](size)
        try:
            if profile is not None and size == sizes[-1]:
                count, times = profile.runcall(measure, text)
            else:
                count, times = measure(text)
        except (MacahError, RecursionError) as error:
            print(f"{shape:12} {size:7} refused: {error or 'nested too deeply'}", flush=True)
            return
        row = " ".join(f"{times[stage]:8.2f}" for stage in STAGES)
        print(f"{shape:12} {size:7} {count:7} {row} {front(times):8.2f}", flush=True)
        yield size, count, times


def front(times: Times) -> float:
    """Seconds from the source to the graph."""
    return sum(times[stage] for stage in FRONT)


def summary(sizes: list[int], counts: list[int], series: dict[str, list[float]]) -> str:
    """The exponents of stages and of all, and what that comes to at the goal."""
    row = " ".join(f"{growth(sizes, series.get(stage, [])):>8}" for stage in (*STAGES, "front"))
    exponent = growth(sizes, series.get("front", []))
    if not exponent or not counts[-1]:
        return row
    seconds = series["front"][-1] * (GOAL / counts[-1]) ** max(1.0, float(exponent))
    return f"{row}   {seconds:.0f} s for {GOAL}"


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--stages", action="store_true")
    options = parser.parse_args()
    collect_rarely()
    heads = " ".join(f"{name:>8}" for name in (*STAGES, "front"))
    print(f"{'shape':12} {'units':>7} {'stmts':>7} {heads}")
    for shape in options.shape or SHAPES:
        profile = cProfile.Profile() if options.profile else None
        done = list(sweep(shape, options.size or [2000, 4000, 8000], profile))
        sizes, counts = [size for size, _, _ in done], [count for _, count, _ in done]
        series = {stage: [times[stage] for *_, times in done] for stage in done[-1][2]} if done else {}
        series["front"] = [front(times) for *_, times in done]
        print(f"{'':12} {'growth':>15} {summary(sizes, counts, series)}", flush=True)
        for stage, spent in series.items() if options.stages else ():
            if stage.startswith("- ") and spent[-1] >= 0.1:
                print(f"{'':12} {spent[-1]:7.2f} s {growth(sizes, spent):>5} {stage}")
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
