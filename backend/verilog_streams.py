"""The stream ports of a design: handshakes, stalling, and what stream operations give."""

from __future__ import annotations

from arch.ops import RECEIVES, SENDS

from .configuration import Configuration, Issue
from .verilog_values import Values, literal

_NEEDS = {
    "recv": ("need",),
    "send": ("need",),
    "try_recv": ("try",),
    "await": ("try",),
    "try_send": ("try",),
    "close": ("shut",),
    "send_close": ("need", "shut"),
}
_NO = "1'b0"


class Streams:
    """Verilog for all stream ports.

    A port's signals `need` (an operation that must move a word), `try` (one that may) and `shut` (a close)
    follow from the slot and the guards; the rest is wiring.
    """

    def __init__(self, configuration: Configuration, values: Values) -> None:
        self._configuration = configuration
        self._streams = configuration.dfg.streams
        self._values = values
        self._interval = configuration.interval
        self._issues: list[list[tuple[int, Issue]]] = [[] for _ in self._streams]
        for slot in range(configuration.interval):
            for issue in configuration.slot(slot):
                stream = configuration.dfg.nodes[issue.node].stream
                if stream is not None and issue.op in _NEEDS:
                    self._issues[stream].append((slot, issue))

    def registers(self) -> list[int]:
        """The streams whose `tdata` a combinational process drives."""
        return [k for k, stream in enumerate(self._streams) if stream.sends and self._moves(k)]

    def _has(self, k: int, signal: str) -> bool:
        return any(signal in _NEEDS[issue.op] for _, issue in self._issues[k])

    def _moves(self, k: int) -> list[str]:
        """The signals that ask for a word to move."""
        return [f"s{k}_{signal}" for signal in ("need", "try") if self._has(k, signal)]

    def _signals(self, k: int) -> list[str]:
        return [f"s{k}_{signal}" for signal in ("need", "try", "shut") if self._has(k, signal)]

    def declarations(self) -> list[str]:
        """The ports' logic outside the clocked process."""
        stalls = [k for k in range(len(self._streams)) if self._has(k, "need")]
        lines = []
        for k, stream in enumerate(self._streams):
            lines += [f"reg {name};" for name in self._signals(k)]
            if k in stalls:
                wait = f"!s{k}_tready" if stream.sends else f"!s{k}_tvalid && !s{k}_ended"
                lines.append(f"wire s{k}_stall = s{k}_need && {wait};")
        for k, stream in enumerate(self._streams):
            lines += self._process(k)
            moves = self._moves(k)
            others = "".join(f" && !s{j}_stall" for j in stalls if j != k)
            either = f"({' || '.join(moves)})" if len(moves) > 1 else "".join(moves)
            move = either + others if moves else _NO
            lines.append(f"assign s{k}_{'tvalid' if stream.sends else 'tready'} = {move};")
            if stream.sends:
                if not moves:
                    lines.append(f"assign s{k}_tdata = 32'd0;")
                stalled = "".join(f" && !s{j}_stall" for j in stalls)
                shut = f"s{k}_shut{stalled}" if self._has(k, "shut") else _NO
                lines.append(f"assign s{k}_close = {shut};")
        lines.append(f"assign stalled = {' || '.join(f's{k}_stall' for k in stalls) or _NO};")
        return lines

    def _process(self, k: int) -> list[str]:
        """The combinational process that raises a port's signals in the slots of its operations."""
        signals = self._signals(k)
        data = f"s{k}_tdata" if self._streams[k].sends and self._moves(k) else None
        idle = [f"{name} = 1'b0;" for name in signals] + ([f"{data} = 32'd0;"] if data else [])
        if not signals:
            return []
        cases = {slot: self._active(k, slot, issue, signals) for slot, issue in self._issues[k]}
        if self._interval == 1:
            return ["always @* begin", *(f"    {line}" for line in cases[0]), "end"]
        lines = ["always @*", "    case (slot)"]
        for slot, active in sorted(cases.items()):
            bits = (self._interval - 1).bit_length()
            lines += [
                f"        {literal(slot, bits)}: begin",
                *(f"            {line}" for line in active),
                "        end",
            ]
        lines += ["        default: begin", *(f"            {line}" for line in idle), "        end"]
        return [*lines, "    endcase"]

    def _active(self, k: int, slot: int, issue: Issue, signals: list[str]) -> list[str]:
        own = self._own(k, slot, issue)
        lines = [f"{name} = {own.get(name, _NO)};" for name in signals]
        if self._streams[k].sends and self._moves(k):
            word = "32'd0"
            if issue.op in SENDS:
                word = self._values.text(issue.operands[0], slot, issue.stage)
            lines.append(f"s{k}_tdata = {word};")
        return lines

    def _own(self, k: int, slot: int, issue: Issue) -> dict[str, str]:
        """When an operation raises which signals."""
        guard, valid = issue.operands[-1], self._values.valid(issue.stage)
        names = [f"s{k}_{signal}" for signal in _NEEDS[issue.op]]
        if len(names) == 1:
            return {names[0]: self._values.holds(guard, slot, issue.stage)}
        bits = [self._values.has_bit(bit, guard, slot, issue.stage) for bit in range(len(names))]
        return {name: f"{valid} && {bit}" for name, bit in zip(names, bits, strict=True)}

    def condition(self, stream: int, issue: Issue, slot: int) -> str:
        """Whether a stream operation's guard holds and its port can do it, as a condition."""
        guard = self._values.truth(issue.operands[-1], slot, issue.stage)
        ready = {"try_send": "tready", "ended": "ended"}.get(issue.op, "tvalid")
        if guard is None:
            return f"s{stream}_{ready}"
        condition = f"({guard} && s{stream}_{ready})"
        quiet = self._values.is_quiet(issue.operands[-1], slot)
        return self._values.bit(f"{issue.op}_{issue.node}_can", condition) if quiet else condition

    def receipt(self, issue: Issue, slot: int) -> str | None:
        """The statement of a receive into a register that keeps its word otherwise; None if it is not so."""
        stream = self._configuration.dfg.nodes[issue.node].stream
        if issue.op not in RECEIVES or stream is None or not (name := self._values.keeps(issue, slot)):
            return None
        guard = self._values.holds(issue.operands[-1], slot, issue.stage)
        condition = f"{guard} && s{stream}_tvalid"
        if self._values.is_quiet(issue.operands[-1], slot):
            condition = self._values.bit(f"{issue.op}_{issue.node}_takes", condition)
        return f"if ({condition}) {name} <= s{stream}_tdata;"

    def result(self, stream: int, issue: Issue, slot: int, output: int) -> str:
        """The word that a stream operation gives."""
        condition = self.condition(stream, issue, slot)
        if issue.op in RECEIVES and output == 0:
            old = self._values.text(issue.operands[0], slot, issue.stage)
            return f"({condition} ? s{stream}_tdata : {old})"
        return f"{{31'd0, {self.flag(stream, issue, slot)}}}"

    def flag(self, stream: int, issue: Issue, slot: int) -> str:
        """The one bit that a stream operation gives: whether it happened, for `await` whether to go on."""
        if issue.op != "await":
            return self.condition(stream, issue, slot)
        guard = self._values.truth(issue.operands[-1], slot, issue.stage)
        waits = f"!s{stream}_tvalid && !s{stream}_ended"
        return f"!({waits if guard is None else f'{guard} && {waits}'})"
