"""Variables that count in a circle, as indices of ring buffers do.

    i = 0; do { ...; i = i + 1; if (i == 48) i = 0; } while (...)       i is #i modulo 48

Whatever a program writes for that, `(i + 5) % 48` or `i ? i - 1 : 47`, a circle is short, so each of its
values is tried: if an iteration takes every value to the one that lies `step` further, it is a circle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial

from arch.ops import COMPARISONS, evaluate
from macah.affine import extent
from macah.evolution import Forms
from macah.fold import CONVERSIONS
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, If, Read, Stmt, Variable
from macah.site import WORD, Circle, Loop
from macah.trips import sure_statements
from macah.walk import folded, loads_in, statements, subexpressions, targets, variables_in

LONGEST = 4096
"""Longer circles are not found: an element is met again so late that no pipeline is so deep."""

MOST_PLACES = 8
"""So many statements of a body may take part in one step."""

MOST_PERIODS = 4
"""So many lengths are tried."""


def find_circles(
    loop: Loop, stmt: DoWhile, variables: Iterable[Variable], forms: Forms
) -> dict[Variable, tuple[Circle, Stmt | None]]:
    """Those of the variables that count in a circle, and the statements that change them last.

    `forms` are what variables are before `loop`, which `stmt` is.
    """
    found, steps = dict[Variable, tuple[Circle, Stmt | None]](), _Steps(stmt)
    for variable in variables:
        start = forms.read(variable)
        low, high = extent(start)
        step = steps.of(variable) if 0 <= low <= high < LONGEST else None
        if step is not None:
            periods = [period for period in _periods(step) if high < period <= LONGEST]
            for period in periods[:MOST_PERIODS]:
                length = _length(variable, step, period, steps, forms)
                if length:
                    found[variable] = Circle(loop, start, length, period), steps.last(variable)
                    break
    return found


class _Steps:
    """Which statements of a body say what a variable is in the next iteration, if there is one."""

    def __init__(self, loop: DoWhile) -> None:
        self.body = sure_statements(loop)
        self.places: dict[Variable, dict[int, None]] = {}
        for place, stmt in enumerate(self.body):
            for inner in statements((stmt,)):
                for variable in targets(inner):
                    self.places.setdefault(variable, {})[place] = None

    def last(self, variable: Variable) -> Stmt | None:
        """The last statement that assigns to a variable, if it stands there once."""
        writes = [self.body[place] for place in self.places[variable]]
        again = sum(inner is writes[-1] for inner in statements(tuple(writes)))
        return writes[-1] if again == 1 else None

    def of(self, variable: Variable) -> Body | None:
        """These alone, if they are few and simple."""
        needed = {variable}
        while True:
            places = sorted({place for needs in needed for place in self.places[needs]})
            if len(places) > MOST_PLACES:
                return None
            step = [_only(self.body[place], needed) for place in places]
            body = tuple(stmt for stmt in step if stmt is not None)
            if len(body) < len(step):
                return None
            inputs = {inner for expr in _exprs(body) for inner in variables_in(expr) if inner in self.places}
            if inputs <= needed:
                return body
            needed |= inputs


def _only(stmt: Stmt, needed: Collection[Variable]) -> Stmt | None:
    """What a statement does to some variables; None if that is not simple."""
    match stmt:
        case Assign(_, value) if not any(loads_in(value)):
            return stmt
        case If(condition) if not any(loads_in(condition)):
            branches = []
            for body in (stmt.then, stmt.orelse):
                inside = [_only(inner, needed) for inner in body if _writes(inner, needed)]
                branches.append(tuple(inner for inner in inside if inner is not None))
                if len(branches[-1]) < len(inside):
                    return None
            return replace(stmt, then=branches[0], orelse=branches[1])
        case _:
            return None


def _writes(stmt: Stmt, needed: Collection[Variable]) -> bool:
    return any(variable in needed for inner in statements((stmt,)) for variable in targets(inner))


def _exprs(body: Body) -> Iterator[Expr]:
    """The expressions of a step."""
    for stmt in statements(body):
        match stmt:
            case Assign(_, value):
                yield value
            case If(condition):
                yield condition


def _periods(step: Body) -> list[int]:
    """How long a circle could be: it ends at a constant, or one further."""
    constants = {
        inner.value for expr in _exprs(step) for inner in subexpressions(expr) if isinstance(inner, Const)
    }
    return sorted({period for value in constants for period in (value, value + 1) if period > 1})


# --- One iteration after the other


class _Unknown(Exception):
    """A step takes something else into account."""


def _length(variable: Variable, step: Body, period: int, steps: _Steps, forms: Forms) -> int | None:
    """How far an iteration takes a variable on a circle, in the shorter direction; None if it is none."""
    given = {
        inner: form.constant % WORD
        for expr in _exprs(step)
        for inner in variables_in(expr)
        if inner not in steps.places and not (form := forms.read(inner)).terms
    }
    length = 0
    try:
        for value in range(period):
            values = given | {variable: value}
            _run(step, values)
            if value == 0:
                length = values[variable]
            if values[variable] != (value + length) % period:
                return None
    except _Unknown:
        return None
    return length - period if 2 * length > period else length


def _run(body: Body, values: dict[Variable, int]) -> None:
    for stmt in body:
        match stmt:
            case Assign(variable, value):
                values[variable] = _value(value, values)
            case If(condition, then, orelse):
                _run(then if _value(condition, values) else orelse, values)


def _value(expr: Expr, values: dict[Variable, int]) -> int:
    result: int = folded(expr, partial(_evaluated, values))
    return result


def _evaluated(values: dict[Variable, int], expr: Expr, args: list[int]) -> int:
    match expr:
        case Const(value):
            return value
        case Read(variable) if variable in values:
            return values[variable]
        case Apply(op):
            width = expr.args[0].bits if op in COMPARISONS or op in CONVERSIONS else expr.bits
            return evaluate(op, width, *args)
        case _:
            raise _Unknown
