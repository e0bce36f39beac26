"""Loops that wait for what nothing in them changes.

    while (!done) n++;

Another thread of the host sets `done`, but the kernel looks at the copy it was given at its entry. Or the
programmer forgot a step, or wrote another counter's: `for (j = 0; j < n; i++)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from macah import ir
from macah.diagnostic import Diagnostic
from macah.walk import arrays_written, leaves_to, loads_in, statements, variables_in, written

_FORGOTTEN = "change it in the loop, or leave the loop with 'break'"
_COPIED = "what other threads write to it while the kernel runs is not seen: send that through a stream"


def unchanging_loops(kernel: ir.Kernel) -> Iterator[Diagnostic]:
    """The warnings of a kernel without calls."""
    captured = {capture.what for capture in kernel.captured}
    changed = written(kernel.body) | arrays_written(kernel.body)
    for loop in statements(kernel.body):
        if isinstance(loop, ir.While | ir.DoWhile) and (asked := _unchanging(loop)):
            message = f"nothing in this loop changes {_listed(asked)}, so it does not end once it has begun"
            hint = _COPIED if captured.issuperset(asked) and changed.isdisjoint(asked) else _FORGOTTEN
            yield Diagnostic(message, loop.where, hint=hint, code="endless-loop")


def _unchanging(loop: ir.While | ir.DoWhile) -> dict[ir.Variable | ir.Array, None]:
    """What a loop's condition depends on, if that stays as it is and nothing else ends the loop."""
    around = (*loop.before, *loop.body) if isinstance(loop, ir.While) else loop.body
    asked: dict[ir.Variable | ir.Array, None] = {}
    asked.update((variable, None) for variable in variables_in(loop.condition))
    asked.update((load.array, None) for load in loads_in(loop.condition))
    ends = leaves_to(around) or any(isinstance(stmt, ir.Assert) for stmt in statements(around))
    changed = written(around) | arrays_written(around)
    return {} if ends or not changed.isdisjoint(asked) else asked


def _listed(things: dict[ir.Variable | ir.Array, None]) -> str:
    *others, last = dict.fromkeys(f"'{thing.name}'" for thing in things)
    return f"{', '.join(others)} or {last}" if others else last
