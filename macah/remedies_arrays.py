"""Changes of how a kernel uses its arrays, on trial: see `macah/remedies.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from backend.dfg import Place
from macah import ir
from macah.ir import Apply, Array, Assign, Body, Expr, Load, Read, Stmt, Variable
from macah.remedy import Remedy, captured
from macah.walk import (
    Renaming,
    arrays_read,
    arrays_written,
    bodies,
    flat_map,
    has_loop,
    loads_in,
    map_bodies,
    map_expr,
    map_operands,
    operands,
    variables_in,
)
from macah.walk import statements as inside
from macah.why import Why
from macah.why_text import apart_text, array_text, lines_text, outside_text, together_text

GATHERING = frozenset({"add", "and", "or", "xor", "smin", "smax", "umin", "umax"})
PLAIN = 4
"""Through so many variables it is looked for what an element becomes."""

TOGETHER = 2
"""So many iterations are made one, with an array each."""


def array_remedies(kernel: ir.Kernel, found: Why) -> Iterator[Remedy]:
    meetings = {
        m.name: m for r in reversed(found.recurrences) for m in r.meetings if m.before.memory is not None
    }
    crowded = {r.name: r for r in found.resources if r.kind == "array"}
    both = arrays_read(kernel.body) & arrays_written(kernel.body)
    for array in sorted(both, key=lambda array: array.name):
        names = [name for name in (*meetings, *crowded) if _is_of(name, array)]
        if not names:
            continue
        name = names[0]
        if name in crowded and (places := _outside(kernel, array)):
            given = f"'{array.name}' not used outside the innermost loop{lines_text(places)}"
            yield Remedy("outside", given, outside_text(array.name, places), _Outside(array).changed)
        meeting = meetings.get(name)
        apart = f"an array to read and one to write for '{array.name}'"
        if meeting is not None and _gathers(kernel.body, array):
            text = together_text(meeting, TOGETHER)
            yield Remedy(
                "together",
                f"two arrays '{array.name}' for two iterations",
                text,
                _Together(array).changed,
                TOGETHER,
            )
        elif meeting is not None and not _updates(kernel.body, array):
            yield Remedy("order", apart, apart_text(meeting), _Apart(array).changed)
        elif meeting is None:
            yield Remedy("array", apart, array_text(crowded[name]), _Apart(array).changed)


def _is_of(name: str, array: Array) -> bool:
    return name == array.name or name.startswith((f"{array.name}.", f"{array.name}["))


def _updates(body: Body, array: Array) -> bool:
    """True if elements become what is made of them: then nobody would read an array that is read only."""
    elements = _Elements(body, array)
    return any(elements.of(store, elements.plain) for store in elements.stores)


def _gathers(body: Body, array: Array) -> bool:
    """True if all that is done with an array is to add to its elements, or the like."""
    elements = _Elements(body, array)
    gathered = [
        isinstance(value := elements.plain(store.value), Apply)
        and value.op in GATHERING
        and len(elements.of(store, elements.only)) == 1
        for store in elements.stores
    ]
    return bool(gathered) and all(gathered) and len(gathered) == len(elements.loads)


class _Elements:
    """What is done with an array's elements."""

    def __init__(self, body: Body, array: Array) -> None:
        self.stores = [s for s in inside(body) if isinstance(s, ir.Store) and s.array is array]
        self.loads = [load for load in _loads(body) if load.array is array]
        self._values = {s.variable: s.value for s in inside(body) if isinstance(s, Assign)}
        self._uses = Counter(v for s in inside(body) for expr in operands(s) for v in variables_in(expr))

    def plain(self, expr: Expr, depth: int = PLAIN) -> Expr:
        """What a variable was given last in the text, if one was read."""
        if isinstance(expr, Read) and expr.variable in self._values and depth:
            return self.plain(self._values[expr.variable], depth - 1)
        return expr

    def only(self, expr: Expr) -> Expr:
        """The same, where nothing else reads it."""
        return expr if isinstance(expr, Read) and self._uses[expr.variable] > 1 else self.plain(expr)

    def of(self, store: ir.Store, plain: Callable[[Expr], Expr]) -> list[Load]:
        """The loads of the same element that a stored value is made of at once."""
        value, index = self.plain(store.value), [self.plain(part) for part in store.index]
        loads = [plain(arg) for arg in value.args] if isinstance(value, Apply) else []
        return [
            load
            for load in loads
            if load in self.loads and isinstance(load, Load) and [self.plain(i) for i in load.index] == index
        ]


def _loads(body: Body) -> Iterator[Load]:
    for stmt in inside(body):
        for expr in operands(stmt):
            yield from loads_in(expr)


@dataclass(frozen=True, slots=True)
class _Apart:
    """What is read is in another array than what is written."""

    array: Array

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        old, other = self.array, replace(self.array, name=f"{self.array.name}_old")

        def read(expr: Expr) -> Expr:
            return Load(other, expr.index) if isinstance(expr, Load) and expr.array is old else expr

        body = flat_map(kernel.body, lambda stmt: (map_operands(stmt, lambda expr: map_expr(expr, read)),))
        return replace(kernel, body=body, captured=(*kernel.captured, captured(other)))


def _outside(kernel: ir.Kernel, array: Array) -> list[Place]:
    """Where an array is used outside innermost loops, if one of these uses it, too."""
    within, beside = list[Place](), list[Place]()

    def look(body: Body, innermost: bool) -> None:
        for stmt in body:
            if isinstance(stmt, ir.While | ir.DoWhile) and not has_loop(stmt.body):
                look((*_before(stmt), *stmt.body), True)
            else:
                if stmt.where is not None and array in _touched(stmt):
                    (within if innermost else beside).append(stmt.where)
                for part in bodies(stmt):
                    look(part, innermost)

    look(kernel.body, False)
    return list(dict.fromkeys(beside)) if within else []


def _before(stmt: ir.While | ir.DoWhile) -> Body:
    return stmt.before if isinstance(stmt, ir.While) else ()


def _touched(stmt: Stmt) -> set[Array]:
    found = {load.array for expr in operands(stmt) for load in loads_in(expr)}
    return found | ({stmt.array} if isinstance(stmt, ir.Store) else set())


@dataclass(frozen=True, slots=True)
class _Outside:
    """What uses an array outside innermost loops does without it."""

    array: Array

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        given = Variable(f"{self.array.name}_given", self.array.bits)
        body = self.body(kernel.body, given)
        return replace(kernel, body=body, captured=(*kernel.captured, captured(given)))

    def body(self, body: Body, given: Variable) -> Body:
        def read(expr: Expr) -> Expr:
            return Read(given) if isinstance(expr, Load) and expr.array is self.array else expr

        made = list[Stmt]()
        for stmt in body:
            if isinstance(stmt, ir.While | ir.DoWhile) and not has_loop(stmt.body):
                made.append(stmt)
            elif not (isinstance(stmt, ir.Store) and stmt.array is self.array):
                plain = map_operands(stmt, lambda expr: map_expr(expr, read))
                made.append(map_bodies(plain, lambda inner: self.body(inner, given)))
        return tuple(made)


@dataclass(frozen=True, slots=True)
class _Together:
    """Innermost loops that use an array have two iterations in one, the second one with its own array."""

    array: Array

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        other = replace(self.array, name=f"{self.array.name}_other")

        def twice(stmt: Stmt) -> tuple[Stmt]:
            if not isinstance(stmt, ir.While) or has_loop(stmt.body):
                return (stmt,)
            again = (*stmt.before, *stmt.body)
            if self.array not in arrays_written(stmt.body):
                return (stmt,)
            labels = {s.label: replace(s.label) for s in inside(stmt.body) if isinstance(s, ir.Block)}
            copy = Renaming(arrays={self.array: other}, labels=labels).body(again)
            return (replace(stmt, body=(*stmt.body, *copy)),)

        body = flat_map(kernel.body, twice)
        return replace(kernel, body=body, captured=(*kernel.captured, captured(other)))
