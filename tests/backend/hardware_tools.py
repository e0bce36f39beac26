"""Holds emitted Verilog to what Verilator and Yosys say of it, and a graph small enough to be synthesized."""

import subprocess
from pathlib import Path

from graphs import Builder

from backend.dfg import DFG
from backend.verilog import Design
from backend.verilog_fabric import Hardware


def small_graph() -> DFG:
    """One that loads, stores, counts and sends."""
    b = Builder("small")
    memory, sink = b.memory("m", 8), b.stream("out", True)
    index, alive = b.counter(8)
    total = b.add("smin", b.add("load", index, memory=memory), index)
    b.add("store", index, total, alive, memory=memory)
    b.add("send", total, alive, stream=sink)
    return b.build()


def lint(design: Design | Hardware, directory: Path) -> None:
    """Fails at any warning of Verilator."""
    path = directory / f"{design.top}.v"
    path.write_text(design.text)
    lint_file(path)


def lint_file(path: Path, *flags: str) -> None:
    """The same for a file."""
    command = ["verilator", "--lint-only", "-Wall", *flags, path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr + path.read_text()


def synthesize(design: Design, directory: Path) -> None:
    """Fails if Yosys refuses it, or infers a latch."""
    path = directory / "small.v"
    path.write_text(design.text)
    synthesize_file(path, design.top)


def synthesize_file(path: Path, top: str) -> None:
    """The same for a file."""
    latches = "select -assert-none t:$dlatch t:$_DLATCH_*"
    command = f"read_verilog {path}; synth -top {top}; {latches}; check -assert"
    done = subprocess.run(["yosys", "-q", "-p", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
