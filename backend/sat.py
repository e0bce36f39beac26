"""SAT solvers that are freed once, whatever signal comes meanwhile, and that Ctrl-C ends.

pysat frees a solver first and forgets it then. The handler of a signal that has come in between raises before
that (`sys.exit` of SIGTERM, Ctrl-C, which a search answers with its best mapping), and as the solver is
collected, it is freed again: a crash. Here it is forgotten first.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pysolvers
from pysat.solvers import Cadical195, Glucose42, Minicard


class _Cadical(Cadical195):  # type: ignore[misc]
    cadical: Any

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.cadical = self.cadical, None
        if solver:
            pysolvers.cadical195_del(solver, None)


class _Glucose(Glucose42):  # type: ignore[misc]
    glucose: Any

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.glucose = self.glucose, None
        if solver:
            pysolvers.glucose421_del(solver)


class _Minicard(Minicard):  # type: ignore[misc]
    minicard: Any

    def delete(self) -> None:
        """Free the solver, if it has not been."""
        solver, self.minicard = self.minicard, None
        if solver:
            pysolvers.minicard_del(solver)


_SOLVERS = {"cadical195": _Cadical, "glucose42": _Glucose, "minicard": _Minicard}


def solver_of(name: str) -> Any:
    """A solver by its name with pysat, to be used in a `with` block."""
    return _SOLVERS[name]()


def adding(solver: Any) -> Callable[[list[int]], object]:
    """What hands clauses to a solver, without pysat's checks for each of them."""
    if isinstance(solver, _Cadical):
        return partial(pysolvers.cadical195_add_cl, solver.cadical)
    if isinstance(solver, _Glucose):
        return partial(pysolvers.glucose421_add_cl, solver.glucose)
    added: Callable[[list[int]], object] = solver.add_clause
    return added


def answered(solver: Any) -> bool | None:
    """Whether a solver's clauses can be met; None if its budget was not enough. Raises what Ctrl-C does.

    pysat has a handler of its own for Ctrl-C while a solver works, and jumps out of it: the handler stays and
    the signal blocked, so that the next Ctrl-C would be lost.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        answer: bool | None = solver.solve_limited()
    except pysolvers.error:
        if (handler := signal.getsignal(signal.SIGINT)) is not None:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        raise KeyboardInterrupt from None
    return answer
