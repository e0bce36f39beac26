"""Kernels as Python has them: compiled, described, run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backend.dfg import DFG
from backend.foreign import GraphError
from backend.graph_text import Source
from backend.kernel_json import read_kernel
from backend.verilog_axi import axi_lite, axi_wrapper

from .bench import LIVE_OUT
from .compiler import adpc_options, compile_file, compile_text, designs_in
from .interface import Interface
from .result import Result, RunOptions, Schedule
from .serving import Server
from .session import Run
from .values import Type

Values = Mapping[str, Any]


@dataclass(frozen=True)
class _Design:
    """What builds a simulation of it (`bench.DesignLike`)."""

    top: str
    text: str
    dfg: DFG
    interval: int
    length: int


class Kernel:
    """A kernel in Verilog, with what its ports mean.

    `name` is the kernel's, `top` its Verilog module's, `verilog` the text. `interval`, the initiation
    interval, and `length`, an iteration's cycles, are None in mode `dataflow`. `operations` counts the nodes
    of its graph. `counter` is where the word port has the number of iterations, None in mode `mapped`.
    An idle simulator is kept for the next run until `close`, or the end of a `with`.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        graph = read_kernel(table["graph"], Source(json.dumps(table["graph"]), table["name"])).kernel
        assert graph is not None, table["name"]
        self.name: str = table["name"]
        self.top: str = table["top"]
        self.arch: str = table["arch"]
        self.mode: str = table["mode"]
        self.interval: int | None = table["interval"]
        self.length: int | None = table["length"]
        self.operations: int = table["operations"]
        self.verilog: str = table["verilog"]
        self.dfg = graph
        self.interface = Interface.read(table, graph)
        # A circuit without a schedule has a further word, the number of its iterations.
        self.counter = LIVE_OUT << 24 | len(graph.live_outs) if table.get("counts_iterations") else None
        words = graph if self.counter is None else replace(graph, live_outs=(*graph.live_outs, "iterations"))
        design = _Design(self.top, self.verilog, words, self.interval or 1, self.length or 1)
        timed = self.interval is not None and self.length is not None
        self._server = Server(
            design, self.interface, Schedule(design.interval, design.length) if timed else None
        )

    def __repr__(self) -> str:
        return f"<kernel {self.name}, {self.mode} on {self.arch}>"

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its simulators. It can still be run, with new ones."""
        self._server.close()

    def axi_verilog(self) -> str:
        """Module `<top>_axis`, the kernel with AXI4-Stream and AXI4-Lite ports, and all modules in it."""
        names = tuple(stream.source for stream in self.interface.streams)
        return "\n".join([self.verilog, axi_wrapper(self.top, self.dfg, names), axi_lite()])

    def writes(self, values: Values) -> list[tuple[int, int]]:
        """Addresses {8-bit region, 24-bit offset} at the word port and words, to write before a run.

        Errors: ValueError, TypeError for a value that does not fit, KeyError for a name that is none.
        """
        self._check_names(values)
        return self.interface.writes(values, self.dfg)

    def reads(self) -> list[int]:
        """The addresses at the word port that hold results after a run."""
        return self.interface.reads(self.dfg)

    def results(self, values: Values, words: Sequence[int]) -> dict[str, Any]:
        """The variables that the kernel changed, of the words at `reads`; `values` as before the run."""
        return self.interface.read_results(values, self.dfg, words)

    def iterations(self, cycles: int) -> int | None:
        """How many iterations take so many cycles; None in mode `dataflow`."""
        schedule = self._server.schedule
        return None if schedule is None else schedule.iterations(cycles)

    @property
    def inputs(self) -> dict[str, Type]:
        """The streams that it receives from, with the types of their elements."""
        return {s.name: s.element for s in self.interface.streams if not s.sends and not s.inner}

    @property
    def outputs(self) -> dict[str, Type]:
        """The streams that it sends to."""
        return {s.name: s.element for s in self.interface.streams if s.sends and not s.inner}

    @property
    def variables(self) -> dict[str, Type]:
        """The variables that it captures."""
        return {variable.name: variable.type for variable in self.interface.variables}

    def run(self, values: Values | None = None, options: RunOptions | None = None) -> Result:
        """Runs it to its end: streams are sent what `values` has for them, all that it sends is collected.

        Errors: see `start` and `Run.finish`; ValueError for a stream that it receives from but has no value.
        """
        values = values or {}
        for name in self.inputs:
            if name not in values:
                raise ValueError(
                    f"kernel '{self.name}': what is sent to stream '{name}'? (perhaps nothing: ())"
                )
        with self.start(values, options) as run:
            return run.finish()

    def start(self, values: Values | None = None, options: RunOptions | None = None) -> Run:
        """Starts it. `values` has variables and, for streams that it receives from, iterables.

        A variable without a value is 0. A stream without one is for `Run.send`. An iterable without a length,
        as a generator, is asked for elements as the stream has room. Errors: ValueError or TypeError for a
        value that does not fit, KeyError for a name that is none, SimulatorError.
        """
        values = values or {}
        self._check_names(values)
        return self._server.start(values, options or RunOptions())

    def _check_names(self, values: Values) -> None:
        for name in values:
            if name not in self.inputs and name not in self.variables:
                known = ", ".join([*self.inputs, *self.variables])
                raise KeyError(f"kernel '{self.name}' has no input or variable '{name}', but {known}")


def compile_kernels(
    source: str | Path | None = None,
    *,
    text: str | None = None,
    arch: str = "grid8x8",
    mode: str = "mapped",
    adpc: Mapping[str, int] | None = None,
    options: Sequence[str] = (),
) -> dict[str, Kernel]:
    """The kernels of a program, a file or a text, by name. Errors: CompileError.

    `mode` is `mapped` or `dataflow`; `adpc` has values of pseudo-constants; `options` are more of `macahc`'s.
    """
    if (source is None) == (text is None):
        raise TypeError("a program is either a file or a text")
    if mode not in ("mapped", "dataflow"):
        raise ValueError(f"mode '{mode}' is none of 'mapped', 'dataflow'")
    words = ["--arch", arch, "--mode", mode, *adpc_options(adpc or {}), *options]
    found = compile_text(text, words) if text is not None else compile_file(Path(source or ""), words)
    return {table["name"]: Kernel(table) for table in found}


def compile_kernel(
    source: str | Path | None = None,
    name: str | None = None,
    *,
    text: str | None = None,
    arch: str = "grid8x8",
    mode: str = "mapped",
    adpc: Mapping[str, int] | None = None,
    options: Sequence[str] = (),
) -> Kernel:
    """One of `compile_kernels`, which needs no name if it is the only one. Errors: CompileError, KeyError."""
    kernels = compile_kernels(source, text=text, arch=arch, mode=mode, adpc=adpc, options=options)
    return _choose(kernels.values(), name)


def load_kernel(path: str | Path, name: str | None = None) -> Kernel:
    """A kernel in a file that `macahc --emit design` wrote.

    Errors: OSError; ValueError, which names the file, if there are no kernels in it; KeyError.
    """
    try:
        kernels = [Kernel(table) for table in designs_in(Path(path).read_text(encoding="utf-8"))]
    except (GraphError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} holds no kernels: {error}") from error
    return _choose(kernels, name)


def _choose(kernels: Iterable[Kernel], name: str | None) -> Kernel:
    found = list(kernels)
    matching = [kernel for kernel in found if name in (None, kernel.name)]
    if len(matching) != 1:
        names = ", ".join(kernel.name for kernel in found) or "none"
        raise KeyError(
            f"which kernel? There are: {names}" if name is None else f"no kernel '{name}', but: {names}"
        )
    return matching[0]
