"""Warnings about single kernels, which need them lowered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.mapping import DoesNotFit, Shortage
from macah import ir
from macah.diagnostic import Diagnostic, MacahError, Note
from macah.lint_vacated import vacated_reads
from macah.lower import lower
from macah.passes.inline_calls import inline_calls
from macah.passes.pipeline import optimize
from macah.passes.unroll_for import unroll_for
from macah.program import KernelSite, Program
from macah.todfg import build_dfg
from macah.walk import arrays_read, arrays_written, statements


def kernel_warnings(program: Program, adpc: Mapping[str, int], fabric: Fabric | None) -> Iterator[Diagnostic]:
    """Those of all kernels; a kernel with an error has none, as lowering tells that error."""
    for site in program.kernels:
        try:
            kernel = lower(program, site, adpc)
            flat = unroll_for(inline_calls(kernel))
            if any(isinstance(s, ir.Shift) for s in statements(flat.body)):
                yield from vacated_reads(flat)
            if fabric is not None and _may_be_large(flat, fabric):
                yield from _too_large(site, kernel, fabric)
        except MacahError:
            continue


def _may_be_large(kernel: ir.Kernel, fabric: Fabric) -> bool:
    """Whether it is worth the time to find out which of the arrays need memory."""
    arrays = arrays_read(kernel.body) | arrays_written(kernel.body)
    words = [array.size * array.bits // 32 for array in arrays]
    room = [bank.words for bank in fabric.memories]
    return max(words, default=0) > max(room, default=0) or 2 * sum(words) > sum(room)


def _too_large(site: KernelSite, kernel: ir.Kernel, fabric: Fabric) -> Iterator[Diagnostic]:
    dfg = build_dfg(optimize(kernel))
    try:
        minimum_interval(dfg, fabric)
    except DoesNotFit as problem:
        if problem.shortage is Shortage.MEMORIES:
            places = dict.fromkeys(w for n in problem.nodes if (w := dfg.nodes[n].where) is not None)
            notes = tuple(Note("needed here", place) for place in list(places)[:4])
            message = f"kernel '{site.name}' will not fit on {fabric.name}: {problem}"
            hint = "stream the data in parts, or choose a larger array with --arch"
            yield Diagnostic(message, site.where, notes, hint, code="memory-size")
