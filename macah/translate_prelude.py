"""What every translated program begins with: how it is compiled, and the runtime's interface."""

from __future__ import annotations

import re
import shlex

from macah.program import Program
from sim.cosim import LINK_FLAGS, RUNTIME, RUNTIME_SOURCES

# What the translated C needs: GNU C for typeof, Macah's rule that signed overflow wraps in kernels, and the
# same bytes in every mode for what is looked at through a pointer of another type.
LANGUAGE = ("-std=gnu11", "-fwrapv", "-fno-strict-aliasing", "-pthread")
DEFINED = "#define __MACAH__ 1\n"

# A variable is often assigned by receives alone, which leave it as it is only where the stream has ended.
_RECEIVE = """\
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
"""


def prelude(text: str) -> str:
    """What comes before the translated `text`."""
    include = f'{DEFINED}#include "{RUNTIME / "macah.h"}"\n'
    return include + _RECEIVE * bool(re.search(r"\bmacah_(batch_)?receive(_at)?\b", text))


def own_flags(program: Program) -> tuple[str, ...]:
    """The flags that the user's own file needs: what the preprocessor got, and where its headers are."""
    given = program.command[program.command.index("-E") + 2 :]
    kept = (flag for flag in given if not flag.startswith(("-W", "-w", "-fdiagnostics", "-M")))
    return (*kept, f"-iquote{program.path.parent}")


def how_to_compile(flags: tuple[str, ...]) -> str:
    """A comment with the command that compiles the program."""
    folder = RUNTIME.as_posix()
    sources = ",".join(source.name.removesuffix(".c") for source in RUNTIME_SOURCES)
    words = shlex.join([*LANGUAGE, "-O2", *flags])
    return f"/* cc {words} {' '.join(LINK_FLAGS)} FILE.c {folder}/{{{sources}}}.c */\n".replace("*/ ", "* / ")
