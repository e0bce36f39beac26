"""What the user asked for, as one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from backend.mapping import EFFORTS, MapOptions

from .messages import MessageOptions


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, parsed. `cpp` and `cc` and `link` are arguments for the C compiler, in order."""

    source: Path
    action: str = "compile"  # compile | run | diff-modes | report | emit | explain
    arguments: tuple[str, ...] = ()
    output: Path | None = None
    mode: str = "mapped"
    modes: tuple[str, ...] = ("c", "mapped")  # to compare
    timeout: float = 0.0  # seconds for each of them; 0: any
    window: int = 1  # iterations of a kernel that may overlap in mode dataflow
    arch: str = "grid8x8"
    seed: int = 1
    effort: str = "normal"  # of EFFORTS
    time_limit: float = 0.0  # seconds for mapping a kernel; 0: any
    jobs: int = 1  # processes that work at a time
    keep: bool = False  # what is found out about kernels, for the next compilation
    ii: int = 0  # exactly this initiation interval; 0: the smallest
    max_ii: int = 0  # 0: what the architecture has
    unroll: tuple[str, ...] = ()  # FILE:LINE=K, or "none"
    ordered: tuple[str, ...] = ()  # names of kernels, "*" for all
    bubbles: tuple[str, ...] = ()  # the same
    no_bubbles: bool = False  # none but these
    adpc: tuple[str, ...] = ()
    emit: str = ""
    axi_stream: bool = False  # with wrappers
    explain: str = ""  # a code
    json: bool = False
    save_report: Path | None = None
    dump_after: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()  # names of optimisations
    time: bool = False
    simulator: str = "icarus"  # or verilator
    netlist: str = "specialised"  # or generic
    stall_cycles: int = 0  # without an element moved, after which a kernel is given up; 0: any
    wave: Path | None = None
    wave_cycles: tuple[int, int | None] = (0, None)  # the first and the last
    profile: tuple[str, ...] = ()  # files and directories; "-" for standard error
    lockstep: bool = False  # simulated time does not pass while the host computes
    verbose: bool = False
    cpp: tuple[str, ...] = ()
    depend: tuple[str, ...] = ()  # for the preprocessor, where dependencies go
    cc: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    messages: MessageOptions = field(default_factory=MessageOptions)

    @property
    def alone(self) -> bool:
        """Whether a kernel is made for who gives its variables values of their own, not for its program.

        All that is made so has the same words at the same addresses.
        """
        return self.emit == "design" or self.axi_stream

    def mapping(self) -> MapOptions:
        """What the mapper is told."""
        effort = EFFORTS[self.effort]
        return MapOptions(self.seed, effort, self.ii, self.max_ii, self.time_limit, self.jobs)
