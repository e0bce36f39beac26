"""The options that `macahc` has of gcc and passes on, each to the commands that it is for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

# With a value, in the same word or the next.
_HEADERS = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros")
_TARGETS = ("-MF", "-MT", "-MQ")
_DEPENDENCIES = ("-MD", "-MMD", "-MP", "-MG")
_LINKER = ("-static", "-static-libgcc", "-s", "-rdynamic", "-pie", "-no-pie")
_COMPILER = ("-pedantic", "-pedantic-errors", "-pg", "--coverage")
VALUED = (*_HEADERS, *_TARGETS)


@dataclass(slots=True)
class GccFlags:
    """Flags for the preprocessor, the compiler and the linker; `depend` says where dependencies go."""

    cpp: list[str] = field(default_factory=list)
    cc: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    depend: list[str] = field(default_factory=list)


def take_flags(words: Sequence[str]) -> tuple[list[str], GccFlags]:
    """Splits the words of a command line: those that `macahc` treats itself, and gcc's flags."""
    rest: list[str] = []
    flags = GccFlags()
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word == "--":
            return [*rest, word, *reversed(waiting)], flags
        name = next((f for f in VALUED if word.startswith(f)), None)
        if name is not None and (word != name or waiting):
            value = word[len(name) :] or waiting.pop()
            (flags.cpp if name in _HEADERS else flags.depend).append(name + value)
        elif word in _DEPENDENCIES:
            flags.depend.append(word)
        elif word in _LINKER:
            flags.link.append(word)
        elif word in _COMPILER:
            flags.cc.append(word)
            if not word.startswith("-pedantic"):
                flags.link.append(word)
        elif word.startswith("-std=") or word == "-ansi":
            flags.cpp.append(word)
        elif word.startswith("-m") and len(word) > 2:
            flags.cpp.append(word)
            flags.link.append(word)
        elif word != "-pthread":
            rest.append(word)
    return rest, flags


_COVERAGE = ("--coverage", "-ftest-coverage", "-fprofile-arcs")


def notes(cc: Sequence[str], output: Path | None, source: Path) -> tuple[str, ...]:
    """Flags that put the notes for gcov, if any, beside the output under the name of the program."""
    if set(_COVERAGE).isdisjoint(cc):
        return ()
    folder = Path(os.path.realpath(output or "a.out")).parent
    return ("-dumpdir", f"{folder}/", "-dumpbase", source.name, "-dumpbase-ext", source.suffix)


def keeps_columns(cc: Sequence[str]) -> bool:
    """Whether line markers may stand inside the arguments of macros, which -pedantic warns of."""
    return not any(flag.startswith("-pedantic") for flag in cc)


def for_runtime(link: Sequence[str]) -> list[str]:
    """The flags for linking, and for the runtime that is compiled then: its coverage is of no interest."""
    kept = [flag for flag in link if flag not in _COVERAGE]
    return kept if len(kept) == len(link) else [*kept, "-lgcov"]


def dependencies(given: Sequence[str], output: Path | None) -> tuple[str, ...]:
    """The flags that write dependencies, by default to a file named after the output."""
    if set(given).isdisjoint(("-MD", "-MMD")):
        return tuple(given)
    output = output or Path("a.out")
    file = [] if any(f.startswith("-MF") for f in given) else [f"-MF{output.with_suffix('.d')}"]
    target = [] if any(f.startswith(("-MT", "-MQ")) for f in given) else [f"-MQ{output}"]
    return (*given, *file, *target)
