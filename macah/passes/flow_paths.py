"""When control comes from one place of a flow to another within an iteration, said as shortly as possible.

    at_1: if (letter) …; else if (space) …; else if (x == 0) leave; …
    at_2: n = n - 1; if (digit) …; else if (space) …; else if (x == 0) leave; …

From both, control leaves if x is 0: there, the tests before do not hold in any case. So the loop goes on if
`!((at_1 | at_2) & x == 0)`, which does not wait for all the tests one after the other. A test of n behind its
assignment is one of n - 1 where an iteration begins at `at_2`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from macah import ir
from macah.bdd import FALSE, TRUE
from macah.fold import fold
from macah.ir import Apply, Assign, Const, Expr, If, Read, Stmt, Variable
from macah.passes.control_flow import Block, Way
from macah.passes.flow_logic import FlowLogic
from macah.passes.predicate import either, negate, select
from macah.walk import (
    both,
    is_constant,
    loads_in,
    map_expr,
    replace_reads,
    subexpressions,
    targets,
    truth,
    variables_in,
)

MOST = 1000
"""So many blocks are passed on all paths from a place at most."""

MOST_SAID = 100
"""And so many conditions there are on all of them: functions of more may be large."""

LARGE = 24
"""Values of more operations and operands are not put in."""

Path = tuple[Expr, ...]
"""The conditions of the ways on a path."""

Paths = dict[Block, list[Path]]
"""The paths from a place, by where they lead."""

Values = dict[Variable, Expr | None]
"""What variables hold, said by what they held when the iteration began; None if it is not said."""


def paths_between(
    starts: Iterable[Block], ends: Collection[Way], exit: Block, tests: Mapping[Block, Variable]
) -> dict[Block, Paths] | None:
    """The paths from blocks to where an iteration ends, or to the exit; None if they are too many.

    Conditions are said by what variables hold when an iteration has received. Where that is not possible,
    `tests` have them.
    """
    found: dict[Block, Paths] = {}
    for start in starts:
        paths = _paths_from(start, ends, exit, tests)
        if paths is None:
            return None
        found[start] = paths
    said = {one for paths in found.values() for several in paths.values() for path in several for one in path}
    return found if len(said) <= MOST_SAID else None


def _paths_from(
    start: Block, ends: Collection[Way], exit: Block, tests: Mapping[Block, Variable]
) -> Paths | None:
    """The paths from one block."""
    found: Paths = {}
    pending: list[tuple[Block, Path, Values]] = [(start, (), {})]
    for _ in range(MOST):
        if not pending:
            return found
        block, path, values = pending.pop()
        values = _after(block.body, values)
        for way in block.ways:
            said = _said(way.condition, values)
            if said is None:
                test = Read(tests[block])
                said = test if way is block.ways[0] else negate(test)
            if is_constant(said, 0):
                continue
            onward = path if is_constant(said, 1) else (*path, said)
            if way in ends or way.target is exit:
                found.setdefault(way.target, []).append(onward)
            else:
                pending.append((way.target, onward, values))
    return None


def _after(body: Iterable[Stmt], values: Values) -> Values:
    """What variables hold behind statements."""
    values = dict(values)
    for stmt in body:
        match stmt:
            case Assign(variable, value):
                values[variable] = _said(value, values)
            case If(condition, then, orelse):
                values = _chosen(_said(condition, values), _after(then, values), _after(orelse, values))
            case _:
                values.update(dict.fromkeys(targets(stmt)))
    return values


def _chosen(condition: Expr | None, then: Values, orelse: Values) -> Values:
    """What variables hold behind a branch."""
    found: Values = {}
    for variable in {**then, **orelse}:
        a, b = then.get(variable, Read(variable)), orelse.get(variable, Read(variable))
        if a == b:
            found[variable] = a
        elif condition is None or a is None or b is None:
            found[variable] = None
        else:
            found[variable] = _small(select(truth(condition), a, b))
    return found


def _said(value: Expr, values: Values) -> Expr | None:
    """A value, said by what variables hold when an iteration has received; None if it is not said."""
    known = {v: values[v] for v in variables_in(value) if v in values}
    if any(loads_in(value)) or None in known.values():
        return None
    put_in = {v: said for v, said in known.items() if said is not None}
    return _small(map_expr(replace_reads(value, put_in), fold)) if put_in else value


def _small(value: Expr) -> Expr | None:
    return value if len(subexpressions(value)) <= LARGE else None


class Shortly:
    """Says when control goes where. `late` conditions are left out where others do.

    Where control comes to the exit, nobody asks for anything else: that may be true then, or not.
    """

    def __init__(self, logic: FlowLogic, late: Set[Variable], exit: Block) -> None:
        self.logic, self.bdd, self.late, self.exit = logic, logic.bdd, late, exit

    def grouped(
        self, paths: Mapping[Block, Paths], targets: Collection[Block]
    ) -> list[tuple[list[Block], Expr]]:
        """Some of the places, and if control is at one of them, whether it comes to one of the targets."""
        groups: dict[tuple[int, int], tuple[list[Block], list[Path]]] = {}
        for place, leading in paths.items():
            taken = [path for target in leading if target in targets for path in leading[target]]
            function = self.function(taken)
            free = FALSE if self.exit in targets else self.function(leading.get(self.exit, ()))
            if function != FALSE:
                groups.setdefault((function, free), ([], taken))[0].append(place)
        return [(places, self.said(taken, free)) for (_, free), (places, taken) in groups.items()]

    def function(self, paths: Iterable[Path]) -> int:
        """Where one of the paths is taken, of all that can be."""
        found = FALSE
        for path in paths:
            found = self.bdd.either(found, self.all_of(path))
        return self.logic.related(found)

    def all_of(self, path: Iterable[Expr]) -> int:
        found = TRUE
        for condition in path:
            found = self.bdd.both(found, self.logic.function(condition))
        return found

    def said(self, paths: Sequence[Path], free: int) -> Expr:
        """That one of the paths is taken, with as few conditions as needed; where `free` holds, it may be."""
        taken = self.function(paths)
        whole = self.bdd.either(taken, free)
        terms = list(dict.fromkeys(self.shortened(path, whole) for path in paths))
        for term in list(terms):
            others = [other for other in terms if other is not term]
            if others and self.bdd.implies(taken, self.function(others)):
                terms = others
        always = [condition for condition in terms[0] if all(condition in term for term in terms[1:])]
        found: Expr = ir.FALSE
        for term in terms:
            found = either(found, _all([condition for condition in term if condition not in always]))
        return both(_all(always), found)

    def shortened(self, path: Path, whole: int) -> Path:
        """The path without conditions that need not hold for one of all the paths to be taken."""
        kept = list(dict.fromkeys(part for condition in path for part in self.parts("and", condition)))
        for condition in sorted(kept, key=lambda condition: not self.is_late(condition)):
            others = [other for other in kept if other is not condition]
            if self.bdd.implies(self.logic.related(self.all_of(others)), whole):
                kept = others
        for place, condition in enumerate(kept):
            others = kept[:place] + kept[place + 1 :]
            kept[place] = self.without_known(condition, self.logic.related(self.all_of(others)))
        return tuple(kept)

    def without_known(self, condition: Expr, facts: int) -> Expr:
        """One of several conditions any of which may hold, if the others do not where the facts do."""
        for part in self.parts("or", condition):
            holds = self.bdd.both(facts, self.logic.function(condition))
            if self.bdd.implies(holds, self.logic.function(part)):
                return part
        return condition

    def parts(self, op: str, condition: Expr) -> list[Expr]:
        """The conditions that one is made of by `and` or by `or`, also where it is negated."""
        match condition:
            case Apply(inner, (a, b)) if inner == op and self.logic.holds(a) and self.logic.holds(b):
                return [*self.parts(op, a), *self.parts(op, b)]
            case Apply("xor", (Apply("and" | "or" as inner, (a, b)), Const(1))) if inner != op:
                if self.logic.holds(a) and self.logic.holds(b):
                    return [*self.parts(op, negate(a)), *self.parts(op, negate(b))]
        return [condition]

    def is_late(self, condition: Expr) -> bool:
        return not self.late.isdisjoint(variables_in(condition))


def _all(conditions: Iterable[Expr]) -> Expr:
    found: Expr = ir.TRUE
    for condition in conditions:
        found = both(found, condition)
    return found
