"""From the words of a command line to `Options`: what goes together, and what is for the C compiler."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .cli_options import build_parser
from .cli_simulation import SIMULATION_VALUED, TIMES, check_simulation, joined, simulation
from .gcc_flags import VALUED, GccFlags, take_flags
from .messages import MAX_ERRORS, MessageOptions
from .options import Options
from .warn import WarningOptions


def parse(argv: Sequence[str]) -> Options:
    """The options in `argv`; `UsageError` if they are wrong."""
    command = argv[0] if argv[:1] in (["run"], ["diff-modes"]) else ""
    own, arguments = _split_run(argv[1:]) if command else (list(argv), [])
    parser = build_parser()
    own, gcc = take_flags([_ALONE.get(word, word) for word in joined(own)])
    found = parser.parse_args(own)
    if found.explain is not None:
        return Options(source=Path(), action="explain", explain=found.explain)
    if not found.source:
        missing = "the following arguments are required: FILE.macah"
        parser.error(missing if found.source is None else "the name of the program is empty")
    _check_combinations(parser, found, command)
    _check_language(parser, found, gcc)
    check_simulation(parser, found, command)
    action = command or ("report" if found.report else "emit" if found.emit else "compile")
    # gcc hands -Wl, to the linker, which runs apart from the compiler here, and -Wp, to the preprocessor.
    linked, preprocessed = (tuple(f"-W{w}" for w in found.warnings if w.startswith(c)) for c in ("l,", "p,"))
    features, messages = _messages(parser, found)
    if messages.format != "text" and (found.verbose or "stages" in found.time or found.dump_after):
        parser.error(
            "-v, --time and --dump-after write text to standard error: leave out --diagnostics-format"
        )
    return Options(
        source=Path(found.source),
        keep=True,
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


def _check_combinations(parser: argparse.ArgumentParser, found: argparse.Namespace, command: str) -> None:
    """Refuses what does not go together; `check_simulation` knows more."""
    if command and (found.report or found.emit or found.output):
        parser.error(f"{command} takes none of --report, --emit and -o")
    if found.ii and found.max_ii:
        parser.error("--ii and --max-ii exclude each other")
    if command != "diff-modes" and (found.modes or found.timeout is not None):
        parser.error("--modes and --timeout go with diff-modes")
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
    if found.check and found.mode != "c":
        parser.error("--check is about kernels that run as C: add --mode c")
    if found.output == "":
        parser.error("the name after -o is empty")


_LAYOUTS = ("pack-struct", "short-enums", "short-wchar")
_BEFORE_C99 = (
    "-ansi",
    *(f"-std={name}" for name in ("c89", "c90", "gnu89", "gnu90", "iso9899:1990", "iso9899:199409")),
)


def _check_language(parser: argparse.ArgumentParser, found: argparse.Namespace, gcc: GccFlags) -> None:
    """Refuses options of gcc that make another language of C than kernels and the runtime are written in."""
    for name in found.features:
        if name.partition("=")[0] in _LAYOUTS:
            parser.error(
                f"-f{name} changes how data lie in memory, which kernels and the runtime do not know of: "
                "leave it out (single types may have __attribute__ ((packed)))"
            )
    for flag in gcc.cpp:
        if flag in _BEFORE_C99:
            parser.error(f"{flag}: Macah is C99 with kernels and streams: leave it out, or say -std=c99")


# What a checked program is compiled with: the C compiler's checks, and those of the runtime's macros.
CHECKS = ("-fsanitize=undefined", "-fno-sanitize=alignment", "-DMACAH_CHECK")

# These stand alone as in gcc; argparse would take the next word, the file, for their value.
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
