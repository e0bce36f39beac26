"""What happens in each slot: the statements of a design's clocked process."""

from __future__ import annotations

from arch.ops import COMPARISONS, OPS, verilog_condition, verilog_expression

from .configuration import Configuration, Issue
from .verilog_frame import Signals
from .verilog_streams import Streams
from .verilog_values import Values, bit_range, literal

_YES = "1'b1"


class Slots:
    """The operations as statements, slot by slot."""

    def __init__(
        self, configuration: Configuration, signals: Signals, values: Values, streams: Streams
    ) -> None:
        self._configuration = configuration
        self._dfg = configuration.dfg
        self._signals = signals
        self._values = values
        self._streams = streams
        stop = next(node.id for node in self._dfg.nodes if node.op == "stop")
        self.drain = configuration.mapping.length - configuration.mapping.placement.schedule.start[stop] - 1
        """Cycles from the one in which the last iteration knows that it is, until it is complete."""

    @property
    def drain_bits(self) -> int:
        """The width of the counter of those cycles."""
        return max(1, self.drain.bit_length())

    def statements(self) -> list[list[str]]:
        """For each slot, what its operations and those under way write."""
        slots: list[list[str]] = [[] for _ in range(self._configuration.interval)]
        for slot in range(self._configuration.interval):
            effects: dict[str, list[str]] = {}
            for issue in self._configuration.slot(slot):
                self._add(issue, slot, slots, effects)
            for condition, statements in effects.items():
                slots[slot] += _conditional(condition, statements)
        return slots

    def _is_quiet(self, issue: Issue, slot: int, output: int) -> bool:
        """Whether an operation makes a bit of nothing but bits."""
        return self._values.width(issue.node, output) == 1 and all(
            self._values.is_quiet(source, slot) for source in issue.operands
        )

    def wires(self) -> list[str]:
        """Values that are used in the very cycle that computes them."""
        slots = range(self._configuration.interval)
        issues = {issue.node: (issue, slot) for slot in slots for issue in self._configuration.slot(slot)}
        return [
            f"wire {bit_range(self._values.width(node, output))}{name} ="
            f" {self.expression(*issues[node], output)};"
            for (node, output), name in self._values.immediate()
        ]

    def _add(self, issue: Issue, slot: int, slots: list[list[str]], effects: dict[str, list[str]]) -> None:
        where = self._dfg.nodes[issue.node].where
        comment = f" // {where}" if where else ""
        for output in range(OPS[issue.op].outputs):
            if not self._values.is_read(issue.node, output):
                continue
            if output == 0 and (receipt := self._streams.receipt(issue, slot)):
                slots[slot].append(receipt + comment)
                continue
            expression = self.expression(issue, slot, output)
            if self._is_quiet(issue, slot, output):
                expression = self._values.bit(f"{issue.op}_{issue.node}_next", expression)
            for when, register, word in self._values.writes(issue, output, expression):
                slots[when].append(f"{register} <= {word};{comment}")
        if effect := self._effect(issue, slot):
            effects.setdefault(self._holds(issue, slot), []).append(effect + comment)

    def expression(self, issue: Issue, slot: int, output: int) -> str:
        """What an operation computes in its slot, in as many bits as are kept of it."""
        stream = self._dfg.nodes[issue.node].stream
        narrow = self._values.width(issue.node, output) == 1
        if stream is not None:
            if narrow:
                return self._streams.flag(stream, issue, slot)
            return self._streams.result(stream, issue, slot, output)
        if issue.op == "load":
            return self._memory_word(issue, slot)
        if issue.op in COMPARISONS and narrow:
            return verilog_condition(issue.op, *(self._operand(issue, slot, k) for k in (0, 1)))
        bits = 1 if narrow else None
        if issue.op == "select":
            return self._select(issue, slot, bits)
        operands = [self._values.text(source, slot, issue.stage, bits) for source in issue.operands]
        return verilog_expression(issue.op, self._configuration.mapping.fabric.width, *operands)

    def _select(self, issue: Issue, slot: int, bits: int | None) -> str:
        condition, *others = issue.operands
        truth = self._values.truth(condition, slot, issue.stage)
        one, other = (self._values.text(source, slot, issue.stage, bits) for source in others)
        return f"({truth or _YES} ? {one} : {other})"

    def _operand(self, issue: Issue, slot: int, position: int) -> str:
        return self._values.text(issue.operands[position], slot, issue.stage)

    def _memory_word(self, issue: Issue, slot: int) -> str:
        """The word that a load or store accesses."""
        memory = self._dfg.nodes[issue.node].memory
        assert memory is not None
        address = self._values.text(issue.operands[0], slot, issue.stage, self._signals.address_bits[memory])
        return f"{self._signals.memories[memory]}[{address}]"

    def _holds(self, issue: Issue, slot: int) -> str:
        """Whether an effect happens."""
        holds = self._values.holds(issue.operands[-1], slot, issue.stage)
        quiet = self._values.is_quiet(issue.operands[-1], slot)
        return self._values.bit(f"{issue.op}_{issue.node}_holds", holds) if quiet else holds

    def _effect(self, issue: Issue, slot: int) -> str | None:
        """What an operation does, if it does, besides giving values; stream ports do theirs themselves."""
        index = self._dfg.nodes[issue.node].index
        match issue.op:
            case "store":
                return f"{self._memory_word(issue, slot)} <= {self._operand(issue, slot, 1)};"
            case "result":
                return f"{self._signals.live_outs[index]} <= {self._operand(issue, slot, 0)};"
            case "fail":
                return f"if (!fail) begin fail <= 1'b1; fail_index <= {literal(index, 32)}; end"
            case "stop" if self.drain:
                return f"if (drain == 0) drain <= {literal(self.drain, self.drain_bits)};"
            case "stop":
                return "running <= 1'b0; done <= 1'b1; valid <= 0;"
        return None


def _conditional(condition: str, statements: list[str]) -> list[str]:
    return [f"if ({condition}) begin", *(f"    {statement}" for statement in statements), "end"]
