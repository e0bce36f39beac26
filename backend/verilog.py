"""Mapping -> Verilog of one kernel: the fabric with its configuration folded in.

One clocked process holds all registers, slot by slot, which is what an event-driven simulator does fastest.
On Icarus, half of its time goes into reading registers and wires, so it reads few: what decides on the cycle,
and what is made of single bits only, are wires, which are computed when they change.
"""

from __future__ import annotations

from .configuration import Configuration, configure
from .mapping import Mapping
from .observer import Observer
from .shadow import Shadow
from .verilog_frame import Design as Design
from .verilog_frame import Signals, functions, module, new_names
from .verilog_names import Names
from .verilog_slots import Slots
from .verilog_streams import Streams
from .verilog_taps import mapped_observer
from .verilog_values import Values, literal
from .watch import watch_mapped


def emit(mapping: Mapping, shadow: Shadow | None = None, name: str = "") -> Design:
    """The design that carries out `mapping`, and nothing else: the form to simulate and to synthesise.

    Its module has the kernel's name unless another is given. With a shadow, it also counts what that wants
    counted, for profiles.

    Each value has a register of its own, named after its variable. It behaves, cycle for cycle, as the fabric
    loaded with the mapping's configuration does (`verilog_fabric`).
    """
    names = new_names(mapping.dfg)
    top = names.new(name or mapping.dfg.name)
    module_of = _Module(configure(mapping), names)
    observer = module_of.observed(shadow) if shadow else None
    text, watch = module_of.text(top), watch_mapped(mapping, observer)
    return Design(top, text, mapping.dfg, mapping.interval, mapping.length, watch)


class _Module:
    """The frame around slots and stream ports."""

    def __init__(self, configuration: Configuration, names: Names) -> None:
        self._configuration, self._names = configuration, names
        self._dfg = configuration.dfg
        self._interval = configuration.interval
        self._signals = Signals.name(configuration.dfg, names)
        self._values = Values(configuration, names, self._signals.live_ins)
        self._streams = Streams(configuration, self._values)
        self._slots = Slots(configuration, self._signals, self._values, self._streams)
        self._observed: list[str] = []
        self._ops = {node.op for node in self._dfg.nodes}

    def observed(self, shadow: Shadow) -> Observer | None:
        """Has the module count what a shadow wants; None if it does not have all values for that."""
        arrays = tuple(zip(self._signals.memories, self._signals.address_bits, strict=True))
        observer = Observer(self._dfg, shadow, self._signals.live_ins, arrays, self._names)
        if not all(self._values.is_read(*value) for value in observer.taps):
            return None
        self._ops |= {node.op for node in shadow.nodes}
        self._observed = mapped_observer(
            self._configuration, observer, self._values, self._slots, self._names
        )
        return observer

    def text(self, top: str) -> str:
        """The module. State comes last, and before it the process, when all has asked for `valid` bits."""
        immediate, streams, process = self._slots.wires(), self._streams.declarations(), self._process()
        bits, logic_of_bits = self._values.bits()
        logic = [
            *bits,
            *immediate,
            *logic_of_bits,
            *streams,
            *self._signals.reads(),
            *self._run_wires(),
            *process,
            *self._observed,
        ]
        arrays = self._signals.arrays(self._dfg, self._places())
        mapping = self._configuration.mapping
        about = [
            f"Kernel {self._dfg.name} on {mapping.fabric.name}:",
            f"an iteration starts every {mapping.interval} cycles and takes {mapping.length}.",
        ]
        body = [
            *functions(self._ops, self._configuration.mapping.fabric.width),
            *self._state(),
            *arrays,
            *logic,
        ]
        return module(top, about, self._dfg, body, self._streams.registers())

    def _places(self) -> list[str]:
        """For each array, a comment that says where on the fabric it is."""
        banks = self._configuration.mapping.fabric.memories
        places = self._configuration.mapping.placement.memory
        return [f" // in {banks[place.bank].name} from word {place.base} on" for place in places]

    def _state(self) -> list[str]:
        slot = f"reg [{(self._interval - 1).bit_length() - 1}:0] slot;"
        return [
            "reg running;",
            *([slot] if self._interval > 1 else []),
            f"reg [{self._values.stages - 1}:0] valid; // bit s: stage s holds an iteration",
            *self._drain(),
            "// A kernel may not need all bits of a word, or all captured scalars.",
            "// verilator lint_off UNUSED",
            *(f"reg [31:0] {name};" for name in self._signals.live_ins),
            *self._values.declarations(),
            "// verilator lint_on UNUSED",
            *(f"reg [31:0] {name};" for name in self._signals.live_outs),
        ]

    def _drain(self) -> list[str]:
        if not self._slots.drain:
            return []
        return [f"reg [{self._slots.drain_bits - 1}:0] drain; // cycles until the last iteration is complete"]

    def _process(self) -> list[str]:
        return [
            "always @(posedge clk)",
            "    if (step) begin",
            *(f"        {line}" for line in self._run()),
            "    end else if (rst) begin",
            *(f"        {line}" for line in self._reset()),
            "    end else if (!running) begin",
            *(f"        {line}" for line in self._idle()),
            "    end",
        ]

    def _reset(self) -> list[str]:
        slot = ["slot <= 0;"] if self._interval > 1 else []
        drain = ["drain <= 0;"] if self._slots.drain else []
        state = ("valid", "running", "done", "fail", "fail_index", *self._signals.live_outs)
        return slot + drain + [f"{name} <= 0;" for name in state]

    def _idle(self) -> list[str]:
        lines = [
            "if (start) begin",
            "    running <= 1'b1;",
            "    done <= 1'b0;",
            f"    valid <= {literal(1, self._values.stages)};",
            *(["    slot <= 0;"] if self._interval > 1 else []),
            *(f"    {line}" for line in self._values.firsts()),
            "end",
        ]
        return [*lines, *self._signals.fills()]

    def _run_wires(self) -> list[str]:
        """What decides on each cycle, in wires that seldom change: reading several registers takes longer."""
        filling = ["wire filling = !(&valid);"] if self._values.stages > 1 else []
        return ["wire step = running && !stalled && !rst;", *filling]

    def _run(self) -> list[str]:
        """One cycle of the array."""
        slots = self._slots.statements()
        stages = self._values.stages
        if stages > 1:
            slots[-1].insert(0, f"if (filling) valid <= {{valid[{stages - 2}:0], 1'b1}};")
        lines = slots[0] if self._interval == 1 else self._case(slots)
        if self._slots.drain:
            lines += [
                "if (drain != 0) begin",
                f"    drain <= drain - {literal(1, self._slots.drain_bits)};",
                "    if (drain == 1) begin",
                "        running <= 1'b0;",
                "        done <= 1'b1;",
                "        valid <= 0;",
                "    end",
                "end",
            ]
        return lines

    def _case(self, slots: list[list[str]]) -> list[str]:
        bits = (self._interval - 1).bit_length()
        lines = ["case (slot)"]
        for slot, body in enumerate(slots):
            last = slot == self._interval - 1
            lines.append(f"    {'default' if last else literal(slot, bits)}: begin")
            lines.append(f"        slot <= {literal(0 if last else slot + 1, bits)};")
            lines += [f"        {line}" for line in body]
            lines.append("    end")
        return [*lines, "endcase"]
