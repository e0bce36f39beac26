"""Keeps small arrays in variables, one for each element, though their indices are no constants.

int h[4];                               int h0, h1, h2, h3;
h[x] = h[x] + 1               ->        v = x == 0 ? h0 : x == 1 ? h1 : x == 2 ? h2 : h3, …
                                        h0 = x == 0 ? v + 1 : h0, …

A load chooses among all elements, a store changes the one that is meant: more operations, but no ports, and
no wait for memory. HLS tools call this a complete partition; which arrays get it `Kernel.partitioned` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from macah import ir
from macah.ir import Array
from macah.optional import enabled
from macah.passes.bank_arrays import spread_over
from macah.passes.banks import Spread
from macah.passes.scalarize_arrays import WRITTEN_SCALARS, scalarize_arrays
from macah.sources import source_name
from macah.walk import arrays_read, arrays_written

MOST_WORDS = 16
"""Arrays with more are left in memories: choosing among so many elements takes longer than a load."""


def partition_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the arrays that it wants in variables, where they are small enough for that."""
    names = partitionable(kernel) & set(kernel.partitioned)
    if not names or not enabled(kernel, "scalarize_arrays"):
        return kernel
    while spread := {array: way for array in _arrays(kernel) if (way := _way(array, names))}:
        kernel = spread_over(kernel, spread)
    return scalarize_arrays(kernel)


def partitionable(kernel: ir.Kernel) -> frozenset[str]:
    """The variables of the source that are small arrays in memories."""
    words, written = Counter[str](), {capture.what for capture in kernel.captured if capture.out}
    most = dict[str, int]()
    for array in _arrays(kernel):
        name = source_name(array.name)
        words[name] += array.size
        most[name] = min(most.get(name, MOST_WORDS), WRITTEN_SCALARS if array in written else MOST_WORDS)
    return frozenset(name for name, count in words.items() if count <= most[name])


def _arrays(kernel: ir.Kernel) -> Iterator[Array]:
    yield from sorted(arrays_read(kernel.body) | arrays_written(kernel.body), key=lambda array: array.name)


def _way(array: Array, names: frozenset[str]) -> Spread | None:
    """A bank for each place in the first dimension that has several."""
    several = (d for d, extent in enumerate(array.shape) if extent > 1)
    dimension = next(several, None)
    if dimension is None or source_name(array.name) not in names:
        return None
    return Spread(array, dimension, array.shape[dimension])
