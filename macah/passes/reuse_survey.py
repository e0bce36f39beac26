"""Which loads of a loop's body are of elements that are known already, and from which access.

a[i] = x; y = a[i] + a[i - 1]                  a[i] is what the store stores, a[i - 1] what it stored before
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from macah import ir
from macah.dependence import Distances
from macah.ir import Array, Body, Expr
from macah.site import Site, Unknown
from macah.walk import arrays_written, is_constant, loads_in, operands, statements, variables_in, written

FARTHEST = 8
"""So many iterations is an element kept at most, from one access to the next."""

MOST_ACCESSES = 200
"""Of more accesses to one array, none is looked at."""

SMALL = 1 << 20  # addresses and steps that do not wrap around


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A load or store in the body of a loop; `place` is that of the statement of the body that it is in.

    `value`: what is stored, of a store. `sure`: what it loads or stores can be had in every iteration.
    """

    array: Array
    index: tuple[Expr, ...]
    site: Site
    place: int
    value: Expr | None
    sure: bool

    @property
    def start(self) -> int:
        """The address in the first iteration, if that is all there is."""
        return self.site.address.constant


@dataclass(frozen=True, slots=True)
class Survey:
    """Looks at the accesses in the body of a loop that has no others in it.

    `known` says whether what an access would have found some iterations before the first one is known.
    """

    distances: Distances
    known: Callable[[Access, int], bool]

    def reused(self, accesses: Iterable[Access]) -> dict[Site, tuple[Access, int]]:
        """Loads that others make superfluous: of what access, so many iterations ago."""
        arrays: dict[Array, list[Access]] = {}
        for access in accesses:
            arrays.setdefault(access.array, []).append(access)
        found: dict[Site, tuple[Access, int]] = {}
        for same in arrays.values():
            if len(same) <= MOST_ACCESSES:
                found |= {load.site: source for load in same if (source := self.source(load, same))}
        return found

    def source(self, load: Access, accesses: Iterable[Access]) -> tuple[Access, int] | None:
        """The last access to what is loaded, and its age, if that is known."""
        if load.value is not None:
            return None
        ages = [(age, -a.site.order, a) for a in accesses if (age := self.age(a, load)) is not None]
        for age, _, source in sorted(ages, key=lambda found: found[:2]):
            others = (a for a in accesses if a.value is not None and a is not source)
            if not any(self.between(store, source, load, age) for store in others):
                return source, age
        return None

    def age(self, source: Access, load: Access) -> int | None:
        """How many iterations after the source the load is of the same element, if that may be used."""
        apart = apart_of(source, load)
        if source is load or not source.sure or not isinstance(apart, int) or not 0 <= apart <= FARTHEST:
            return None
        if apart == 0:
            return 0 if source.site.order < load.site.order else None
        return apart if self.known(source, apart) else None

    def between(self, store: Access, source: Access, load: Access, age: int) -> bool:
        """Whether a store may be to the element after the source accesses it, and before the load does."""
        match apart_of(store, load):
            case int() as apart if 0 < apart < age:
                return True
            case int() as apart:
                behind = apart < age or store.site.order > source.site.order
                return apart in (0, age) and behind and (apart > 0 or store.site.order < load.site.order)
            case "never":
                return False
            case _:
                least = self.distances.least(store.site, load.site)
                return least is not None and least <= age


def accesses_in(body: Body) -> Iterator[Access]:
    """All accesses with sites of the statements of a loop's body."""
    for place, stmt in enumerate(body):
        stored = arrays_written((stmt,))
        fixed = written((stmt,))
        for inner in statements((stmt,)):
            for load in [load for expr in operands(inner) for load in loads_in(expr)]:
                # What is in a branch may be done before the branch if it is the same there.
                early = fixed.isdisjoint(variables_in(load)) and stored.isdisjoint(
                    other.array for other in loads_in(load)
                )
                if load.site is not None:
                    sure = inner is stmt or early
                    yield Access(load.array, load.index, load.site, place, None, sure)
            if isinstance(inner, ir.Store) and inner.site is not None:
                sure = inner is stmt and is_constant(inner.guard, 1)
                yield Access(inner.array, inner.index, inner.site, place, inner.value, sure)


def count_accesses(body: Body) -> Counter[Array]:
    """How many accesses to each array `accesses_in` finds once all have sites."""
    found: Counter[Array] = Counter()
    for stmt in statements(body):
        if isinstance(stmt, ir.Store):
            found[stmt.array] += 1
        for expr in operands(stmt):
            for load in loads_in(expr):
                found[load.array] += 1
    return found


def step_of(access: Access) -> int:
    """How far the address goes in an iteration of the innermost loop."""
    loop: Unknown = access.site.loops[-1]
    return dict(access.site.address.terms).get(loop, 0)


def apart_of(first: Access, later: Access) -> int | Literal["never"] | None:
    """So many iterations after the first one the later access is to the same element; None: not known.

    With a step of 0 that is so in each iteration, and this is 0.
    """
    here, there = first.site.address, later.site.address
    if first.site.loops != later.site.loops or set(here.terms) != set(there.terms):
        return None
    step, distance = step_of(first), here.constant - there.constant
    if abs(step) >= SMALL or abs(distance) >= SMALL:
        return None
    if step == 0:
        return "never" if distance else 0
    return "never" if distance % step else distance // step
