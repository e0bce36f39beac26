"""Programs compiled in this process, so that their kernels are made once for all ways to simulate them."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path

from macah.build import build
from macah.choose import choose
from macah.cli_parse import parse
from macah.compile import Compiled, Simulated, fronts, loaded, map_fronts
from macah.dataflow import circuits
from macah.fabrics import fabric_of
from macah.forms import Front
from macah.host import Host
from macah.messages import Messages
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages
from macah.toolchain import compiler


class CompiledOnce:
    """A program, its kernels after each stage, and executables of it."""

    def __init__(self, source: Path, *words: str) -> None:
        """`words` are options for all of its executables."""
        self._source, self._words, self._stages = source, words, Stages(False)
        options = self._options()
        self._program = read_program(source, options.cpp, compiler())
        self._adpc = choose(self._program, {}, fabric_of(options.arch))

    def build(self, target: Path, *words: str) -> None:
        """An executable with these options, too."""
        options = self._options(*words)
        with tempfile.TemporaryDirectory(dir=target.parent) as name:
            place, messages = Path(name), Messages(options.messages)
            host = Host(self._program, self._adpc, options, self._stages, messages, place)
            build(self._kernels(options), host, options, self._stages).rename(target)

    def _options(self, *words: str) -> Options:
        return parse(["run", "-w", *self._words, *words, str(self._source)])

    def _kernels(self, options: Options) -> list[Simulated]:
        if options.mode == "dataflow":
            return circuits(self._fronts, options, self._stages)
        if options.netlist == "generic":
            return [*loaded(self._mapped, fabric_of(options.arch), self._stages)]
        return [*self._mapped]

    @cached_property
    def _fronts(self) -> list[Front]:
        return fronts(self._program, self._adpc, self._options(), self._stages)

    @cached_property
    def _mapped(self) -> list[Compiled]:
        return map_fronts(self._fronts, self._options(), self._stages)
