"""How many iterations a kernel's one loop makes, and how many of them do the program's work.

Useful are the executions of the bodies of innermost loops, as they are before loops are fused and flattened;
each of them is to take one iteration of the final loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Apply, Assign, Body, Const, Read, Stmt, Variable
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.walk import bodies, has_loop, map_bodies

_COUNTER = "iterations of the kernel"


@dataclass(frozen=True, slots=True)
class Iterations:
    """What a run of a kernel took."""

    executed: int
    useful: int

    @property
    def share(self) -> float:
        """The share of the iterations that are useful; more than 1 where loops run together."""
        return self.useful / self.executed if self.executed else 1.0


def count_iterations(
    kernel: ir.Kernel,
    scalars: Mapping[str, int] | None = None,
    arrays: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Sequence[tuple[int, ...]]] | None = None,
    limit: int = 10**6,
) -> Iterations:
    """Run a lowered kernel as it is and in its final form; the arguments are those of `run_kernel`."""
    stages: dict[str, ir.Kernel] = {}
    final = optimize(kernel)
    optimize(replace(kernel, tests_first=()), lambda name, result: stages.update({name: result}))

    def run(made: ir.Kernel) -> int:
        return run_kernel(made, scalars, arrays, inputs, limit).scalars[_COUNTER]

    return Iterations(run(counting(final)), run(counting(stages["invert_loops"])))


def counting(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with a result more: how often the bodies of its innermost loops are executed."""
    counter = Variable(_COUNTER)
    body: Body = (Assign(counter, Const(0)), *_counted(kernel.body, counter))
    if not has_loop(kernel.body):
        body = (*body, _step(counter))
    capture = ir.Capture(counter, _COUNTER, "unsigned int", False, True)
    return replace(kernel, captured=(*kernel.captured, capture), body=body)


def _counted(body: Body, counter: Variable) -> Body:
    return tuple([_statement(stmt, counter) for stmt in body])


def _statement(stmt: Stmt, counter: Variable) -> Stmt:
    match stmt:
        case ir.DoWhile(inner) | ir.While(_, _, inner) if not any(has_loop(part) for part in bodies(stmt)):
            return replace(stmt, body=(_step(counter), *inner))
        case _:
            return map_bodies(stmt, lambda part: _counted(part, counter))


def _step(counter: Variable) -> Stmt:
    return Assign(counter, Apply("add", (Read(counter), Const(1))))
