"""The conditions of a control flow as functions of atoms: comparisons, and variables that are predicates.

What comparisons of a variable with numbers have to do with each other is a function, too: `x == 3` excludes
`x < 2`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from arch.ops import COMPARISONS, evaluate, word
from macah.bdd import FALSE, TRUE, Bdd
from macah.ir import Apply, Const, Expr, Read, Variable
from macah.passes.predicate import Predicates
from macah.walk import loads_in, variables_in

MOST_TESTS = 2000
"""Of functions with larger diagrams nothing is known."""


class FlowLogic:
    """Functions of predicates."""

    def __init__(self, predicates: Predicates) -> None:
        self.bdd = Bdd()
        self.atoms: dict[Expr, int] = {}
        self.holds = predicates.holds
        self._telling: defaultdict[Variable, list[Expr]] = defaultdict(list)
        self._loads = set[int]()
        self._relations: dict[tuple[Variable, int], int] = {}

    def function(self, condition: Expr) -> int:
        """The function that a predicate is."""
        bdd = self.bdd
        match condition:
            case Const(value):
                return TRUE if value else FALSE
            case Apply("and" | "or" as op, (a, b)) if self.holds(a) and self.holds(b):
                join = bdd.both if op == "and" else bdd.either
                return join(self.function(a), self.function(b))
            case Apply("xor", (a, Const(1))) if self.holds(a):
                return bdd.opposite(self.function(a))
            case Apply("ne", (a, Const(0))) if self.holds(a):
                return self.function(a)
            case Apply("ne", operands):
                return bdd.opposite(self._atom(Apply("eq", operands)))
            case Apply("sle" | "ule" as op, (a, b)):
                return bdd.opposite(self._atom(Apply(f"{op[0]}lt", (b, a))))
            case _:
                return self._atom(condition)

    def asks_for(self, variable: Variable) -> bool:
        """Whether a condition is that a variable, a predicate, holds."""
        return Read(variable) in self.atoms

    def forget(self, facts: int, variables: Iterable[Variable]) -> int:
        """Facts without what they tell of variables."""
        return self._without(
            facts, {self.atoms[atom] for v in variables for atom in self._telling.get(v, ())}
        )

    def known(self, facts: int) -> int:
        """Facts, or less: with how their atoms go together, and nothing of what memory holds."""
        facts = self._without(self.related(facts), self._loads)
        return facts if self.bdd.is_small(facts, MOST_TESTS) else TRUE

    def related(self, function: int) -> int:
        """Where a function holds, of all that atoms can be together."""
        support = self.bdd.support(function)
        for variable, atoms in self._telling.items():
            if not support.isdisjoint(self.atoms[atom] for atom in atoms):
                function = self.bdd.both(function, self._relation(variable))
        return function

    def equal(self, variable: Variable, value: int) -> int:
        """What conditions are where a variable has a value."""
        found = TRUE
        for atom in self._telling.get(variable, ()):
            outcome = _outcome(atom, variable, value)
            if outcome is not None:
                holds = self.function(atom)
                found = self.bdd.both(found, holds if outcome else self.bdd.opposite(holds))
        return found

    def _atom(self, condition: Expr) -> int:
        if condition not in self.atoms:
            self.atoms[condition] = len(self.atoms)
            if any(loads_in(condition)):
                self._loads.add(self.atoms[condition])
            for variable in dict.fromkeys(variables_in(condition)):
                self._telling[variable].append(condition)
        return self.bdd.variable(self.atoms[condition])

    def _without(self, facts: int, levels: set[int]) -> int:
        support = self.bdd.support(facts)
        return facts if support.isdisjoint(levels) else self.bdd.possible(facts, support - levels)

    def _relation(self, variable: Variable) -> int:
        """How the comparisons of a variable with numbers go together: as they do for some word.

        That need only be looked at near these numbers.
        """
        atoms = self._telling[variable]
        key = variable, len(atoms)
        if key not in self._relations:
            compared = [atom for atom in atoms if _outcome(atom, variable, 0) is not None]
            numbers = {0, 1 << (variable.bits - 1), *(n for atom in compared for n in _numbers(atom))}
            near = {word(variable.bits, number + step) for number in numbers for step in (-1, 0, 1)}
            found = FALSE if compared else TRUE
            for value in sorted(near) if compared else ():
                found = self.bdd.either(found, self.equal(variable, value))
            self._relations[key] = found
        return self._relations[key]


def _outcome(atom: Expr, variable: Variable, value: int) -> int | None:
    """What a condition is for a word, if it depends on nothing else."""
    match atom:
        case Read(v) if v is variable:
            return int(value != 0)
        case Apply(op, (Read(v), Const(number, bits))) if v is variable and op in COMPARISONS:
            return evaluate(op, bits, value, number)
        case Apply(op, (Const(number, bits), Read(v))) if v is variable and op in COMPARISONS:
            return evaluate(op, bits, number, value)
        case _:
            return None


def _numbers(atom: Expr) -> Iterable[int]:
    match atom:
        case Apply(_, operands):
            return [operand.value for operand in operands if isinstance(operand, Const)]
        case _:
            return ()
