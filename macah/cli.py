"""The command `macahc`: its options, and what becomes of an error."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from backend.mapping import EFFORTS
from sim.guardian import WORKSPACE, end_workers

from .cli_simulation import SIMULATION_VALUED, TIMES, add_simulation, check_simulation, joined, simulation
from .diagnostic import MacahError
from .gcc_flags import VALUED, take_flags
from .jobs import add_jobs
from .messages import FORMATS, MAX_ERRORS, MessageOptions, Messages, Stopped, format_in
from .options import Options
from .warn import WarningOptions

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
environment of a compiled program:
  MACAH_STATS=1   print cycles and stalls of each kernel on standard error at exit
  MACAH_TIME=free|lockstep
                  instead of what --time says
  MACAH_TRACE=DIR write what is sent through each stream as text, a file for each;
                  with MACAH_TRACE_PLACES=1, also the places that sent it
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
    add = parser.add_argument
    add("source", nargs="?", metavar="FILE.macah")
    add("-o", dest="output", metavar="NAME", help="name of the output (default a.out)")
    add("--mode", choices=MODES, default="mapped", help="where kernels run (default mapped)")
    arch_help = (
        "the accelerator: a shipped name, a family with a size (grid:6x4), or a TOML file (default grid8x8)"
    )
    add("--modes", type=_modes, metavar="A,B", help="the modes to compare (default c,mapped)")
    add("--timeout", type=_seconds, metavar="SECONDS", help="time for a program to compare (default: any)")
    add("--arch", metavar="NAME|FILE", default="grid8x8", help=arch_help)
    add_simulation(parser)
    add(
        "--ordered-streams",
        action="append",
        default=[],
        metavar="KERNEL",
        dest="ordered",
        help="keep the order of operations on different streams, in one kernel (=KERNEL) or in all",
    )
    add(
        "--unroll",
        action="append",
        default=[],
        metavar="FILE:LINE=K",
        help="K copies of the body of the loop that begins there, or all; none: copies only where asked for",
    )
    add(
        "--bubbles",
        action="append",
        default=[],
        metavar="KERNEL",
        help="let iterations that wait to receive not hold up others, in one kernel (=KERNEL) or in all"
        " (default: in those that may wait for an answer to what they send)",
    )
    add("--no-bubbles", action="store_true", help="in no kernel unless asked for")
    add_mapping(parser)
    add(
        "--adpc",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a pseudo-constant; NAME is N or FUNCTION.N (default: chosen for the architecture)",
    )
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
    add(
        "--dump-after", action="append", default=[], metavar="PASS|all", help="print each kernel after a pass"
    )
    add(
        "--disable",
        action="append",
        default=[],
        type=_names,
        metavar="NAME,...",
        help="leave out optimisations, to see what they are worth; a name that is none lists them",
    )
    add("-v", "--verbose", action="store_true", help="print the commands that are run, and progress")
    for flag, kind, meaning in (
        ("-I", "cpp", "directory of headers"),
        ("-D", "cpp", "define a macro"),
        ("-U", "cpp", "undefine a macro"),
        ("-l", "link", "library"),
        ("-L", "link", "directory of libraries"),
    ):
        add(flag, action=_InOrder, default=(), metavar="X", dest=kind, help=f"{meaning}, as gcc has it")
    add("-O", default="2", metavar="N", dest="optimize", help="optimisation of the host code (default -O2)")
    add("-g", default=None, metavar="N", dest="debug", help="debug information in the host code")
    add("-W", action="append", default=[], metavar="NAME", dest="warnings", help="warnings, as gcc has them")
    add("--check", action="store_true", help="in mode c, report divisions by zero, shift counts and indices")
    add("-w", action="store_true", dest="quiet", help="no warnings")
    features = "diagnostics-color=WHEN, max-errors=N, and others for the C compiler"
    add("-f", action="append", default=[], metavar="NAME", dest="features", help=features)
    add(
        "--diagnostics-format",
        choices=FORMATS,
        default="text",
        help="form of errors and warnings; json and sarif are one document on standard error",
    )
    add("--explain", nargs="?", const="list", metavar="CODE", help="say what an error or warning means")
    add("--version", action="version", version=f"macahc {version('macah')}")
    return parser


def add_mapping(parser: argparse.ArgumentParser) -> None:
    """The options that the mapper knows."""
    add = parser.add_argument
    add("--seed", type=int, default=1, metavar="N", help="seed of the mapper's random choices (default 1)")
    add("--effort", choices=[*EFFORTS], default="normal", help="how hard the mapper tries (default normal)")
    add(
        "--time-limit",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="for mapping a kernel: then the best mapping so far is taken (default: any)",
    )
    add_jobs(parser)
    add("--ii", type=_interval, default=0, metavar="N", help="map at exactly this initiation interval")
    add("--max-ii", type=_interval, default=0, metavar="N", help="map at no longer initiation interval")


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


def parse(argv: Sequence[str]) -> Options:
    """The options in `argv`; `UsageError` if they are wrong."""
    command = argv[0] if argv[:1] in (["run"], ["diff-modes"]) else ""
    running = bool(command)
    own, arguments = _split_run(argv[1:]) if running else (list(argv), [])
    parser = build_parser()
    # These stand alone as in gcc; argparse would take the next word, the file, for their value.
    own, gcc = take_flags([_ALONE.get(word, word) for word in joined(own)])
    found = parser.parse_args(own)
    if found.explain is not None:
        return Options(source=Path(), action="explain", explain=found.explain)
    if found.source is None:
        parser.error("the following arguments are required: FILE.macah")
    action = command if running else "report" if found.report else "emit" if found.emit else "compile"
    if running and (found.report or found.emit or found.output):
        parser.error(f"{command} takes none of --report, --emit and -o")
    if found.ii and found.max_ii:
        parser.error("--ii and --max-ii exclude each other")
    if command != "diff-modes" and (found.modes or found.timeout is not None):
        parser.error("--modes and --timeout go with diff-modes")
    check_simulation(parser, found, command)
    if found.report and found.emit:
        parser.error("--report and --emit exclude each other")
    if found.save_report is not None and (found.report or found.emit or command == "diff-modes"):
        parser.error("--save-report goes with making or running a program")
    if found.save_report is not None and found.mode != "mapped":
        parser.error(f"--save-report is about mapped kernels: leave out --mode {found.mode}")
    if found.save_report == "":
        parser.error("the name after --save-report is empty")
    if found.axi_stream and found.emit != "verilog":
        parser.error("--axi-stream goes with --emit verilog")
    if found.axi_stream and found.netlist == "generic":
        parser.error("--axi-stream is about kernels on specialised netlists: leave out --netlist generic")
    if found.json and not found.report:
        parser.error("--json goes with --report")
    if found.report and found.mode != "mapped":
        parser.error(f"--report is about mapped kernels: leave out --mode {found.mode}")
    if not found.source:
        parser.error("the name of the program is empty")
    if found.check and found.mode != "c":
        parser.error("--check is about kernels that run as C: add --mode c")
    if found.output == "":
        parser.error("the name after -o is empty")
    # gcc hands -Wl, to the linker, which runs apart from the compiler here, and -Wp, to the preprocessor.
    linked, preprocessed = (tuple(f"-W{w}" for w in found.warnings if w.startswith(c)) for c in ("l,", "p,"))
    features, messages = _messages(parser, found)
    if messages.format != "text" and (found.verbose or "stages" in found.time or found.dump_after):
        parser.error(
            "-v, --time and --dump-after write text to standard error: leave out --diagnostics-format"
        )
    return Options(
        source=Path(found.source),
        action=action,
        arguments=tuple(arguments),
        output=None if found.output is None else Path(found.output),
        mode=found.mode,
        modes=found.modes or ("c", "mapped"),
        timeout=found.timeout or 0.0,
        arch=found.arch,
        seed=found.seed,
        effort=found.effort,
        time_limit=found.time_limit,
        jobs=found.jobs,
        ii=found.ii,
        max_ii=found.max_ii,
        unroll=tuple(found.unroll),
        ordered=tuple(found.ordered),
        bubbles=tuple(found.bubbles),
        no_bubbles=found.no_bubbles,
        adpc=tuple(found.adpc),
        emit=found.emit,
        axi_stream=found.axi_stream,
        json=found.json,
        save_report=None if found.save_report is None else Path(found.save_report),
        dump_after=tuple(found.dump_after),
        disable=tuple(name for names in found.disable for name in names),
        time="stages" in found.time,
        **simulation(found),
        verbose=found.verbose,
        cpp=(*found.cpp, *preprocessed, *gcc.cpp),
        depend=tuple(gcc.depend),
        cc=(
            f"-O{found.optimize}",
            *([f"-g{found.debug}"] if found.debug else []),
            *features,
            *gcc.cc,
            *(CHECKS if found.check else ()),
        ),
        link=(*linked, *features, *gcc.link, *(CHECKS[:1] if found.check else ()), *found.link),
        messages=messages,
    )


# What a checked program is compiled with: the C compiler's checks, and those of the runtime's macros.
CHECKS = ("-fsanitize=undefined", "-fno-sanitize=alignment", "-DMACAH_CHECK")

_ALONE = {
    "-O": "-O1",
    "-g": "-g2",
    "-W": "-Wextra",
    "--overlap": "--overlap=8",
    "--profile": "--profile=-",
    "--time": "--time=stages",
    "--ordered-streams": "--ordered-streams=*",
    "--bubbles": "--bubbles=*",
}


def _messages(parser: argparse.ArgumentParser, found: argparse.Namespace) -> tuple[list[str], MessageOptions]:
    """The options `-f` that are for the C compiler, and what the others and `-W` say about messages."""
    features, color, max_errors = [], "auto", MAX_ERRORS
    for name in found.features:
        match name.partition("="):
            case ["diagnostics-color", _, "" | "auto" | "always" | "never" as when]:
                color = when or "always"
            case ["no-diagnostics-color", "", ""]:
                color = "never"
            case ["max-errors", "=", number] if number.isdecimal():
                max_errors = int(number)
            case ["diagnostics-color" | "max-errors", _, value]:
                parser.error(f"invalid value '{value}' in -f{name}")
            case _:
                features.append(f"-f{name}")
    names = tuple(name for name in found.warnings if not name.startswith(("l,", "p,")))
    warnings = WarningOptions(names, found.quiet)
    return features, MessageOptions(found.diagnostics_format, color, warnings, max_errors)


# Options that take their value as the next word, so that `run` finds the file among the words.
_VALUED = (
    *SIMULATION_VALUED,
    *("-o", "--mode", "--modes", "--timeout", "--arch", "--unroll", "--seed", "--adpc", "--emit"),
    *("--effort", "--time-limit", "--jobs", "--ii", "--max-ii"),
    *VALUED,
    *("--dump-after", "--disable", "--save-report", "-I", "-D", "-U", "-l", "-L", "--diagnostics-format"),
)


def _split_run(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits the words after `run` behind FILE: what follows belongs to the program."""
    at = 0
    while at < len(words):
        if words[at] == "--":
            return list(words[: at + 2]), list(words[at + 2 :])
        if words[at] in _VALUED or (words[at] == "--time" and words[at + 1 : at + 2] in [[t] for t in TIMES]):
            at += 2
        elif words[at].startswith("-"):
            at += 1
        else:
            return list(words[: at + 1]), list(words[at + 1 :])
    return list(words), []


def main() -> NoReturn:
    """Entry point: exits with 0, 1 (an error was printed), 2 (wrong usage), 130 (interrupted)."""
    _open_standard_files()
    # A reader that goes away, as `| head` does, ends us quietly, as it ends any C program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for end in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(end) == signal.SIG_DFL:
            signal.signal(end, _terminate)
    sys.exit(_perform(sys.argv[1:]))


def _perform(words: Sequence[str]) -> int:
    """Does what `words` ask; the exit status."""
    messages = Messages(MessageOptions(format_in(words)))
    try:
        # Here, so that Ctrl-C is met while the modules are loaded too.
        if words[:1] == ["map"]:
            from .map_command import map_command

            return map_command(words[1:], messages)
        from .driver import perform

        options = parse(words)
        messages = Messages(options.messages)
        return perform(options, messages)
    except Stopped:
        return 1
    except MacahError as error:
        messages.fail(error)
        return 2 if all(d.code == "usage" for d in error.diagnostics) else 1
    except KeyboardInterrupt:
        sys.stderr.write("\nmacahc: interrupted\n")
        return 130
    except RecursionError:
        messages.fail(MacahError("the program is nested too deeply", code="too-deep"))
        return 1
    except OSError as error:
        name = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        messages.fail(MacahError(f"{name}{error.strerror or error}", code="system"))
        # What standard output did not take must not fail again, with a status of its own, at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        if {"-v", "--verbose"} & set(words):
            traceback.print_exc()
        hint = "this is a mistake in macahc, not in your program; -v shows where"
        messages.fail(
            MacahError(f"internal error: {type(error).__name__}: {error}", hint=hint, code="internal")
        )
        return 1
    finally:
        messages.close()


def _open_standard_files() -> None:
    """Gives closed standard files something to be, for us alone: the program of `run` gets them closed.

    What is written to standard output then fails, as it does in other programs.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _terminate(signum: int, _: object) -> NoReturn:
    """SIGTERM and SIGHUP unwind the stack, so that temporary files go; tools that still work are ended."""
    folder = os.environ.get("TMPDIR", "")
    if Path(folder).name.startswith(WORKSPACE):
        threading.Thread(target=_end_workers, args=(folder,), daemon=True).start()
    sys.exit(128 + signum)


def _end_workers(folder: str) -> NoReturn:
    """Until we have ended: a thread that has not noticed yet may start another tool."""
    while True:
        end_workers(folder)
        time.sleep(0.02)
