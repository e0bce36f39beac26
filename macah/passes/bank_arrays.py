"""Spreads arrays over several memories where one has too few ports for the accesses of an iteration.

With 4 banks, where i is a multiple of 4 (the loop has been unrolled):

x = a[i] + a[i + 1]           ->        x = a[4n][i >> 2] + a[4n+1][i >> 2]

Element n of `a[4n+1]` is element 4 * n + 1 of `a`. Banks may have blocks of neighbours (`bank_plan`, which
says what is spread). An access of whose index enough is known touches one bank; where less is known it
touches several, which costs selects and tests. The dimension and the number of banks are those with which
the ports suffice, or nearly, for the interval that `Kernel.room` wants. Arrays that are larger than any
memory are spread in any case, in the way that costs least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Load, Read, Stmt, Variable
from macah.offsets import Offsets
from macah.optional import enabled
from macah.passes.bank_plan import BankFinder, fitting, plan
from macah.passes.banks import Spread
from macah.passes.scalarize_arrays import scalarize_arrays
from macah.site import Affine, Loop
from macah.walk import arrays_read, arrays_written, bodies, both, loads_in, map_expr, written

Index = tuple[Expr, ...]

FEW = 4
"""So many banks are told apart one by one, with tests that stores may need as well."""


def bank_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with arrays spread over as many memories as they, and then its room, want and have.

    Banks of one word each are variables, which need no ports at all.
    """
    plain = kernel
    while kernel.words is not None and (spread := fitting(kernel, kernel.words)):
        kernel = spread_over(kernel, spread)
    while kernel.room is not None and (spread := plan(kernel, kernel.room)):
        kernel = spread_over(kernel, spread)
    if kernel is plain or not enabled(kernel, "scalarize_arrays"):
        return kernel
    words = [array for array in arrays_read(kernel.body) | arrays_written(kernel.body) if array.size == 1]
    return scalarize_arrays(kernel) if words else kernel


def spread_over(kernel: ir.Kernel, spread: Mapping[Array, Spread]) -> ir.Kernel:
    """The kernel with the banks of these arrays in their place."""
    body, _ = _Rewriter(arrays_written(kernel.body), spread).body(kernel.body)
    captured = tuple(_captures(kernel.captured, spread, arrays_written(body)))
    return replace(kernel, body=body, captured=captured)


class _Rewriter(BankFinder):
    """Puts banks in the place of arrays.

    `offsets`: variables that are another one plus a constant, so that copies of a loop's body share the
    place in a bank.
    """

    def __init__(self, stored: set[Array], spread: Mapping[Array, Spread]) -> None:
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
            form = self.forms.of(expr.index[spread.dimension])
            return self.load(expr, spread, form, self.always(expr))
        return expr

    def load(self, load: Load, spread: Spread, form: Affine, loop: Loop | None = None) -> Expr:
        touched = spread.touched(form, self.forms, loop)
        if not touched:
            return Const(0, load.bits)
        index = self.inside(load.index, spread, touched)
        which = spread.which(load.index[spread.dimension])
        loads = [Load(self.bank(spread, number), index) for number in touched]
        return _chosen(which, list(zip(touched, loads, strict=True)), load.bits)

    def stores(self, stmt: ir.Store, spread: Spread) -> Iterator[Stmt]:
        form = self.forms.of(stmt.index[spread.dimension])
        touched = spread.touched(form, self.forms, self.always(stmt))
        located = self.located(stmt)
        assert isinstance(located, ir.Store)
        index = self.inside(located.index, spread, touched)
        if len(touched) == 1:
            yield replace(located, array=self.bank(spread, touched[0]), index=index)
            return
        parts = [spread.which(located.index[spread.dimension]), located.guard, located.value]
        for place, part in enumerate(parts):
            # What they load, the first bank may change before the next one's turn. Many banks share a value.
            if loads_in(part) and (part is not located.value or spread.is_single):
                parts[place] = known = Read(Variable("bank", part.bits, stmt.where))
                yield Assign(known.variable, part, stmt.where)
        which, guard, value = parts
        for number in touched:
            here = both(guard, Apply("eq", (which, Const(number))))
            yield replace(located, array=self.bank(spread, number), index=index, value=value, guard=here)

    def bank(self, spread: Spread, number: int) -> Array:
        bank = spread.bank(number)
        if spread.array in self.stored:
            self.stored.add(bank)
        return bank

    def inside(self, index: Index, spread: Spread, touched: range) -> Index:
        """The index in a bank."""
        d = spread.dimension
        known = len(touched) == 1
        place = spread.place(index[d], touched[0], self.offsets) if known else spread.inside(index[d])
        return (*index[:d], place, *index[d + 1 :])


def _chosen(which: Expr, loads: Sequence[tuple[int, Load]], bits: int) -> Expr:
    """That of the loads whose number this is: of a few one after the other, of many by halves."""
    if len(loads) <= FEW:
        result: Expr = loads[-1][1]
        for number, load in loads[-2::-1]:
            result = Apply("select", (Apply("eq", (which, Const(number))), load, result), bits)
        return result
    half = len(loads) // 2
    first, rest = (_chosen(which, part, bits) for part in (loads[:half], loads[half:]))
    return Apply("select", (Apply("ult", (which, Const(loads[half][0]))), first, rest), bits)


def _captures(
    captured: Iterable[ir.Capture], spread: Mapping[Array, Spread], changed: set[Array]
) -> Iterator[ir.Capture]:
    """Captures of the banks that the kernel touches in the place of those of arrays."""
    for capture in captured:
        if not isinstance(capture.what, Array) or capture.what not in spread:
            yield capture
            continue
        found = spread[capture.what]
        for number, bank in sorted(found.banks.items()):
            place = f"{{{found.dimension}}}"
            source = capture.source.replace(place, found.source(number, place))
            yield replace(capture, what=bank, source=source, out=capture.out and bank in changed)
