"""The folded form: a value that wanders over the fabric's registers is kept in one place of its own.

It is written once per interval, as its next value would overwrite it, and read from there by everyone. Where
each operand's word comes from, and its age, is read out of the configuration, not out of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from .configuration import Configuration, Issue, Selected
from .predicates import predicates
from .verilog_names import Names
from .verilog_values import Value, Values, Write, bit_range, part

_PACKED = 6
"""From this many old copies on, a value's copies are one shift register: cheaper to simulate than many."""


@dataclass(frozen=True)
class _Kept:
    """One value's registers.

    `early` hold it while a long operation is under way, `name` from then on for an interval, and `older` for
    as many intervals after that; `packed` is one register that stands for all of `older`. `now` is a wire.
    """

    name: str
    width: int
    early: tuple[str, ...]
    copies: int
    older: tuple[str, ...]
    packed: str | None
    now: str | None

    def declarations(self) -> list[str]:
        """Verilog declarations of the registers."""
        names = [*self.early, *([self.name] if self.copies else []), *self.older]
        lines = [f"reg {bit_range(self.width)}{name};" for name in names]
        if self.packed:
            lines.append(f"reg [{self.width * (self.copies - 1) - 1}:0] {self.packed};")
        return lines

    def read(self, copy: int, bits: int) -> str:
        """The low `bits` bits of the value as it was `copy` intervals ago."""
        if copy and self.packed:
            return self.packed + part(self.width * (copy - 1), bits)
        name = self.older[copy - 1] if copy else self.name
        return name if bits == self.width else name + part(0, bits)

    def shifts(self, expression: str) -> list[Write]:
        """What to write: cycles after the issue, the register, its new value."""
        words = [expression, *self.early, *([self.name] if self.copies else []), *self.older]
        last = len(self.early)
        pairs = zip(words, words[1:], strict=False)
        found = [(min(position, last), here, before) for position, (before, here) in enumerate(pairs)]
        if self.packed:
            rest = f"{self.packed}[{self.width * (self.copies - 2) - 1}:0]"
            found.append((last, self.packed, f"{{{rest}, {self.name}}}"))
        return found


class FoldedValues(Values):
    """A register for each value, named after its variable."""

    def __init__(self, configuration: Configuration, names: Names, live_ins: tuple[str, ...]) -> None:
        super().__init__(configuration, live_ins)
        interval, nodes = configuration.interval, configuration.dfg.nodes
        self._start = configuration.mapping.placement.schedule.start
        slots = range(interval)
        latency = {issue.node: issue.latency for slot in slots for issue in configuration.slot(slot)}
        self._kept: dict[Value, _Kept] = {}
        narrow, ages = predicates(configuration.dfg), self._ages()
        for value in sorted(ages, key=lambda value: (nodes[value[0]].variable is None, value)):
            node = nodes[value[0]]
            name = names.new(node.variable or f"{node.op}_{node.id}")
            now = names.new(f"{name}_now") if 0 in ages[value] else None
            base = max(0, latency[node.id] - 2)
            copies = -((base - max(ages[value])) // interval)
            early = tuple(names.new(f"{name}_p{k}") for k in range(base))
            packed = names.new(f"{name}_old") if copies > _PACKED else None
            older = () if packed else tuple(names.new(f"{name}_{k}") for k in range(1, copies))
            self._kept[value] = _Kept(
                name, 1 if value in narrow else self._width, early, copies, older, packed, now
            )

    def declarations(self) -> list[str]:
        return [line for kept in self._kept.values() for line in kept.declarations()]

    def immediate(self) -> list[tuple[Value, str]]:
        return [(value, kept.now) for value, kept in self._kept.items() if kept.now is not None]

    def is_read(self, node: int, output: int) -> bool:
        return (node, output) in self._kept

    def width(self, node: int, output: int) -> int:
        return self._kept[node, output].width

    def writes(self, issue: Issue, output: int, expression: str) -> list[Write]:
        kept = self._kept[issue.node, output]
        start, interval = self._start[issue.node], self._configuration.interval
        shifts = kept.shifts(kept.now or expression)
        return [((start + after) % interval, register, word) for after, register, word in shifts]

    def _read(self, source: Selected, slot: int, bits: int) -> str:
        value, age = self._age(source, slot)
        kept = self._kept[value]
        if age == 0:
            assert kept.now is not None
            return self.low(kept.now, bits, kept.width)
        copy = (age - 1 - len(kept.early)) // self._configuration.interval
        return kept.read(copy, bits)
