"""SAT solvers that are freed once, whatever signal comes meanwhile.

pysat frees a solver first and forgets it then. The handler of a signal that has come in between raises before
that (`sys.exit` of SIGTERM, Ctrl-C, which a search answers with its best mapping), and as the solver is
collected, it is freed again: a crash. Here it is forgotten first.

While a solver works, pysat has a handler of its own for Ctrl-C and jumps out of it, even out of `malloc`,
whose locks are held for ever then. It leaves that alone if told that this is not the main thread, whatever
thread it is: Python's own handler raises as soon as the solver's budget is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pysolvers
from pysat.solvers import Cadical195, Glucose42, Minicard


class _Cadical(Cadical195):  # type: ignore[misc]
    cadical: Any
    prev_assumps: list[int]
    status: bool | None

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.cadical = self.cadical, None
        if solver:
            pysolvers.cadical195_del(solver, None)

    def work(self) -> bool | None:
        """What `solve_limited` does, without a handler of signals."""
        status = pysolvers.cadical195_solve_lim(self.cadical, [], 0)
        self.status, self.prev_assumps = (status > 0 if status else None), []
        return self.status


class _Glucose(Glucose42):  # type: ignore[misc]
    glucose: Any
    status: bool | None

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.glucose = self.glucose, None
        if solver:
            pysolvers.glucose421_del(solver)

    def work(self) -> bool | None:
        """What `solve_limited` does, without a handler of signals."""
        self.status = pysolvers.glucose421_solve_lim(self.glucose, [], 0, 0)
        return self.status


class _Minicard(Minicard):  # type: ignore[misc]
    minicard: Any
    status: bool | None

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.minicard = self.minicard, None
        if solver:
            pysolvers.minicard_del(solver)

    def work(self) -> bool | None:
        """What `solve_limited` does, without a handler of signals."""
        self.status = pysolvers.minicard_solve_lim(self.minicard, [], 0, 0)
        return self.status


_SOLVERS = {"cadical195": _Cadical, "glucose42": _Glucose, "minicard": _Minicard}


def solver_of(name: str) -> Any:
    """A solver by its name with pysat, to be used in a `with` block."""
    return _SOLVERS[name]()


def adding(solver: Any) -> Callable[[Sequence[int]], object]:
    """What hands clauses to a solver, without pysat's checks for each of them."""
    if isinstance(solver, _Cadical):
        return partial(pysolvers.cadical195_add_cl, solver.cadical)
    if isinstance(solver, _Glucose):
        return partial(pysolvers.glucose421_add_cl, solver.glucose)
    added: Callable[[Sequence[int]], object] = solver.add_clause
    return added


def answered(solver: Any) -> bool | None:
    """Whether a solver's clauses can be met; None if its budget of conflicts was not enough.

    Ctrl-C is noticed when that is used up: so it should be.
    """
    answer: bool | None = solver.work()
    return answer
