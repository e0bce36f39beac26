"""Spreads arrays over several memories where one has too few ports for the accesses of an iteration.

With 4 banks, where i is a multiple of 4 (the loop has been unrolled):

x = a[i] + a[i + 1]           ->        x = a[4n][i >> 2] + a[4n+1][i >> 2]

Element n of `a[4n+1]` is element 4 * n + 1 of `a`. An access whose index is known modulo the number of banks
touches one of them; where less is known it touches several, which costs selects and tests. The dimension and
the number of banks, a power of two, are those with which the ports suffice, or nearly, for the interval that
`Kernel.room` wants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from backend.dfg import Place
from macah import ir
from macah.fold import fold_apply
from macah.ir import Apply, Array, Body, Const, Expr, Load, Stmt
from macah.offsets import Offsets
from macah.passes.find_sites import Finder
from macah.refusal import Refusal, Touch
from macah.site import Affine
from macah.walk import arrays_written, bodies, both, loads_in, map_expr, written

MOST_BANKS = 32
MOST_EXTRA = 24
"""So many operations may the accesses to one array cost that do not know their bank."""

Index = tuple[Expr, ...]
Forms = tuple[Affine, ...]


def bank_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with arrays spread over as many memories as its room wants and has."""
    while kernel.room is not None:
        stored = arrays_written(kernel.body)
        survey = _Survey(stored)
        survey.body(kernel.body)
        spread = _plan(survey.accesses, kernel.room)
        if not spread:
            break
        body, _ = _Rewriter(stored, spread).body(kernel.body)
        captured = tuple(_captures(kernel.captured, spread, arrays_written(body)))
        kernel = replace(kernel, body=body, captured=captured)
    return kernel


def not_banked(kernel: ir.Kernel, name: str) -> Refusal | None:
    """Why the array of that name would gain nothing from banks, if it is in the kernel."""
    survey = _Survey(arrays_written(kernel.body))
    survey.body(kernel.body)
    for array, accesses in survey.accesses.items():
        if array.name == name:
            return _reason(array, accesses, survey.touches[array])
    return None


def _reason(array: Array, accesses: Sequence[Forms], touches: Sequence[Touch]) -> Refusal:
    ways = [_Spread(array, d, 2) for d, extent in enumerate(array.shape) if extent > 1]
    unknown = [
        touch
        for forms, touch in zip(accesses, touches, strict=True)
        if all(len(way.touched(forms[way.dimension])) > 1 for way in ways)
    ]
    why = "" if unknown else "banks would need more memories or operations, or leave the interval as it is"
    return Refusal("banking", array.where, why, array.name, touches=tuple(unknown[:1]))


# --- Which arrays


@dataclass(slots=True)
class _Spread:
    """An array whose `dimension` is spread over `count` banks."""

    array: Array
    dimension: int
    count: int
    banks: dict[int, Array] = field(default_factory=dict)

    def bank(self, number: int) -> Array:
        if number not in self.banks:
            array, d = self.array, self.dimension
            extent = len(range(number, array.shape[d], self.count))
            shape = (*array.shape[:d], extent, *array.shape[d + 1 :])
            initial = tuple(self._initial(number)) if array.initial else ()
            self.banks[number] = replace(array, name=self._name(number), shape=shape, initial=initial)
        return self.banks[number]

    def _name(self, number: int) -> str:
        array, place = self.array, f"[{self.count}n{f'+{number}' if number else ''}]"
        if array.name.endswith("]"):
            return array.name + place
        marks = ["[]"] * len(array.shape)
        return array.name + "".join((*marks[: self.dimension], place, *marks[self.dimension + 1 :]))

    def _initial(self, number: int) -> Iterator[int]:
        inner = prod(self.array.shape[self.dimension + 1 :])
        for place in range(self.array.size):
            if place // inner % self.array.shape[self.dimension] % self.count == number:
                yield self.array.initial[place] if place < len(self.array.initial) else 0

    def touched(self, form: Affine) -> range:
        """The banks that an access with this index may touch, where all have elements."""
        step = gcd(self.count, *(factor for _, factor in form.terms))
        return range(form.constant % step, min(self.count, self.array.shape[self.dimension]), step)


def _plan(accesses: Mapping[Array, Sequence[Forms]], room: ir.Room) -> dict[Array, _Spread]:
    """The arrays to be spread, those with the most accesses first while there are memories."""
    found: dict[Array, _Spread] = {}
    memories = len(accesses)
    for array, forms in sorted(accesses.items(), key=lambda item: -len(item[1])):
        load = _ceil(len(forms), room.ports)
        if load > room.interval:
            ways = (_Spread(array, d, k) for d, n in enumerate(array.shape) for k in _counts(n))
            costs = [(cost, way) for way in ways if (cost := _cost(way, forms, room)) is not None]
            costs = [
                (cost, way)
                for cost, way in costs
                if cost[0] < load and memories + way.count - 1 <= room.memories
            ]
            if costs:
                found[array] = min(costs, key=lambda item: item[0])[1]
                memories += found[array].count - 1
    return found


def _counts(extent: int) -> Iterator[int]:
    count = 2
    while count <= min(extent, MOST_BANKS):
        yield count
        count *= 2


def _cost(way: _Spread, accesses: Sequence[Forms], room: ir.Room) -> tuple[int, int, int] | None:
    """Cycles for the accesses to the busiest bank, then banks, then operations to find banks."""
    load, extra = Counter[int](), 0
    for forms in accesses:
        banks = way.touched(forms[way.dimension])
        load.update(banks)
        extra += 2 * (len(banks) - 1)
    if extra > MOST_EXTRA:
        return None
    return max(room.interval, _ceil(max(load.values()), room.ports)), way.count, extra


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


class _Survey(Finder):
    """Collects the accesses to each array, by the forms of their indices."""

    def __init__(self, stored: set[Array]) -> None:
        super().__init__(stored)
        self.accesses: dict[Array, list[Forms]] = {}
        self.touches: dict[Array, list[Touch]] = {}
        self.loads: set[object] = set()
        self.where: Place | None = None

    def statement(self, stmt: Stmt) -> tuple[Stmt, int]:
        self.where = stmt.where
        if isinstance(stmt, ir.Store):
            self.note(stmt.array, tuple(map(self.forms.of, stmt.index)), stores=True)
            return self.located(stmt), 0
        return super().statement(stmt)

    def leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Load):
            forms = tuple(map(self.forms.of, expr.index))
            # A load of the same place is probably the same operation.
            key = (expr.array, *((form.constant, frozenset(form.terms)) for form in forms))
            if key not in self.loads:
                self.loads.add(key)
                self.note(expr.array, forms)
        return expr

    def loop(self, stmt: ir.DoWhile) -> tuple[Stmt, int]:
        for expr in (stmt.condition, stmt.guard):
            for load in loads_in(expr):
                self.note(load.array, tuple(self.forms.new() for _ in load.index))
        return super().loop(stmt)

    def note(self, array: Array, forms: Forms, stores: bool = False) -> None:
        self.accesses.setdefault(array, []).append(forms)
        self.touches.setdefault(array, []).append(Touch(array.name, stores, self.where))


# --- Rewriting


class _Rewriter(Finder):
    """Puts banks in the place of arrays.

    `offsets`: variables that are another one plus a constant, so that copies of a loop's body share the
    place in a bank.
    """

    def __init__(self, stored: set[Array], spread: dict[Array, _Spread]) -> None:
        super().__init__(stored)
        self.spread = spread
        self.offsets = Offsets()

    def body(self, body: Body) -> tuple[Body, int]:
        made, least = list[Stmt](), 0
        for stmt in body:
            if isinstance(stmt, ir.Store) and stmt.array in self.spread:
                made += self.stores(stmt, self.spread[stmt.array])
            else:
                inner, fewest = self.statement(stmt)
                made.append(inner)
                least = max(least, fewest)
        self.offsets.forget(written(body))
        return tuple(made), least

    def statement(self, stmt: Stmt) -> tuple[Stmt, int]:
        if isinstance(stmt, ir.Store):
            return self.located(stmt), 0
        result = super().statement(stmt)
        if not bodies(stmt):
            self.offsets.step(stmt)
        return result

    def loop(self, stmt: ir.DoWhile) -> tuple[Stmt, int]:
        self.offsets.forget(written(stmt.body))
        made, least = super().loop(stmt)
        assert isinstance(made, ir.DoWhile)
        return replace(made, condition=self.blindly(stmt.condition), guard=self.blindly(stmt.guard)), least

    def blindly(self, expr: Expr) -> Expr:
        """A condition of a loop, of whose variables nothing is told."""

        def leaf(inner: Expr) -> Expr:
            if isinstance(inner, Load) and inner.array in self.spread:
                return self.load(inner, self.spread[inner.array], self.forms.new())
            return inner

        return map_expr(expr, leaf)

    def leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array in self.spread:
            spread = self.spread[expr.array]
            return self.load(expr, spread, self.forms.of(expr.index[spread.dimension]))
        return expr

    def load(self, load: Load, spread: _Spread, form: Affine) -> Expr:
        touched = spread.touched(form)
        if not touched:
            return Const(0, load.bits)
        index = self.inside(load.index, spread, touched)
        which = _which(load.index, spread)
        result: Expr = Load(self.bank(spread, touched[-1]), index)
        for number in touched[-2::-1]:
            here = Apply("eq", (which, Const(number)))
            result = Apply("select", (here, Load(self.bank(spread, number), index), result), load.bits)
        return result

    def stores(self, stmt: ir.Store, spread: _Spread) -> Iterator[Stmt]:
        touched = spread.touched(self.forms.of(stmt.index[spread.dimension]))
        located = self.located(stmt)
        assert isinstance(located, ir.Store)
        index = self.inside(located.index, spread, touched)
        which = _which(located.index, spread)
        for number in touched:
            here = Apply("eq", (which, Const(number))) if len(touched) > 1 else ir.TRUE
            guard = both(located.guard, here)
            yield replace(located, array=self.bank(spread, number), index=index, guard=guard)

    def bank(self, spread: _Spread, number: int) -> Array:
        bank = spread.bank(number)
        if spread.array in self.stored:
            self.stored.add(bank)
        return bank

    def inside(self, index: Index, spread: _Spread, touched: range) -> Index:
        """The index in a bank."""
        d, bits = spread.dimension, spread.count.bit_length() - 1
        place = index[d]
        if len(touched) == 1:
            place = self.offsets.about(place, touched[0], spread.count)
        return (*index[:d], fold_apply("shr", (place, Const(bits)), 32), *index[d + 1 :])


def _which(index: Index, spread: _Spread) -> Expr:
    return fold_apply("and", (index[spread.dimension], Const(spread.count - 1)), 32)


def _captures(
    captured: Iterable[ir.Capture], spread: Mapping[Array, _Spread], changed: set[Array]
) -> Iterator[ir.Capture]:
    """Captures of the banks that the kernel touches in the place of those of arrays."""
    for capture in captured:
        if not isinstance(capture.what, Array) or capture.what not in spread:
            yield capture
            continue
        found = spread[capture.what]
        for number, bank in sorted(found.banks.items()):
            place = f"{{{found.dimension}}}"
            source = capture.source.replace(place, f"({place} * {found.count} + {number})")
            yield replace(capture, what=bank, source=source, out=capture.out and bank in changed)
