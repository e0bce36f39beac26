"""Random Macah programs with one kernel, without undefined behaviour, that print all they computed.

A program is made from a seed alone. It reads a closed stream, writes another, and reads and writes captured
scalars and arrays of every integer type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

TYPES = (
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "int",
    "unsigned",
    "_Bool",
    "long long",
    "unsigned long long",
)
BITS = {"signed char": 7, "unsigned char": 8, "short": 15, "unsigned short": 16, "int": 31, "unsigned": 32}
STREAM_LIMIT = 200


@dataclass
class Generator:
    """Makes one program. `wide` allows 64-bit types, `size` is about the number of statements."""

    seed: int
    wide: bool = True
    size: int = 18
    random: Random = field(init=False)
    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    # What the host has before the kernel, for those who run it without a host.
    initial: dict[str, list[str]] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    stream_types: dict[str, str] = field(default_factory=dict)
    fresh: int = 0
    budget: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.budget = self.size

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def type(self) -> str:
        while True:
            found = self.random.choice(TYPES)
            if self.wide or "long" not in found:
                return found

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def constant(self, kind: str) -> str:
        if kind == "_Bool":
            return str(self.random.randrange(2))
        bits = BITS.get(kind, 62)
        value = self.random.getrandbits(self.random.randint(1, bits))
        if not kind.startswith("unsigned") and self.random.random() < 0.4:
            return f"-{value}" + ("LL" if "long" in kind else "")
        return f"{value}" + ({"unsigned": "u", "long long": "LL", "unsigned long long": "ULL"}.get(kind, ""))

    # Expressions

    def expression(self, depth: int) -> str:
        roll = self.random.random()
        if depth <= 0 or roll < 0.2:
            return self.leaf()
        a = self.expression(depth - 1)
        if roll < 0.28:
            return f"{self.pick('-', '~', '!')}({a})"
        if roll < 0.34:
            return f"({self.type()})({a})"
        b = self.expression(depth - 1)
        if roll < 0.42:
            return f"(({a}) {self.pick('/', '%')} ((({b}) & 15) + 1))"
        if roll < 0.5:
            return f"(({a}) {self.pick('<<', '>>')} (({b}) & 15))"
        if roll < 0.56:
            return f"(({a}) {self.pick('&&', '||')} ({b}))"
        if roll < 0.62:
            return f"(({a}) ? ({b}) : ({self.expression(depth - 1)}))"
        if roll < 0.67:
            return f"{self.pick('min', 'max')}((int)({a}), (int)({b}))"
        if roll < 0.7:
            return f"abs((int)({a}) - (int)({b}))"
        if roll < 0.74:
            return f"helper((int)({a}), (int)({b}))"
        operator = self.pick("+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "+", "-")
        return f"(({a}) {operator} ({b}))"

    def leaf(self) -> str:
        roll = self.random.random()
        if roll < 0.25:
            return self.constant(self.type())
        if roll < 0.45 and self.arrays:
            return self.element(0)
        return self.random.choice(list(self.scalars))

    def element(self, depth: int) -> str:
        array = self.random.choice(list(self.arrays))
        indices = []
        for extent in self.arrays[array][1]:
            if self.random.random() < 0.3:
                indices.append(str(self.random.randrange(extent)))
            else:
                index = self.expression(depth - 1) if depth > 0 else self.random.choice(list(self.scalars))
                indices.append(f"({index}) & {extent - 1}")
        return array + "".join(f"[{index}]" for index in indices)

    # Statements

    def block(self, level: int, loops: int, most: int = 4) -> str:
        known, arrays = dict(self.scalars), dict(self.arrays)
        lines = [self.statement(level, loops) for _ in range(self.random.randint(1, most))]
        self.scalars, self.arrays = known, arrays
        inner = "".join(lines)
        return "{\n" + "".join(f"  {line}\n" for line in inner.splitlines()) + "}"

    def target(self) -> str:
        free = [name for name in self.scalars if name not in self.fixed]
        return self.random.choice(free) if self.random.random() < 0.7 else self.element(1)

    def statement(self, level: int, loops: int) -> str:
        self.budget -= 1
        roll = self.random.random()
        if self.budget < 0 or level <= 0:
            roll *= 0.45
        if roll < 0.22:
            return f"{self.target()} = {self.expression(3)};\n"
        if roll < 0.3:
            return f"{self.target()} {self.pick('+', '-', '*', '&', '|', '^')}= {self.expression(2)};\n"
        if roll < 0.35:
            target = self.target()
            return f"{target}{self.pick('++', '--')};\n"
        if roll < 0.39:
            return f"if (sent < {STREAM_LIMIT}) {{ out <! {self.expression(2)}; sent++; }}\n"
        if roll < 0.45:
            return f"{self.target()} <? in;\n"
        if roll < 0.53:
            kind, name = self.type(), self.name("v")
            text = f"{kind} {name} = {self.expression(2)};\n"
            self.scalars[name] = kind
            return text
        if roll < 0.57:
            return self.local_array()
        if roll < 0.72:
            other = f" else {self.block(level - 1, loops)}" if self.random.random() < 0.5 else ""
            return f"if ({self.expression(2)}) {self.block(level - 1, loops)}{other}\n"
        if roll < 0.78:
            return self.switch(level, loops)
        if roll < 0.83 and loops:
            return f"if ({self.expression(1)}) {self.pick('break', 'continue')};\n"
        if roll < 0.87:
            return self.unrolled(level, loops)
        return self.loop(level, loops)

    def local_array(self) -> str:
        kind, name = self.type(), self.name("l")
        shape = self.random.choice([(4,), (8,), (2, 4)])
        values = ", ".join(self.constant(kind) for _ in range(self.random.randint(1, shape[0])))
        dimensions = "".join(f"[{extent}]" for extent in shape)
        self.arrays[name] = (kind, shape)
        if len(shape) > 1:
            values = f"{{ {self.constant(kind)} }}"
        return f"{kind} {name}{dimensions} = {{ {values} }};\n"

    def switch(self, level: int, loops: int) -> str:
        lines = []
        labels = self.random.sample(range(6), 3)
        default = self.random.randrange(4)
        for position in range(4):
            if position == default:
                lines.append("default:")
            elif labels:
                lines.append(f"case {labels.pop()}:")
            lines.append(self.block(level - 1, 0, 2))
            if self.random.random() < 0.6:
                lines.append("break;")
        return f"switch (({self.expression(2)}) & 7) {{\n" + "\n".join(lines) + "\n}\n"

    def unrolled(self, level: int, loops: int) -> str:
        name = self.name("u")
        self.scalars[name] = "int"
        self.fixed.add(name)
        body = self.block(level - 1, 1, 2)
        del self.scalars[name]
        return f"FOR (int {name} = 0; {name} < {self.random.randint(1, 3)}; {name}++) {body}\n"

    def loop(self, level: int, loops: int) -> str:
        name = self.name("i")
        bound = self.pick("0", "1", "2", "3", "5", f"(({self.expression(1)}) & 3)")
        self.scalars[name] = "int"
        self.fixed.add(name)
        body = self.block(level - 1, loops + 1)
        del self.scalars[name]
        match self.random.randrange(4):
            case 0:
                condition = f"{name}++ < {bound} && ({self.expression(1)})"
                return f"{{ int {name} = 0; while ({condition}) {body} }}\n"
            case 1:
                return f"{{ int {name} = 0; do {body} while (++{name} < {bound}); }}\n"
            case _:
                return f"for (int {name} = 0; {name} < {bound}; {name}++) {body}\n"

    def only_loop(self) -> str:
        """A loop that is all of its kernel, on a captured counter."""
        condition = self.pick("count-- > 0", "--count > 0", "count-- > 0 && (" + self.expression(1) + ")")
        if self.random.random() < 0.3:
            return f"do {self.block(3, 1)} while ({condition});\n"
        return f"while ({condition}) {self.block(3, 1)}\n"

    # The program

    def program(self) -> str:
        for _ in range(5):
            self.scalars[self.name("s")] = self.type()
        for shape in ((8,), (4, 4)):
            self.arrays[self.name("a")] = (self.type(), shape)
        scalars, arrays = dict(self.scalars), dict(self.arrays)
        lines = []
        for name, kind in scalars.items():
            self.initial[name] = [self.constant(kind)]
            lines.append(f"{kind} {name} = {self.initial[name][0]};")
        for name, (kind, shape) in arrays.items():
            total = shape[0] if len(shape) == 1 else shape[0] * shape[1]
            self.initial[name] = [self.constant(kind) for _ in range(total)]
            braces = f"{{ {', '.join(self.initial[name])} }}"
            lines.append(f"{kind} {name}{''.join(f'[{e}]' for e in shape)} = {braces};")
        element = self.type()
        received, sent = self.type(), self.type()
        self.stream_types = {"in": received, "out": sent}
        self.received = [self.constant(element) for _ in range(self.random.randint(0, 20))]
        lines += [
            f"{received} stream in = pstream_create({received}, 64);",
            f"{sent} stream out = pstream_create({sent}, {STREAM_LIMIT + 1});",
            "int sent = 0;",
        ]
        lines += [f"in <! {value};" for value in self.received]
        lines.append("pstream_close(in);")
        if self.random.random() < 0.25:
            body = [self.only_loop()]
            self.initial["count"] = [str(self.random.randrange(6))]
            lines.append(f"int count = {self.initial['count'][0]};")
        else:
            body = [self.statement(4, 0) for _ in range(6)]
        self.scalars, self.arrays = scalars, arrays
        lines += ["kernel {", *("  " + line for line in "".join(body).splitlines()), "}"]
        lines += [f'printf("{name} %lld\\n", (long long){name});' for name in scalars]
        for name, (_, shape) in arrays.items():
            total = shape[0] if len(shape) == 1 else shape[0] * shape[1]
            place = f"{name}[i]" if len(shape) == 1 else f"{name}[i / {shape[1]}][i % {shape[1]}]"
            lines.append(f'for (int i = 0; i < {total}; i++) printf("%lld ", (long long){place});')
            lines.append('printf("\\n");')
        lines += [
            "pstream_close(out);",
            f"for (;;) {{ {sent} x = 0; x <? out; if (sent-- <= 0) break;",
            '  printf("%lld ", (long long)x); }',
            'printf("\\n");',
            "return 0;",
        ]
        text = "\n".join("  " + line for line in lines)
        helper = (
            "static int helper(int x, int y) {\n  if (x > y) return x - y;\n"
            "  for (int i = 0; i < 3; i++) { x ^= y >> i; if (x & 4) return x; }\n  return x * 3;\n}\n"
        )
        return f"#include <stdio.h>\n{helper}int main(void) {{\n{text}\n}}\n"


def program(seed: int, wide: bool = True, size: int = 18) -> str:
    """The text of the program of a seed."""
    return Generator(seed, wide, size).program()


if __name__ == "__main__":
    import sys

    print(program(int(sys.argv[1])), end="")
