"""Says a whole graph more simply before it is balanced and finished: the list of what is done, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from macah import ir
from macah.firsts import firsts
from macah.held import held
from macah.logic import simplify_logic
from macah.narrow import narrow
from macah.optional import enabled
from macah.orders import Access
from macah.past_end import past_end
from macah.ranges import Range
from macah.rewrite import Loop, Rebuilt
from macah.share_sends import share_sends
from macah.slopes import slopes

Words = Mapping[int, Range]

Step = Callable[[Loop, Words], tuple[Rebuilt, Loop] | None]

MOST_TWICE = 20_000
"""Graphs of more drafts are not made narrower again with what logic has found: no accelerator holds them."""


def narrow_again(loop: Loop, words: Words) -> tuple[Rebuilt, Loop] | None:
    """The same as `narrow`, for graphs that are not large."""
    return narrow(loop, words) if len(loop.graph.drafts) <= MOST_TWICE else None


STEPS: tuple[tuple[str, Step], ...] = (
    ("firsts", firsts),
    ("narrow", narrow),
    ("logic", simplify_logic),
    ("narrow", narrow_again),
    ("slopes", slopes),
    ("past_end", past_end),
    ("held", held),
)


@dataclass(frozen=True, slots=True)
class Effects:
    """What refers to drafts by number: stream operations, accesses, ranges of what is loaded or received."""

    operations: Mapping[ir.Stream | None, Sequence[int]]
    accesses: Mapping[int, Mapping[int, Access]]
    words: Words


def shared(kernel: ir.Kernel, loop: Loop, effects: Effects) -> Effects:
    """The effects with sends that exclude each other made one, which changes the loop's graph."""
    if not enabled(kernel, "share_sends") or kernel.bubbles:
        return effects
    return replace(effects, operations=share_sends(loop, effects.operations, effects.words))


def improved(kernel: ir.Kernel, loop: Loop, effects: Effects) -> tuple[Loop, Effects, frozenset[str]]:
    """The graph after all steps that are enabled, and the names of those that had something to do.

    The loop's own graph stays as it is.
    """
    done = set[str]()
    for name, step in STEPS:
        if enabled(kernel, name):
            every = (access for accesses in effects.accesses.values() for access in accesses.items())
            bases = {node: access.base for node, access in every}
            found = step(replace(loop, bases=bases), effects.words)
            if found is not None:
                new, loop = found
                effects = _renumbered(effects, new)
                done.add(name)
    return loop, effects, frozenset(done)


def _renumbered(effects: Effects, new: Rebuilt) -> Effects:
    numbers = new.numbers
    return Effects(
        {stream: [numbers[node] for node in nodes] for stream, nodes in effects.operations.items()},
        {
            memory: {
                numbers[node]: _access(access, new) for node, access in accesses.items() if node in numbers
            }
            for memory, accesses in effects.accesses.items()
        },
        {numbers[node]: found for node, found in effects.words.items() if node in numbers},
    )


def _access(access: Access, new: Rebuilt) -> Access:
    base, more = new.graph.split(new.value(access.base))
    node, offset = new.numbers[access.node], (access.offset + more) % (1 << 32)
    return Access(node, access.stores, base, offset, access.sites, access.settled)
