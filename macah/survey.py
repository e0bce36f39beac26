"""All mistakes of a program that can be found without mapping it, in one go."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from . import gcc_json, ir
from .codes import CODES
from .columns import place_at
from .deep import deep_recursion
from .diagnostic import Diagnostic, MacahError, Place
from .includes import with_includes
from .lower import lower
from .passes.inline_calls import inline_calls
from .passes.separate_streams import separate_streams
from .passes.unroll_for import unroll_for
from .program import Program, place_of, walk
from .toolchain import compiler_command
from .translate import translate

Order = tuple[str, int, int]
"""A place as it is compared with others: as of `Diagnostic.order`."""

# The passes that find mistakes.
_PASSES = (inline_calls, unroll_for, separate_streams)


def kernels_of(program: Program, adpc: Mapping[str, int]) -> tuple[list[ir.Kernel | None], list[Diagnostic]]:
    """Each kernel as it is lowered, or None if that fails, and all that is wrong with them."""
    kernels: list[ir.Kernel | None] = []
    found: dict[tuple[str, Place | None], Diagnostic] = {}
    for site in program.kernels:
        kernel = None
        try:
            kernel = lower(program, site, adpc)
            _check(kernel)
        except MacahError as error:
            # A function that several kernels call is wrong once.
            for diagnostic in error.diagnostics:
                found.setdefault((diagnostic.message, diagnostic.where), diagnostic)
        kernels.append(kernel)
    return kernels, list(with_includes(found.values(), program.text))


def _check(kernel: ir.Kernel) -> None:
    with deep_recursion(kernel.where):
        for step in _PASSES:
            kernel = step(kernel)


def as_in_c(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is left of errors where kernels run as C: what only an accelerator cannot do is a warning."""
    return [
        replace(d, severity="warning", code="not-mappable")
        if CODES[d.code].kind in ("accelerator", "limit")
        else d
        for d in diagnostics
    ]


def without_consequences(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is left of errors: how often FOR runs may well depend on a pseudo-constant that is none."""
    if not any(d.code == "adpc" for d in found):
        return list(found)
    return [d for d in found if d.code != "for-trip-count"]


def host_mistakes(
    program: Program, adpc: Mapping[str, int], flags: Sequence[str], known: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """What the C compiler finds wrong with the translated program, beyond what is `known` of kernels.

    Where nothing is wrong, what it warns of in kernels, as `flags` say: in the host part these are not C.
    """
    if not gcc_json.supported():
        return []
    try:
        translation = translate(program, adpc, columns=True)
    except MacahError as error:
        places = {diagnostic.where for diagnostic in known}
        return [diagnostic for diagnostic in error.diagnostics if diagnostic.where not in places]
    command = [
        *compiler_command(),
        *flags,
        *translation.flags,
        "-fsyntax-only",
        "-fdiagnostics-format=json",
        "-x",
        "c",
        "-",
    ]
    done = subprocess.run(command, input=translation.text.encode(), capture_output=True, check=False)
    found = gcc_json.read(done.stderr.decode(errors="replace"))
    errors, covered = [d for d in found if d.severity == "error"], list(_covered(program, known))
    if errors or known:
        return [replace(d, code="c-compiler") for d in errors if not _is_in(d.where, covered)]
    warned = [d for d in found if d.severity == "warning" and d.option and d.where is not None]
    kernels = [_extent(site.node, site.where) for site in program.kernels if warned]
    return [d for d in warned if any(first <= d.order <= last for first, last in kernels)]


def _covered(program: Program, known: Sequence[Diagnostic]) -> Iterator[tuple[Place, int]]:
    """The kernels, and the functions with known mistakes: first place and last line."""
    if not known:
        return
    yield from (_lines(site.node, site.where) for site in program.kernels)
    for function in program.unit.ext:
        if isinstance(function, c_ast.FuncDef):
            lines = _lines(function, place_of(function))
            if any(_is_in(d.where, [lines]) for d in known):
                kernels = [site for site in program.kernels if site.function is function]
                if not kernels:
                    yield lines


def _lines(node: Any, first: Place) -> tuple[Place, int]:
    lines = (n.coord.line for n in walk(node) if n.coord is not None and n.coord.file == first.file)
    return first, max(lines, default=first.line)


def _extent(node: Any, first: Place) -> tuple[Order, Order]:
    """Where a node begins, and where the last begins of what is in it."""
    places = [place_at(n.coord) for n in walk(node) if n.coord is not None and n.coord.file == first.file]
    orders = [(place.file, place.line, place.column) for place in (first, *places)]
    return min(orders), max(orders)


def _is_in(where: Place | None, parts: Sequence[tuple[Place, int]]) -> bool:
    return where is not None and any(
        where.file == first.file and first.line <= where.line <= last for first, last in parts
    )
