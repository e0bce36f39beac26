#!/usr/bin/env python3
"""Milliseconds that each stage of the front end takes per unit of a program, at growing sizes.

    .venv/bin/python benchmarks/scale.py [--size N] [--shape NAME]... [--profile]

A unit is a statement, a term, a case or whatever the shape has N, 2N and 4N of. `growth` is the exponent of
the time of the whole between N and 4N: 1 is linear, 2 quadratic. `--profile` shows where the largest size
spends it.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from macah.diagnostic import MacahError
from macah.driver import compiler
from macah.lint import warnings
from macah.parser import deep_recursion
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.survey import kernels_of
from macah.todfg import build_dfg
from macah.translate import to_c

STAGES = ("read", "lower", "lint", "passes", "graph", "c")


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


SHAPES: dict[str, Callable[[int], str]] = {
    "statements": lambda n: kernel(lines(n, lambda i: f"y = (y ^ x) * {2 * i + 3};")),
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
    "kernels": lambda n: kernel(
        "y = x;",
        lines(n, lambda i: f"kernel {{ int x; x <? a; out <! x * {i}; }}"),
    ),
    "host": lambda n: kernel(
        "y = x;",
        outside=lines(n, lambda i: f"int h{i}(int a) {{ for (int i = 0; i < a; i++) a ^= i; return a; }}"),
    ),
}


def measure(text: str) -> dict[str, float]:
    """Seconds of each stage."""
    times = dict.fromkeys(STAGES, 0.0)
    clock = time.perf_counter

    with tempfile.TemporaryDirectory() as directory, deep_recursion():
        source = Path(directory) / "scale.macah"
        source.write_text(text)
        begin = clock()
        program = read_program(source, (), compiler())
        times["read"] = clock() - begin
        begin = clock()
        kernels, found = kernels_of(program, {})
        times["lower"] = clock() - begin
        for mistake in found:
            if mistake.severity == "error":
                raise MacahError(mistake.message)
        lowered = [k for k in kernels if k is not None]
        begin = clock()
        warnings(program, lowered)
        times["lint"] = clock() - begin
        for one in lowered:
            begin = clock()
            final = optimize(one)
            times["passes"] += clock() - begin
            begin = clock()
            build_dfg(final)
            times["graph"] += clock() - begin
        begin = clock()
        to_c(program, {})
        times["c"] = clock() - begin
    return times


def show(shape: str, size: int, times: dict[str, float]) -> float:
    """Prints one row; the seconds in all."""
    row = " ".join(f"{times[stage] / size * 1000:8.3f}" for stage in STAGES)
    total = sum(times.values())
    print(f"{shape:12} {size:7} {row} {total:9.2f}", end="", flush=True)
    return total


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=250)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    print(
        f"{'shape':12} {'units':>7} " + " ".join(f"{s:>8}" for s in STAGES) + f" {'seconds':>9}   (ms a unit)"
    )
    for shape in options.shape or SHAPES:
        first = 0.0
        for factor in (1, 2, 4):
            size = options.size * factor
            text = SHAPES[shape](size)
            profile = cProfile.Profile()
            try:
                if options.profile and factor == 4:
                    times = profile.runcall(measure, text)
                else:
                    times = measure(text)
            except (MacahError, RecursionError) as error:
                print(f"{shape:12} {size:7} refused: {error or 'nested too deeply'}")
                break
            total = show(shape, size, times)
            first = first or total
            print(f"   growth {math.log(total / first, 4):.2f}" if factor == 4 else "", flush=True)
        if options.profile and factor == 4:
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
