"""Random kernels in which loops one after the other change elements of the same arrays, as sources."""

from __future__ import annotations

import random

SIZE = 16


def source(seed: int, stages: int = 3) -> str:
    """A kernel that reads and changes `a` and `b`, and counts in `s` and `t`."""
    chance = random.Random(seed)
    body = "\n".join(_stage(chance, k) for k in range(chance.randrange(2, stages + 1)))
    if chance.random() < 0.3:
        body = f"for (int r = 0; r < {chance.choice(('2', '3', 'n'))}; r++) {{ {body} }}"
    head = "void f(int a[16], int b[16], int n, int x) { kernel { int s = x, t = 1;"
    if chance.random() < 0.5:
        return f"{head} {body} b[t & 15] = s; }} }}"
    start = "int c[16]; for (int k = 0; k < 16; k++) c[k] = k ^ x;"
    end = "for (int k = 0; k < 16; k++) b[k] = b[k] + c[k];"
    body = body.replace("a[", chance.choice(("a[", "c[")))
    return f"{head} {start} {body} {end} b[t & 15] = s; }} }}"


def _stage(chance: random.Random, number: int) -> str:
    i = f"i{number}"
    lines = " ".join(_line(chance, i) for _ in range(chance.randrange(1, 3)))
    kind = chance.randrange(5)
    if kind == 0:
        return f"for (int {i} = 0; {i} < 16; {i}++) {{ {lines} }}"
    if kind == 1:
        return f"for (int {i} = 0; {i} < n; {i}++) {{ {lines} }}"
    if kind == 2:
        j, most = f"j{number}", chance.choice(("3", i))
        inside = f"{lines.replace(i, chance.choice((i, j)))} {_line(chance, j)}"
        return f"for (int {i} = 0; {i} < n; {i}++) for (int {j} = 0; {j} < {most}; {j}++) {{ {inside} }}"
    if kind == 3:
        return f"{{ int {i} = n; do {{ {lines} {i}--; }} while ({i} > 0); }}"
    end = chance.choice(("x", "0", "s"))
    return f"{{ int {i} = 0; while ({i} < 12 && a[{i}] != {end}) {{ {lines} {i}++; }} }}"


def _line(chance: random.Random, i: str) -> str:
    if chance.random() < 0.25:
        test = chance.choice((f"a[{i} & 15] < s", f"{i} & 1", "s > t", "t & 2"))
        return f"if ({test}) {{ {_change(chance, i)} }} else {{ {_change(chance, i)} }}"
    return _change(chance, i)


def _change(chance: random.Random, i: str) -> str:
    array = chance.choice("aaab")
    at, other = _index(chance, i), _index(chance, i)
    value = chance.choice((f"{chance.choice('ab')}[{other}]", "s", "t", i, "x"))
    power = chance.choice((2, 4, 8, 16))
    return chance.choice(
        (
            f"{array}[{at}]++;",
            f"{array}[{at}] += {value};",
            f"{array}[{at}] = {value};",
            f"{{ int v = {array}[{at}]; {array}[{at}] = {array}[{other}]; {array}[{other}] = v; }}",
            f"{{ int v = {array}[{at}]; {array}[{at}] = s; s += v; }}",
            f"{array}[{at}] = max({array}[{other}], {value} - 1);",
            f"s += {value}; t = t ^ s;",
            f"s = (s * 3 + {value}) / {power};",
            f"s = (s + {value}) % {power};",
            f"t = t / {power} + {value};",
            f"t = (t - s) % {power} + {value};",
            f"{array}[{at}] = ({array}[{at}] * 5 + {value}) / {power};",
            f"{array}[{at}] = ({array}[{other}] - {value}) % {power};",
        )
    )


def _index(chance: random.Random, i: str) -> str:
    return chance.choice(
        (
            f"{i} & 15",
            f"({i} + 1) & 15",
            "s & 15",
            f"(s + {i}) & 15",
            "t & 3",
            f"b[{i} & 15] & 15",
            "0",
            f"({i} * 2) & 15",
        )
    )
