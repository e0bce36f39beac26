"""Which elements of arrays the statements of a body touch, as far as indices say that two differ.

    do { s = s + x; … } while (…);  a[i][0] = s;  j = i + 1;  t = a[j][0];  do { … } while (…);

The load may as well come before the store: their first indices are one apart, whatever `i` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backend.dfg import Place
from macah import ir
from macah.affine import plus
from macah.evolution import Forms
from macah.ir import Array, Assign, Body, DoWhile, Expr, If, Stmt, Variable
from macah.refusal import Touch
from macah.site import Affine, Unknown
from macah.walk import arrays_written, loads_in, operands, targets, written


@dataclass(frozen=True, slots=True)
class Element:
    """One that may be loaded or stored; each index as an affine form."""

    array: Array
    index: tuple[Affine, ...]
    stored: bool
    where: Place | None

    @property
    def touch(self) -> Touch:
        """The access, for the report."""
        return Touch(self.array.name, self.stored, self.where)

    def apart(self, other: Element) -> bool:
        """True if the two are never the same one, or neither is stored."""
        if self.array is not other.array or not (self.stored or other.stored):
            return True
        return any(differ(a, b) for a, b in zip(self.index, other.index, strict=True))


def differ(a: Affine, b: Affine) -> bool:
    """True if two values are never the same one."""
    difference = plus(a, b, -1)
    return difference is not None and not difference.terms and difference.constant != 0


class Elements:
    """Those of each statement of a body; what other statements touch is not known.

    In forms of different statements an unknown is the same value only where it was set before both.
    """

    def __init__(self, body: Body) -> None:
        self._forms = Forms(arrays_written(body))
        # By the identities of statements, which stay alive here.
        self._known: dict[int, tuple[Stmt, tuple[Element, ...]]] = {}
        self._starts: dict[int, dict[Variable, Unknown]] = {}  # the same of loops
        for stmt in body:
            self._known[id(stmt)] = stmt, tuple(self._statement(stmt))

    def of(self, stmt: Stmt) -> tuple[Element, ...]:
        """What a statement touches."""
        return self._known[id(stmt)][1]

    def at_start(self, loop: DoWhile, variable: Variable) -> Unknown:
        """What a variable that the loop changes is when an iteration starts."""
        return self._starts[id(loop)][variable]

    def joined(
        self, loop: DoWhile, first: DoWhile, second: DoWhile, own: Mapping[Variable, Variable], back: Body
    ) -> None:
        """Take note of a loop that does what two do; the second one has variables of its `own` there.

        What gives these `back` touches no element.
        """
        self._known |= {id(stmt): (stmt, ()) for stmt in back}
        self._known[id(loop)] = loop, (*self.of(first), *self.of(second))
        renamed = {own.get(variable, variable): form for variable, form in self._starts[id(second)].items()}
        self._starts[id(loop)] = self._starts[id(first)] | renamed

    def _body(self, body: Body) -> Iterator[Element]:
        for stmt in body:
            yield from self._statement(stmt)

    def _statement(self, stmt: Stmt) -> Iterator[Element]:
        match stmt:
            case DoWhile(body, condition, guard):
                yield from self._loads(guard, stmt)
                self._forms.forget(written(body))
                self._starts[id(stmt)] = {v: self._forms.read(v).terms[0][0] for v in written(body)}
                yield from self._body(body)
                yield from self._loads(condition, stmt)
                self._forms.forget(written(body))
            case If(condition, then, orelse):
                yield from self._loads(condition, stmt)
                before = dict(self._forms.known)
                yield from self._body(then)
                self._forms.known = dict(before)
                yield from self._body(orelse)
                self._forms.known = before
                self._forms.forget(written((stmt,)))
            case Assign(variable, value):
                yield from self._loads(value, stmt)
                self._forms.known[variable] = self._forms.of(value)
            case _:
                for expr in operands(stmt):
                    yield from self._loads(expr, stmt)
                if isinstance(stmt, ir.Store):
                    yield self._element(stmt.array, stmt.index, True, stmt)
                self._forms.forget(targets(stmt))

    def _loads(self, expr: Expr, stmt: Stmt) -> Iterator[Element]:
        for load in loads_in(expr):
            yield self._element(load.array, load.index, False, stmt)

    def _element(self, array: Array, index: tuple[Expr, ...], stored: bool, stmt: Stmt) -> Element:
        return Element(array, tuple(map(self._forms.of, index)), stored, stmt.where)
