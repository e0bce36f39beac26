"""What random nests are made of: choices, expressions whose indices stay inside arrays, simple statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from program_generator_types import Choices

T = TypeVar("T")
Range = tuple[int, int]  # the values of a loop's counter, both ends included
TYPES = ("int", "int", "int", "unsigned", "short", "unsigned char", "signed char")
EXTENTS = (8, 16, 12, 24, 7)
COMBINED = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} ^ {b}", "{a} & {b}", "{a} | {b}", "min({a}, {b})")
COMBINED += ("max({a}, {b})", "abs({a} - {b})", "({a} < {b} ? {a} : {b} + 1)", "({a} >> ({b} & 3))")
COMBINED += ("({a} == {b})", "{a} / ({b} & 7 | 1)", "{a} % 5 + {b}", "{a} * 3 + {b}")
FOLDS = ("{t} += {v};", "{t} ^= {v};", "{t} = max({t}, {v});", "{t} = min({t}, {v});", "{t} |= {v};")
FOLDS += ("{t} = {t} * 3 + {v};", "{t} -= {v};", "{t} = {v} - {t};", "{t} &= {v} | 5;")


class Parts:
    """Makes expressions and simple statements over arrays, variables and counters in scope."""

    def __init__(self, choices: Choices, wide: bool) -> None:
        self.choices, self.wide = choices, wide
        self.count, self.depth, self.work = 0, 0, 1
        self.indices = 0  # of tables, around here
        self.arrays: dict[str, int] = {}
        self.tables: dict[str, tuple[int, int]] = {}  # arrays of two dimensions
        self.fixed: set[str] = set()
        self.scalars: list[str] = []
        self.counters: dict[str, Range] = {}

    # Choices

    def pick(self, options: Sequence[T]) -> T:
        return options[self.choices.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.choices.integer(1, 100) > 100 - percent

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def two(self) -> tuple[str, str]:
        first = self.choices.integer(0, len(self.scalars) - 1)
        return self.scalars[first], self.scalars[first - 1]

    # Expressions

    def atom(self) -> str:
        kind = self.choices.integer(0, 9)
        if kind < 2:
            return str(self.pick((0, 1, 2, 3, 7, 100, 255)))
        if kind < 4 and self.counters:
            return self.pick(list(self.counters))
        return self.element() if kind < 7 - 2 * self.indices else self.pick(self.scalars)

    def value(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(25):
            return self.atom()
        form = self.pick(COMBINED).format(a=self.value(depth - 1), b=self.value(depth - 1))
        return f"({form})"

    def condition(self) -> str:
        return f"{self.value(1)} {self.pick(('<', '>', '==', '!=', '<='))} {self.value(1)}"

    def element(self, write: bool = False) -> str:
        if self.tables and not self.indices and self.chance(30):
            name = self.pick(list(self.tables))
            rows, columns = self.tables[name]
            self.indices += 1
            text = f"{name}[{self.index(rows)}][{self.index(columns)}]"
            self.indices -= 1
            return text
        names = [name for name in self.arrays if not (write and name in self.fixed)]
        name = self.pick(names)
        return f"{name}[{self.index(self.arrays[name])}]"

    def index(self, extent: int) -> str:
        """An affine index where a counter's range allows it, else any, held inside."""
        if self.counters and self.chance(75):
            i = self.pick(list(self.counters))
            low, high = self.counters[i]
            choices = [f"{i} + {k}" for k in range(-2, 4) if low + k >= 0 and high + k < extent]
            choices += [f"{k} - {i}" for k in (high, high + 1) if k - high >= 0 and k - low < extent]
            for j, (first, last) in self.counters.items():
                choices += [
                    f"{i} * {w} + {j}" for w in (2, 3, 4) if low >= 0 <= first and high * w + last < extent
                ]
            if choices:
                return self.pick(choices)
        if self.chance(15):
            return str(self.choices.integer(0, extent - 1))
        if extent & (extent - 1):
            return f"(unsigned)({self.value(1)}) % {extent}"
        return f"({self.value(1)}) & {extent - 1}"

    # Statements

    def simple(self) -> list[str]:
        target = self.pick(self.scalars) if self.chance(55) else self.element(write=True)
        match self.choices.integer(0, 11):
            case 0 | 1 | 2 | 3:
                return [self.pick(FOLDS).format(t=target, v=self.value())]
            case 4 | 5 | 6:
                return [f"{target} = {self.value()};"]
            case 7:
                return [f"if ({self.condition()}) {{", f"  {target} = {self.value(1)};", "}"]
            case 8:
                best, at = self.two()
                return [f"if ({target} < {best}) {{ {best} = {target}; {at} = {self.atom()}; }}"]
            case 9:
                return [f"out <! {self.value()};"]
            case 10:
                worked, to = self.two()
                return [f"{worked} :: {to} <? in;"]
            case _:
                return [f"{self.element(write=True)}{self.pick(('++', '--'))};"]
