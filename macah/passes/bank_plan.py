"""Which arrays `bank_arrays` spreads over how many memories, and along which dimension.

An index consists of three parts: with blocks of S elements and K banks, both powers of two,

    index = (place / S * K + bank) * S + place % S

Neighbours are in different banks if S is 1. With larger blocks they are mostly in the same one, but others
are apart:

    for (i = 0; i < 64; i += 32)  for (k = 0; k < 16; k++)  swap(a[i + k], a[i + k + 16]);         S is 16
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from backend.dfg import Place
from macah import ir
from macah.affine import fits
from macah.evolution import Forms
from macah.fold import fold_apply
from macah.ir import Array, Const, Expr, Load, Stmt
from macah.passes.find_sites import Finder
from macah.refusal import Refusal, Touch
from macah.site import Affine
from macah.walk import arrays_written, loads_in

MOST_BANKS = 32
MOST_EXTRA = 24
"""So many operations may the accesses to one array cost that do not know their bank."""

Index = tuple[Affine, ...]


@dataclass(slots=True)
class Spread:
    """An array whose `dimension` is spread over `count` banks, in blocks of 2 ** `shift` elements."""

    array: Array
    dimension: int
    count: int
    shift: int = 0
    banks: dict[int, Array] = field(default_factory=dict)

    @property
    def above(self) -> int:
        """The position of the index's bits above those of the bank."""
        return self.shift + self.count.bit_length() - 1

    def bank(self, number: int) -> Array:
        """The memory of a bank."""
        if number not in self.banks:
            array, d = self.array, self.dimension
            whole, rest = divmod(array.shape[d], self.count << self.shift)
            block = 1 << self.shift
            extent = whole * block + max(0, min(block, rest - number * block))
            shape = (*array.shape[:d], extent, *array.shape[d + 1 :])
            initial = tuple(self._initial(number)) if array.initial else ()
            self.banks[number] = replace(array, name=self._name(number), shape=shape, initial=initial)
        return self.banks[number]

    def bank_of(self, place: int) -> int:
        """The bank of an element of the array."""
        return place >> self.shift & self.count - 1

    def source(self, number: int, place: str) -> str:
        """The index, in C, of the element at a place in a bank."""
        if not self.shift:
            return f"({place} * {self.count} + {number})"
        block = 1 << self.shift
        return f"({place} / {block} * {block * self.count} + {place} % {block} + {number * block})"

    def which(self, index: Expr) -> Expr:
        """The bank of an index."""
        above = fold_apply("shr", (index, Const(self.shift)), 32)
        return fold_apply("and", (above, Const(self.count - 1)), 32)

    def inside(self, index: Expr) -> Expr:
        """The place of an index in its bank."""
        block = fold_apply("shr", (index, Const(self.above)), 32)
        if not self.shift:
            return block
        first = fold_apply("mul", (block, Const(1 << self.shift)), 32)
        return fold_apply("add", (first, fold_apply("and", (index, Const((1 << self.shift) - 1)), 32)), 32)

    def touched(self, form: Affine, forms: Forms) -> range:
        """The banks that an access with this index may touch, where all have elements."""
        if self.shift:
            form = forms.divided(form, 1 << self.shift)[0] if fits(form, False) else forms.new()
        step = gcd(self.count, *(factor for _, factor in form.terms))
        return range(form.constant % step, self.bank_of_last + 1, step)

    @property
    def bank_of_last(self) -> int:
        """The last bank that has elements."""
        return min(self.count, -(-self.array.shape[self.dimension] >> self.shift)) - 1

    def _name(self, number: int) -> str:
        array, first = self.array, number << self.shift
        run = f"..{first + (1 << self.shift) - 1}" if self.shift else ""
        place = f"[{self.count << self.shift}n{f'+{first}' if first or run else ''}{run}]"
        if array.name.endswith("]"):
            return array.name + place
        marks = ["[]"] * len(array.shape)
        return array.name + "".join((*marks[: self.dimension], place, *marks[self.dimension + 1 :]))

    def _initial(self, number: int) -> Iterator[int]:
        inner = prod(self.array.shape[self.dimension + 1 :])
        for place in range(self.array.size):
            if self.bank_of(place // inner % self.array.shape[self.dimension]) == number:
                yield self.array.initial[place] if place < len(self.array.initial) else 0


class Survey(Finder):
    """Collects the accesses to each array, by the forms of their indices."""

    def __init__(self, stored: set[Array]) -> None:
        super().__init__(stored)
        self.accesses: dict[Array, list[Index]] = {}
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
            index = tuple(map(self.forms.of, expr.index))
            # A load of the same place is probably the same operation.
            key = (expr.array, *((form.constant, frozenset(form.terms)) for form in index))
            if key not in self.loads:
                self.loads.add(key)
                self.note(expr.array, index)
        return expr

    def loop(self, stmt: ir.DoWhile) -> tuple[Stmt, int]:
        for expr in (stmt.condition, stmt.guard):
            for load in loads_in(expr):
                self.note(load.array, tuple(self.forms.new() for _ in load.index))
        return super().loop(stmt)

    def note(self, array: Array, index: Index, stores: bool = False) -> None:
        self.accesses.setdefault(array, []).append(index)
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

    def best(
        self, array: Array, accesses: Sequence[Index], room: ir.Room, load: int, most: int
    ) -> Spread | None:
        """The way with which ports need the fewest cycles, less than `load`, of those with few banks."""
        cost, chosen = (load, 0, 0), None
        for shift in range(max(array.shape).bit_length()):
            for dimension, extent in enumerate(array.shape):
                for count in _counts(-(-extent >> shift), most):
                    way = Spread(array, dimension, count, shift)
                    found = self.cost(way, accesses, room)
                    if found is not None and found[0] < load and (chosen is None or found < cost):
                        cost, chosen = found, way
            if cost[0] <= room.interval:
                break  # larger blocks cost more operations
        return chosen

    def cost(self, way: Spread, accesses: Sequence[Index], room: ir.Room) -> tuple[int, int, int] | None:
        """Cycles for the accesses to the busiest bank, then banks, then operations to find banks."""
        load, extra = Counter[int](), 0
        for index in accesses:
            banks = way.touched(index[way.dimension], self.forms)
            load.update(banks)
            extra += 2 * (len(banks) - 1)
        if extra > MOST_EXTRA:
            return None
        return max(room.interval, _ceil(max(load.values()), room.ports)), way.count, extra

    def reason(self, name: str) -> Refusal | None:
        """Why the array of that name gains nothing from banks, if it is in the kernel."""
        for array, accesses in self.accesses.items():
            if array.name == name:
                return self._reason(array, accesses)
        return None

    def _reason(self, array: Array, accesses: Sequence[Index]) -> Refusal:
        ways = [
            Spread(array, dimension, 2, shift)
            for dimension, extent in enumerate(array.shape)
            for shift in range(max(0, (extent - 1).bit_length()))
        ]
        unknown = [
            touch
            for index, touch in zip(accesses, self.touches[array], strict=True)
            if all(len(way.touched(index[way.dimension], self.forms)) > 1 for way in ways)
        ]
        why = (
            "" if unknown else "banks would need more memories or operations, or leave the interval as it is"
        )
        return Refusal("banking", array.where, why, array.name, touches=tuple(unknown[:1]))


def not_banked(kernel: ir.Kernel, name: str) -> Refusal | None:
    """Why the array of that name would gain nothing from banks, if it is in the kernel."""
    survey = Survey(arrays_written(kernel.body))
    survey.body(kernel.body)
    return survey.reason(name)


def plan(kernel: ir.Kernel, room: ir.Room) -> Mapping[Array, Spread]:
    """The arrays that are to be spread."""
    survey = Survey(arrays_written(kernel.body))
    survey.body(kernel.body)
    return survey.plan(room)


def _counts(blocks: int, most: int) -> Iterator[int]:
    count = 2
    while count <= min(blocks, MOST_BANKS, most):
        yield count
        count *= 2


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
