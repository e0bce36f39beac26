"""Graph -> Verilog in which every operator fires when its inputs are ready: no fabric, no schedule.

It is the check between front end and back end. By itself the loop's controller does not let iterations
overlap; with a `window` of n, operators of n iterations may work at the same time, each as soon as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from arch.ops import COMPARISONS, OPS, verilog_condition, verilog_expression

from .dfg import DFG, Node
from .observer import Observer, Tap, Value
from .shadow import Shadow
from .verilog_dataflow_firing import Firing
from .verilog_dataflow_words import ITERATION, Words
from .verilog_frame import Design, Signals, functions, module, new_names
from .verilog_values import bit_range, literal
from .watch import WAITING, Wait, Watch

_GROUP = 8
"""So many operators are asked together whether one of them fires: in a cycle, few do."""

_OWN = (ITERATION, "limit", "complete", "active", "ending", "last_iteration")


def emit_dataflow(
    dfg: DFG,
    latency: Callable[[str], int] = lambda op: 1,
    window: int = 1,
    shadow: Shadow | None = None,
    counts: bool = False,
) -> Design:
    """The circuit of a graph, which counts what a shadow wants counted.

    `latency` gives the cycles that an operation takes. If it `counts`, the word behind those of live-outs is
    the number of complete iterations.
    """
    return _Module(dfg, latency, window, shadow, counts).design()


class _Module:
    def __init__(
        self,
        dfg: DFG,
        latency: Callable[[str], int],
        window: int,
        shadow: Shadow | None,
        counts: bool,
    ) -> None:
        self._dfg, self._window = dfg, window
        names = new_names(dfg, _OWN)
        self._top = names.new(dfg.name)
        self._signals = Signals.name(dfg, names)
        self._count = names.new("iterations") if counts else ""
        if counts:
            self._signals = replace(self._signals, live_outs=(*self._signals.live_outs, self._count))
        self._words = Words(dfg, latency, window, names, self._signals.live_ins)
        self._firing = Firing(dfg, self._words, names)
        order = self._firing.order
        groups = [order[k : k + _GROUP] for k in range(0, len(order), _GROUP)]
        self._groups = {names.new(f"any_{k}"): group for k, group in enumerate(groups)}
        self._moving = {names.new(f"{way}_moves"): (way, new, on) for way, new, on in self._words.ways()}
        self._ops = {node.op for node in (*dfg.nodes, *(shadow.nodes if shadow else ()))}
        arrays = tuple(zip(self._signals.memories, self._signals.address_bits, strict=True))
        self._observer = Observer(dfg, shadow, self._signals.live_ins, arrays, names) if shadow else None
        if self._observer and not all(self._words.is_read(*value) for value in self._observer.taps):
            self._observer = None

    def design(self) -> Design:
        """The circuit. Unless a stream holds it up, in each cycle of an iteration an operator is at work."""
        overlap = f"operators of {self._window} iterations may work at the same time."
        about = [
            f"Kernel {self._dfg.name}: each operator fires when its inputs are ready;",
            overlap if self._window > 1 else "iterations do not overlap.",
        ]
        text = module(self._top, about, self._dfg, self._body())
        everything = sum(self._words.cycles) + 1
        return Design(self._top, text, self._dfg, self._depth() + 1, everything * self._window, self._watch())

    def _watch(self) -> Watch:
        """What waits: an operation whose turn has come, and that does not fire."""
        blocking = [node.id for node in self._dfg.nodes if node.op in WAITING]
        firing = self._firing
        waits = (Wait(firing.wants[n], firing.fires[n], {None: n}) for n in blocking)
        turn, counts = (self._observer.turn, self._observer.counts) if self._observer else (None, ())
        return Watch(None, "complete", tuple(waits), turn, counts)

    def _tap(self, value: Value) -> Tap:
        return Tap(self._words.width(*value), self._words.complete(*value))

    def _depth(self) -> int:
        """The cycles of an iteration's longest path."""
        done = [0] * len(self._dfg.nodes)
        before: list[list[int]] = [[] for _ in done]
        for consumer, _, use in self._dfg.uses():
            if use.distance == 0:
                before[consumer].append(use.node)
        for order in self._dfg.orders:
            if order.distance == 0:
                before[order.after].append(order.before)
        for n in self._firing.order:
            done[n] = self._words.cycles[n] + max([0, *(done[m] for m in before[n])])
        return max(done)

    def _body(self) -> list[str]:
        words, notes = self._words, [""] * len(self._dfg.memories)
        return [
            *functions(self._ops, 32),
            "reg running;",
            *self._ending(),
            "// A kernel may not need all bits of a word or count, or all captured scalars.",
            "// verilator lint_off UNUSED",
            "// The oldest iteration that is not complete, and how often each operator has fired.",
            *words.counts(),
            *(f"reg [31:0] {name};" for name in self._signals.live_ins),
            *words.declarations(),
            "// verilator lint_on UNUSED",
            *(f"reg [31:0] {name};" for name in self._signals.live_outs),
            *self._signals.arrays(self._dfg, notes),
            *self._limit(),
            *self._firing.wires(),
            *self._progress(),
            *self._signals.reads(),
            *self._process(),
            *(self._observer.lines("complete", self._tap) if self._observer else ()),
        ]

    def _limit(self) -> list[str]:
        """How far operators may go that wait for no others."""
        bits = self._words.count_bits
        oldest = self._words.oldest.low(bits)
        return [f"wire {bit_range(bits)}limit = {oldest} + {literal(self._window, bits)};"]

    def _ending(self) -> list[str]:
        """Whether it is known which iteration is the last, and which it is."""
        if self._window == 1:
            return ["reg ending;"]
        return ["reg ending;", f"reg {bit_range(self._words.count_bits)}last_iteration;"]

    def _progress(self) -> list[str]:
        """Whether anything happens in a cycle."""
        bits = self._words.count_bits
        oldest = self._words.oldest.low(bits)
        done = [f"{self._words.given(n)} != {oldest}" for n in self._firing.last()]
        lines = [f"wire complete = running && {' && '.join(done)};"]
        for name, (_, _, moves) in self._moving.items():
            lines.append(f"wire {name} = running && {moves};")
        for name, group in self._groups.items():
            lines.append(f"wire {name} = {' || '.join(self._firing.fires[n] for n in group)};")
        active = " || ".join(["complete", *self._moving, *self._groups])
        return [*lines, f"wire active = {active};", "assign stalled = running && !active;"]

    def _process(self) -> list[str]:
        state = ("running", "done", "fail", "fail_index", *self._signals.live_outs)
        return [
            "always @(posedge clk)",
            "    if (rst) begin",
            *(f"        {name} <= 0;" for name in state),
            "    end else if (running) begin",
            *(f"        {line}" for line in self._run()),
            "    end else begin",
            "        if (start) begin",
            *(f"            {line}" for line in self._start()),
            "        end",
            *(f"        {line}" for line in self._signals.fills()),
            "    end",
        ]

    def _start(self) -> Iterator[str]:
        yield "running <= 1'b1;"
        yield "done <= 1'b0;"
        yield "ending <= 1'b0;"
        if self._count:
            yield f"{self._count} <= 0;"
        for count in (self._words.oldest, *self._words.at):
            yield f"{count.name} <= 0;"
        for way, _, _ in self._moving.values():
            yield f"{way} <= 0;"

    def _run(self) -> Iterator[str]:
        """One cycle."""
        for name, (way, following, _) in self._moving.items():
            yield f"if ({name}) {way} <= {following};"
        for name, group in self._groups.items():
            yield f"if ({name}) begin"
            for n in group:
                node = self._dfg.nodes[n]
                yield f"    if ({self._firing.fires[n]}) begin{f' // {node.where}' if node.where else ''}"
                yield f"        {self._words.at[n].name} <= {self._words.at[n].next()};"
                for line in self._fired(node):
                    yield f"        {line}"
                yield "    end"
            yield "end"
        oldest = self._words.oldest
        over = "ending" if self._window == 1 else f"ending && {oldest.low(oldest.width)} == last_iteration"
        yield "if (complete) begin"
        yield f"    {oldest.name} <= {oldest.next()};"
        if self._count:
            yield f"    {self._count} <= {self._count} + 32'd1;"
        yield f"    if ({over}) begin running <= 1'b0; done <= 1'b1; end"
        yield "end"

    def _fired(self, node: Node) -> Iterator[str]:
        """What a firing does."""
        for output in range(OPS[node.op].outputs):
            if self._words.is_read(node.id, output):
                yield f"{self._words.place(node.id, output)} <= {self._result(node, output)};"
        if node.op in ("store", "result", "stop", "fail"):
            guard = self._words.truth(node.id, node.operands[-1])
            yield f"{'' if guard is None else f'if ({guard}) '}{self._effect(node)}"

    def _result(self, node: Node, output: int) -> str:
        """What an operator computes, in as many bits as are kept of it."""
        words, bits = self._words, self._words.width(node.id, output)
        if node.stream is not None:
            if bits == 1:
                return self._firing.stream_flag(node)
            flag = output == 1 or node.op in ("try_send", "ended")
            return f"{{31'd0, {self._firing.stream_flag(node)}}}" if flag else self._firing.stream_word(node)
        if node.op == "load":
            return self._memory_word(node)
        if node.op in COMPARISONS and bits == 1:
            return verilog_condition(node.op, *(words.text(node.id, operand) for operand in node.operands))
        if node.op == "select":
            condition, *others = node.operands
            one, other = (words.text(node.id, operand, bits) for operand in others)
            return f"({words.truth(node.id, condition) or _YES} ? {one} : {other})"
        return verilog_expression(node.op, 32, *(words.text(node.id, o, bits) for o in node.operands))

    def _memory_word(self, node: Node) -> str:
        assert node.memory is not None
        address = self._words.text(node.id, node.operands[0], self._signals.address_bits[node.memory])
        return f"{self._signals.memories[node.memory]}[{address}]"

    def _effect(self, node: Node) -> str:
        match node.op:
            case "store":
                return f"{self._memory_word(node)} <= {self._words.text(node.id, node.operands[1])};"
            case "result":
                return (
                    f"{self._signals.live_outs[node.index]} <= {self._words.text(node.id, node.operands[0])};"
                )
            case "fail":
                return f"if (!fail) begin fail <= 1'b1; fail_index <= {literal(node.index, 32)}; end"
        if self._window == 1:
            return "ending <= 1'b1;"
        return f"if (!ending) begin ending <= 1'b1; last_iteration <= {self._words.fired(node.id)}; end"


_YES = "1'b1"
