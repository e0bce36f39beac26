"""The folded form: a value that wanders over the fabric's registers is kept in one place of its own.

It is written once per interval, as its next value would overwrite it, and read from there by everyone. Where
each operand's word comes from, and its age, is read out of the configuration, not out of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from .configuration import Configuration, Issue, Selected
from .verilog_names import Names
from .verilog_values import Value, Values, Write

_PACKED = 6
"""From this many old copies on, a value's copies are one shift register: cheaper to simulate than many."""


@dataclass(frozen=True)
class _Kept:
    """One value's registers.

    `early` hold it while a long operation is under way, `name` from then on for an interval, and `older` for
    as many intervals after that; `packed` is one register that stands for all of `older`. `now` is a wire.
    """

    name: str
    early: tuple[str, ...]
    copies: int
    older: tuple[str, ...]
    packed: str | None
    now: str | None

    def declarations(self, width: int) -> list[str]:
        """Verilog declarations of the registers."""
        names = [*self.early, *([self.name] if self.copies else []), *self.older]
        lines = [f"reg [{width - 1}:0] {name};" for name in names]
        if self.packed:
            lines.append(f"reg [{width * (self.copies - 1) - 1}:0] {self.packed};")
        return lines

    def read(self, copy: int, bits: int, width: int) -> str:
        """The low `bits` bits of the value as it was `copy` intervals ago."""
        if copy and self.packed:
            low = width * (copy - 1)
            return f"{self.packed}[{low + bits - 1}:{low}]"
        return (self.older[copy - 1] if copy else self.name) + ("" if bits == width else f"[{bits - 1}:0]")

    def shifts(self, expression: str, width: int) -> list[Write]:
        """What to write: cycles after the issue, the register, its new value."""
        words = [expression, *self.early, *([self.name] if self.copies else []), *self.older]
        last = len(self.early)
        pairs = zip(words, words[1:], strict=False)
        found = [(min(position, last), here, before) for position, (before, here) in enumerate(pairs)]
        if self.packed:
            rest = f"{self.packed}[{width * (self.copies - 2) - 1}:0]"
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
        ages = self._ages()
        for value in sorted(ages, key=lambda value: (nodes[value[0]].variable is None, value)):
            node = nodes[value[0]]
            name = names.new(node.variable or f"{node.op}_{node.id}")
            now = names.new(f"{name}_now") if 0 in ages[value] else None
            base = max(0, latency[node.id] - 2)
            copies = -((base - max(ages[value])) // interval)
            early = tuple(names.new(f"{name}_p{k}") for k in range(base))
            packed = names.new(f"{name}_old") if copies > _PACKED else None
            older = () if packed else tuple(names.new(f"{name}_{k}") for k in range(1, copies))
            self._kept[value] = _Kept(name, early, copies, older, packed, now)

    def declarations(self) -> list[str]:
        return [line for kept in self._kept.values() for line in kept.declarations(self._width)]

    def immediate(self) -> list[tuple[Value, str]]:
        return [(value, kept.now) for value, kept in self._kept.items() if kept.now is not None]

    def is_read(self, node: int, output: int) -> bool:
        return (node, output) in self._kept

    def writes(self, issue: Issue, output: int, expression: str) -> list[Write]:
        kept = self._kept[issue.node, output]
        start, interval = self._start[issue.node], self._configuration.interval
        shifts = kept.shifts(kept.now or expression, self._width)
        return [((start + after) % interval, register, word) for after, register, word in shifts]

    def _read(self, source: Selected, slot: int, bits: int) -> str:
        value, age = self._age(source, slot)
        kept = self._kept[value]
        if age == 0:
            assert kept.now is not None
            return self.low(kept.now, bits)
        copy = (age - 1 - len(kept.early)) // self._configuration.interval
        return kept.read(copy, bits, self._width)
