"""Which arrays `bank_arrays` spreads over how many banks (`macah.passes.banks`), and along which dimension.

Powers of two cost least, and small blocks less than large ones. Other numbers are taken where ports need
fewer cycles with them: `a[3 * i]`, `a[3 * i + 1]` and `a[3 * i + 2]` have three banks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from backend.dfg import Place
from macah import ir
from macah.ir import Apply, Array, Expr, Load, Stmt
from macah.passes.banks import Spread
from macah.passes.find_sites import Finder
from macah.refusal import Refusal, Touch
from macah.site import Affine, Loop
from macah.walk import arrays_written, children, is_constant, loads_in

MOST_BANKS = 32
MOST_BLOCKS = 4
"""Of blocks that are no powers of two, so many sizes are tried."""

MOST_EXTRA = 24
"""So many operations may the accesses to one array cost that do not know their bank."""
DIVISION = 4
"""Operations for bank and place, if those are no bits of an index."""


class BankFinder(Finder):
    """Knows of accesses whether each iteration of the innermost loop does them."""

    def __init__(self, stored: set[Array]) -> None:
        super().__init__(stored)
        self.certain: set[int] = set()

    def located(self, stmt: Stmt) -> Stmt:
        match stmt:
            case ir.Assign(_, value):
                exprs: tuple[Expr, ...] = (value,)
            case ir.Store(_, index, value, guard) if is_constant(guard, 1):
                exprs = (*index, value)
            case ir.If(condition):
                exprs = (condition,)
            case _:
                exprs = ()
        self.certain = {id(load) for expr in exprs for load in _certain(expr)}
        return super().located(stmt)

    def always(self, access: ir.Store | Load) -> Loop | None:
        """The innermost loop if each of its iterations does this access."""
        sure = id(access) in self.certain if isinstance(access, Load) else is_constant(access.guard, 1)
        return self.forms.loops[-1] if sure and not self.branches and self.forms.loops else None


def _certain(expr: Expr) -> Iterator[Load]:
    """The loads that C does whatever conditions in an expression are."""
    pending, seen = [expr], set[int]()
    while pending:
        inner = pending.pop()
        if id(inner) in seen or (isinstance(inner, Apply) and inner.op in ("select", "and", "or")):
            continue
        seen.add(id(inner))
        pending += children(inner)
        if isinstance(inner, Load):
            yield inner


@dataclass(frozen=True, slots=True)
class Access:
    """The forms of an access's indices, and the innermost loop if each of its iterations does the access."""

    index: tuple[Affine, ...]
    loop: Loop | None = None


class Survey(BankFinder):
    """Collects the accesses to each array."""

    def __init__(self, stored: set[Array]) -> None:
        super().__init__(stored)
        self.accesses: dict[Array, list[Access]] = {}
        self.touches: dict[Array, list[Touch]] = {}
        self.loads: set[object] = set()
        self.where: Place | None = None

    def statement(self, stmt: Stmt) -> tuple[Stmt, int]:
        self.where = stmt.where
        if isinstance(stmt, ir.Store):
            access = Access(tuple(map(self.forms.of, stmt.index)), self.always(stmt))
            self.note(stmt.array, access, stores=True)
            return self.located(stmt), 0
        return super().statement(stmt)

    def leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Load):
            index = tuple(map(self.forms.of, expr.index))
            # A load of the same place is probably the same operation.
            key = (expr.array, *((form.constant, frozenset(form.terms)) for form in index))
            if key not in self.loads:
                self.loads.add(key)
                self.note(expr.array, Access(index, self.always(expr)))
        return expr

    def loop(self, stmt: ir.DoWhile) -> tuple[Stmt, int]:
        for expr in (stmt.condition, stmt.guard):
            for load in loads_in(expr):
                self.note(load.array, Access(tuple(self.forms.new() for _ in load.index)))
        return super().loop(stmt)

    def note(self, array: Array, access: Access, stores: bool = False) -> None:
        self.accesses.setdefault(array, []).append(access)
        self.touches.setdefault(array, []).append(Touch(array.name, stores, self.where))

    def plan(self, room: ir.Room) -> dict[Array, Spread]:
        """The arrays to be spread, those with the most accesses first while there are memories."""
        found: dict[Array, Spread] = {}
        memories = len(self.accesses)
        for array, accesses in sorted(self.accesses.items(), key=lambda item: -len(item[1])):
            load = _ceil(len(accesses), room.ports)
            if load > room.interval:
                way = self.best(array, accesses, room, load, room.memories - memories + 1)
                if way is not None:
                    found[array] = way
                    memories += way.count - 1
        return found

    def fitting(self, words: int) -> dict[Array, Spread]:
        """Ways to spread the arrays that are larger than a memory of so many words."""
        found = {array: self.smaller(array, words) for array in self.accesses if array.size > words}
        return {array: way for array, way in found.items() if way is not None}

    def smaller(self, array: Array, words: int) -> Spread | None:
        """The way with no more words in a memory that costs the fewest operations, if there is one."""
        accesses = self.accesses[array]
        ways = [way for ways in _ways(array, accesses) for way in ways if way.words <= words]
        return min(ways, key=lambda way: (self.extra(way, accesses), way.count), default=None)

    def extra(self, way: Spread, accesses: Sequence[Access]) -> int:
        """Operations for the accesses that do not know their bank."""
        return sum(_extra(way, self.touched(way, access)) for access in accesses)

    def touched(self, way: Spread, access: Access) -> range:
        return way.touched(access.index[way.dimension], self.forms, access.loop)

    def best(
        self, array: Array, accesses: Sequence[Access], room: ir.Room, load: int, most: int
    ) -> Spread | None:
        """The way with which ports need the fewest cycles, less than `load`, of those with few banks."""
        cost, chosen = (load, False, 0, 0), None
        for ways in _ways(array, accesses, room.odd):
            for way in ways:
                found = self.cost(way, accesses, room) if way.count <= most else None
                if found is not None and found[0] < load and (chosen is None or found < cost):
                    cost, chosen = found, way
            if cost[0] <= room.interval:
                break  # larger blocks, and other numbers, cost more operations
        return chosen

    def cost(
        self, way: Spread, accesses: Sequence[Access], room: ir.Room
    ) -> tuple[int, bool, int, int] | None:
        """Cycles for accesses to the busiest bank, whether numbers are odd, banks, operations for them."""
        load, extra = Counter[int](), self.extra(way, accesses)
        if extra > MOST_EXTRA:
            return None
        for access in accesses:
            load.update(self.touched(way, access))
        cycles = max(room.interval, _ceil(max(load.values()), room.ports))
        return cycles, not way.is_plain, way.count, extra

    def reason(self, name: str) -> Refusal | None:
        """Why the array of that name gains nothing from banks, if it is in the kernel."""
        for array, accesses in self.accesses.items():
            if array.name == name:
                return self._reason(array, accesses)
        return None

    def _reason(self, array: Array, accesses: Sequence[Access]) -> Refusal:
        ways = [way for ways in _ways(array, accesses) for way in ways]
        unknown = [
            touch
            for access, touch in zip(accesses, self.touches[array], strict=True)
            if all(len(self.touched(way, access)) > 1 for way in ways)
        ]
        why = (
            "" if unknown else "banks would need more memories or operations, or leave the interval as it is"
        )
        return Refusal("banking", array.where, why, array.name, touches=tuple(unknown[:1]))


def not_banked(kernel: ir.Kernel, name: str) -> Refusal | None:
    """Why the array of that name would gain nothing from banks, if it is in the kernel."""
    return _survey(kernel).reason(name)


def plan(kernel: ir.Kernel, room: ir.Room) -> Mapping[Array, Spread]:
    """The arrays that are to be spread for their accesses."""
    return _survey(kernel).plan(room)


def fitting(kernel: ir.Kernel, words: int) -> Mapping[Array, Spread]:
    """The arrays that are to be spread as no memory has more than so many words."""
    return _survey(kernel).fitting(words)


def _survey(kernel: ir.Kernel) -> Survey:
    survey = Survey(arrays_written(kernel.body))
    survey.body(kernel.body)
    return survey


def _extra(way: Spread, banks: range) -> int:
    return 2 * (len(banks) - 1) + (0 if way.is_plain else DIVISION) if len(banks) > 1 else 0


def _ways(array: Array, accesses: Sequence[Access], odd: bool = True) -> Iterator[list[Spread]]:
    """Ways to spread an array, those first that cost the fewest operations; `odd`: by any numbers."""
    for shift in range(max(array.shape).bit_length()):
        yield [
            Spread(array, dimension, 1 << bits, 1 << shift)
            for dimension, extent in enumerate(array.shape)
            for bits in range(1, MOST_BANKS.bit_length())
            if 1 << bits <= -(-extent >> shift)
        ]
    if odd:
        yield list(_others(array, accesses))


def _others(array: Array, accesses: Sequence[Access]) -> Iterator[Spread]:
    """Banks or blocks that are no powers of two; blocks are as long as accesses are apart."""
    for dimension, extent in enumerate(array.shape):
        for block in _apart([access.index[dimension] for access in accesses], extent):
            for count in range(2, min(_ceil(extent, block), MOST_BANKS) + 1):
                way = Spread(array, dimension, count, block)
                if not way.is_plain:
                    yield way


def _apart(forms: Sequence[Affine], extent: int) -> list[int]:
    """1, and how far accesses with the same terms are apart at least, the first few of those numbers."""
    places: dict[object, set[int]] = {}
    for form in forms:
        places.setdefault(frozenset(form.terms), set()).add(form.constant)
    found = {1}
    for constants in map(sorted, places.values()):
        found |= {b - a for a, b in pairwise(constants) if b - a < extent}
    return sorted(found)[:MOST_BLOCKS]


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
