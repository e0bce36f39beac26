"""Random loops, branches and switches. Every loop ends: its counter is written by its head alone."""

from __future__ import annotations

from dataclasses import replace

from program_generator_statements import Statements
from program_generator_types import INT, NARROW, UNSIGNED, Var


class Control(Statements):
    """Makes statements with statements inside."""

    compound = {"if_": 14, "loop": 14, "unrolled": 5, "switch": 6, "scope_": 1}

    def if_(self, level: int) -> list[str]:
        condition = self.expression(3).text
        if self.chance(5):
            condition = f"EXPECT({condition}, 0.25)"
        lines = self.braced(f"if ({condition})", level - 1)
        while self.chance(25):
            lines[-1:] = self.braced(f"}} else if ({self.expression(2).text})", level - 1, 3)
        if self.chance(40):
            lines[-1:] = self.braced("} else", level - 1)
        return lines

    def scope_(self, level: int) -> list[str]:
        return self.braced("", level - 1)

    def looped(
        self, head: str, level: int, counter: Var, first: tuple[str, ...] = (), tail: str = ""
    ) -> list[str]:
        """The body of a loop with its counter in scope."""
        before = dict(self.scope), self.loops, self.breakable
        self.scope[counter.name] = counter
        self.loops, self.breakable = self.loops + 1, True
        lines = self.braced(head, level - 1, 4 if self.loops < 3 else 2)
        self.scope, self.loops, self.breakable = before
        lines[1:1] = ["  " + line for line in first]
        lines[-1] += tail
        return lines

    def loop(self, level: int) -> list[str]:
        if self.loops >= 3:
            return []
        i, j = self.name("i"), self.name("j")
        kind = self.pick(NARROW[:-2])
        counter = Var(i, kind, fixed=True)
        condition = self.pure(1).text
        bound = self.pick(("2", "3", "1", "5", "0", f"(({condition}) & 3)"))
        extra = f" && ({self.pure(1).text})" if self.chance(30) else ""
        up = (f"for ({kind.name} {i} = 0; {i} < {bound}{extra}; ", f"{i}++)")
        match self.weighted({"for": 8, "down": 2, "two": 2, "while": 3, "do": 3, "ever": 1, "stepping": 2}):
            case "down":
                start = f"for ({kind.name} {i} = {bound}; "
                head = start + self.pick((f"{i}-- > 0{extra}; )", f"{i} > 0{extra}; --{i})"))
                return self.looped(head, level, counter)
            case "two":
                return self.looped(
                    f"for (int {i} = 0, {j} = 4; {i} < {j}{extra}; {i}++, {j}--)",
                    level,
                    replace(counter, type=INT),
                )
            case "while":
                return [
                    "{",
                    f"  {kind.name} {i} = 0;",
                    *["  " + line for line in self.looped(f"while ({i}++ < {bound}{extra})", level, counter)],
                    "}",
                ]
            case "do":
                lines = self.looped("do", level, counter, tail=f" while (++{i} < {bound}{extra});")
                return ["{", f"  {kind.name} {i} = 0;", *["  " + line for line in lines], "}"]
            case "ever":
                head = self.pick(("for (;;)", "while (1)"))
                lines = self.looped(
                    head, level, replace(counter, type=INT), (f"if ({i}++ >= {bound}) break;",)
                )
                return ["{", f"  int {i} = 0;", *["  " + line for line in lines], "}"]
            case "stepping":
                start, step = self.choices.integer(-3, 3), str(self.choices.integer(2, 4))
                return self.looped(
                    f"for (int {i} = {start}; {i} <= 6{extra}; {i} += {step})",
                    level,
                    replace(counter, type=INT),
                )
        more = f", {self.effect(1).text})" if self.chance(20) and self.effects else ")"
        return self.looped(up[0] + up[1][:-1] + more, level, counter)

    def unrolled(self, level: int) -> list[str]:
        i = self.name("u")
        if sum(v.compile_time for v in self.scope.values()) >= 2 or self.loops >= 3:
            return []
        outer = [v.name for v in self.scope.values() if v.compile_time]
        low, high = "0", str(self.choices.integer(1, 3))
        if outer and self.chance(40):
            low = self.pick(outer)
        head = self.pick(
            (
                f"FOR (int {i} = {low}; {i} < {high}; {i}++)",
                f"FOR (int {i} = {high}; {i} > 0; --{i})",
                f"FOR (int {i} = {low}; {i} <= {high}; {i} += 2)",
            )
        )
        return self.looped(head, level, Var(i, INT, fixed=True, compile_time=True))

    def switch(self, level: int) -> list[str]:
        kind = self.pick((INT, UNSIGNED, INT))
        mask, values = self.pick(
            (("& 7", "0 1 2 3 5 7"), ("% 4", "-3 -2 -1 0 1 2 3"), ("& 6", "RED BLUE 4 2"))
        )
        labels = values.split()
        if kind is UNSIGNED and mask == "% 4":
            kind = INT
        lines = [f"switch (({kind.name})({self.expression(2).text}) {mask}) {{"]
        before, self.breakable = self.breakable, True
        sections = self.choices.integer(1, 4)
        default = self.choices.integer(0, 5)
        for position in range(sections):
            marks = ["default:"] if position == default else []
            for _ in range(self.choices.integer(0 if marks else 1, 2)):
                if labels:
                    marks.append(f"case {labels.pop(self.choices.integer(0, len(labels) - 1))}:")
            if marks:
                inner = self.assign(level) if self.chance(40) else self.braced("", level - 1, 2)
                lines += [*marks, *inner, *["break;"] * self.chance(60)]
        self.breakable = before
        return [*lines, "}"]
