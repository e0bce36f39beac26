"""Random Macah programs, without undefined behaviour, that print all they computed.

A program is canonical text (see `plain_c`): types, tables, functions, some with kernels of their own, and a
`main` with streams filled before and drained after a sequence of kernels that share its variables.
"""

from __future__ import annotations

from program_generator_control import Control
from program_generator_types import (
    ENUMERATORS,
    INT,
    NARROW,
    UNSIGNED,
    Channel,
    Choices,
    Function,
    Scalar,
    Seeded,
    Struct,
    Type,
    Var,
    dimensions,
)

SHAPES = ((4,), (8,), (3,), (4, 4), (2, 3), (2, 2, 3))


class Generator(Control):
    """Makes one program; `size` is about the number of statements of its kernels."""

    def __init__(self, choices: Choices, wide: bool = True, size: int = 14, hardware: bool = False) -> None:
        super().__init__(choices, wide)
        self.size, self.hardware = size, hardware
        self.scope: dict[str, Var] = {}
        self.functions: list[Function] = []
        self.channels: dict[str, Channel] = {}
        self.structs: list[Struct] = []
        self.parts: list[str] = []  # calls of functions with kernels
        self.kernels = 0

    def program(self) -> str:
        """The text."""
        head = ["#include <assert.h>", "#include <stdio.h>"]
        head.append(f"enum tint {{ {', '.join(f'{n} = {v}' for n, v in ENUMERATORS.items())} }};")
        if self.chance(55):
            for _ in range(self.choices.integer(1, 2)):
                head += self.struct()
        globals_ = self.globals()
        outside = dict(self.scope)
        functions = [line for _ in range(self.choices.integer(0, 3)) for line in self.function(outside)]
        self.scope = dict(outside)
        declared = self.variables()
        streams, drained = self.streams()
        body = self.body(outside)
        lines = ["int main(void) {", *["  " + line for line in [*declared, *streams, *body]]]
        printed = [text for name in self.scope for text in self.printed(self.scope[name])]
        lines += ["  " + line for line in [*printed, *drained, "return 0;"]] + ["}"]
        show = ['static void show(long long x) { printf("%lld ", x); }']
        return "\n".join([*head, *globals_, *show, *functions, *self.parts, *lines]) + "\n"

    # Declarations

    def struct(self) -> list[str]:
        name = self.name("s")
        members: list[tuple[str, Scalar | Struct, tuple[int, ...]]] = []
        for k in range(self.choices.integer(1, 4)):
            nested = self.structs and self.chance(25)
            kind: Type = self.pick(self.structs) if nested else self.scalar_type()
            shape = self.pick(((2,), (3,), (2, 2))) if self.chance(30) else ()
            members.append((f"m{k}", kind, shape))
        self.structs.append(Struct(name, tuple(members)))
        inner = " ".join(f"{spelled(t)} {m}{dimensions(s)};" for m, t, s in members)
        return [f"struct {name} {{ {inner} }};"]

    def globals(self) -> list[str]:
        lines = []
        for _ in range(self.choices.integer(0, 3)):
            name, const = self.name("g"), self.chance(40)
            kind, shape = self.any_type(), self.pick(((), *SHAPES))
            self.scope[name] = Var(name, kind, shape, fixed=const)
            declared = f"{'static const ' if const else ''}{spelled(kind)} {name}{dimensions(shape)}"
            lines.append(f"{declared} = {self.initializer(kind, shape)};")
        return lines

    def any_type(self) -> Type:
        return self.pick(self.structs) if self.structs and self.chance(20) else self.scalar_type()

    def variables(self) -> list[str]:
        """The variables of `main`."""
        lines = []
        for _ in range(self.choices.integer(2, 5)):
            kind, name = self.scalar_type(), self.name("x")
            self.scope[name] = Var(name, kind)
            lines.append(f"{kind.name} {name} = {self.constant(kind)};")
        for _ in range(self.choices.integer(0, 3)):
            kind, shape, name = self.any_type(), self.pick(SHAPES), self.name("a")
            marks: tuple[bool, ...] = ()
            if self.chance(25) and isinstance(kind, Scalar):
                name = self.name("z")
                marks = tuple(self.chance(60) for _ in shape)
            self.scope[name] = Var(name, kind, shape, marks if any(marks) else ())
            lines.append(
                f"{spelled(kind)} {name}{dimensions(shape, marks)} = {self.initializer(kind, shape)};"
            )
        if self.structs and self.chance(60):
            kind, name = self.pick(self.structs), self.name("x")
            self.scope[name] = Var(name, kind)
            lines.append(f"struct {kind.name} {name} = {self.initializer(kind, ())};")
        return lines

    def streams(self) -> tuple[list[str], list[str]]:
        """Streams of `main`: what creates and fills them, and what drains them."""
        made, drained = [], []
        for sends in (False,) * self.choices.integer(0, 2) + (True,) * self.choices.integer(0, 2):
            kind = self.any_type()
            count = self.pick((2, 4)) if self.chance(20) else 0
            closed = sends or self.hardware or not self.chance(15)
            name = self.name("out" if sends else "in")
            self.channels[name] = Channel(name, kind, sends, count, closed)
            many, made_now = (f"[{count}]", "") if count else ("", f" = {create(kind)}")
            made.append(f"{spelled(kind)} stream {name}{many}{made_now};")
            for end in [f"{name}[{k}]" for k in range(count)] or [name]:
                made += [f"{end} = {create(kind)};"] if count else []
                made += self.filled(end, kind, closed) if not sends else []
                drained += self.drained(end, kind, not sends and closed)
        return made, drained

    def filled(self, end: str, kind: Type, closed: bool) -> list[str]:
        lines = []
        for _ in range(self.choices.integer(0, 12)):
            value = (
                self.constant(kind)
                if isinstance(kind, Scalar)
                else f"(struct {kind.name}) {self.initializer(kind, ())}"
            )
            lines.append(f"{end} <! {value};")
        return [*lines, *[f"pstream_close({end});"] * closed]

    def drained(self, end: str, kind: Type, closed: bool) -> list[str]:
        name, worked = self.name("e"), self.name("w")
        zero = "0" if isinstance(kind, Scalar) else "{ 0 }"
        return [
            *([] if closed else [f"pstream_close({end});"]),
            f"for (int {worked} = 1; {worked};) {{",
            f"  {spelled(kind)} {name} = {zero};",
            f"  {worked} :: {name} <? {end};",
            *["  " + line for line in self.printed(Var(name, kind))],
            "}",
        ]

    def printed(self, var: Var) -> list[str]:
        """Shows all scalars of a variable; a line for each of its leaves."""
        return [*_shows(var.name, var.type, var.shape), r'printf("\n");']

    # Functions

    def function(self, outside: dict[str, Var]) -> list[str]:
        """A function for kernels to call."""
        name = self.name("f")
        self.scope = {n: _at_memory(v) for n, v in outside.items()} if self.chance(50) else {}
        touches = frozenset(v.name for v in self.scope.values() if not v.fixed)
        self.outer = set(self.scope)
        before, self.channels = self.channels, {}
        parameters: list[Var | Channel] = [self.parameter() for _ in range(self.choices.integer(1, 4))]
        result: Type | None = self.pick((INT, UNSIGNED, *NARROW, None, *self.structs))
        self.memory, self.result, self.budget, self.calls, self.shiftables = "memory", result, 5, 1, False
        lines = ["  " + line for _ in range(self.choices.integer(1, 4)) for line in self.statement(2)]
        if result is not None:
            lines.append(f"  return {self.returned()};")
        self.memory, self.result, self.channels, self.shiftables = "", False, before, True
        self.functions.append(Function(name, result, tuple(parameters), touches))
        self.scope = {}
        inline, gives = "inline " if self.chance(20) else "", spelled(result) if result else "void"
        head = f"static {inline}{gives} {name}"
        return [f"{head}({', '.join(map(declared, parameters))}) {{", *lines, "}"]

    def parameter(self) -> Var | Channel:
        """A parameter, in scope; the first is a value."""
        name, kind = self.name("r"), self.any_type()
        var = Var(name, kind)
        match (
            "value" if not self.scope else self.weighted({"value": 6, "array": 3, "pointer": 3, "stream": 1})
        ):
            case "array":
                var = Var(name, kind, self.pick(SHAPES), (), self.chance(50), "memory")
            case "pointer":
                var = Var(name, kind, (), (), self.chance(30), "memory", True)
            case "stream":
                self.channels[name] = Channel(name, self.scalar_type(), self.chance(50))
                return self.channels[name]
        self.scope[name] = var
        return var

    # Kernels

    def body(self, outside: dict[str, Var]) -> list[str]:
        lines = []
        for _ in range(self.pick((1, 1, 1, 2, 3))):
            lines += self.kernel()
            if self.chance(20):
                self.budget = 0
                lines += self.assign(0)
        if self.chance(15):
            lines += self.part(outside)
        return lines

    def kernel(self) -> list[str]:
        self.kernels += 1
        self.budget, self.calls = self.size, 5
        before, self.outer = dict(self.scope), set(self.scope)
        lines = [line for _ in range(self.choices.integer(1, 6)) for line in self.statement(4)]
        self.scope = before
        kernel = [f"k{self.kernels}: kernel {{", *["  " + line for line in lines], "}"]
        if self.chance(12):
            again = self.name("h")
            return [
                f"for (int {again} = 0; {again} < 2; {again}++) {{",
                *["  " + line for line in kernel],
                "}",
            ]
        return kernel

    def part(self, outside: dict[str, Var]) -> list[str]:
        """A kernel in a function of its own that captures parameters, and the function's call."""
        inside, streams, self.channels = self.scope, self.channels, {}
        self.scope = {n: _at_memory(v) for n, v in outside.items()}
        parameters: list[Var | Channel] = []
        for _ in range(self.choices.integer(1, 4)):
            before = dict(self.scope)
            parameter = self.parameter()
            # A pointer is captured only if it is known what it points to.
            if isinstance(parameter, Var) and parameter.pointer:
                self.scope = before
            else:
                parameters.append(parameter)
        # Two parameters for one array are copied in and out each for itself.
        name = self.name("part")
        lines = self.kernel()
        self.scope, self.channels = inside, streams
        function = Function(name, None, tuple(parameters), frozenset())
        self.effects = True
        arguments = self.arguments(function, 1)
        if arguments is None:
            return []
        texts = [argument.text for argument in arguments]
        objects = [o for a in arguments for o in a.writes if not o.startswith("stream")]
        if len(set(objects)) < len(objects) or any(a.reads & set(outside) for a in arguments):
            return []
        self.parts += [f"static void {name}({', '.join(map(declared, parameters))}) {{", *lines, "}"]
        return [f"{name}({', '.join(texts)});"]


def _at_memory(var: Var) -> Var:
    return Var(var.name, var.type, var.shape, var.shiftable, var.fixed, "" if var.fixed else "memory")


def spelled(kind: Type) -> str:
    return kind.name if isinstance(kind, Scalar) else f"struct {kind.name}"


def create(kind: Type) -> str:
    return f"pstream_create({spelled(kind)}, 5000)"


def declared(parameter: Var | Channel) -> str:
    """A parameter's declaration."""
    if isinstance(parameter, Channel):
        return f"{spelled(parameter.type)} stream {parameter.name}"
    const = "const " if parameter.fixed else ""
    star = "*" if parameter.pointer else ""
    return f"{const}{spelled(parameter.type)} {star}{parameter.name}{dimensions(parameter.shape)}"


def _shows(text: str, kind: Type, shape: tuple[int, ...], depth: int = 0) -> list[str]:
    if shape:
        inner = _shows(f"{text}[q{depth}]", kind, shape[1:], depth + 1)
        return [f"for (int q{depth} = 0; q{depth} < {shape[0]}; q{depth}++) {line}" for line in inner]
    if isinstance(kind, Scalar):
        return [f"show({text});"]
    return [line for name, member, s in kind.members for line in _shows(f"{text}.{name}", member, s, depth)]


def program(seed: int, wide: bool | None = None, size: int = 14, hardware: bool = False) -> str:
    """The text of the program of a seed; a third of them have 64-bit types if nothing else is said."""
    return Generator(Seeded(seed), seed % 3 == 0 if wide is None else wide, size, hardware).program()


if __name__ == "__main__":
    import sys

    print(program(int(sys.argv[1])), end="")
