"""Processes that run kernels for Python, kept from one run to the next: entering one again takes no time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .bench import DesignLike
from .interface import Interface
from .process import Executable, Process
from .result import RunOptions, Schedule
from .session import Run
from .wave import Wave


class Server:
    """Starts processes that run a kernel, and keeps an idle one."""

    def __init__(self, design: DesignLike, interface: Interface, schedule: Schedule | None) -> None:
        self.design, self.interface, self.schedule = design, interface, schedule
        self._built: dict[tuple[object, ...], Executable] = {}
        self._idle: dict[tuple[object, ...], Process] = {}

    def close(self) -> None:
        """Ends the idle processes."""
        while self._idle:
            self._idle.popitem()[1].end()

    def start(self, values: Mapping[str, Any], options: RunOptions) -> Run:
        """A run that has begun."""
        key = (options.simulator, options.stall_cycles, options.wave, options.wave_cycles)
        process = self._idle.pop((*key, options.time), None)
        if process is None or not process.is_usable():
            process = self._new_process(key, options)

        def give_back(used: Process) -> None:
            if (*key, options.time) in self._idle or options.wave is not None:
                used.end()  # which completes a waveform
            else:
                self._idle[*key, options.time] = used

        try:
            return Run(process, self.interface, self.design.dfg, self.schedule, values, options, give_back)
        except BaseException:
            process.end()
            raise

    def _new_process(self, key: tuple[object, ...], options: RunOptions) -> Process:
        if key not in self._built:
            path = None if options.wave is None else Path(options.wave).absolute()
            wave = None if path is None else Wave(path, *options.wave_cycles)
            self._built[key] = Executable(self.design, options.simulator, options.stall_cycles, wave)
        return Process(self._built[key], self.design.top, options.time)
