"""Random programs that receive from their streams in many places, as parsers do.

All loops end: each iteration spends some of the fuel that there is. Of every other program, streams end, too,
and what is received then keeps its value.
"""

from __future__ import annotations

from program_generator_types import Choices, Seeded

VARIABLES = ("a", "b", "c", "d")
STREAMS = ("in0", "in1")
FLAGS = ("f", "g")


class Receives:
    """Makes one program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.streams = STREAMS[: choices.integer(1, 2)]
        self.ends = self.chance(50)
        self.depth = 0
        self.places = 0

    def chance(self, percent: int) -> bool:
        return self.choices.integer(0, 99) < percent

    def pick(self, options: tuple[str, ...]) -> str:
        return options[self.choices.integer(0, len(options) - 1)]

    def value(self) -> str:
        a, b = self.pick(VARIABLES), self.pick(VARIABLES)
        number = self.choices.integer(-2, 9)
        shapes = (a, f"{a} + {b}", f"{a} - {number}", f"{a} ^ {b}", f"{a} & 7", str(number), f"t[{a} & 7]")
        return self.pick(shapes)

    def condition(self) -> str:
        a, number = self.pick(VARIABLES), self.choices.integer(-1, 6)
        shapes = (f"{a} == {number}", f"{a} < {number}", f"{a} > {self.pick(VARIABLES)}", f"({a} & 3) == 1")
        shapes = (*shapes, self.pick(FLAGS), f"t[{a} & 7] > {number}")
        if self.ends:
            shapes = (*shapes, f"pstream_ended({self.pick(self.streams)})")
        first = self.pick(shapes)
        if not self.chance(35):
            return first
        second = f"{self.pick(VARIABLES)} != {self.choices.integer(0, 4)}"
        return f"({first}) {self.pick(('&&', '||'))} {second}"

    def receive(self) -> list[str]:
        self.places += 1
        return [f"{self.pick(VARIABLES[:2] if self.chance(70) else VARIABLES)} <? {self.pick(self.streams)};"]

    def simple(self) -> list[str]:
        kind = self.choices.integer(0, 9)
        if kind < 4:
            return [f"{self.pick(VARIABLES)} = {self.value()};"]
        if kind < 6:
            return [f"{self.pick(FLAGS)} = {self.choices.integer(0, 1)};"]
        if kind < 8:
            return [f"out <! {self.value()};"]
        return [f"t[{self.pick(VARIABLES)} & 7] = {self.value()};"]

    def branch(self) -> list[str]:
        lines = [f"if ({self.condition()}) {{", *self.inside(), "}"]
        return [*lines[:-1], "} else {", *self.inside(), "}"] if self.chance(50) else lines

    def loop(self) -> list[str]:
        body = self.inside()
        if self.chance(25):
            body.append(f"  if ({self.condition()}) {self.pick(('break', 'continue'))};")
        spent = "fuel-- > 0"
        if self.chance(30):
            return ["do {", *body, f"}} while ({spent} && ({self.condition()}));"]
        return [f"while ({spent} && ({self.condition()})) {{", *body, "}"]

    def statement(self) -> list[str]:
        kind = self.choices.integer(0, 99)
        if kind < 30 and self.places < 8:
            return self.receive()
        if self.depth < 4 and kind < 65:
            return self.loop() if kind < 50 else self.branch()
        return self.simple()

    def inside(self) -> list[str]:
        """A body of a loop or a branch."""
        self.depth += 1
        body = self.body()
        self.depth -= 1
        return body

    def body(self) -> list[str]:
        lines = [line for _ in range(self.choices.integer(1, 3)) for line in self.statement()]
        return ["  " + line for line in lines]

    def sent(self, stream: str) -> list[str]:
        """What there is to receive: enough for all the fuel, if that does not end."""
        few = [f"{stream} <! {self.choices.integer(0, 6)};" for _ in range(self.choices.integer(0, 30))]
        if self.ends:
            return [*few, f"pstream_close({stream});"]
        head = "for (int q = 0; q < 550; q++) {"
        return [*few, head, f"  {stream} <! (q * 11 >> {self.choices.integer(0, 3)}) % 7;", "}"]

    def program(self) -> str:
        """The text."""
        stages = [line for _ in range(self.choices.integer(1, 3)) for line in self.statement()]
        self.depth = 1
        inner = [*self.body(), *["  " + line for line in self.receive()], *self.body()]
        main = ["while (fuel-- > 0) {", *inner, *["  " + line for line in self.receive()], "}"]
        lines = [f"int {v} = {self.choices.integer(0, 5)};" for v in (*VARIABLES, *FLAGS)]
        lines.append("int fuel = 40;")
        for stream in self.streams:
            lines += [f"int stream {stream} = pstream_create(int, 600);", *self.sent(stream)]
        lines += ["int stream out = pstream_create(int, 2000);", "k: kernel {"]
        lines += ["  " + line for line in ["int t[8];", *[f"t[{i}] = {i * 3 % 7};" for i in range(8)]]]
        lines += ["  " + line for line in [*stages, *main, *(self.simple() if self.chance(50) else [])]]
        lines += ["}", *["pstream_close(out);"] * self.ends, *[f"show({v});" for v in (*VARIABLES, *FLAGS)]]
        lines += ["for (int w = 1; w;) {", "  int e = 0;", "  w :: e <? out;", "  show(e);", "}", "return 0;"]
        head = ["#include <stdio.h>", 'static void show(long long x) { printf("%lld ", x); }']
        return "\n".join([*head, "int main(void) {", *["  " + line for line in lines], "}"]) + "\n"


def receives(seed: int) -> str:
    """The text of the program of a seed."""
    return Receives(Seeded(seed)).program()


if __name__ == "__main__":
    import sys

    print(receives(int(sys.argv[1])), end="")
