"""The options of `macahc`: their names, values and help."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from backend.mapping import EFFORTS

from .cli_simulation import add_simulation
from .diagnostic import MacahError
from .jobs import processes
from .messages import FORMATS

EMITS = ("c", "host-c", "ir", "dfg", "graph", "map", "verilog", "bits", "design")
MODES = ("c", "dataflow", "mapped")

USAGE = """macahc [options] FILE.macah
       macahc run [options] FILE.macah [ARGS...]
       macahc diff-modes [--modes A,B] [--timeout SECONDS] [options] FILE.macah [ARGS...]
       macahc --report [--json] [options] FILE.macah
       macahc --emit WHAT [options] FILE.macah
       macahc map [options] GRAPH
       macahc --explain [CODE]"""

DESCRIPTION = (
    "Compiles a Macah program: host code to C, each kernel to a mapped accelerator that is simulated."
)

EPILOG = """of gcc's options, these are passed on too:
  -std= -m* -isystem -iquote -idirafter -include -imacros -MD -MMD -MF -MT -MQ -MP -MG -pedantic -pg
  --coverage -pthread -static -s -rdynamic -pie -no-pie
environment:
  CC, CXX         the compilers for C and, with --simulator verilator, C++ (default cc and g++)
  MACAH_JOBS      what --jobs says
  MACAH_CACHE     directory of the compiled runtime and of kernels compiled before
                  (default ~/.cache/macah), or off
  MACAH_KERNELS   off: compile all kernels again
environment of a compiled program:
  MACAH_STATS=1   print cycles and stalls of each kernel on standard error at exit
  MACAH_TIME=free|lockstep
                  instead of what --time says
  MACAH_TRACE=DIR write what is sent through each stream as text, a file for each;
                  with MACAH_TRACE_PLACES=1, also the places that sent it
  MACAH_REST_SECONDS, MACAH_START_SECONDS
                  in lock step, work that others wait for before there are no turns any more (10);
                  what a simulator may take to start (60)
exit status: 0 done, 1 the program is wrong or does not fit, 2 wrong usage; `run`: the program's own;
  `diff-modes`: 0 the modes do the same, 1 they do not"""


class _InOrder(argparse.Action):
    """Collects options of one destination with their values, in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), f"{option_string}{values}"))


class UsageError(MacahError):
    """The command line is wrong; `usage` is what it may be."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message, code="usage", output=usage)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are told as all others are: as `UsageError`."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage())


def build_parser() -> argparse.ArgumentParser:
    """The options of `macahc`."""
    parser = Parser(
        "macahc",
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", nargs="?", metavar="FILE.macah")
    parser.add_argument("--version", action="version", version=f"macahc {version('macah')}")
    _add_results(parser)
    _add_kernels(parser)
    add_mapping(parser)
    add_simulation(parser)
    _add_gcc(parser)
    _add_messages(parser)
    return parser


def _add_results(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is made").add_argument
    add("-o", dest="output", metavar="NAME", help="name of the output (default a.out)")
    add("--mode", choices=MODES, default="mapped", help="where kernels run (default mapped)")
    add("--modes", type=_modes, metavar="A,B", help="the modes to compare (default c,mapped)")
    add("--timeout", type=_seconds, metavar="SECONDS", help="time for a program to compare (default: any)")
    add("--check", action="store_true", help="in mode c, report divisions by zero, shift counts and indices")
    add(
        "--emit",
        choices=EMITS,
        default="",
        help="write this instead of an executable (default: to standard output)",
    )
    add(
        "--axi-stream",
        action="store_true",
        help="with --emit verilog: a wrapper besides, with AXI4-Stream ports and AXI4-Lite for control",
    )
    add("--report", action="store_true", help="say how each kernel was mapped and what limits it")
    add("--json", action="store_true", help="the report as one JSON object")
    add("--save-report", metavar="FILE", help="compile, or run, and write the report to FILE as JSON")


def _add_kernels(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("kernels").add_argument
    add(
        "--adpc",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a pseudo-constant; NAME is N or FUNCTION.N (default: chosen for the architecture)",
    )
    add(
        "--unroll",
        action="append",
        default=[],
        metavar="FILE:LINE=K",
        help="K copies of the body of the loop that begins there, or all; none: copies only where asked for",
    )
    add(
        "--ordered-streams",
        action="append",
        default=[],
        metavar="KERNEL",
        dest="ordered",
        help="keep the order of operations on different streams, in one kernel (=KERNEL) or in all",
    )
    add(
        "--bubbles",
        action="append",
        default=[],
        metavar="KERNEL",
        help="let iterations that wait to receive not hold up others, in one kernel (=KERNEL) or in all"
        " (default: in those that may wait for an answer to what they send, or in vain)",
    )
    add("--no-bubbles", action="store_true", help="bubbles in no kernel unless asked for")
    add(
        "--disable",
        action="append",
        default=[],
        type=_names,
        metavar="NAME,...",
        help="leave out optimisations, or all, to see what they are worth; a name that is none lists them",
    )
    add(
        "--dump-after", action="append", default=[], metavar="PASS|all", help="print each kernel after a pass"
    )


def add_mapping(parser: argparse.ArgumentParser) -> None:
    """The accelerator, and the options that the mapper knows."""
    add = parser.add_argument_group("mapping").add_argument
    add(
        "--arch",
        metavar="NAME|FILE",
        default="grid8x8",
        help="the accelerator: a shipped name, a family with a size (grid:6x4), or a TOML file"
        " (default grid8x8)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of the mapper's random choices (default 1)")
    add("--effort", choices=[*EFFORTS], default="normal", help="how hard the mapper tries (default normal)")
    add(
        "--time-limit",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="for mapping a kernel: then the best mapping so far is taken (default: any)",
    )
    add(
        "--jobs",
        type=processes,
        default=os.environ.get("MACAH_JOBS", ""),
        metavar="N",
        help="processes that work at a time; the result is the same (default: the cores, up to 2)",
    )
    add("--ii", type=_interval, default=0, metavar="N", help="map at exactly this initiation interval")
    add("--max-ii", type=_interval, default=0, metavar="N", help="map at no longer initiation interval")


def _add_gcc(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("as gcc has them").add_argument
    for flag, kind, meaning in (
        ("-I", "cpp", "directory of headers"),
        ("-D", "cpp", "define a macro"),
        ("-U", "cpp", "undefine a macro"),
        ("-l", "link", "library"),
        ("-L", "link", "directory of libraries"),
    ):
        add(flag, action=_InOrder, default=(), metavar="X", dest=kind, help=meaning)
    add("-O", default="2", metavar="N", dest="optimize", help="optimisation of the host code (default -O2)")
    add("-g", default=None, metavar="N", dest="debug", help="debug information in the host code")
    add("-W", action="append", default=[], metavar="NAME", dest="warnings", help="warnings")
    add("-w", action="store_true", dest="quiet", help="no warnings")
    features = "diagnostics-color=WHEN, max-errors=N, and others for the C compiler"
    add("-f", action="append", default=[], metavar="NAME", dest="features", help=features)


def _add_messages(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("messages").add_argument
    add("-v", "--verbose", action="store_true", help="print the commands that are run, and progress")
    add(
        "--diagnostics-format",
        choices=FORMATS,
        default="text",
        help="form of errors and warnings; json and sarif are one document on standard error",
    )
    add("--explain", nargs="?", const="list", metavar="CODE", help="say what an error or warning means")


def _interval(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 20:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of cycles")
    return int(text)


def _modes(text: str) -> tuple[str, ...]:
    modes = tuple(text.split(","))
    if len(modes) != 2 or not set(modes) <= set(MODES):
        raise argparse.ArgumentTypeError(f"'{text}' is not two of {', '.join(MODES)} with a comma between")
    return modes


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return seconds
