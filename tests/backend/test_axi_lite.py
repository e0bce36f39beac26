"""A kernel behind the AXI4-Lite wrapper: loaded, started, watched and read through the bus alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from graphs import Builder
from hardware_tools import lint_file, synthesize_file
from simple_mapper import simple_map

from arch.describe import load_fabric
from backend.dfg import Const
from backend.verilog import Design, emit

WRAPPER = Path(__file__).parents[2] / "arch" / "rtl" / "axi_lite.v"
BUS_SIGNALS = """
awaddr awvalid awready wdata wstrb wvalid wready bresp bvalid bready
araddr arvalid arready rdata rresp rvalid rready
"""
BUS = BUS_SIGNALS.split()
CONTROL_SIGNALS = "rst start done ctl_write ctl_address ctl_wdata ctl_rdata fail fail_index stalled"
CONTROL = CONTROL_SIGNALS.split()


def scaled_sums() -> Design:
    """m[i] = m[i] * factor + i for i < 6; fails if a word is 99."""
    b = Builder("kernel")
    memory, factor = b.memory("m", 8), b.live_in("factor")
    index, alive = b.counter(6)
    word = b.add("load", index, memory=memory)
    b.add("store", index, b.add("muladd", word, factor, index), alive, memory=memory)
    b.add("fail", b.add("and", b.add("eq", word, Const(99)), alive))
    return emit(simple_map(b.build(), load_fabric("grid4x4"), 1, 2))


def run(design: Design, script: list[str], directory: Path) -> list[str]:
    """Run bus commands in a bench, with the master now and then unwilling; return what is displayed."""
    widths = {"addr": "[31:0] ", "data": "[31:0] ", "strb": "[3:0] ", "resp": "[1:0] "}
    from_slave = ("awready", "wready", "bresp", "bvalid", "arready", "rdata", "rresp", "rvalid")
    lines = [
        "module bench; reg clk = 0, resetn = 0; always #1 clk = !clk; reg [1:0] response; reg [31:0] word;"
    ]
    for name in BUS:
        kind = "wire" if name in from_slave else "reg"
        lines.append(f"{kind} {widths.get(name[-4:], '')}{name}{'' if kind == 'wire' else ' = 0'};")
    wide = ("ctl_address", "ctl_wdata", "ctl_rdata", "fail_index")
    lines += [f"wire {'[31:0] ' if name in wide else ''}{name};" for name in CONTROL]
    bus = ", ".join(f".s_axi_{name}({name})" for name in BUS)
    control = ", ".join(f".{name}({name})" for name in CONTROL)
    lines += [
        f"macah_axi_lite slave (.aclk(clk), .aresetn(resetn), {bus}, {control});",
        f"{design.top} dut (.clk(clk), {control});",
        "task put(input [31:0] address, input [31:0] data, input [3:0] strobes); begin",
        "  awaddr <= address; awvalid <= 1; repeat ($urandom % 3) @(posedge clk);",
        "  wdata <= data; wstrb <= strobes; wvalid <= 1; @(posedge clk);",
        "  while (!(awready && wready)) @(posedge clk); awvalid <= 0; wvalid <= 0;",
        "  repeat ($urandom % 3) @(posedge clk); bready <= 1;",
        "  @(posedge clk); while (!bvalid) @(posedge clk);",
        "  response = bresp; bready <= 0; end endtask",
        "task get(input [31:0] address); begin",
        "  araddr <= address; arvalid <= 1; @(posedge clk); while (!arready) @(posedge clk); arvalid <= 0;",
        "  repeat ($urandom % 3) @(posedge clk); rready <= 1;",
        "  @(posedge clk); while (!rvalid) @(posedge clk);",
        "  word = rdata; rready <= 0; end endtask",
        "initial begin repeat (3) @(posedge clk); resetn <= 1; @(posedge clk);",
        *script,
        "$finish; end endmodule",
    ]
    source, image = directory / "b.v", directory / "b.vvp"
    source.write_text(design.text + "\n".join(lines) + "\n")
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", image, source, WRAPPER], check=True)
    done = subprocess.run(["vvp", "-n", image], capture_output=True, text=True, check=True, timeout=600)
    return done.stdout.split()


def at(region: int, offset: int) -> str:
    return f"32'd{region << 24 | offset << 2}"


WAIT = f"word = 0; while (word[0] !== 1 && word[2] !== 1) get({at(255, 0)});"


def test_a_kernel_runs_over_the_bus(tmp_path: Path) -> None:
    script = [f"put({at(2, k)}, {10 + k}, 4'hf);" for k in range(8)]
    script += [f"put({at(0, 0)}, 7, 4'hf); put({at(255, 0)}, 1, 4'hf); {WAIT} $display(word);"]
    script += [f"get({at(2, k)}); $display(word);" for k in range(8)]
    words = [str((10 + k) * 7 + k) for k in range(6)] + ["16", "17"]
    assert run(scaled_sums(), script, tmp_path) == ["1", *words]


def test_partial_writes_are_refused_and_change_nothing(tmp_path: Path) -> None:
    script = [f"put({at(2, 0)}, 5, 4'hf); $display(response); put({at(2, 0)}, 6, 4'h3); $display(response);"]
    script += [f"get({at(2, 0)}); $display(word); put({at(255, 0)}, 1, 4'h7); $display(dut.running);"]
    assert run(scaled_sums(), script, tmp_path) == ["0", "2", "5", "0"]


def test_failures_are_seen_and_reset(tmp_path: Path) -> None:
    script = [f"put({at(2, 3)}, 99, 4'hf); put({at(255, 0)}, 1, 4'hf); {WAIT} $display(word[2]);"]
    script += [
        f"get({at(255, 1)}); $display(word); put({at(255, 0)}, 2, 4'hf); get({at(255, 0)}); $display(word);"
    ]
    assert run(scaled_sums(), script, tmp_path) == ["1", "0", "0"]


@pytest.mark.needs("verilator")
def test_the_wrapper_is_lint_clean() -> None:
    lint_file(WRAPPER, "-Wno-DECLFILENAME")


@pytest.mark.needs("yosys")
def test_the_wrapper_is_synthesizable() -> None:
    synthesize_file(WRAPPER, "macah_axi_lite")
