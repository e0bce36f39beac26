"""Calls that give a kernel the same memory twice, where it writes to it: it works on a copy of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.diagnostic import Diagnostic, Note
from macah.lint_names import arguments, callee, spelled
from macah.program import KernelSite, Program, place_of, walk


def overlapping_calls(program: Program, kernels: Sequence[ir.Kernel]) -> Iterator[Diagnostic]:
    """`f(&s, &s)`, where `f` has a kernel that writes to one of its two parameters."""
    sites = {site.name: site for site in program.kernels}
    functions = {site.function.decl.name for site in program.kernels}
    calls: dict[str, list[Any]] = {name: [] for name in functions}
    for node in walk(program.unit):
        if (name := callee(node)) in functions:
            calls[name].append(node)
    for kernel in kernels:
        site = sites[kernel.name]
        uses = _uses(kernel)
        for call in calls[site.function.decl.name] if uses else ():
            yield from _in_call(call, site, kernel, uses)


def _uses(kernel: ir.Kernel) -> dict[str, tuple[set[str], set[str]]]:
    """What a kernel reads or writes, and what of that it writes, behind each parameter: its parts."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for capture in kernel.captured:
        if capture.extent is None or not capture.extent.reached:
            continue
        touched, written = found.setdefault(capture.extent.name.removeprefix("*"), (set(), set()))
        part = capture.extent.first.removeprefix(capture.extent.owner)
        touched.add(part)
        if capture.out:
            written.add(part)
    return found


def _in_call(
    call: Any, site: KernelSite, kernel: ir.Kernel, uses: dict[str, tuple[set[str], set[str]]]
) -> Iterator[Diagnostic]:
    declared = site.function.decl.type.args
    names = [getattr(parameter, "name", None) for parameter in declared.params] if declared else []
    passed = [(name, a) for name, a in zip(names, arguments(call), strict=False) if name in uses]
    for (name, first), (other, second) in combinations(passed, 2):
        (touched, written), (too, also) = uses[name], uses[other]
        if spelled(first) == spelled(second) and _is_place(first) and (written & too or also & touched):
            message = (
                f"'{spelled(first)}' is passed both as '{name}' and as '{other}', and a kernel writes to it"
            )
            note = Note(f"kernel '{kernel.name}' works on a copy of each", kernel.where)
            hint = "pass the memory once, or pass a copy of it"
            yield Diagnostic(message, place_of(second), (note,), hint, code="same-memory")


def _is_place(node: Any) -> bool:
    """Whether an argument is memory, the same each time that it is evaluated: a null pointer is none."""
    return any(isinstance(n, c_ast.ID) for n in walk(node)) and not any(
        isinstance(n, c_ast.FuncCall | c_ast.Assignment)
        or (isinstance(n, c_ast.UnaryOp) and n.op in {"++", "--", "p++", "p--"})
        for n in walk(node)
    )
