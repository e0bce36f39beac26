"""Loops as people write them that have no loops inside that are made at random."""

from __future__ import annotations

from program_generator_parts import FOLDS, Parts


class Shapes(Parts):
    """Makes searches, windows, shift registers, state machines, merges and sorts."""

    def stages(self) -> list[str]:
        """Two loops over the same elements, or over neighbours."""
        first, second, extent = self.name("i"), self.name("i"), self.pick((3, 5, 7, 6))
        a = self.pick([name for name in self.arrays if name not in self.fixed])
        self.counters = {**self.counters, first: (0, extent - 1)}
        value = self.value()
        del self.counters[first]
        self.counters[second] = (0, extent - 1)
        used, more = self.pick(FOLDS).format(t=self.pick(self.scalars), v=self.value(1)), self.simple()
        del self.counters[second]
        at = self.pick((second, second, f"{extent - 1} - {second}", f"{second} / 2"))
        between = self.simple() if self.chance(30) else []
        return [
            f"for (int {first} = 0; {first} < {extent}; {first}++) {{",
            f"  {a}[{first}] = {value};",
            "}",
            *between,
            f"for (int {second} = 0; {second} < {extent}; {second}++) {{",
            f"  {self.pick(self.scalars)} = {a}[{at}] + {second};",
            f"  {used}",
            *["  " + line for line in more],
            "}",
        ]

    def ragged(self) -> list[str]:
        """Loops that run as often as the stream says: one fills an array, a nest uses it, one sends it."""
        n, v, s, i, j, r, k = (self.name(letter) for letter in "nvsijrk")
        a = self.pick([name for name in self.arrays if name not in self.fixed])
        extent, limit = self.arrays[a], self.pick((3, 5, 7))
        ends = self.pick((f"{a}[{r} % {extent}] & 3", n, r, f"({r} + {n}) & 3"))
        kept = f"{self.pick(self.scalars)} ^= {s};", f"{a}[{r} % {extent}] = {s};"
        used = self.pick((f"out <! {s};", *kept))
        nest = [
            f"for (int {r} = 0; {r} < {n}; {r}++) {{",
            f"  int {s} = {self.pick((r, '0', n))};",
            f"  for (int {k} = 0; {k} < ({ends}); {k}++) {s} += {a}[({k} + {r}) % {extent}] * ({k} + 1);",
            f"  {used}",
            "}",
        ]
        tail = [f"for (int {j} = 0; {j} < {n}; {j}++) {{", f"  out <! {a}[{j} % {extent}];", "}"]
        body = [
            f"int {n} = {limit}, {v};",
            f"{n} <? in;",
            f"{n} &= {limit};",
            f"for (int {i} = 0; {i} < {n}; {i}++) {{",
            f"  {v} = {i};",
            f"  {v} <? in;",
            f"  {a}[{i} % {extent}] = {v};",
            "}",
            *(nest if self.chance(75) else []),
            *(self.simple() if self.chance(30) else []),
            *(tail if self.chance(70) else nest if self.chance(30) else []),
        ]
        return ["{", *["  " + line for line in body], "}"]

    def gathered(self) -> list[str]:
        """A loop that collects elements, and another one that goes on where it ended: stack, queue, heap."""
        n, v, i, k, h = (self.name(letter) for letter in "nvikh")
        a = self.pick([name for name in self.arrays if name not in self.fixed])
        extent = self.arrays[a]
        self.counters[i] = (0, 7)
        value, condition = self.value(1), self.condition()
        del self.counters[i]
        kept = self.pick(("", f"if ({condition}) ", f"if ({v} & 1) "))
        above = f"({k} - 1) >> 1"
        raised = f"while ({k} > 0 && {a}[{above}] > {v}) {{ {a}[{k}] = {a}[{above}]; {k} = {above}; }}"
        moved = f"while ({k} > 0) {{ {a}[{k}] = {a}[{k} - 1]; {k}--; }}"
        put = self.pick((f"{a}[{k}] = {v};", f"{raised} {a}[{k}] = {v};", f"{moved} {a}[0] = {v};"))
        used = self.pick(FOLDS).format(t=self.pick(self.scalars), v=f"{a}[{n} % {extent}]")
        sunk = f"for (int {h} = {n}; {h} < {extent}; {h}++) {a}[{h}] ^= {h};"
        more = self.pick(("", "", sunk, f"out <! {n};"))
        goes_on = self.pick(
            (f"while ({n} > 0) {{ {n}--;", f"while ({n}--) {{", f"for (; {n} < {extent}; {n}++) {{")
        )
        return [
            "{",
            f"  int {n} = 0;",
            f"  for (int {i} = 0; {i} < {self.pick((3, 6, 8))}; {i}++) {{",
            f"    int {v} = {value}, {k} = {n};",
            f"    {kept}{{ if ({n} < {extent} - 1) {n}++; {put} }}",
            "  }",
            f"  {goes_on}",
            f"    {used}",
            f"    {more}",
            "  }",
            f"  {self.pick(self.scalars)} += {n};",
            "}",
        ]

    def planes(self) -> list[str]:
        """Two nests over a table, the second one at times along its columns, or over half of it."""
        name = self.pick(list(self.tables))
        rows, columns = self.tables[name]
        i, j, k, m = (self.name("i") for _ in range(4))
        self.counters = {**self.counters, i: (0, rows - 1), j: (0, columns - 1)}
        value, first = self.value(), self.simple() if self.chance(40) else []
        del self.counters[i], self.counters[j]
        used = self.pick(FOLDS).format(t=self.pick(self.scalars), v=f"({name}[{k}][{m}] + {self.atom()})")
        outer, inner = (k, rows), (m, columns)
        if self.chance(40):
            outer, inner = inner, outer
        low = outer[0] if self.chance(20) else "0"
        return [
            f"for (int {i} = 0; {i} < {rows}; {i}++) {{",
            f"  for (int {j} = 0; {j} < {columns}; {j}++) {{",
            f"    {name}[{i}][{j}] = {value};",
            *["    " + line for line in first],
            "  }",
            "}",
            f"for (int {outer[0]} = 0; {outer[0]} < {outer[1]}; {outer[0]}++) {{",
            f"  for (int {inner[0]} = {low}; {inner[0]} < {inner[1]}; {inner[0]}++) {{",
            f"    {used}",
            "  }",
            "}",
        ]

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
