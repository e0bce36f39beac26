"""Keeps the element at an index that a loop chooses, instead of loading it in every iteration.

    m = 0; j = 1;                              m = 0; v = a[0]; j = 1;
    while (j < n) {                            while (j < n) {
        if (a[j] < a[m]) m = j;        ->          if (a[j] < v) { m = j; v = a[j]; }
        j = j + 1;                                 j = j + 1;
    }                                          }
    x = a[m];                                  x = v;

So no iteration waits for a load at an index that the one before has chosen. That is for arrays that the
loop does not store to, and for elements that it loads anyway: there are no more loads than before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Array, Assign, Body, Expr, Load, Read, Stmt, Variable
from macah.walk import (
    arrays_read,
    arrays_written,
    bodies,
    loads_in,
    map_bodies,
    map_expr,
    map_operands,
    operands,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)

_Loop = ir.While | ir.DoWhile


def keep_chosen(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with such elements in variables; see the module for an example."""
    return replace(kernel, body=_kept(kernel.body))


def _kept(body: Body) -> Body:
    rest = list(body)
    made: list[Stmt] = []
    while rest:
        stmt = rest.pop(0)
        if isinstance(stmt, _Loop):
            for chosen in _chosen(stmt):
                made.append(Assign(chosen.variable, chosen.load, stmt.where))
                stmt = chosen.rewritten(stmt)
                rest = chosen.after(rest)
        made.append(map_bodies(stmt, _kept))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A load at an index made of variables that the loop around it changes, and what holds its value."""

    load: Load
    moving: set[Variable]
    variable: Variable

    def rewritten(self, stmt: Stmt) -> Stmt:
        """A statement with the variable read, and kept up to date."""
        return map_bodies(self.reading(stmt), self._body)

    def reading(self, stmt: Stmt) -> Stmt:
        """A statement that reads the variable where it would load, but not what is inside it."""
        return map_operands(stmt, lambda expr: map_expr(expr, self._leaf))

    def after(self, body: Sequence[Stmt]) -> list[Stmt]:
        """What follows the loop, with the variable read until something may have changed the element."""
        made = list[Stmt]()
        for place, stmt in enumerate(body):
            if self._is_changed_by((stmt,)):
                # a loop evaluates its condition again and again
                last = stmt if isinstance(stmt, _Loop) else self.reading(stmt)
                return [*made, last, *body[place + 1 :]]
            made += self._all_reading((stmt,))
        return made

    def _body(self, body: Body) -> Body:
        made = list[Stmt]()
        for run in _runs(body):
            made += [self.rewritten(stmt) for stmt in run]
            values = _values(run, self.moving)
            if values:
                made.append(Assign(self.variable, _at(self.load, values), run[-1].where))
        return tuple(made)

    def _all_reading(self, body: Body) -> Body:
        return tuple([map_bodies(self.reading(stmt), self._all_reading) for stmt in body])

    def _is_changed_by(self, body: Body) -> bool:
        stored = arrays_written(body) | _forgotten(body)
        return not (
            _arrays_of(self.load).isdisjoint(stored) and written(body).isdisjoint(variables_in(self.load))
        )

    def _leaf(self, expr: Expr) -> Expr:
        return Read(self.variable) if expr == self.load else expr


def _chosen(loop: _Loop) -> Iterator[_Chosen]:
    body = (loop,)
    stored = arrays_written(body) | _forgotten(body)
    if arrays_read(body) <= stored:
        return
    inside = list(statements(body))
    loads = dict.fromkeys(load for stmt in inside for expr in operands(stmt) for load in loads_in(expr))
    changed, chosen = written(body), _conditional(body)
    for load in loads:
        moving = changed.intersection(variables_in(load))
        if moving and moving <= chosen and _arrays_of(load).isdisjoint(stored):
            found = _Chosen(load, moving, Variable(f"{load.array.name}_chosen", load.array.bits, loop.where))
            if _is_followed(loop, found, loads):
                yield found


def _conditional(body: Body) -> set[Variable]:
    """What is assigned in a body, but only where a condition holds."""
    effects = [stmt for stmt in statements(body) if not isinstance(stmt, Assign)]
    return written(body) - _always(body) - {target for stmt in effects for target in targets(stmt)}


def _always(body: Body) -> set[Variable]:
    found = set[Variable]()
    for stmt in body:
        if isinstance(stmt, Assign):
            found.add(stmt.variable)
        elif not isinstance(stmt, ir.If):
            found.update(*map(_always, bodies(stmt)))
    return found


def _is_followed(stmt: Stmt, chosen: _Chosen, loads: Mapping[Load, None]) -> bool:
    """Whether wherever the index changes, what is there then is among the loads of the loop."""
    for body in bodies(stmt):
        for run in _runs(body):
            values = _values(run, chosen.moving)
            if values is None:
                return False
            if values and (_at(chosen.load, values) not in loads or _loads(run, chosen.load)):
                return False
            if not all(_is_followed(inner, chosen, loads) for inner in run):
                return False
    return True


def _loads(run: Sequence[Stmt], load: Load) -> bool:
    return any(load in loads_in(expr) for stmt in run for expr in operands(stmt))


def _values(run: Sequence[Stmt], moving: set[Variable]) -> dict[Variable, Expr] | None:
    """What a run of assignments assigns to the variables; None if that is not known of all at its end."""
    assigns = [stmt for stmt in run if isinstance(stmt, Assign)]
    values = {stmt.variable: stmt.value for stmt in assigns if stmt.variable in moving}
    if not values:
        return {}
    known = {variable for value in values.values() for variable in variables_in(value)}
    if values.keys() != moving or not known.isdisjoint(stmt.variable for stmt in assigns):
        return None
    return values


def _runs(body: Body) -> Iterator[list[Stmt]]:
    """The statements of a body, with assignments in sequence together."""
    run = list[Stmt]()
    for stmt in body:
        if run and not (isinstance(stmt, Assign) and isinstance(run[-1], Assign)):
            yield run
            run = []
        run.append(stmt)
    if run:
        yield run


def _at(load: Load, values: Mapping[Variable, Expr]) -> Load:
    moved = replace_reads(load, values)
    assert isinstance(moved, Load)
    return moved


def _arrays_of(load: Load) -> set[Array]:
    return {inner.array for inner in loads_in(load)}


def _forgotten(body: Body) -> set[Array]:
    return {stmt.array for stmt in statements(body) if isinstance(stmt, ir.Forget)}
