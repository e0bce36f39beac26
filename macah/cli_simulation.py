"""The options of `macahc` that are about simulated kernels."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.wave import SUFFIXES

NETLISTS = ("specialised", "generic")
TIMES = ("free", "lockstep")
MOST_OVERLAP = 64
SIMULATORS = ("icarus", "verilator")
SIMULATION_VALUED = ("--simulator", "--netlist", "--stall-cycles", "--wave", "--wave-from", "--wave-to")
"""Options that take their value as the next word."""


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add = parser.add_argument_group("simulation").add_argument
    add(
        "--overlap",
        type=_window,
        metavar="N",
        help="in mode dataflow, let operators of so many iterations work at the same time (8 without =N)",
    )
    add(
        "--simulator",
        choices=SIMULATORS,
        default="",
        help="what simulates kernels (default icarus); verilator compiles for seconds, and pays off from some"
        " 200,000 cycles on",
    )
    add(
        "--netlist",
        choices=NETLISTS,
        help="specialised: the array with a kernel's configuration folded in, which is fast (default);"
        " generic: the array as it is, loaded with the kernels' configurations in turns",
    )
    add(
        "--stall-cycles",
        type=_cycles,
        default=0,
        metavar="N",
        help="stop a program whose kernel has moved no element for N cycles (default: no limit)",
    )
    add(
        "--wave",
        metavar="FILE",
        help="record kernels as waveforms, FILE.vcd or FILE.fst, with a layout FILE.gtkw",
    )
    add("--wave-from", type=_cycles, metavar="CYCLE", help="record from this cycle on")
    add("--wave-to", type=_cycles, metavar="CYCLE", help="record up to this cycle")
    add(
        "--profile",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="run: say at the end where cycles and time went, on standard error, in a file (=FILE.txt, .json,"
        " .trace.json, .folded, .svg, .html), or in all of these in a directory (=DIR)",
    )
    add(
        "--time",
        action="append",
        default=[],
        choices=("stages", *TIMES),
        metavar="free|lockstep",
        help="free: the host runs beside its kernels (default); lockstep: simulated time does not pass while"
        " it computes, so that runs repeat cycle by cycle. Without either: say how long each stage took",
    )


def check_simulation(parser: argparse.ArgumentParser, found: argparse.Namespace, command: str) -> None:
    """Refuses what does not go together."""
    simulated = {found.mode, *(found.modes or ())} != {"c"}
    if (found.wave is not None or found.stall_cycles) and not simulated:
        parser.error("--wave and --stall-cycles are about simulated kernels: leave out --mode c")
    if found.wave is not None and command == "diff-modes":
        parser.error("--wave goes with making or running a program")
    if found.wave is None and (found.wave_from, found.wave_to) != (None, None):
        parser.error("--wave-from and --wave-to go with --wave")
    if found.wave is not None and Path(found.wave).suffix not in SUFFIXES:
        parser.error(f"--wave: the name of the file must end in {' or '.join(SUFFIXES)}")
    if found.wave_to is not None and found.wave_to < (found.wave_from or 0):
        parser.error("--wave-to is before --wave-from")
    if found.profile and (command != "run" or found.mode == "c"):
        parser.error("--profile is about running simulated kernels: macahc run, without --mode c")
    if "" in found.profile:
        parser.error("the name after --profile= is empty")
    models = [model for model in found.time if model in TIMES]
    if models and not simulated:
        parser.error("--time is about simulated kernels: leave out --mode c")
    if found.simulator and not simulated:
        parser.error("--simulator is about simulated kernels: leave out --mode c")
    if found.netlist and "mapped" not in (found.mode, *(found.modes or ())):
        parser.error("--netlist goes with --mode mapped")
    if found.emit == "design" and found.netlist == "generic":
        parser.error("--emit design is about kernels on specialised netlists: leave out --netlist generic")
    if found.emit == "bits" and (found.mode != "mapped" or found.netlist == "specialised"):
        parser.error("--emit bits is about kernels on a generic netlist")
    if found.overlap and "dataflow" not in (found.mode, *(found.modes or ())):
        parser.error("--overlap goes with --mode dataflow")


def simulation(found: argparse.Namespace) -> dict[str, Any]:
    """The fields of `Options` that they give."""
    models = [model for model in found.time if model in TIMES]
    return {
        "window": found.overlap or 1,
        "simulator": found.simulator or SIMULATORS[0],
        "netlist": "generic" if found.emit == "bits" else found.netlist or NETLISTS[0],
        "stall_cycles": found.stall_cycles,
        "wave": None if found.wave is None else Path(found.wave),
        "wave_cycles": (found.wave_from or 0, found.wave_to),
        "profile": tuple(found.profile),
        "lockstep": models[-1:] == ["lockstep"],
    }


def joined(words: Sequence[str]) -> list[str]:
    """The words with `--time free` and `--time lockstep` as one; by itself, `--time` is another option."""
    found: list[str] = []
    for word in words:
        if word in TIMES and found[-1:] == ["--time"]:
            found[-1] = f"--time={word}"
        else:
            found.append(word)
    return found


def _cycles(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of cycles")
    return int(text)


def _window(text: str) -> int:
    window = int(text) if text.isdecimal() and len(text) < 4 else 0
    if not 1 <= window <= MOST_OVERLAP:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {MOST_OVERLAP}")
    return window
