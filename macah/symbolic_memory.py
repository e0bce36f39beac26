"""The memories of a loop's body that is executed on symbols (`symbolic.py`): what it loads and stores, where.

A load is the same as another one at that address that sees the same stores of the iteration.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from backend.dfg import Const, Place, Use
from macah import ir
from macah.chosen_elements import DEPTH, chosen_element
from macah.graph import ZERO, Draft, Graph, Value
from macah.ir import Array, Load
from macah.orders import Access
from macah.ranges import Range, extended
from macah.site import Site


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a memory, at an address that is `base + offset`."""

    memory: int
    address: Value
    base: Value
    offset: int


class Memories:
    """`changing` are the arrays that not only hold the constants they began with.

    What is loaded gets its range into `words`. `choose`: see `chosen_elements.py`.
    """

    def __init__(
        self, graph: Graph, changing: Container[object], words: dict[int, Range], choose: bool
    ) -> None:
        self.graph, self.changing, self.words = graph, changing, words
        self.depth = DEPTH if choose else 0
        self.numbers: dict[Array, int] = {}
        self.accesses: dict[int, dict[int, Access]] = {}  # by memory and node
        self.stored: dict[Array, list[Site | None]] = {}  # where the iteration has stored so far

    def load(self, load: Load, index: list[Value], where: Place | None) -> Value:
        """An element, loaded by a node of its own, or as it is known already."""
        array = load.array
        base, offset = self._address(array, index, where)
        if array not in self.changing and base == ZERO:
            return Const(array.initial[offset]) if offset < len(array.initial) else ZERO
        element = self._element(array, base, offset, where)
        draft = Draft("load", (element.address,), memory=element.memory, where=where)
        seen = self._seen(load)
        found = self._chosen(load, draft, seen)
        if found is not None:
            return found
        use = self.graph.shared(draft, seen)
        self.words[use.node] = extended(array.element.bits, array.element.signed)
        access = Access(use.node, False, base, offset, (load.site,), load.settled)
        self.accesses[element.memory][use.node] = access
        return use

    def place(self, array: Array, index: list[Value], where: Place | None) -> Element:
        """Where an element is."""
        return self._element(array, *self._address(array, index, where), where)

    def note_store(self, stmt: ir.Store, node: int, element: Element) -> None:
        """Note that a node stores an element; loads from now on see it."""
        access = Access(node, True, element.base, element.offset, (stmt.site,))
        self.accesses[element.memory][node] = access
        self.stored.setdefault(stmt.array, []).append(stmt.site)

    def _seen(self, load: Load) -> tuple[int, ...]:
        """How many of the iteration's stores a load may see, and the numbers of those among them it does not.

        Those in the other side of a branch are not done where the load matters.
        """
        sites, mine = self.stored.get(load.array, []), load.site
        count = len(sites)
        if mine is None or not mine.arms:
            return (count,)
        hidden = [k for k, site in enumerate(sites) if site is not None and site.excludes(mine)]
        while hidden and hidden[-1] == count - 1:
            count = hidden.pop()
        return count, *hidden

    def _chosen(self, load: Load, draft: Draft, seen: tuple[int, ...]) -> Value | None:
        """What is loaded, if that has been loaded already, or is chosen from what has been."""
        used: list[int] = []

        def loaded(address: Value) -> Use | None:
            use = self.graph.known(draft.with_operands((address,)), seen)
            used.extend([] if use is None else [use.node])
            return use

        found = chosen_element(self.graph, draft.operands[0], loaded, draft.where, self.depth)
        accesses = self.accesses[self.numbers[load.array]]
        for node in used if found is not None else ():
            accesses[node] = accesses[node].also_for(load.site, load.settled)
        return found

    def _element(self, array: Array, base: Value, offset: int, where: Place | None) -> Element:
        if array not in self.numbers:
            self.numbers[array] = len(self.numbers)
            self.accesses[self.numbers[array]] = {}
        address = self.graph.pure("add", base, Const(offset), where=where)
        return Element(self.numbers[array], address, base, offset)

    def _address(self, array: Array, index: list[Value], where: Place | None) -> tuple[Value, int]:
        """Row-major, as a value and a constant to add to it."""
        total: Value = ZERO
        offset, stride = 0, 1
        for value, extent in zip(reversed(index), reversed(array.shape), strict=True):
            part, constant = self.graph.split(value)
            total = self.graph.pure("add", total, self._scaled(part, stride, where), where=where)
            offset += constant * stride
            stride *= extent
        total, more = self.graph.split(total)
        return total, (offset + more) % (1 << 32)

    def _scaled(self, value: Value, stride: int, where: Place | None) -> Value:
        if stride & (stride - 1) == 0:
            return self.graph.pure("shl", value, Const(stride.bit_length() - 1), where=where)
        return self.graph.pure("mul", value, Const(stride), where=where)
