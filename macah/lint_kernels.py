"""Warnings about single kernels, which need them lowered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.mapping import DoesNotFit, Shortage
from macah import ir
from macah.diagnostic import Diagnostic, MacahError, Note
from macah.lint_bounds import outside_of_arrays
from macah.lint_unchanging import unchanging_loops
from macah.lint_undefined import undefined_operations
from macah.lint_vacated import vacated_reads
from macah.passes.inline_calls import inline_calls
from macah.passes.pipeline import optimize
from macah.passes.unroll_for import unroll_for
from macah.todfg import build_dfg
from macah.walk import arrays_read, arrays_written, statements

MORE_MEMORY = (
    "stream the data in parts, or take an architecture with more or larger memories (--arch NAME or FILE)"
)


def kernel_warnings(kernels: Sequence[ir.Kernel], fabric: Fabric | None) -> Iterator[Diagnostic]:
    """Those of all kernels; a kernel that a pass refuses has none, as that is an error."""
    for kernel in kernels:
        try:
            yield from undefined_operations(kernel)
            inlined = inline_calls(kernel)
            yield from unchanging_loops(inlined)
            flat = unroll_for(inlined)
            yield from outside_of_arrays(kernel, flat)
            if any(isinstance(s, ir.Shift) for s in statements(flat.body)):
                yield from vacated_reads(flat)
            if fabric is not None and _may_be_large(flat, fabric):
                yield from _too_large(kernel, fabric)
        except MacahError:
            continue


def _may_be_large(kernel: ir.Kernel, fabric: Fabric) -> bool:
    """Whether it is worth the time to find out which of the arrays need memory."""
    arrays = arrays_read(kernel.body) | arrays_written(kernel.body)
    words = [array.size * array.bits // 32 for array in arrays]
    return 2 * sum(words) > sum(bank.words for bank in fabric.memories)


def _too_large(kernel: ir.Kernel, fabric: Fabric) -> Iterator[Diagnostic]:
    dfg = build_dfg(optimize(replace(kernel, words=fabric.largest_memory)), fabric)
    try:
        minimum_interval(dfg, fabric)
    except DoesNotFit as problem:
        if problem.shortage is Shortage.MEMORIES:
            places = dict.fromkeys(w for n in problem.nodes if (w := dfg.nodes[n].where) is not None)
            notes = tuple(Note("needed here", place) for place in list(places)[:4])
            message = f"kernel '{kernel.name}' will not fit on {fabric.name}: {problem}"
            yield Diagnostic(message, kernel.where, notes, MORE_MEMORY, code="memory-size")
