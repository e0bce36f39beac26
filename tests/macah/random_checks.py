"""Holds a program to what gcc makes of it as plain C, at every stage of its compilation."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from zlib import crc32

from plain_c import plain_c
from stage_runner import Differs, Execution, check_graph, check_ir, executions, recorder

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.dfg import DFG, Place
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions
from backend.run_dfg import GraphLimitExceeded
from backend.verilog import emit
from backend.verilog_dataflow import emit_dataflow
from macah import ir
from macah.diagnostic import MacahError
from macah.lower import lower
from macah.passes.pipeline import opened, optimize
from macah.program import read_program
from macah.run import LimitExceeded
from macah.sources import source_name
from macah.tests_first import candidates, crowded
from macah.todfg import build_dfg
from macah.translate import to_c
from macah.unrolling import loops_of
from macah.walk import arrays_read, arrays_written
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES

NARROW = load_fabric("mesh:3x3")
"""An array on which units and ports bind, so that operations share them."""
MOST_NODES = 200
"""Graphs of up to so many operations are made for it, too."""

GCC = ("gcc", "-w", "-O0", "-std=gnu11", "-fwrapv")
SANITIZE = ("-fsanitize=undefined,address", "-fno-sanitize=shift,alignment", "-fno-sanitize-recover=all")


class Unfit(Exception):
    """The program says nothing: it does not end, or takes the interpreters too long."""


@dataclass(frozen=True)
class Failure:
    """What went wrong: a stage, and what it did."""

    stage: str
    message: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.message}"


@dataclass(frozen=True)
class Reference:
    """What gcc's program printed and recorded."""

    output: str
    recorded: str


def reference(text: str, kernels: list[ir.Kernel], directory: Path, flags: tuple[str, ...] = ()) -> Reference:
    """Compiles a program as plain C and runs it. Errors: Unfit."""
    source, built = directory / "plain.c", directory / "plain"
    source.write_text(plain_c(text, recorder(kernels)))
    done = subprocess.run([*GCC, *flags, source, "-o", built], capture_output=True, text=True)
    if done.returncode:
        if "internal compiler error" in done.stderr:
            raise Unfit("gcc fails")
        raise Unfit(f"gcc: {done.stderr[:600]}")
    try:
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        ran = subprocess.run([built], capture_output=True, text=True, timeout=10, env=environment)
    except subprocess.TimeoutExpired:
        raise Unfit("does not end") from None
    if ran.returncode:
        raise Unfit(f"status {ran.returncode}: {_last(ran.stderr)}")
    return Reference(ran.stdout, ran.stderr)


def _stages(
    kernel: ir.Kernel, every_pass: bool, fabric: Fabric | None
) -> Iterator[tuple[str, Callable[[Execution], None]]]:
    """The kernel at one stage after the other: what holds it to an execution there."""
    name = kernel.name
    yield f"{name} lower", partial(check_ir, kernel)
    seen: list[tuple[str, ir.Kernel]] = []
    kernel = optimize(kernel, lambda name, after: seen.append((name, after)))
    for done, after in seen if every_pass else seen[-1:]:
        yield f"{name} {done}", partial(check_ir, after)
    dfg = build_dfg(kernel)
    yield f"{name} graph", partial(check_graph, kernel, dfg)
    yield f"{name} graph out of order", partial(_check_shuffled, kernel, dfg)
    if len(dfg.nodes) <= MOST_NODES and (shared := build_dfg(kernel, NARROW)) != dfg:
        yield f"{name} graph for few units", partial(check_graph, kernel, shared)
        yield f"{name} graph for few units out of order", partial(_check_shuffled, kernel, shared)
    if fabric is not None:
        for window in (1, 2 + len(dfg.nodes) % 7):
            circuit = emit_dataflow(dfg, fabric.latency, window)
            yield f"{name} dataflow {window}", partial(check_graph, kernel, dfg, design=circuit)
        design = emit(map_kernel(dfg, fabric, MapOptions()))
        yield f"{name} mapped", partial(check_graph, kernel, dfg, design=design)


def _check_shuffled(kernel: ir.Kernel, dfg: DFG, execution: Execution) -> None:
    with suppress(GraphLimitExceeded):
        check_graph(kernel, dfg, execution, shuffled=True)


def _last(errors: str) -> str:
    """What is not recorded."""
    return "\n".join([line for line in errors.splitlines() if line[:2] not in ("K ", "V ", "S ")][:3])


def _first(kernel: ir.Kernel) -> list[Place]:
    """The loops that may be chosen to test first."""
    return [*candidates(kernel.body), *crowded(kernel.body)]


def _arrays(kernel: ir.Kernel) -> tuple[str, ...]:
    """The names of the arrays in the source."""
    body = opened(kernel).body
    return tuple(sorted({source_name(array.name) for array in arrays_read(body) | arrays_written(body)}))


def check(
    text: str,
    directory: Path,
    every_pass: bool = True,
    flags: tuple[str, ...] = (),
    fabric: Fabric | None = None,
    without: frozenset[str] = frozenset(),
    unroll: int = 1,
    bubbles: bool = False,
    once: bool = False,
) -> Failure | None:
    """The first stage that does something else than gcc. Errors: Unfit.

    With `unroll` all loops get so many copies of their bodies, and arrays are spread over many memories. With
    `once` iterations receive once.
    """
    path = directory / "random.macah"
    path.write_text(text)
    stage = "read"
    try:
        program = read_program(path)
        stage = "lower"
        lowered = [lower(program, site) for site in program.kernels]
        kernels = [replace(kernel, without=without, bubbles=bubbles) for kernel in lowered]
        if len(text) % 2:  # of every other program, all loops that may, or all
            first = loops_of if len(text) % 4 == 1 else _first
            kernels = [replace(kernel, tests_first=tuple(first(kernel))) for kernel in kernels]
        if len(text) % 3:
            kernels = [replace(kernel, row=2 + len(text) % 4) for kernel in kernels]
        else:
            kernels = [replace(kernel, delay=len(text) % 5) for kernel in kernels]
        odd = crc32(text.encode())
        joined, stacked, entered, apart = (bool(odd >> k & 1) for k in range(4))
        kernels = [
            replace(kernel, chained=joined, stacked=joined and stacked, entered=entered, once=once)
            for kernel in kernels
        ]
        if apart:
            kernels = [replace(kernel, partitioned=_arrays(kernel)) for kernel in kernels]
        if not len(text) % 5:
            kernels = [replace(kernel, words=3 + len(text) % 7) for kernel in kernels]
        if unroll > 1:
            room = ir.Room(memories=1000, ports=1, interval=1, odd=True)
            kernels = [replace(k, unroll=tuple((p, unroll) for p in loops_of(k)), room=room) for k in kernels]
        made = reference(text, kernels, directory, flags)
        runs = executions(made.recorded, kernels)
        for kernel in kernels:
            mine = [run for run in runs if run.kernel == kernel.name]
            for name, test in _stages(kernel, every_pass, fabric):
                stage = name
                for run in mine:
                    test(run)
    except (LimitExceeded, GraphLimitExceeded):
        raise Unfit("takes too long") from None
    except DoesNotFit:
        raise Unfit("does not fit") from None
    except MacahError as refused:
        return Failure(
            stage, "refused: " + "; ".join(f"{d.where}: {d.message}" for d in refused.diagnostics[:1])
        )
    except Differs as differs:
        return Failure(stage, str(differs))
    except Unfit:
        raise
    except Exception as crash:
        return Failure(stage, f"{type(crash).__name__}: {str(crash)[:300]}")
    return None


def check_translation(text: str, directory: Path) -> Failure | None:
    """Whether the program prints in mode `c` what it prints as plain C. Errors: Unfit."""
    expected = reference(text, [], directory).output
    path = directory / "random.macah"
    path.write_text(text)
    try:
        (directory / "mode.c").write_text(to_c(read_program(path)))
    except MacahError as refused:
        return Failure("translate", "refused: " + "; ".join(d.message for d in refused.diagnostics[:1]))
    built = directory / "mode"
    objects = runtime(directory)
    done = subprocess.run(
        [*GCC, directory / "mode.c", *objects, *RUNTIME_FLAGS, "-o", built], capture_output=True, text=True
    )
    if done.returncode:
        return Failure("translate", f"Error of gcc: {done.stderr[:300]}")
    try:
        ran = subprocess.run([built], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return Failure("mode c", "Error: does not end")
    if ran.stdout != expected or ran.returncode:
        return Failure("mode c", f"prints {_first_difference(ran.stdout, expected)}, status {ran.returncode}")
    return None


def runtime(directory: Path) -> list[Path]:
    """The compiled runtime, kept in the directory for other programs."""
    objects = []
    for source in RUNTIME_SOURCES:
        objects.append(directory / f"{source.stem}.o")
        if not objects[-1].exists():
            subprocess.run([*GCC, *RUNTIME_FLAGS, "-c", source, "-o", objects[-1]], check=True)
    return objects


def _first_difference(mine: str, expected: str) -> str:
    pairs = zip(mine.splitlines(), expected.splitlines(), strict=False)
    return next((f"'{a}' instead of '{b}'" for a, b in pairs if a != b), f"{len(mine)} characters")
