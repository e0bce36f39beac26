"""Small random kernels full of recurrences: loops over a few variables that depend on one another.

What variables start with is unknown, so that no branch is known never to be taken.
"""

from __future__ import annotations

import random

HEAD = """int f(int stream in, int stream out, const int a[64], const int b[64], int h[64], const int t[64],
      int n, int p, int q) {
  int res;
  kernel {"""
TYPES = ("int", "int", "unsigned", "short")
NARROW = ("short", "char", "unsigned char", "unsigned short")


def recurrences(seed: int) -> str:
    """A program with one kernel."""
    return _Generator(random.Random(seed)).program()


class _Generator:
    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.names = ["x", "y", "z", "w"][: choices.randint(1, 4)]

    def one(self, *texts: str) -> str:
        return self.choices.choice(texts)

    def name(self) -> str:
        return self.choices.choice(self.names)

    def leaf(self) -> str:
        match self.choices.randrange(16):
            case 0 | 1:
                return "a[i]"
            case 2 | 3:
                return self.one("b[i]", "n")
            case 4:
                return "i"
            case 5 | 6:
                return self.one("1", "2", "3", "5", "7", "12", "255", "1000")
            case _:
                return self.name()

    def expr(self, depth: int) -> str:
        if depth <= 0 or self.choices.random() < 0.15:
            return self.leaf()
        a, b = self.expr(depth - 1), self.expr(depth - 1)
        match self.choices.randrange(32):
            case 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10:
                return f"({a} {self.one('+', '+', '-')} {b})"
            case 11 | 12 | 13 | 14 | 15:
                return f"({a} {self.one('^', '&', '|')} {b})"
            case 16 | 17:
                return f"({a} * {b})"
            case 18 | 19 | 20:
                return f"{self.one('min', 'max')}({a}, {b})"
            case 21 | 22 | 23:
                return f"({a} {self.one('>>', '<<')} {self.one('1', '2', '3', '7')})"
            case 24 | 25 | 26:
                return f"({self.condition(depth - 1)} ? {a} : {b})"
            case 27:
                return f"t[{a} & 63]"
            case 28:
                return f"({a} / {self.one('3', '7', '8', '(n | 1)')})"
            case 29:
                return f"(unsigned)abs({a})"
            case 30:
                return f"({self.one(*NARROW)})({a})"
            case _:
                return f"-{a}"

    def condition(self, depth: int) -> str:
        test = f"{self.expr(depth - 1)} {self.one('<', '>', '==', '!=', '<=')} {self.expr(depth - 1)}"
        if self.choices.random() < 0.2:
            other = f"{self.expr(depth - 1)} {self.one('<', '==')} {self.leaf()}"
            test = f"({test}) {self.one('&&', '||')} ({other})"
        return f"({test})"

    def statements(self, depth: int) -> list[str]:
        match self.choices.randrange(20) if depth else 0:
            case 12 | 13 | 14 | 15 | 16:
                orelse = ["} else {", *self.several(depth - 1)] if self.choices.random() < 0.5 else []
                return [f"if {self.condition(2)} {{", *self.several(depth - 1), *orelse, "}"]
            case 17 | 18:
                return [f"h[{self.expr(1)} & 63] {self.one('=', '+=')} {self.expr(2)};"]
            case 19:
                return [f"{self.name()} += h[{self.expr(1)} & 63];"]
            case _:
                op = self.one("=", "=", "+=", "^=", "-=")
                return [f"{self.name()} {op} {self.expr(self.choices.randint(1, 3))};"]

    def several(self, depth: int) -> list[str]:
        return [text for _ in range(self.choices.randint(1, 2)) for text in self.statements(depth)]

    def program(self) -> str:
        starts = ", ".join(f"{name} = {self.one('p', 'q')}" for name in self.names)
        loop = self.loop([text for _ in range(self.choices.randint(1, 4)) for text in self.statements(2)])
        tail = f"    res = {' + '.join(self.names)};\n  }}\n  return res;\n}}"
        lines = [f"{self.one(*TYPES)} {starts};", *loop]
        return "\n".join([HEAD, *["    " + line for line in lines], tail]) + "\n"

    def loop(self, body: list[str]) -> list[str]:
        match self.choices.randrange(20):
            case 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10:
                return ["for (int i = 0; i < n; i++) {", *body, "}"]
            case 11 | 12 | 13:
                return [f"for (int i = 0; i < n && {self.condition(1)}; i++) {{", *body, "}"]
            case _:
                return self.nest(body)

    def nest(self, body: list[str]) -> list[str]:
        limits = "i < n", "i < 3", "i < m", "i < j", f"{self.condition(1)[1:-1]} && i < 9"
        head = self.statements(1) if self.choices.random() < 0.5 else []
        if self.choices.random() < 0.3:
            head = ["int v; v <? in;", f"{self.name()} = v;", *head]
        tail = [f"out <! {self.name()};"] if self.choices.random() < 0.5 else []
        inner = [f"for (int i = 0; {self.one(*limits)}; i++) {{", *body, "}"]
        return ["for (int j = 0; j < n; j++) {", "int i = j, m = b[j & 63];", *head, *inner, *tail, "}"]
