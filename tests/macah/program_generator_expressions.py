"""Random expressions without undefined behaviour but overflow, and without unsequenced effects."""

from __future__ import annotations

from dataclasses import replace

from program_generator_places import Places
from program_generator_types import (
    ENUMERATORS,
    INT,
    Channel,
    Ex,
    Function,
    Scalar,
    Struct,
    Type,
    Var,
)

BINARY = ("+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "+", "-")
QUOTIENTS = (
    "{a} {op} (({b} & 15) + 1)",
    "(unsigned){a} {op} ((unsigned){b} | 1)",
    "(short){a} {op} ((signed char){b} | 1)",
    "{a} {op} (({b} & 255) | 1)",
)
WIDE_QUOTIENTS = (
    "(unsigned long long){a} {op} ((unsigned long long){b} | 1)",
    "(long long)(int){a} {op} ((int){b} | 1)",
)
PARTS = {
    "leaf": 24,
    "binary": 30,
    "unary": 9,
    "cast": 7,
    "shift": 8,
    "choice": 6,
    "logic": 8,
    "quotient": 4,
    "builtin": 3,
    "effect": 6,
    "call": 5,
    "sizeof": 1,
    "comma": 2,
    "ended": 1,
}


class Expressions(Places):
    """Needs the variables in scope, and what may be called."""

    functions: list[Function]
    channels: dict[str, Channel]
    calls: int = 0
    effects: bool = True
    memory: str = ""  # the home of what pointers may stand for, in a function

    def expression(self, depth: int) -> Ex:
        """A scalar."""
        if depth <= 0:
            return self.leaf(1 + depth)
        kind = self.weighted(PARTS)
        match kind:
            case "leaf":
                return self.leaf()
            case "unary":
                a = self.expression(depth - 1)
                return replace(a, text=f"{self.pick('-~!+')}{self.closed(a)}", atom=False)
            case "cast":
                a = self.expression(depth - 1)
                return replace(a, text=f"({self.scalar_type().name}){a.wrapped()}", atom=False)
            case "sizeof":
                a = self.pick(list(self.scope.values()))
                return Ex(f"(int)sizeof {a.name}", atom=False)
            case "effect" if self.effects:
                return self.effect(depth)
            case "call":
                return self.call(depth) or self.leaf()
            case "ended":
                return self.ended() or self.leaf()
            case "logic" | "comma" | "choice":
                return self.sequenced(kind, depth)
        return self.combined(kind, depth)

    def combined(self, kind: str, depth: int) -> Ex:
        """Operands that are not sequenced."""
        a = self.expression(depth - 1)
        b = self.beside(a, depth - 1)
        reads, writes = a.reads | b.reads, a.writes | b.writes
        match kind:
            case "shift":
                if self.wide and self.chance(30):
                    text = f"(unsigned long long){a.wrapped()} {self.shift_operator()} ({b.wrapped()} & 63)"
                else:
                    count = self.pick((15, 31, 7))
                    text = f"{self.operand(a)} {self.shift_operator()} ({b.wrapped()} & {count})"
            case "quotient":
                forms = WIDE_QUOTIENTS if self.wide and self.chance(15) else QUOTIENTS
                text = self.pick(forms).format(a=a.wrapped(), b=b.wrapped(), op=self.pick("/%"))
            case "builtin" if self.chance(30):
                return Ex(f"abs({a.text})", a.reads, a.writes, True)
            case "builtin":
                return Ex(f"{self.pick(('min', 'max'))}((int){a.wrapped()}, {b.text})", reads, writes, True)
            case _:
                text = f"{self.operand(a)} {self.pick(BINARY)} {self.operand(b)}"
        return Ex(text, reads, writes)

    def sequenced(self, kind: str, depth: int) -> Ex:
        """Operands with a sequence point between."""
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        reads, writes = a.reads | b.reads, a.writes | b.writes
        if kind == "logic":
            return Ex(f"{self.operand(a)} {self.pick(('&&', '||'))} {self.operand(b)}", reads, writes)
        if kind == "comma":
            return Ex(f"({a.wrapped()}, {b.wrapped()})", reads, writes, True)
        c = self.expression(depth - 1)
        text = f"{a.wrapped()} ? {b.wrapped()} : {c.wrapped()}"
        return Ex(text, reads | c.reads, writes | c.writes)

    def shift_operator(self) -> str:
        return self.pick(("<<", ">>"))

    def operand(self, ex: Ex) -> str:
        """Often with parentheses; what binds how is for both compilers to agree on."""
        if not ex.writes and "?" not in ex.text and "=" not in ex.text and self.chance(25):
            return ex.text
        return ex.wrapped()

    def closed(self, ex: Ex) -> str:
        return ex.text if ex.atom and ex.text[0] not in "+-" else f"({ex.text})"

    def beside(self, other: Ex, depth: int) -> Ex:
        """An expression that may stand next to another."""
        found = self.expression(max(depth, 0))
        return Ex(self.constant(INT)) if found.clashes(other) else found

    def pure(self, depth: int) -> Ex:
        """An expression without effects."""
        before, self.effects = self.effects, False
        try:
            return self.expression(depth)
        finally:
            self.effects = before

    def leaf(self, depth: int = 1) -> Ex:
        if self.chance(75):
            place = self.place(depth)
            if place is not None:
                return replace(place, reads=place.reads | place.writes, writes=frozenset(), atom=True)
        if self.chance(15):
            return Ex(self.pick(list(ENUMERATORS)), atom=True)
        return Ex(self.constant(self.scalar_type()))

    # Effects

    def effect(self, depth: int) -> Ex:
        """An assignment, or a step up or down."""
        target = self.place(1, write=True)
        if target is None:
            return self.leaf()
        if self.chance(40):
            step = self.pick(("++", "--"))
            text = target.text + step if self.chance(50) else step + target.text
            return Ex(text, target.reads | target.writes, target.writes)
        return self.assignment(target, depth - 1)

    def assignment(self, target: Ex, depth: int) -> Ex:
        operator = self.weighted(
            {
                "=": 10,
                "+=": 2,
                "-=": 2,
                "*=": 1,
                "&=": 1,
                "|=": 1,
                "^=": 1,
                "<<=": 1,
                ">>=": 1,
                "/=": 1,
                "%=": 1,
            }
        )
        value = (
            self.beside(Ex("", target.reads, target.writes), depth) if self.chance(30) else self.pure(depth)
        )
        text = value.text
        if operator in ("<<=", ">>="):
            text = f"{value.wrapped()} & 7"
        elif operator in ("/=", "%="):
            text = f"({value.wrapped()} & 31) + 1"
        return Ex(
            f"{target.text} {operator} {text}",
            target.reads | value.reads | target.writes,
            target.writes | value.writes,
        )

    # Calls

    def call(self, depth: int, result: Type | None = INT) -> Ex | None:
        """A call of a function; with a scalar result if `result` is a scalar type."""
        fitting = [f for f in self.functions if _fits(f.result, result)]
        if not fitting or self.calls <= 0:
            return None
        function = self.pick(fitting)
        arguments = self.arguments(function, depth)
        if arguments is None:
            return None
        self.calls -= 1
        touched = frozenset((self.memory,)) if self.memory and function.touches else function.touches
        reads = frozenset().union(touched, *[a.reads for a in arguments])
        writes = frozenset().union(touched, *[a.writes for a in arguments])
        if writes and not self.effects:
            return None
        return Ex(f"{function.name}({', '.join(a.text for a in arguments)})", reads, writes, True)

    def arguments(self, function: Function, depth: int) -> list[Ex] | None:
        arguments: list[Ex] = []
        for parameter in function.parameters:
            argument = self.argument(parameter, depth)
            if argument is None:
                return None
            arguments.append(argument)
        return arguments

    def argument(self, parameter: Var | Channel, depth: int) -> Ex | None:
        if isinstance(parameter, Channel):
            return self.channel_argument(parameter)
        if parameter.shape:
            return self.array_argument(parameter)
        if parameter.pointer:
            return self.address(parameter)
        if isinstance(parameter.type, Struct):
            place = self.whole(parameter.type)
            return replace(place, reads=place.writes, writes=frozenset()) if place else None
        return self.pure(depth - 1)

    def channel_argument(self, parameter: Channel) -> Ex | None:
        found = []
        for channel in self.channels.values():
            if channel.type == parameter.type and channel.sends == parameter.sends and channel.closed:
                text = channel.name + (
                    f"[{self.choices.integer(0, channel.count - 1)}]" if channel.count else ""
                )
                found.append(Ex(text, writes=frozenset((f"stream {channel.name}",))))
        return self.pick(found) if found and self.effects else None

    def ended(self) -> Ex | None:
        found = [c for c in self.channels.values() if not c.sends and c.closed and not c.count]
        if not found:
            return None
        name = self.pick(found).name
        return Ex(f"pstream_ended({name})", frozenset((f"stream {name}",)), atom=True)


def _fits(has: Type | None, wanted: Type | None) -> bool:
    return isinstance(has, Scalar) if isinstance(wanted, Scalar) else has == wanted
