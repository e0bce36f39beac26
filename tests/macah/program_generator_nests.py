"""Random programs as people write kernels: sequences and nests of counted loops over arrays and streams.

Where `program_generator` mixes all statements and expressions of the language, these have the shapes that
passes look for: reductions, stencils, histograms, searches, windows, state machines, triangular nests, loops
that begin where a branch says. Indices stay inside their arrays, and all loops end.
"""

from __future__ import annotations

from program_generator_parts import EXTENTS, FOLDS, TYPES, Range
from program_generator_shapes import Shapes
from program_generator_types import Seeded


class Nests(Shapes):
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
        more = (
            self.begun,
            self.window,
            self.bits,
            self.machine,
            self.merge,
            self.triangle,
            self.sort,
            self.stages,
            self.gathered,
        )
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

    def begun(self) -> list[str]:
        """A loop whose counter a branch may set before."""
        i = self.name("i")
        loop = self.looped(f"for (; {i} < 8; {i}++)", i, (0, 7), 3, 6)
        start = f"if ({self.condition()}) {i} = {self.choices.integer(1, 7)};"
        after = [f"  {self.pick(self.scalars)} += {i};"] * self.chance(50)
        return ["{", f"  int {i} = 0;", f"  {start}", *["  " + line for line in loop], *after, "}"]

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
        local, table, x = self.name("l"), self.name("m"), self.pick(self.scalars)
        self.arrays[local] = extent = self.pick(EXTENTS)
        self.tables[table] = rows, columns = self.pick(((2, 3), (4, 4), (3, 5), (5, 2)))
        i, j, w = self.name("i"), self.name("j"), self.name("w")
        across = f"for (int {i} = 0; {i} < {rows}; {i}++) for (int {j} = 0; {j} < {columns}; {j}++)"
        along = f"for (int {j} = 0; {j} < {extent}; {j}++)"
        begin = [
            f"int {local}[{extent}], {table}[{rows}][{columns}];",
            f"{along} {local}[{j}] = {self.pick(('0', j, '9 - ' + j))};",
            f"{across} {table}[{i}][{j}] = {self.pick(('0', j, i))};",
        ]
        several = (self.counted, self.triangle, self.begun, self.reduction, self.window, self.machine)
        makers = (*several, self.stages, self.planes, self.ragged, self.gathered, self.statement)
        stages = [line for _ in range(self.choices.integer(1, 4)) for line in self.pick(makers)()]
        if self.chance(35):
            head = [f"for (int {w} = 1; {w};) {{", f"  {w} :: {x} <? in;", f"  if (!{w}) break;"]
            stages = [*head, *["  " + line for line in stages], "}"]
        end = f"{across} {x} = {x} * 3 + {table}[{i}][{j}];"
        del self.arrays[local], self.tables[table]
        return [f"{name}: kernel {{", *["  " + line for line in [*begin, *stages, end]], "}"]


def nests(seed: int) -> str:
    """The text of the program of a seed; a quarter of them have 64-bit variables."""
    return Nests(Seeded(seed), seed % 4 == 0).program()


if __name__ == "__main__":
    import sys

    print(nests(int(sys.argv[1])), end="")
