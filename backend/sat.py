"""SAT solvers that are freed once, whatever signal comes meanwhile.

pysat frees a solver first and forgets it then. The handler of a signal that has come in between raises before
that (`sys.exit` of SIGTERM, Ctrl-C, which a search answers with its best mapping), and as the solver is
collected, it is freed again: a crash. Here it is forgotten first.
"""

from __future__ import annotations

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
