# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Distances over the graph of routing resources, in cycles.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array

import cython


def far_to(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles to each resource from any of `start`, walking towards sinks; `start` are entered."""
    size: cython.int = len(delay)
    found = array("i", [far]) * size
    best: cython.int[::1] = found
    layers: list[list[int]] = [[], []]
    cycles: cython.int = 0
    here: cython.int
    there: cython.int
    i: cython.int
    for r in start:
        best[r] = delay[r]
        layers[delay[r]].append(r)
    while cycles < len(layers):
        layer = layers[cycles]
        layers.append([])
        for here in layer:
            if best[here] < cycles:
                continue
            for i in range(at[here], at[here + 1]):
                there = links[i]
                if best[there] > cycles + delay[there]:
                    best[there] = cycles + delay[there]
                    layers[cycles + delay[there]].append(there)
        cycles += 1
        if not layer and not layers[cycles]:
            break
    return found


def far_from(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles from each resource to any of `start`, walking towards sources."""
    size: cython.int = len(delay)
    found = array("i", [far]) * size
    best: cython.int[::1] = found
    layer: list[int] = []
    for r in start:
        if best[r] > 0:
            best[r] = 0
            layer.append(r)
    cycles: cython.int = 0
    here: cython.int
    there: cython.int
    i: cython.int
    while layer:
        later: list[int] = []
        for here in layer:
            if best[here] < cycles:
                continue
            for i in range(at[here], at[here + 1]):
                there = links[i]
                # Entering `here` is what takes the cycle.
                if delay[here]:
                    if best[there] > cycles + 1:
                        best[there] = cycles + 1
                        later.append(there)
                elif best[there] > cycles:
                    best[there] = cycles
                    layer.append(there)
        layer = later
        cycles += 1
    return found
