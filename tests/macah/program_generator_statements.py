"""Random simple statements: assignments, declarations, shifts, pointers, streams."""

from __future__ import annotations

import re

from program_generator_expressions import Expressions
from program_generator_types import (
    INT,
    Channel,
    Ex,
    Scalar,
    Struct,
    Type,
    Var,
    dimensions,
)

SIMPLE = {
    "assign": 20,
    "increment": 3,
    "declare": 8,
    "declare_array": 3,
    "declare_struct": 3,
    "effects_line": 6,
    "call_line": 5,
    "copy": 3,
    "send": 6,
    "receive": 6,
    "shift": 4,
    "point": 3,
    "walk": 2,
    "leave": 4,
    "check": 1,
}
SHAPES = ((4,), (8,), (3,), (2, 4), (3, 5), (2, 3, 2))


class Statements(Expressions):
    """Makes lists of lines; `compound` names the methods for statements with statements inside."""

    structs: list[Struct]
    outer: set[str] = frozenset()  # type: ignore[assignment]  # the names that this scope may hide
    compound: dict[str, int]
    budget: int = 0
    loops: int = 0  # enclosing loops of the kernel or function
    breakable: bool = False
    result: Type | None | bool = False  # False: not in a function
    shiftables: bool = True

    def block(self, level: int, most: int = 4) -> list[str]:
        """Statements in a scope of their own, without braces."""
        before, self.outer = (dict(self.scope), self.outer), set(self.scope)
        lines = [line for _ in range(self.choices.integer(1, most)) for line in self.statement(level)]
        self.scope, self.outer = before
        return ["  " + line for line in lines]

    def braced(self, head: str, level: int, most: int = 4, tail: str = "") -> list[str]:
        return [f"{head} {{".lstrip(), *self.block(level, most), f"}}{tail}"]

    def statement(self, level: int) -> list[str]:
        self.budget -= 1
        options = SIMPLE if self.budget < 0 or level <= 0 else {**SIMPLE, **self.compound}
        kind = self.weighted(options)
        return getattr(self, kind)(level) or self.assign(level)  # type: ignore[no-any-return]

    # Simple statements

    def assign(self, level: int) -> list[str]:
        target = self.place(2, write=True)
        if target is None:
            return [";"]
        if self.chance(15):
            other = self.place(0, write=True)
            assert other is not None
            if not other.clashes(target) and other.text != target.text:
                return [f"{target.text} = {other.text} = {self.pure(2).text};"]
        return [f"{self.assignment(target, 3).text};"]

    def increment(self, level: int) -> list[str]:
        target = self.place(1, write=True)
        return [f"{target.text}{self.pick(('++', '--'))};"] if target else []

    def effects_line(self, level: int) -> list[str]:
        a, b = self.expression(2), self.effect(2)
        form = self.pick(("({a}) && ({b});", "({a}) || ({b});", "({a}) ? ({b}) : ({c});", "({a}), ({b});"))
        return [form.format(a=a.text, b=b.text, c=self.effect(1).text)]

    def declare(self, level: int) -> list[str]:
        kind = self.scalar_type()
        value = self.expression(3).text
        const = "const " if self.chance(10) else ""
        name = self.shadowing("v", value)
        self.scope[name] = Var(name, kind, fixed=bool(const))
        return [f"{const}{kind.name} {name} = {value};"]

    def shadowing(self, prefix: str, value: str) -> str:
        """A new name, or at times one that hides another, which the value does not read."""
        if self.chance(6) and self.outer:
            name = self.pick(sorted(self.outer))
            self.outer.discard(name)
            pointers = any(v.object == name and v.name != name for v in self.scope.values())
            if not pointers and not re.search(rf"\b{name}\b", value):
                return name
        return self.name(prefix)

    def declare_array(self, level: int) -> list[str]:
        kind, shape, name = self.scalar_type(), self.pick(SHAPES), self.name("l")
        shiftable: tuple[bool, ...] = ()
        if self.chance(35) and self.shiftables:
            name = self.name("z")
            shiftable = tuple(self.chance(50) for _ in shape)
        storage = "static const " if not shiftable and self.chance(20) else ""
        self.scope[name] = Var(name, kind, shape, shiftable if any(shiftable) else (), bool(storage))
        text = f"{storage}{kind.name} {name}{dimensions(shape, shiftable)}"
        return [f"{text} = {self.initializer(kind, shape)};"]

    def declare_struct(self, level: int) -> list[str]:
        if not self.structs:
            return []
        kind, name = self.pick(self.structs), self.name("d")
        shape = self.pick(((), (), (2,), (3,)))
        source = self.whole(kind) if not shape and self.chance(40) else None
        value = source.text if source else self.initializer(kind, shape)
        self.scope[name] = Var(name, kind, shape)
        return [f"struct {kind.name} {name}{dimensions(shape)} = {value};"]

    def call_line(self, level: int) -> list[str]:
        made = self.call(2, self.pick((None, None, INT)))
        return [f"{made.text};"] if made else []

    def copy(self, level: int) -> list[str]:
        if not self.structs:
            return []
        kind = self.pick(self.structs)
        target = self.whole(kind, write=True)
        source = self.call(2, kind) if self.chance(40) else None
        source = source or self.whole(kind)
        if target is None or source is None:
            return []
        return [f"{target.text} = {source.text};"]

    def check(self, level: int) -> list[str]:
        a = self.pure(2)
        return [f"assert(({a.text}) == ({a.text}));"]

    def leave(self, level: int) -> list[str]:
        exits = (["break"] if self.breakable else []) + (["continue"] if self.loops else [])
        if self.result is not False:
            exits.append(f"return {self.returned()}".rstrip())
        return [f"if ({self.expression(2).text}) {self.pick(exits)};"] if exits else []

    def returned(self) -> str:
        if isinstance(self.result, Struct):
            found = self.whole(self.result)
            return found.text if found else f"(struct {self.result.name}) {self.initializer(self.result, ())}"
        return self.expression(2).text if isinstance(self.result, Scalar) else ""

    # Arrays and pointers

    def shift(self, level: int) -> list[str]:
        """A shift, and a store to each place that it vacates or may vacate."""
        found = [v for v in self.scope.values() if any(v.shiftable)]
        if not found:
            return []
        var = self.pick(found)
        indexed = self.choices.integer(0, max(d for d, mark in enumerate(var.shiftable) if mark))
        moved = next(d for d in range(indexed, len(var.shape)) if var.shiftable[d])
        extent = var.shape[moved]
        indices = [self.index(n, 1) for n in var.shape[:indexed]]
        text = var.name + "".join(f"[{i.text}]" for i in indices)
        constant = self.chance(60)
        amount = str(self.choices.integer(-extent, extent + 1)) if constant else self.pure(2).text
        line = f"{text} {self.shift_operator()}= {amount};"
        return [line, *self.refilled(var, moved, int(amount) if constant else None, ">>=" in line)]

    def refilled(self, var: Var, moved: int, amount: int | None, up: bool) -> list[str]:
        extent = var.shape[moved]
        vacated = range(extent)
        if amount is not None:
            by = amount if up else -amount
            vacated = range(min(by, extent)) if by > 0 else range(max(extent + by, 0), extent)
        names = [self.name("w") for _ in var.shape]
        heads = []
        for d, (name, n) in enumerate(zip(names, var.shape, strict=True)):
            low, high = (vacated.start, vacated.stop) if d == moved else (0, n)
            loop = "FOR" if n < 4 and self.chance(40) else "for"
            heads.append(f"{loop} (int {name} = {low}; {name} < {high}; {name}++)")
        place = var.name + "".join(f"[{name}]" for name in names)
        return (
            [f"{' '.join(heads)} {place} = {' + '.join(names)} * 3 + {self.choices.integer(0, 9)};"]
            if vacated
            else []
        )

    def point(self, level: int) -> list[str]:
        """A pointer to a part of an array, a row or a variable."""
        var = self.pick(list(self.scope.values()))
        if var.compile_time or any(var.shiftable) or var.name.startswith("p"):
            return []
        name = self.name("p")
        const = "const " if var.fixed else ""
        spelled = _spelled(var.type)
        if var.shape and self.chance(70):
            at = self.choices.integer(0, var.shape[0] - 1)
            shape = (var.shape[0] - at, *var.shape[1:])
            inner = dimensions(var.shape[1:])
            declarator = f"(*{name}){inner}" if inner else f"*{name}"
            value = self.pick((f"{var.name} + {at}", f"&{var.name}[{at}]"))
            self.scope[name] = Var(name, var.type, shape, (), var.fixed, var.object)
            return [f"{const}{spelled} {declarator} = {value};"]
        if var.pointer and not var.shape:
            return []
        element = var.name + "".join(f"[{self.choices.integer(0, n - 1)}]" for n in var.shape)
        self.scope[name] = Var(name, var.type, (), (), var.fixed, var.object, True)
        return [f"{const}{spelled} *{name} = &{element};"]

    def walk(self, level: int) -> list[str]:
        """A pointer that walks through an array."""
        found = [
            v
            for v in self.scope.values()
            if len(v.shape) == 1 and isinstance(v.type, Scalar) and not any(v.shiftable)
        ]
        if not found:
            return []
        var, p, n = self.pick(found), self.name("p"), self.name("n")
        const = "const " if var.fixed else ""
        declared = f"{const}{_spelled(var.type)} *{p} = {var.name};"
        target = self.place(0, write=True)
        if target is None or target.writes & {var.object} or target.reads & {var.object}:
            return []
        use = self.pick(
            (
                f"{target.text} += *{p}++;",
                f"{target.text} ^= *{p}; {p} += 1;",
                f"{target.text} -= {p}[0]; ++{p};",
            )
        )
        if not var.fixed and self.chance(40):
            use = self.pick((f"*{p}++ = {target.text} + {n};", f"*{p} += {n}; {p}++;", f"(*{p})--, {p}++;"))
        count = self.choices.integer(0, var.shape[0])
        end = self.pick(
            (
                f"for (int {n} = 0; {n} < {count}; {n}++) {{ {use} }}",
                f"int {n} = {count}; while ({n}-- > 0) {{ {use} }}",
            )
        )
        return ["{", f"  {declared}", f"  {end}", "}"]

    # Streams

    def send(self, level: int) -> list[str]:
        found = [c for c in self.channels.values() if c.sends]
        if not found:
            return []
        channel = self.pick(found)
        value = self.expression(3) if isinstance(channel.type, Scalar) else self.whole(channel.type)
        if value is None:
            return []
        seen = Ex("", value.reads | value.writes, value.writes)
        return [f"{self.tried(15, seen)}{self.end_of(channel)} <! {value.text};"]

    def receive(self, level: int) -> list[str]:
        found = [c for c in self.channels.values() if not c.sends]
        if not found:
            return []
        channel = self.pick(found)
        target = (
            self.place(1, write=True) if isinstance(channel.type, Scalar) else self.whole(channel.type, True)
        )
        if target is None:
            return []
        worked = self.tried(20 if channel.closed else 100, target)
        if not worked and not channel.closed:
            return []
        return [f"{worked}{target.text} <? {self.end_of(channel)};"]

    def tried(self, percent: int, other: Ex) -> str:
        """`w :: `, at times, where `w` is not in the other operand."""
        target = self.place(0, write=True) if self.chance(percent) else None
        if target is None or target.clashes(other):
            return ""
        self.timed = True
        return f"{target.text} :: "

    timed = False  # a non-blocking operation whose outcome hardware may see later

    def end_of(self, channel: Channel) -> str:
        if not channel.count:
            return channel.name
        constants = [v.name for v in self.scope.values() if v.compile_time]
        if constants and self.chance(60):
            return f"{channel.name}[{self.pick(constants)} & {channel.count - 1}]"
        return f"{channel.name}[{self.choices.integer(0, channel.count - 1)}]"


def _spelled(kind: Type) -> str:
    return kind.name if isinstance(kind, Scalar) else f"struct {kind.name}"
