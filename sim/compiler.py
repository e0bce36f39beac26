"""Calls the compiler, a program of its own, as `sim` does not know the language."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import CompileError, Diagnostic
from .workspace import guarded

FORMAT = "macah-design 1"
_ROOT = Path(__file__).resolve().parent.parent
_NAME = "kernel.macah"
_PREFIX = "macah-compile-"


def compile_file(source: Path, options: Sequence[str]) -> list[dict[str, Any]]:
    """The designs of a program's kernels. Errors: CompileError, OSError."""
    with guarded(_PREFIX) as directory:
        return _compile(source, options, directory)


def compile_text(text: str, options: Sequence[str]) -> list[dict[str, Any]]:
    """The same of a program that is a text; messages call its file `kernel.macah`."""
    with guarded(_PREFIX) as directory:
        source = Path(directory) / _NAME
        source.write_text(f'#line 1 "{_NAME}"\n{text}')
        return _compile(source, [f"-I{Path.cwd()}", *options], directory)


def _compile(source: Path, options: Sequence[str], directory: str) -> list[dict[str, Any]]:
    """Has the compiler keep its temporary files in a directory."""
    # Without `-P`, a directory of the user's with the name of one of our packages would come first.
    command = [sys.executable, "-P", "-m", "macah", "--emit", "design", "--diagnostics-format=json"]
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, *options, str(source)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": directory},
    )
    if done.returncode:
        raise CompileError(_diagnostics(done.stderr.decode(errors="replace")))
    return designs_in(done.stdout.decode())


def adpc_options(values: Mapping[str, int]) -> list[str]:
    """The options that give pseudo-constants their values."""
    return [word for name, value in values.items() for word in ("--adpc", f"{name}={value}")]


def designs_in(text: str) -> list[dict[str, Any]]:
    """The designs in what `--emit design` wrote. Errors: ValueError."""
    table = json.loads(text)
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise ValueError(f"this is not '{FORMAT}'")
    found: list[dict[str, Any]] = table["kernels"]
    return found


def _diagnostics(text: str) -> list[Diagnostic]:
    """What the compiler said, even if that is not the form that was asked for."""
    try:
        return [Diagnostic.read(table) for table in json.loads(text)]
    except (ValueError, KeyError, TypeError):
        return [Diagnostic(text.strip() or "the compiler ended without a message")]
