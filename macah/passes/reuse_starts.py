"""What elements are when a loop starts that its first iterations would load (`reuse_elements`).

    c[y][0] = a[y][0];                                     c[y][0] = kept1 = a[y][0];
    x = 1; do { c[y][x] = c[y][x - 1] + a[y][x]; … }       x = 1; do { c[y][x] = kept = kept1 + a[y][x]; … }

An element is known if what stands before the loop stores to it, and nothing may store to it after that; in
a loop that is entered once also if nothing at all stores to it before: then it is as the kernel finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from macah import ir
from macah.ir import Array, Assign, Const, Expr, Read, Stmt, Variable
from macah.passes.reuse_survey import SMALL, Access, step_of
from macah.site import WORD, Site, Unknown
from macah.walk import arrays_written, is_constant

_UNTOUCHED = -1


@dataclass(slots=True)
class Starts:
    """The statements before a loop in its body, which are rewritten where elements are taken from them.

    `element` is what one is before the kernel starts; None for a loop that may be entered several times.
    """

    before: list[Stmt]
    element: Callable[[Array, int], Expr] | None
    taken: dict[Site, Variable] = field(default_factory=dict)  # by sites of stores

    def known(self, access: Access, age: int) -> bool:
        """Whether it is known what the access would have found in the last iterations before the first."""
        return all(self._place(access, past + 1) is not None for past in range(age))

    def value(self, access: Access, past: int) -> Expr:
        """What it would have found so many iterations before the first one."""
        place = self._place(access, past)
        assert place is not None
        if place == _UNTOUCHED:
            assert self.element is not None
            return self.element(access.array, access.start - past * step_of(access))
        store = self.before[place]
        assert isinstance(store, ir.Store) and store.site is not None
        if isinstance(store.value, Const):
            return store.value
        if store.site not in self.taken:
            made = Variable(f"{access.array.name}_start", access.array.bits, store.where)
            self.taken[store.site] = made
            kept = replace(store, value=Read(made))
            self.before[place : place + 1] = [Assign(made, store.value, store.where), kept]
        return Read(self.taken[store.site])

    def _place(self, access: Access, past: int) -> int | None:
        """The place of the store to the element, or `_UNTOUCHED`; None if it is not known."""
        outside, loop = access.site.loops[:-1], access.site.loops[-1]
        terms: set[tuple[Unknown, int]] = {term for term in access.site.address.terms if term[0] is not loop}
        address = access.start - past * step_of(access)
        if abs(access.start) >= SMALL or 0 in access.array.shape:
            return None
        for place in range(len(self.before) - 1, -1, -1):
            stmt = self.before[place]
            if access.array not in arrays_written((stmt,)):
                continue
            if not isinstance(stmt, ir.Store) or stmt.site is None:
                return None
            site = stmt.site
            if site.loops != outside or set(site.address.terms) != terms:
                return None
            if (site.address.constant - address) % WORD == 0:
                return place if is_constant(stmt.guard, 1) else None
        return _UNTOUCHED if self.element is not None and not terms else None
