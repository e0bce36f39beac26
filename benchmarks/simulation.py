"""How fast kernels simulate, and what it costs to start, enter and feed them.

    .venv/bin/python benchmarks/simulation.py [--repeat N] [--arch NAME] [--parts rates,...]

Kernels of the examples are mapped and simulated with the words of a real run (replay.py), again and again,
in turns: by vvp alone with a bench that does nothing but give and take words (`alone`), as kernel of a
program with the whole bridge on Icarus (`bridged`) and on Verilator. Rates are simulated cycles for each
second of the simulator's processor time; start-up is left out, as the difference of a long and a short run.
Ratios are medians of those of the rounds. Starting and entering is wall-clock time, of the quickest run.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from replay import REPLAYS, Replay, bare_program, bridged_program, hardware, load_fabric, taker, trivial

SIMULATORS = ("vvp", "macah-kernel")
AIMS = {"bridged": 0.95, "verilator": 60.0}


@dataclass(frozen=True)
class Way:
    """A way to simulate a replay: the command for so many executions, and how many make a long run."""

    command: Callable[[int], list[str]]
    many: int

    def rate(self, cycles: int) -> float:
        """Cycles per second, if an execution takes so many."""
        long, short = (simulator_usage(self.command(count))[0] for count in (self.many, 1))
        return cycles * (self.many - 1) / max(long - short, 1e-6)


def adopt_orphans() -> None:
    """Makes simulators, which are no children of their programs, ours when the programs end."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def simulator_usage(command: Sequence[str]) -> tuple[float, int]:
    """Processor seconds, and the most memory in kilobytes, of the simulator that a command is or starts."""
    with Path(os.devnull).open("wb") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)]
        os.posix_spawnp(command[0], list(command), os.environ, file_actions=actions)
    used, memory = 0.0, 0
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return used, memory
        assert ended is not None and ended.si_status == 0, command
        name = Path(f"/proc/{ended.si_pid}/comm").read_text().strip()
        usage = os.wait4(ended.si_pid, 0)[2]
        if name in SIMULATORS:
            used, memory = used + usage.ru_utime + usage.ru_stime, max(memory, usage.ru_maxrss)


def seconds(command: Sequence[str]) -> float:
    """How long a command takes."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def ways(replay: Replay, directory: Path) -> tuple[int, dict[str, Way]]:
    """The cycles of an execution, and the ways to simulate it."""
    made = {}
    for name in ("alone", "icarus", "verilator"):
        (directory / name).mkdir(parents=True)
    bare = bare_program(replay, replay.design, directory / "alone")
    cycles = int(subprocess.run(bare, check=True, capture_output=True, text=True).stdout)
    count = max(2, 150_000 // cycles)
    made["alone"] = Way(lambda e: [*bare, f"+e={e}"], count)
    for name, factor in (("icarus", 1), ("verilator", 40)):
        program = bridged_program(replay, replay.design, directory / name, name)
        made[name] = Way(lambda e, program=program: [program, str(e)], count * factor)  # type: ignore[misc]
    return cycles, made


def rates(arch: str, repeat: int, directory: Path) -> bool:
    """Cycles per second of each kernel in each way."""
    good = True
    print(f"{'kernel':8} {'II':>3} {'alone':>10} {'bridged':>10} {'ratio':>6} {'aim':>5}", end=" ")
    print(f"{'verilator':>12} {'ratio':>6} {'aim':>4}  (cycles per second)")
    for name, make in REPLAYS.items():
        replay = make(arch, directory)
        cycles, by_name = ways(replay, directory / f"{name}.ways")
        rounds = [{key: way.rate(cycles) for key, way in by_name.items()} for _ in range(repeat)]
        rate = {key: statistics.median(each[key] for each in rounds) for key in by_name}
        bridge = statistics.median(each["icarus"] / each["alone"] for each in rounds)
        faster = statistics.median(each["verilator"] / each["icarus"] for each in rounds)
        print(f"{name:8} {replay.design.interval:3} {rate['alone']:10,.0f} {rate['icarus']:10,.0f}", end=" ")
        print(f"{bridge:6.2f} {AIMS['bridged']:5.2f} {rate['verilator']:12,.0f}", end=" ")
        print(f"{faster:6.1f} {AIMS['verilator']:4.0f}", flush=True)
        good = good and bridge >= AIMS["bridged"] and faster >= AIMS["verilator"]
    return good


def netlists(arch: str, directory: Path) -> bool:
    """Cycles per second of the specialised netlist and of the fabric, loaded with the same mapping, once."""
    good = True
    fabric = hardware(load_fabric(arch))
    print(f"{'kernel':8} {'specialised':>12} {'generic':>10} {'ratio':>6} {'aim':>4}  (cycles per second)")
    for name, make in REPLAYS.items():
        replay = make(arch, directory)
        assert replay.mapping is not None
        found = []
        for netlist, design in (("own", replay.design), ("shared", fabric.load(replay.mapping))):
            base = directory / f"{name}_{netlist}"
            base.mkdir()
            program = bridged_program(replay, design, base)
            said = subprocess.run([program, "1"], check=True, capture_output=True, text=True).stdout
            way = Way(lambda e, program=program: [program, str(e)], 6)  # type: ignore[misc]
            cycles = int(said.split()[0])
            # One execution on the fabric is so slow that start-up does not count.
            shared = netlist == "shared"
            found.append(cycles / simulator_usage(way.command(1))[0] if shared else way.rate(cycles))
        ratio = found[0] / found[1]
        print(f"{name:8} {found[0]:12,.0f} {found[1]:10,.0f} {ratio:6.1f} {15:4}", flush=True)
        good = good and ratio >= 15
    return good


def elements(repeat: int, directory: Path) -> bool:
    """Words per second into kernels that take one in each cycle."""
    good = True
    print(f"{'kernel':12} {'icarus':>12} {'verilator':>12} {'aim':>10}  (32-bit elements per second)")
    for name, make in (("by hand", taker), ("compiled", trivial)):
        replay = make(100_000, directory)
        cycles, by_name = ways(replay, directory / name.replace(" ", "_"))
        found = [
            statistics.median(by_name[k].rate(cycles) for _ in range(repeat)) for k in ("icarus", "verilator")
        ]
        good = good and found[0] >= 1e6
        print(f"{name:12} {found[0]:12,.0f} {found[1]:12,.0f} {1e6:10,.0f}", flush=True)
    return good


def starts(repeat: int, directory: Path) -> bool:
    """Time to start a kernel, and to enter one that runs already."""
    replay = taker(1, directory)
    good = True
    print(f"{'simulator':10} {'program':>9} {'aim':>6} {'entering':>10} {'aim':>8}")
    for name in ("icarus", "verilator"):
        base = directory / f"starts_{name}"
        base.mkdir()
        program = bridged_program(replay, replay.design, base, name)
        once = min(seconds([program, "1"]) for _ in range(repeat))
        many = min(seconds([program, "4001"]) for _ in range(repeat))
        entry = (many - once) / 4000
        print(f"{name:10} {once:7.2f} s {1:4} s {entry * 1e6:7.0f} us {1000:5} us", flush=True)
        good = good and once < 1 and entry < 1e-3
    return good


def memory(directory: Path) -> bool:
    """The most memory that a program, and its simulator, have had."""
    replay = REPLAYS["motion"]("grid16x16", directory / "large")
    (directory / "large" / "run").mkdir()
    program = bridged_program(replay, replay.design, directory / "large" / "run")
    simulator = simulator_usage([program, "1"])[1] / 1024
    host = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"memory on grid16x16: simulator {simulator:.0f} MB, any process at most {host:.0f} MB; aim 300 MB")
    return max(simulator, host) < 300


def main() -> int:
    """0 if all is as aimed at."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--parts", default="rates,netlists,elements,starts,memory")
    options = parser.parse_args()
    adopt_orphans()
    good = True
    with tempfile.TemporaryDirectory() as name:
        parts: dict[str, Callable[[Path], bool]] = {
            "rates": lambda d: rates(options.arch, options.repeat, d),
            "netlists": lambda d: netlists(options.arch, d),
            "elements": lambda d: elements(options.repeat, d),
            "starts": lambda d: starts(options.repeat, d),
            "memory": memory,
        }
        for part in options.parts.split(","):
            directory = Path(name) / part
            directory.mkdir()
            good = parts[part](directory) and good
            print(flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
