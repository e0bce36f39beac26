"""Random programs as people write kernels: sequences and nests of counted loops over arrays and streams.

Where `program_generator` mixes all statements and expressions of the language, these have the shapes that
passes look for: reductions, stencils, histograms, searches, windows, state machines, triangular nests, loops
that begin where a branch says. Indices stay inside their arrays, and all loops end.
"""

from __future__ import annotations

from program_generator_parts import EXTENTS, FOLDS, TYPES, Parts, Range
from program_generator_types import Seeded


class Nests(Parts):
    """Makes one program; `wide` allows 64-bit variables."""

    def branch(self) -> list[str]:
        lines = [f"if ({self.condition()}) {{", *self.body(2)]
        return [*lines, *(["} else {", *self.body(2)] if self.chance(40) else []), "}"]

    def body(self, most: int) -> list[str]:
        lines = [line for _ in range(self.choices.integer(1, most)) for line in self.statement()]
        return ["  " + line for line in lines]

    def statement(self) -> list[str]:
        kind = self.choices.integer(0, 99)
        if kind < 12:
            return self.branch()
        if kind < 62 or self.depth >= 3 or self.work > 400:
            return self.simple()
        makers = (self.counted, self.counted, self.counted, self.reduction, self.search, self.bounded)
        more = (self.begun, self.window, self.bits, self.machine, self.merge, self.triangle, self.sort)
        return self.pick((*makers, *more))()

    def looped(self, head: str, counter: str, values: Range, most: int, trips: int) -> list[str]:
        self.counters[counter] = values
        self.depth, self.work = self.depth + 1, self.work * max(trips, 1)
        body = self.body(most)
        self.depth, self.work = self.depth - 1, self.work // max(trips, 1)
        del self.counters[counter]
        if self.chance(8):
            body.append(
                f"  if ({self.pick(self.scalars)} == {self.atom()}) {self.pick(('break', 'continue'))};"
            )
        return [f"{head} {{", *body, "}"]

    def counted(self) -> list[str]:
        i, low, trips = self.name("i"), self.pick((0, 0, 0, 1, 2)), self.pick((3, 4, 5, 6, 8, 1, 2))
        high = low + trips
        if self.chance(15):
            return self.looped(
                f"for (int {i} = {high - 1}; {i} >= {low}; {i}--)", i, (low, high - 1), 3, trips
            )
        step = self.pick((1, 1, 1, 1, 2, 3))
        head = f"for (int {i} = {low}; {i} < {high}; {i} += {step})"
        return self.looped(head, i, (low, high - 1), 3, trips)

    def triangle(self) -> list[str]:
        """A loop whose bounds a surrounding counter, a table or a variable gives."""
        i = self.name("i")
        outer = [c for c, (low, high) in self.counters.items() if low >= 0 and high < 8]
        if outer and self.chance(70):
            o = self.pick(outer)
            if self.chance(50):
                return self.looped(f"for (int {i} = 0; {i} <= {o}; {i}++)", i, (0, 7), 3, 4)
            return self.looped(f"for (int {i} = {o}; {i} < 8; {i}++)", i, (0, 7), 3, 4)
        bound = f"(({self.value(1)}) & 7)"
        if self.chance(50):
            return self.looped(f"for (int {i} = 0; {i} < {bound}; {i}++)", i, (0, 6), 3, 4)
        n = self.name("n")
        loop = self.looped(f"for (int {i} = 0; {i} < {n}; {i}++)", i, (0, 6), 3, 4)
        return ["{", f"  int {n} = {bound};", *["  " + line for line in loop], "}"]

    def reduction(self) -> list[str]:
        s, i = self.name("s"), self.name("i")
        first = self.pick(("0", "0", "1", "-1", self.atom()))
        inner = self.looped(f"for (int {i} = 0; {i} < 8; {i}++)", i, (0, 7), 1, 8)
        self.counters[i] = (0, 7)
        inner[-1:] = ["  " + self.pick(FOLDS).format(t=s, v=self.value()), "}"]
        del self.counters[i]
        target = self.element(write=True) if self.chance(60) else self.pick(self.scalars)
        kind = "long long" if self.wide and self.chance(40) else "int"
        return ["{", f"  {kind} {s} = {first};", *["  " + line for line in inner], f"  {target} = {s};", "}"]

    def search(self) -> list[str]:
        i, found, extent = self.name("i"), self.pick(self.scalars), self.choices.integer(3, 8)
        self.counters[i] = (0, extent - 1)
        condition = self.condition()
        del self.counters[i]
        return [
            f"for (int {i} = 0; {i} < {extent}; {i}++) {{",
            f"  if ({condition}) {{ {found} = {i}; break; }}",
            *(["  " + line for line in self.simple()] if self.chance(40) else []),
            "}",
        ]

    def bounded(self) -> list[str]:
        """A loop that data ends, or at last a count."""
        n, a, b = self.name("n"), self.pick(self.scalars), self.pick(self.scalars)
        step = self.pick(
            (
                f"if ({a} > {b}) {{ {a} -= {b}; }} else {{ {b} -= {a}; }}",
                f"{a} = {a} & 1 ? {a} * 3 + 1 : {a} >> 1;",
                f"{a} = {a} / 3; {b}++;",
                f"{a} -= {self.value(1)};",
            )
        )
        more = self.simple() if self.chance(40) else []
        head = f"while ({a} {self.pick(('!=', '>'))} {self.pick((b, '1', '0'))} && {n}++ < 9) {{"
        return [
            "{",
            f"  int {n} = 0;",
            f"  {head}",
            f"    {step}",
            *["    " + line for line in more],
            "  }",
            "}",
        ]

    def begun(self) -> list[str]:
        """A loop whose counter a branch may set before."""
        i = self.name("i")
        loop = self.looped(f"for (; {i} < 8; {i}++)", i, (0, 7), 3, 6)
        start = f"if ({self.condition()}) {i} = {self.choices.integer(1, 7)};"
        after = [f"  {self.pick(self.scalars)} += {i};"] * self.chance(50)
        return ["{", f"  int {i} = 0;", f"  {start}", *["  " + line for line in loop], *after, "}"]

    def window(self) -> list[str]:
        """A shiftable array that elements move through."""
        z, i, taps = self.name("z"), self.name("i"), self.choices.integer(2, 5)
        self.counters[i] = (0, 7)
        value, target = self.value(1), self.pick(self.scalars)
        del self.counters[i]
        k = self.name("k")
        return [
            "{",
            f"  int {z}[^{taps}^] = {{ 0 }};",
            f"  for (int {i} = 0; {i} < 8; {i}++) {{",
            f"    {z} >>= 1;",
            f"    {z}[0] = {value};",
            f"    FOR (int {k} = 0; {k} < {taps}; {k}++) {target} += {z}[{k}] * ({k} + 1);",
            *["    " + line for line in (self.simple() if self.chance(50) else [])],
            "  }",
            "}",
        ]

    def bits(self) -> list[str]:
        """A shift register with feedback."""
        i, a, mask = self.name("i"), self.pick(self.scalars), self.pick(("0xEDB88320u", "0x1021", "0xb8"))
        step = self.pick(
            (f"{a} = ({a} >> 1) ^ ({a} & 1 ? {mask} : 0);", f"{a} = {a} << 1 ^ ({a} < 0 ? 7 : 0);")
        )
        lines = [f"for (int {i} = 0; {i} < 8; {i}++) {{", f"  {step}", "}"]
        return [f"{a} ^= {self.value(1)};", *lines]

    def machine(self) -> list[str]:
        """States over the elements of an array."""
        s, i = self.name("s"), self.name("i")
        self.counters[i] = (0, 7)
        cases = []
        for state in range(self.choices.integer(2, 4)):
            inner = ["    " + line for line in self.simple()]
            following = f"      if ({self.condition()}) {s} = {self.choices.integer(0, 4)};"
            leaving = ["      break;"] * self.chance(85)
            cases += [f"    case {state}:", *inner, following, *leaving]
        del self.counters[i]
        return [
            "{",
            f"  int {s} = {self.choices.integer(0, 2)};",
            f"  for (int {i} = 0; {i} < 8; {i}++) {{",
            f"    switch ({s}) {{",
            *cases,
            "    }",
            "  }",
            "}",
        ]

    def merge(self) -> list[str]:
        """Two indices that data advances."""
        i, j, k = self.name("i"), self.name("j"), self.name("k")
        a, b = self.pick(list(self.arrays)), self.pick(list(self.arrays))
        c = self.pick([name for name in self.arrays if name not in self.fixed])
        head = f"for (int {i} = 0, {j} = 0, {k} = 0; {i} < 3 && {j} < 4; {k}++) {{"
        taken = f"if ({a}[{i}] {self.pick(('<', '<=', '!='))} {b}[{j}]) {{ {c}[{k}] = {a}[{i}]; {i}++; }}"
        return [head, f"  {taken} else {{ {c}[{k}] = {b}[{j}]; {j}++; }}", "}"]

    def sort(self) -> list[str]:
        i, j, t = self.name("i"), self.name("j"), self.name("t")
        a = self.pick([name for name in self.arrays if name not in self.fixed])
        n = self.choices.integer(3, 6)
        if self.chance(50):
            return [
                f"for (int {i} = 0; {i} < {n}; {i}++) {{",
                f"  for (int {j} = 0; {j} + 1 < {n} - {i}; {j}++) {{",
                f"    if ({a}[{j}] > {a}[{j} + 1]) {{",
                f"      int {t} = {a}[{j}]; {a}[{j}] = {a}[{j} + 1]; {a}[{j} + 1] = {t};",
                "    }",
                "  }",
                "}",
            ]
        return [
            f"for (int {i} = 1; {i} < {n}; {i}++) {{",
            f"  int {t} = {a}[{i}], {j} = {i};",
            f"  while ({j} > 0 && {a}[{j} - 1] > {t}) {{ {a}[{j}] = {a}[{j} - 1]; {j}--; }}",
            f"  {a}[{j}] = {t};",
            "}",
        ]

    # The program

    def program(self) -> str:
        """The text."""
        head = ["#include <stdio.h>", 'static void show(long long x) { printf("%lld ", x); }']
        for _ in range(self.choices.integer(2, 4)):
            name, extent = self.name("a"), self.pick(EXTENTS)
            self.arrays[name] = extent
            const = self.chance(25) and len(self.fixed) + 1 < len(self.arrays)
            self.fixed |= {name} if const else set()
            values = ", ".join([str(self.choices.integer(0, 127)) for _ in range(extent)])
            head.append(
                f"static {'const ' if const else ''}{self.pick(TYPES)} {name}[{extent}] = {{ {values} }};"
            )
        lines = []
        for _ in range(self.choices.integer(3, 5)):
            self.scalars.append(self.name("x"))
            kind = (
                self.pick(("long long", "unsigned long long"))
                if self.wide and self.chance(30)
                else self.pick(TYPES)
            )
            lines.append(f"{kind} {self.scalars[-1]} = {self.choices.integer(0, 120)};")
        lines += [
            "int stream in = pstream_create(int, 5000);",
            "int stream out = pstream_create(int, 60000);",
        ]
        lines += [f"in <! {self.choices.integer(-50, 200)};" for _ in range(self.choices.integer(0, 30))]
        lines += ["pstream_close(in);", *self.kernel("k1"), *(self.kernel("k2") if self.chance(15) else [])]
        lines += ["pstream_close(out);", *[f"show({name});" for name in self.scalars], r'printf("\n");']
        for name, extent in self.arrays.items():
            lines.append(f"for (int q = 0; q < {extent}; q++) show({name}[q]);")
        lines += ["for (int w = 1; w;) {", "  int e = 0;", "  w :: e <? out;", "  show(e);", "}", "return 0;"]
        return "\n".join([*head, "int main(void) {", *["  " + line for line in lines], "}"]) + "\n"

    def kernel(self, name: str) -> list[str]:
        """Stages in sequence, at times all in a loop, or for each element of the stream."""
        local = self.name("l")
        self.arrays[local] = extent = self.pick(EXTENTS)
        j = self.name("j")
        start = f"for (int {j} = 0; {j} < {extent}; {j}++) {local}[{j}] = {self.pick(('0', j, '9 - ' + j))};"
        most = self.choices.integer(1, 4)
        makers = (self.counted, self.triangle, self.begun, self.reduction, self.window, self.machine)
        stages = [line for _ in range(most) for line in self.pick((*makers, self.statement))()]
        if self.chance(35):
            w, x = self.name("w"), self.pick(self.scalars)
            head = [f"for (int {w} = 1; {w};) {{", f"  {w} :: {x} <? in;", f"  if (!{w}) break;"]
            stages = [*head, *["  " + line for line in stages], "}"]
        del self.arrays[local]
        return [
            f"{name}: kernel {{",
            *["  " + line for line in [f"int {local}[{extent}];", start, *stages]],
            "}",
        ]


def nests(seed: int) -> str:
    """The text of the program of a seed; a quarter of them have 64-bit variables."""
    return Nests(Seeded(seed), seed % 4 == 0).program()


if __name__ == "__main__":
    import sys

    print(nests(int(sys.argv[1])), end="")
