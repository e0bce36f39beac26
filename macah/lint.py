"""Warnings: what compiles, but is hardly what was meant. Each analysis has a file of its own, `lint_….py`.

All look at the whole syntax tree or at a lowered kernel, and prefer silence to a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pycparser.c_ast import FuncCall

from arch.fabric import Fabric
from macah import ir
from macah.deep import deep_recursion
from macah.diagnostic import Diagnostic
from macah.lint_close import sends_after_close
from macah.lint_deadlock import deadlocks
from macah.lint_ended import ended_loops
from macah.lint_endless import endless
from macah.lint_kernels import kernel_warnings
from macah.lint_names import Names
from macah.lint_overlap import overlapping_calls
from macah.lint_pragmas import stray_pragmas
from macah.lint_streams import lonely_streams
from macah.lint_threads import Threads
from macah.lint_transfers import unchecked_transfers
from macah.lint_turns import in_turn
from macah.lint_ways import one_way
from macah.program import KernelSite, Program, walk
from macah.syntax import KernelBlock, Receive, Send, StreamType

_MACAH = (KernelBlock, Receive, Send, StreamType)


def warnings(
    program: Program,
    kernels: Sequence[ir.Kernel],
    fabric: Fabric | None = None,
    safe: Sequence[str] = (),
    bubbles: bool = True,
) -> tuple[Diagnostic, ...]:
    """What may be a mistake in a program, in the order of the text.

    `kernels` are its kernels as lowered. `fabric`: an accelerator whose memories their arrays shall fit.
    `safe` and `bubbles`: as for `deadlocks`.
    """
    with deep_recursion():
        found = {(d.message, d.where): d for d in _all(program, kernels, fabric, safe, bubbles)}
    return tuple(sorted((replace(d, severity="warning") for d in found.values()), key=_position))


@dataclass(frozen=True, slots=True)
class Flow:
    """How what kernels send may lead to what they receive.

    `lock_step`: those that may wait for data that only what they have not sent yet can bring, or in vain.
    `one_way`: those that certainly receive nothing that comes of what they send, nor use streams that are
    served in turn.
    """

    lock_step: frozenset[str]
    one_way: frozenset[str]


def flow_of(program: Program) -> Flow:
    """The kernels of both kinds; most programs have none of the first."""
    if not any(_uses_streams(site) for site in program.kernels):
        return Flow(frozenset(), frozenset())
    with deep_recursion():
        threads = Threads(program, Names(program.unit))
        lock_step = frozenset(site.name for site, _ in deadlocks(threads))
        return Flow(lock_step | endless(threads) | in_turn(threads), one_way(threads))


def _all(
    program: Program,
    kernels: Sequence[ir.Kernel],
    fabric: Fabric | None,
    safe: Sequence[str],
    bubbles: bool,
) -> Iterator[Diagnostic]:
    yield from stray_pragmas(program)
    if not any(isinstance(node, _MACAH) for node in walk(program.unit)):
        return
    names = Names(program.unit)
    yield from unchecked_transfers(program, names)
    yield from sends_after_close(program, names)
    yield from ended_loops(program, names)
    threads = Threads(program, names)
    yield from lonely_streams(threads)
    yield from (warning for _, warning in deadlocks(threads, safe, bubbles))
    yield from overlapping_calls(program, kernels)
    yield from kernel_warnings(kernels, fabric)


def _uses_streams(site: KernelSite) -> bool:
    """Whether that can be seen without a look at the functions that the kernel calls, or it calls any."""
    return any(isinstance(node, Send | Receive | FuncCall) for node in walk(site.node.body))


def _position(found: Diagnostic) -> tuple[str, int, int, str]:
    where = found.where
    return (where.file, where.line, where.column, found.message) if where else ("", 0, 0, found.message)
