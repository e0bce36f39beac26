"""The values of a mapped design's iteration in the cycle in which it is over: what an observer looks at.

They are computed in different cycles. Each is kept until the iteration's last cycle, in as many copies as
iterations compute it in the meantime.
"""

from __future__ import annotations

from .configuration import Configuration
from .observer import Observer, Tap, Value
from .verilog_names import Names
from .verilog_slots import Slots
from .verilog_values import Values, bit_range, literal, part


def mapped_observer(
    configuration: Configuration, observer: Observer, values: Values, slots: Slots, names: Names
) -> list[str]:
    """The observer's lines in a mapped design; all of its taps are read there."""
    interval, last = configuration.interval, configuration.mapping.length - 1
    start = configuration.mapping.placement.schedule.start
    issues = {issue.node: issue for slot in range(interval) for issue in configuration.slot(slot)}
    taps: dict[Value, Tap] = {}
    declarations: list[str] = []
    writes: list[list[str]] = [[] for _ in range(interval)]
    for node, output in observer.taps:
        slot = start[node] % interval
        width, text = values.width(node, output), slots.expression(issues[node], slot, output)
        copies = -((start[node] - last) // interval)  # made before the last cycle, this one among them
        if copies:
            name = names.new(f"kept_{node}_{output}")
            declarations.append(f"reg {bit_range(width * copies)}{name};")
            rest = f"{{{name}{part(0, width * (copies - 1))}, {text}}}" if copies > 1 else text
            writes[slot].append(f"{name} <= {rest};")
            whole = copies == 1
            text = name if whole else name + part(width * (copies - 1), width)
        taps[node, output] = Tap(width, text)
    slot_bits = (interval - 1).bit_length()
    in_slot = f" && slot == {literal(last % interval, slot_bits)}" if interval > 1 else ""
    over = f"running && !stalled{in_slot} && {values.valid(last // interval)}"
    return [
        "// verilator lint_off UNUSED",
        *declarations,
        "// verilator lint_on UNUSED",
        *_process(writes, slot_bits),
        *observer.lines(over, taps.__getitem__),
    ]


def _process(writes: list[list[str]], slot_bits: int) -> list[str]:
    """What keeps values, slot by slot."""
    if not any(writes):
        return []
    lines = ["always @(posedge clk)", "    if (running && !stalled) begin"]
    for slot, statements in enumerate(writes):
        if statements:
            condition = f"if (slot == {literal(slot, slot_bits)}) " if slot_bits else ""
            lines.append(f"        {condition}begin")
            lines += [f"            {statement}" for statement in statements]
            lines.append("        end")
    return [*lines, "    end"]
