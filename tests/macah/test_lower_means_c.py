"""Random kernels mean in the IR what gcc makes of the same text."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from macah.lower import lower
from macah.program import Program, parse_program
from macah.run import run_kernel

TYPES = {
    "b": "_Bool",
    "c": "char",
    "sc": "signed char",
    "uc": "unsigned char",
    "s": "short",
    "us": "unsigned short",
    "i": "int",
    "u": "unsigned",
    "l": "long",
    "ul": "unsigned long",
    "ll": "long long",
    "e": "enum color",
}
ARITHMETIC = ["+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
CONSTANTS = ["0", "1", "-1", "7u", "255", "0x80000000", "2147483647", "65535L", "0xffffffffffUL", "'a'", "B"]
PRELUDE = """
enum color { A, B = 3, C };
struct pair { short x; unsigned char y[3]; long z; };
static const short table[] = { 3, -5, [4] = 77, 12 };
static int helper(int a, unsigned char b) {
  if (a < b) return a * 3;
  while (a > 1000) a = a / 2 - b;
  return a - b;
}
static long total(const int *p, int n) { long t = 0; while (n-- > 0) t += *p++; return t; }
static void bump(int *p, long *q) { ++*p; *q -= *p; }
static struct pair made(short x, long z) { struct pair p = { x, { 1, 2 }, z }; p.y[2] = z; return p; }
"""


class Generator:
    """Random C without undefined behaviour but overflow."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0

    def name(self) -> str:
        return self.random.choice([f"{t}{n}" for t in TYPES for n in (1, 2)])

    def expression(self, depth: int = 3) -> str:
        choose = self.random
        if depth == 0 or choose.random() < 0.1:
            leaf = choose.random()
            if leaf < 0.7:
                return self.name()
            if leaf < 0.8:
                return f"arr[{self.name()} & 7]"
            if leaf < 0.85:
                return f"table[{self.name()} & 3]"
            return choose.choice(CONSTANTS)
        a = self.expression(depth - 1)
        match choose.randrange(12):
            case 0:
                return f"({choose.choice('-~+!')} {a})"
            case 1:
                return f"(({choose.choice(list(TYPES.values()))})({a}))"
            case 2:
                return f"({a} {choose.choice(['/', '%'])} (({self.expression(depth - 1)} & 255) | 1))"
            case 3:
                return f"({a} {choose.choice(['<<', '>>'])} ({self.expression(depth - 1)} & 31))"
            case 4:
                return f"({a} ? {self.expression(depth - 1)} : {self.expression(depth - 1)})"
            case 5:
                return f"helper({a}, {self.expression(depth - 1)})"
            case 6:
                return f"(sizeof({a}) + {self.expression(depth - 1)})"
            case _:
                return f"({a} {choose.choice(ARITHMETIC)} {self.expression(depth - 1)})"

    def statement(self, depth: int = 2) -> str:
        choose, e = self.random, self.expression
        kinds = 18 if depth else 9
        match choose.randrange(kinds):
            case 0 | 1 | 2:
                return f"{self.name()} = {e()};"
            case 3:
                return f"{self.name()} {choose.choice(['+', '-', '*', '&', '|', '^'])}= {e()};"
            case 4:
                return f"{self.name()} {choose.choice(['<<', '>>'])}= ({e()} & 31);"
            case 5:
                return f"arr[{self.name()} & 7] = {choose.choice(['', 'arr[1] = '])}{e()};"
            case 6:
                return f"{choose.choice(['i', 'uc', 'l'])}1{choose.choice(['++', '--'])};"
            case 7:
                return f"bump(&{choose.choice(['i2', 'arr[2]'])}, &l1); l2 += total(arr + (u1 & 3), 4);"
            case 8:
                return (
                    f"{{ struct pair q = made({e(2)}, {e(2)}), r; r = q; r.y[u2 & 1]--;"
                    f" i1 = r.x + r.y[1] + q.y[2]; l1 ^= r.z; }}"
                )
            case 9:
                return f"{e(2)} {choose.choice(['&&', '||'])} ({self.name()} = {e(2)}, uc2++ & 1);"
            case 10:
                return f"i1 = {e(2)} ? (u1 += {e(1)}) : s2-- ;"
            case 11 | 12:
                return f"if ({e(2)}) {{ {self.block(depth)} }} else {{ {self.block(depth)} }}"
            case 13 | 14:
                exit_loop = choose.choice(["break", "continue"])
                return (
                    f"for (int k = 0; k < {choose.randrange(6)}; k++) {{ {self.block(depth)}"
                    f" if ({e(1)}) {exit_loop}; {self.block(depth)} }}"
                )
            case 15:
                body = f"int i1 = n; {self.block(depth)} i2 += i1;"
                return f"{{ int n = 3; do {{ {body} }} while (n-- && {e(1)}); }}"
            case _:
                labels = choose.sample(range(-1, 4), 4)
                sections = [
                    f"{'default' if n == 2 else f'case {label}'}: {self.block(depth)}"
                    f" {choose.choice(['break;', '', ''])}"
                    for n, label in enumerate(labels)
                ]
                return f"switch ({e(2)} & 3) {{ {' '.join(sections)} }}"

    def block(self, depth: int) -> str:
        return " ".join(self.statement(depth - 1) for _ in range(self.random.randint(1, 2)))


def program_text(seed: int) -> tuple[str, dict[str, int]]:
    """A program with one kernel, and the values of its global variables at the start."""
    generator = Generator(seed)
    values: dict[str, int] = {}
    lines = [PRELUDE]
    for short, ctype in TYPES.items():
        for number in (1, 2):
            value = generator.random.choice([0, 1, 5, 100, generator.random.getrandbits(7)])
            values[f"{short}{number}"] = min(value, 1) if short == "b" else value
            lines.append(f"{ctype} {short}{number} = {values[f'{short}{number}']};")
    lines.append("int arr[8] = { 1, -2, 3, 40000, 5, -600000, 7, 8 };")
    body = "\n".join(generator.statement() for _ in range(8))
    return "\n".join(lines) + f"\nvoid run(void) {{\nkernel {{\n{body}\n}}\n}}\n", values


def results_of_gcc(text: str, names: list[str], folder: Path) -> list[int]:
    prints = "".join(f'printf("%lld\\n", (long long){name});' for name in names)
    prints += 'for (int k = 0; k < 8; k++) printf("%d\\n", arr[k]);'
    main = f"#include <stdio.h>\nint main(void) {{ run(); {prints} }}\n"
    source = folder / "program.c"
    source.write_text(text.replace("kernel {", "{") + main)
    command = ["gcc", "-O0", "-w", "-fwrapv", "-o", str(folder / "program"), str(source)]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "program"], check=True, capture_output=True, text=True, timeout=600)
    return [int(line) for line in done.stdout.split()]


def results_of_ir(text: str, values: dict[str, int], folder: Path) -> list[int]:
    program: Program = parse_program(text, folder / "program.macah")
    kernel = lower(program, program.kernels[0])
    arrays = {"arr": [1, -2, 3, 40000, 5, -600000, 7, 8]}
    run = run_kernel(kernel, values, arrays)
    types = {c.what.name: c.type for c in kernel.captured}
    found = []
    for name, before in values.items():
        word = run.scalars.get(name, before)
        bits = 64 if "long" in types.get(name, "") else 32
        unsigned = bits == 32 and "unsigned" in types.get(name, "")
        found.append(word if unsigned or word >> (bits - 1) == 0 else word - (1 << bits))
    cells = run.arrays.get("arr", arrays["arr"])
    return found + [c - (1 << 32) if c >> 31 == 1 else c for c in cells]


@pytest.mark.parametrize("seed", range(25))
def test_a_random_kernel_means_what_gcc_makes_of_it(seed: int, tmp_path: Path) -> None:
    text, values = program_text(seed)
    expected = results_of_gcc(text, list(values), tmp_path)
    assert results_of_ir(text, values, tmp_path) == expected


@pytest.mark.slow
@pytest.mark.sweep(1)
@pytest.mark.parametrize("first", range(1000, 1500, 100))
def test_many_random_kernels_mean_what_gcc_makes_of_them(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        text, values = program_text(seed)
        expected = results_of_gcc(text, list(values), tmp_path)
        assert results_of_ir(text, values, tmp_path) == expected, text
