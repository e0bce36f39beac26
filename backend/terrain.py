"""A fabric as flat integer arrays, for the hot loops of the mapper: what is next to what, and how far."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain

from arch.fabric import RESULT_FAR, Fabric, Kind

from .moves import only_outputs
from .reach import between, condensed, far_from, far_to, least_to, nearest

NEAR = 64
"""How many near units of a class are listed for each unit."""

FARTHEST = 255
"""In `hops`, a distance of so many cycles or more."""

CLOSED = 2 * RESULT_FAR
"""The distance from where a value may not be: beyond any radius of a search."""


def ints(values: Iterable[int]) -> array[int]:
    """An array of C ints."""
    return array("i", list(values))


def rows(lists: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Lists of different lengths as one array and where each starts (compressed rows)."""
    # From lists: an array takes those at once, and what iterators give one by one.
    starts = array("i", list(accumulate(map(len, lists), initial=0)))
    return starts, array("i", list(chain.from_iterable(lists)))


class Terrain:
    """What the mapper asks about a fabric, computed once.

    Operands with equal sources share a *basin*. `gap[basin * R + r]` is the fewest cycles from
    resource r to an operand of that basin. Results with equal sinks share a *spring*; `far[spring * R + r]`
    is the fewest cycles from such a result to resource r.

    Where there is a plane of bits, each operand has two basins, and each result two springs: at `operand`
    that of values of one bit, at R + `operand` that of words. Where a value may not be, the gap is CLOSED.

    Results of one *outlet* have the same gaps: of those, `hops[basin * outlets + outlet]` is a small copy, as
    placement asks for little else, at random, and `gap` is far larger than a processor's caches.
    """

    def __init__(self, fabric: Fabric) -> None:
        resources = fabric.resources
        self.fabric = fabric
        self.resources = len(resources)
        self.units = len(fabric.units)
        self.delay = ints(r.kind is Kind.REGISTER for r in resources)
        self.registers = fabric.registers
        self.static = ints(-1 if r.static is None else r.static for r in resources)
        self.tile = ints(unit.tile for unit in fabric.units)
        self.tiles = len(fabric.tiles)
        self.ways_out = _ways_out(fabric)
        self.lone_ways = _lone_ways(fabric)
        self.one_way = self.lone_ways and not _roundabout(fabric)
        outputs = only_outputs(fabric)[0]
        self.outlet = ints(r.id in outputs for r in resources)
        self.overwritten = bool(outputs)
        self.settings_at, self.settings = rows(fabric.settings)
        self.operand = ints(r.kind is Kind.OPERAND for r in resources)
        self.sinks_at, self.sinks = rows(fabric.sinks)
        self.sources_at, self.sources = rows([r.sources for r in resources])
        self.planes = 1 + fabric.planes
        self.basin, self.spring = array("i"), array("i")
        self.gap, self.far = array("i"), array("i")
        for one_bit in (True, False)[: self.planes]:
            self._find_ways([fabric.allows(r.id, one_bit) or not fabric.planes for r in resources])
        self.ports = max(len(u.operands) for u in fabric.units)
        self.unit_operands = ints([-1]) * (self.ports * self.units)
        for u in fabric.units:
            for position, operand in enumerate(u.operands):
                self.unit_operands[self.ports * u.id + position] = operand
        self._near: dict[tuple[int, ...], tuple[array[int], array[int]]] = {}
        self._least: dict[tuple[int, ...], array[int]] = {}
        self._apart = self._between_units()
        self.outlet_of, self.outlets = self._find_outlets()
        self.hops: array[int] = condensed(self.gap, self.resources, self.outlets, FARTHEST)

    def _find_ways(self, allowed: Sequence[bool]) -> None:
        """Add the basins and springs of values that are allowed in some resources."""
        resources, size = self.fabric.resources, self.resources
        sources = _among(allowed, [r.sources for r in resources])
        sinks = _among(allowed, self.fabric.sinks)
        closed = [r for r in range(size) if not allowed[r]]
        first = len(self.gap) // size
        basins: dict[tuple[int, ...], int] = {}
        for r in resources:
            if r.kind is not Kind.OPERAND:
                self.basin.append(-1)
                continue
            key = tuple(sorted(sources[r.id]))
            self.basin.append(first + basins.setdefault(key, len(basins)))
        at, flat = rows(sources)
        for some in basins:
            row = far_from(at, flat, self.delay, ints(some), RESULT_FAR)
            for k in closed:
                row[k] = CLOSED
            self.gap.extend(row)
        first = len(self.far) // size
        springs: dict[tuple[int, ...], int] = {}
        results = {r for u in self.fabric.units for outputs in u.results.values() for r in outputs}
        for r in resources:
            if r.id not in results:
                self.spring.append(-1)
                continue
            key = tuple(sorted(sinks[r.id]))
            self.spring.append(first + springs.setdefault(key, len(springs)))
        at, flat = rows(sinks)
        for some in springs:
            self.far.extend(far_to(at, flat, self.delay, ints(some), RESULT_FAR))
        for result in results:
            # A result is reached from itself; others of the same spring are no concern of a search.
            self.far[self.spring[len(self.spring) - size + result] * size + result] = 0

    def _find_outlets(self) -> tuple[array[int], array[int]]:
        """The outlet of each result, -1 of other resources, and a result of each outlet."""
        found: dict[tuple[int, int, int], int] = {}
        of, first = ints([-1]) * self.resources, array("i")
        for r in (r for r in range(self.resources) if self.spring[r] >= 0):
            key = self.spring[r], self.delay[r], self.gap[r]
            of[r] = found.setdefault(key, len(found))
            if of[r] == len(first):
                first.append(r)
        return of, first

    def _between_units(self) -> array[int]:
        """The fewest cycles from any result of one unit to any operand of another, for any value."""
        outs = [sorted({r for results in u.results.values() for r in results}) for u in self.fabric.units]
        offsets = range(0, self.planes * self.resources, self.resources)
        ins = [sorted({self.basin[k + o] for o in u.operands for k in offsets}) for u in self.fabric.units]
        found: array[int] = between(self.gap, self.resources, *rows(outs), *rows(ins), RESULT_FAR)
        return found

    def apart(self, a: int, b: int) -> int:
        """The fewest cycles from a result of unit a to an operand of unit b."""
        return self._apart[a * self.units + b]

    def least(self, units: tuple[int, ...]) -> array[int]:
        """From each unit of the fabric, the fewest cycles to any of `units`."""
        if units not in self._least:
            self._least[units] = least_to(self._apart, self.units, ints(units), RESULT_FAR)
        return self._least[units]

    def near(self, units: tuple[int, ...]) -> tuple[array[int], array[int]]:
        """For each unit of the fabric, the nearest ones of `units`, itself first: compressed rows."""
        if units not in self._near:
            some = ints(units)
            table = [nearest(self._apart, self.units, u, some, NEAR) for u in range(self.units)]
            self._near[units] = rows(table)
        return self._near[units]


def _among(allowed: Sequence[bool], ways: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
    """From each resource the ways to others, of those that are allowed alone."""
    if all(allowed):
        return ways
    return [tuple(s for s in some if allowed[s]) if allowed[r] else () for r, some in enumerate(ways)]


def _ways_out(fabric: Fabric) -> int:
    """How many resources other tiles read; 0 if results are among them, which then take no further way."""
    tile = [r.tile for r in fabric.resources]
    out = {r for r, sinks in enumerate(fabric.sinks) if any(tile[sink] != tile[r] for sink in sinks)}
    results = {r for unit in fabric.units for some in unit.results.values() for r in some}
    return 0 if results & out else len(out)


def _lone_ways(fabric: Fabric) -> bool:
    """Whether no tile can read two words of another at once."""
    tile = [r.tile for r in fabric.resources]
    ways = Counter(
        (tile[r], there)
        for r, sinks in enumerate(fabric.sinks)
        for there in {tile[sink] for sink in sinks} - {tile[r]}
    )
    return max(ways.values(), default=0) <= 1


def _roundabout(fabric: Fabric) -> bool:
    """Whether a word may get to a tile by way of a third one as soon as straight: through wires, or as others
    keep results."""
    tile = [r.tile for r in fabric.resources]
    return any(
        r.kind is Kind.WIRE
        or (r.kind is Kind.RESULT and any(tile[sink] != r.tile for sink in fabric.sinks[r.id]))
        for r in fabric.resources
    )


@lru_cache(maxsize=8)
def terrain(fabric: Fabric) -> Terrain:
    """The fabric's terrain."""
    return Terrain(fabric)
