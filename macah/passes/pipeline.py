"""The passes from a lowered kernel to the final form, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from macah import ir
from macah.check import check_kernel
from macah.optional import OPTIONAL, enabled
from macah.passes.accumulate import accumulate
from macah.passes.bank_arrays import bank_arrays
from macah.passes.bubbles import bubbles
from macah.passes.complete_stores import complete_stores
from macah.passes.convert_ifs import convert_ifs
from macah.passes.count_trips import count_trips
from macah.passes.delay_rows import delay_rows
from macah.passes.enter_loops import enter_loops
from macah.passes.find_sites import find_sites
from macah.passes.flatten_loops import flatten_loops
from macah.passes.fresh_elements import fresh_elements
from macah.passes.fuse_loops import fuse_loops
from macah.passes.inline_calls import inline_calls
from macah.passes.invert_loops import invert_loops
from macah.passes.join_heads import join_heads
from macah.passes.join_loops import join_loops
from macah.passes.keep_chosen import keep_chosen
from macah.passes.pace_rows import pace_rows
from macah.passes.partition_arrays import partition_arrays
from macah.passes.plain_tests import plain_tests
from macah.passes.receive_once import receive_once
from macah.passes.remove_leaves import remove_leaves
from macah.passes.reuse_elements import reuse_elements
from macah.passes.roll_stores import roll_stores
from macah.passes.roll_transfers import roll_transfers
from macah.passes.rotate_arrays import rotate_arrays
from macah.passes.scalarize_arrays import scalarize_arrays
from macah.passes.separate_streams import separate_streams
from macah.passes.simplify import simplify
from macah.passes.split_wide import split_wide
from macah.passes.take_turns import take_turns
from macah.passes.unroll_for import unroll_for
from macah.passes.unroll_loops import unroll_loops


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass; `removes` are the classes of the IR that do not occur after it, ever again."""

    run: Callable[[ir.Kernel], ir.Kernel]
    removes: tuple[type, ...] = ()
    narrows: bool = False  # no words of 64 bits are left

    @property
    def name(self) -> str:
        """The name of the pass's function."""
        return self.run.__name__


PIPELINE = (
    Pass(inline_calls, removes=(ir.Call,)),
    Pass(plain_tests),
    Pass(unroll_for, removes=(ir.UnrolledFor,)),
    Pass(join_heads),
    Pass(roll_transfers),
    Pass(count_trips),
    Pass(keep_chosen),
    Pass(unroll_loops),
    Pass(separate_streams),
    Pass(scalarize_arrays),
    Pass(rotate_arrays, removes=(ir.Shift,)),
    Pass(scalarize_arrays),
    Pass(split_wide, narrows=True),
    Pass(simplify, removes=(ir.Forget,)),
    Pass(remove_leaves, removes=(ir.Leave, ir.Block)),
    Pass(invert_loops, removes=(ir.While,)),
    Pass(receive_once),
    Pass(join_loops),
    Pass(fresh_elements),
    Pass(partition_arrays),
    Pass(bank_arrays),
    Pass(roll_stores),
    Pass(accumulate),
    Pass(find_sites),
    Pass(complete_stores),
    Pass(reuse_elements),
    Pass(fuse_loops),
    Pass(take_turns),
    Pass(convert_ifs, removes=(ir.If,)),
    Pass(enter_loops),
    Pass(pace_rows),
    Pass(delay_rows),
    Pass(flatten_loops),
    Pass(bubbles, removes=(ir.Turns, ir.Late)),
    Pass(simplify),
)


def required() -> tuple[str, ...]:
    """The names of the passes that no kernel can do without."""
    return tuple(dict.fromkeys(step.name for step in PIPELINE if step.name not in OPTIONAL))


def opened(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel after the passes before `unroll_loops`: without calls and FOR loops."""
    kernel = inline_calls(kernel)
    kernel = unroll_for(plain_tests(kernel) if enabled(kernel, "plain_tests") else kernel)
    kernel = join_heads(kernel) if enabled(kernel, "join_heads") else kernel
    kernel = roll_transfers(kernel) if enabled(kernel, "roll_transfers") else kernel
    kernel = count_trips(kernel) if enabled(kernel, "count_trips") else kernel
    return keep_chosen(kernel) if enabled(kernel, "keep_chosen") else kernel


def optimize(kernel: ir.Kernel, watch: Callable[[str, ir.Kernel], None] | None = None) -> ir.Kernel:
    """The kernel in its final form; `watch` sees the result of each pass. Checks after each.

    Passes that the kernel is to do without are left out.
    """
    absent: frozenset[type] = frozenset()
    widths: tuple[int, ...] = (32, 64)
    checked = check_kernel(kernel)
    for step in PIPELINE:
        if step.name in kernel.without:
            continue
        kernel = step.run(kernel)
        absent |= frozenset(step.removes)
        widths = (32,) if step.narrows else widths
        checked = check_kernel(kernel, absent, widths, checked)
        if watch is not None:
            watch(step.name, kernel)
    return kernel
