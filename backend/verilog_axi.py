"""A kernel with AXI4-Stream ports for its streams, and AXI4-Lite for its control: a wrapper in Verilog-2005.

An element is one transfer: `tdata` has its bytes as the host has them in memory. If the kernel asks whether
a stream has ended, the stream has `tlast` and `tkeep`: it ends with the transfer that has `tlast`, which
brings no element if `tkeep` is 0. A stream that the kernel closes ends with such an empty transfer, as it is
not known before that there will be no further element.
"""

from __future__ import annotations

import re
from pathlib import Path

from arch.ops import CLOSES

from .dfg import DFG, StreamPort
from .verilog_names import Names

_LITE = Path(__file__).parent.parent / "arch" / "rtl" / "axi_lite.v"

_CONTROL = """\
s_axi_awaddr[31:0] s_axi_awvalid -s_axi_awready s_axi_wdata[31:0] s_axi_wstrb[3:0] s_axi_wvalid -s_axi_wready
-s_axi_bresp[1:0] -s_axi_bvalid s_axi_bready s_axi_araddr[31:0] s_axi_arvalid -s_axi_arready
-s_axi_rdata[31:0] -s_axi_rresp[1:0] -s_axi_rvalid s_axi_rready"""
"""The ports of macah_axi_lite that are the wrapper's, too; outputs begin with a minus sign."""


def axi_lite() -> str:
    """The module that all wrappers use."""
    return _LITE.read_text()


def wrapper_name(top: str) -> str:
    """The name of the wrapper of module `top`."""
    return f"{top}_axis"


def axi_names(dfg: DFG, streams: tuple[str, ...]) -> tuple[str, ...]:
    """The prefix of each stream's ports: `s_axis_<name>` if the kernel receives, `m_axis_<name>` if it sends.

    `streams` are their names in the program, in which what is no letter, digit or _ becomes one _.
    """
    names = Names()
    found = []
    for name, port in zip(streams, dfg.streams, strict=True):
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        found.append(names.new(f"{'m' if port.sends else 's'}_axis_{plain}"))
    return tuple(found)


def axi_wrapper(top: str, dfg: DFG, streams: tuple[str, ...]) -> str:
    """The wrapper of the design of a graph; it needs `axi_lite` besides."""
    names = axi_names(dfg, streams)
    ports, body = ["input aclk", "input aresetn"], list[str]()
    for word in _CONTROL.split():
        name, _, width = word.partition("[")
        direction = "output" if name.startswith("-") else "input"
        ports.append(f"{direction} {'[' + width + ' ' if width else ''}{name.lstrip('-')}")
    for k, (port, prefix) in enumerate(zip(dfg.streams, names, strict=True)):
        used = {node.op for node in dfg.nodes if node.stream == k}
        if port.sends:
            closes = not used.isdisjoint(CLOSES)
            ports += _ports(prefix, port, "output", "input", closes)
            body += _sender(k, port, prefix, closes)
        else:
            ports += _ports(prefix, port, "input", "output", "ended" in used)
            body += _receiver(k, port, prefix, "ended" in used)
    lines = [
        f"// {top} with an AXI4-Stream port for each of its streams, and AXI4-Lite for its control.",
        "// verilator lint_off UNUSED",
        f"module {wrapper_name(top)} (",
        ",\n".join(f"    {port}" for port in ports),
        ");",
        *(f"    {line}" for line in (*_control(), *body, *_kernel(top, dfg))),
        "endmodule",
        "// verilator lint_on UNUSED",
    ]
    return "\n".join(lines) + "\n"


def _ports(prefix: str, port: StreamPort, forth: str, back: str, ends: bool) -> list[str]:
    width = f"[{8 * port.size - 1}:0]"
    found = [f"{forth} {width} {prefix}_tdata", f"{forth} {prefix}_tvalid", f"{back} {prefix}_tready"]
    if ends:
        found += [f"{forth} {prefix}_tlast", f"{forth} [{port.size - 1}:0] {prefix}_tkeep"]
    return found


def _control() -> list[str]:
    names = [word.partition("[")[0].lstrip("-") for word in _CONTROL.split()]
    inner = ["rst", "start", "done", "ctl_write", "ctl_address", "ctl_wdata", "ctl_rdata"]
    pins = ", ".join(f".{name}({name})" for name in (*names, *inner, "fail", "fail_index", "stalled"))
    return [
        "wire rst, start, done, ctl_write, fail, stalled;",
        "wire [31:0] ctl_address, ctl_wdata, ctl_rdata, fail_index;",
        f"macah_axi_lite control (.aclk(aclk), .aresetn(aresetn), {pins});",
        "reg started; // and not done: the kernel runs",
        "always @(posedge aclk) started <= !rst && (started || start);",
    ]


def _kernel(top: str, dfg: DFG) -> list[str]:
    names = ["rst", "start", "done", "ctl_write", "ctl_address", "ctl_wdata", "ctl_rdata"]
    names += ["fail", "fail_index", "stalled"]
    for k, port in enumerate(dfg.streams):
        last = "close" if port.sends else "ended"
        names += [f"s{k}_{name}" for name in ("tdata", "tvalid", "tready", last)]
    return [f"{top} kernel (.clk(aclk), " + ", ".join(f".{name}({name})" for name in names) + ");"]


def _bits(count: int) -> str:
    return f"[{max(1, (count - 1).bit_length()) - 1}:0]"


def _phase(k: int, words: int) -> list[str]:
    """The number of an element's word that moves next."""
    if words == 1:
        return []
    return [
        f"reg {_bits(words)} s{k}_phase;",
        "always @(posedge aclk)",
        f"    if (rst) s{k}_phase <= 0;",
        f"    else if (s{k}_tvalid && s{k}_tready)",
        f"        s{k}_phase <= s{k}_phase == {words - 1} ? 0 : s{k}_phase + 1'b1;",
    ]


def _receiver(k: int, port: StreamPort, prefix: str, ends: bool) -> list[str]:
    words = len(port.words)
    first = f"s{k}_phase == 0" if words > 1 else "1'b1"
    last = f"s{k}_phase == {words - 1}" if words > 1 else "1'b1"
    choice = _word(port, words - 1, prefix)
    for number in reversed(range(words - 1)):
        choice = f"s{k}_phase == {number} ? {_word(port, number, prefix)} : {choice}"
    lines = [
        f"wire s{k}_tready;",
        *([] if ends else [f"wire s{k}_ended = 1'b0;"]),
        f"wire [31:0] s{k}_tdata = {choice};",
    ]
    if not ends:
        return [
            *lines,
            f"wire s{k}_tvalid = {prefix}_tvalid;",
            f"assign {prefix}_tready = s{k}_tready && {last};",
            *_phase(k, words),
        ]
    return [
        *lines,
        f"reg s{k}_over; // its last transfer has been made",
        f"wire s{k}_ended = s{k}_over && {first};",
        f"wire s{k}_empty = {prefix}_tlast && {prefix}_tkeep == 0;",
        f"wire s{k}_tvalid = {prefix}_tvalid && !s{k}_over && !s{k}_empty;",
        f"assign {prefix}_tready = !s{k}_over && started && !done && (s{k}_empty || s{k}_tready && {last});",
        "always @(posedge aclk)",
        f"    if (rst || start) s{k}_over <= 1'b0;",
        f"    else if ({prefix}_tvalid && {prefix}_tready && {prefix}_tlast) s{k}_over <= 1'b1;",
        *_phase(k, words),
    ]


def _word(port: StreamPort, number: int, prefix: str) -> str:
    """A word of an element, extended."""
    word = port.words[number]
    high = 8 * (word.offset + word.size) - 1
    bits = f"{prefix}_tdata[{high}:{8 * word.offset}]"
    if word.size == 4:
        return bits
    fill = f"{prefix}_tdata[{high}]" if word.signed else "1'b0"
    return f"{{{{{32 - 8 * word.size}{{{fill}}}}}, {bits}}}"


def _sender(k: int, port: StreamPort, prefix: str, closes: bool) -> list[str]:
    """Elements wait in a register, so that what is offered stays until it is taken, as AXI demands."""
    words, width = len(port.words), 8 * port.size
    first = f"s{k}_phase == 0" if words > 1 else "1'b1"
    last = f"s{k}_phase == {words - 1}" if words > 1 else "1'b1"
    lines = [
        f"wire s{k}_tvalid, s{k}_close;",
        f"wire [31:0] s{k}_tdata;",
        f"reg [{width - 1}:0] s{k}_element;",
        f"reg s{k}_full;",
        f"wire s{k}_tready = !({first}) || !s{k}_full || {prefix}_tready;",
        f"assign {prefix}_tdata = s{k}_element;",
        "always @(posedge aclk)",
        f"    if (rst) s{k}_full <= 1'b0;",
        f"    else if (s{k}_tvalid && s{k}_tready) s{k}_full <= {last};",
        f"    else if ({prefix}_tready) s{k}_full <= 1'b0;",
        "always @(posedge aclk)",
        f"    if (rst) s{k}_element <= 0;",
        f"    else if (s{k}_tvalid && s{k}_tready) begin",
    ]
    for number, word in enumerate(port.words):
        place = f"s{k}_element[{8 * (word.offset + word.size) - 1}:{8 * word.offset}]"
        condition = f"if (s{k}_phase == {number}) " if words > 1 else ""
        lines.append(f"        {condition}{place} <= s{k}_tdata[{8 * word.size - 1}:0];")
    lines += ["    end", *_phase(k, words)]
    if not closes:
        return [*lines, f"assign {prefix}_tvalid = s{k}_full;"]
    return [
        *lines,
        f"reg s{k}_closed, s{k}_ending; // ending: the empty transfer is still to be made",
        f"assign {prefix}_tvalid = s{k}_full || s{k}_ending;",
        f"assign {prefix}_tlast = !s{k}_full;",
        f"assign {prefix}_tkeep = {{{port.size}{{s{k}_full}}}};",
        "always @(posedge aclk)",
        "    if (rst || start) begin",
        f"        s{k}_closed <= 1'b0;",
        f"        s{k}_ending <= 1'b0;",
        "    end else begin",
        f"        if (s{k}_close) s{k}_closed <= 1'b1;",
        f"        if (s{k}_close && !s{k}_closed) s{k}_ending <= 1'b1;",
        f"        else if (!s{k}_full && {prefix}_tready) s{k}_ending <= 1'b0;",
        "    end",
    ]
