"""`run --profile`: runs the program, and writes what it has left of a profile, however it ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from arch.describe import fabric_file
from sim.profile import KernelAbout, Profile
from sim.profile_flame import flame_folded, flame_svg
from sim.profile_json import profile_json
from sim.profile_make import make_profile
from sim.profile_memory import Memory, read_memory
from sim.profile_page import profile_page
from sim.profile_text import profile_text
from sim.profile_trace import trace_json
from sim.supervise import end_as, run_child
from sim.workspace import write_whole

from .compile import Simulated
from .diagnostic import MacahError
from .options import Options
from .toolchain import check_outputs

DAMAGES = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
"""What may be raised where a program has written over its own profile."""

TERMINAL = "-"
"""Stands for the table on standard error."""

_FORMS: dict[str, Callable[[Profile], str]] = {
    ".txt": profile_text,
    ".trace.json": trace_json,
    ".json": profile_json,
    ".folded": flame_folded,
    ".svg": flame_svg,
    ".html": profile_page,
}
_IN_DIRECTORY = (
    "profile.txt",
    "profile.json",
    "profile.trace.json",
    "flame.folded",
    "flame.svg",
    "profile.html",
)


def _form(path: Path) -> Callable[[Profile], str] | None:
    """What is written to a file of that name; None for a directory."""
    return next((form for suffix, form in _FORMS.items() if path.name.endswith(suffix)), None)


def check_targets(options: Options) -> None:
    """Refuses, before the work, what could not be written. Errors: MacahError."""
    inputs = options.source, fabric_file(options.arch)
    for name in options.profile:
        if name == TERMINAL:
            continue
        path = Path(name)
        if _form(path) is not None and not path.is_dir():
            check_outputs((path,), inputs)
        elif path.exists() and not path.is_dir():
            hint = f"what a file has is told by the end of its name: {' '.join(_FORMS)}"
            raise MacahError(f"--profile: '{path}' is not a directory", hint=hint, code="cannot-write")
        else:
            if not path.parent.is_dir():
                problem = f"cannot write '{path}': there is no directory '{path.parent}'"
                raise MacahError(problem, code="cannot-write")
            path.mkdir(exist_ok=True)
            check_outputs([path / part for part in _IN_DIRECTORY], inputs)


def run_profiled(executable: int, kernels: Sequence[Simulated], options: Options) -> NoReturn:
    """Runs an open file of the program, writes its profile, and ends as it ended. Errors: OSError."""
    memory = os.memfd_create("macah-profile")
    os.set_inheritable(memory, True)
    sys.stdout.flush()
    sys.stderr.flush()
    name = str(options.source.with_suffix(""))
    environment = {**os.environ, "MACAH_PROFILE": str(memory)}
    status = run_child(executable, [name, *options.arguments], environment)
    ended = time.monotonic_ns()
    try:
        found = read_memory(memory)
        profile = None if found is None else _profile(found, kernels, options, ended, status)
        problem = "the program ended before it began"
    except DAMAGES:
        profile, problem = None, "the program has written over it"
    if profile is not None:
        for target in options.profile:
            _write(target, profile)
    else:
        sys.stderr.write(f"macahc: there is no profile: {problem}\n")
        sys.stderr.flush()
    end_as(status)


def _profile(
    memory: Memory, kernels: Sequence[Simulated], options: Options, ended: int, status: int
) -> Profile:
    """What the memory says of a program that ended with a status, as `os.waitpid` has it."""
    window = options.window if options.mode == "dataflow" else 0
    about = [KernelAbout(k.site.where, k.design, window, k.loops, k.uncounted) for k in kernels]
    by = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
    code = 0 if by else os.waitstatus_to_exitcode(status)
    return make_profile(str(options.source), options.mode, about, memory, ended, code, by)


def _write(target: str, profile: Profile) -> None:
    if target == TERMINAL:
        sys.stderr.write(profile_text(profile))
        sys.stderr.flush()
        return
    path = Path(target)
    form = _form(path)
    if form is not None and not path.is_dir():
        write_whole(path, _bytes(form(profile)))
        return
    for part in _IN_DIRECTORY:
        form = _form(Path(part))
        assert form is not None
        write_whole(path / part, _bytes(form(profile)))


def _bytes(text: str) -> bytes:
    """Names of files may hold bytes that are no text."""
    return text.encode(errors="surrogateescape")
