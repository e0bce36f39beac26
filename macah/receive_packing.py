"""Which elements arrive with their small words together, and what has their last words as they came.

A receive that gets nothing leaves its targets as they are. Packed, it leaves the word that came last, so that
has to say what the targets are: whatever else changes one of them, it must not matter when the next one is
received. Else the words of the stream arrive one by one, or what the targets are is put together again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from os.path import commonprefix

from backend.dfg import Const, Word
from macah import ir
from macah.ir import Body, Read, Stream, Variable
from macah.pack_words import groups_of, packed_number
from macah.walk import targets, written

Targets = tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Packing:
    """The streams whose words move one by one, and of other targets that are received together, what holds
    the last word, if that says what they are; `initial` is what that is before the loop.
    """

    apart: frozenset[Stream]
    last: Mapping[Targets, Variable]
    initial: Mapping[Variable, Const]


def receive_packing(
    leading: Body, loop: ir.DoWhile, captured: Container[Variable], again: bool = False
) -> Packing:
    """How a flat loop's receives are packed; `captured` are the variables that the host gives values.

    `again`: what the last word does not say is put together, so that nothing moves one by one.
    """
    last, initial = dict[Targets, Variable](), dict[Variable, Const]()
    groups = list(_groups(loop.body))
    if not groups:
        return Packing(frozenset(), last, initial)
    starts = {stmt.variable: stmt.value for stmt in leading if isinstance(stmt, ir.Assign)}
    apart = frozenset[Stream]()
    while (found := _Scan(starts, loop.body, captured, apart).changed()) != apart:
        apart = found
    for stream, words, together in groups:
        if stream not in apart and together not in last:
            last[together] = Variable(shared_name(together))
            values = [value.value if isinstance(value := starts.get(v), ir.Const) else 0 for v in together]
            initial[last[together]] = Const(packed_number(words, values))
    return Packing(frozenset() if again else apart, last, initial)


def shared_name(targets: Targets) -> str:
    """What targets are called together: `p` if they are `p.r` and `p.g`."""
    if len(targets) == 1:
        return targets[0].name
    return commonprefix([target.name for target in targets]).rpartition(".")[0] or targets[0].name


def _groups(body: Body) -> Iterator[tuple[Stream, tuple[Word, ...], Targets]]:
    """What is received in one word each, of several."""
    for stmt in body:
        if isinstance(stmt, ir.Receive):
            yield from ((stmt.stream, *group) for group in _groups_of(stmt) if len(group[0]) > 1)


def _groups_of(stmt: ir.Receive) -> Iterator[tuple[tuple[Word, ...], Targets]]:
    left = stmt.targets
    for group in groups_of(stmt.stream.words):
        yield group, left[: len(group)]
        left = left[len(group) :]


class _Scan:
    """Goes through the body of a loop, in which the streams `apart` move their words one by one.

    `last`: the targets whose last word says what a variable is; () where any will do, as the variable is what
    it was before the loop, or unspecified. What is not there has changed otherwise.
    """

    def __init__(
        self,
        starts: Mapping[Variable, ir.Expr],
        body: Body,
        captured: Container[Variable],
        apart: frozenset[Stream],
    ) -> None:
        self.body = body
        self.apart = apart
        self.assigned = written(body) | starts.keys()
        self.captured = captured
        variables = {v for _, _, together in _groups(body) for v in together if v not in captured}
        self.last: dict[Variable, Targets] = {
            v: () for v in variables if isinstance(starts.get(v, ir.FALSE), ir.Const)
        }

    def changed(self) -> frozenset[Stream]:
        """The streams that move their words one by one, as something else changes a target in between."""
        found = self.apart
        while True:
            begin = dict(self.last)
            for stmt in self.body:
                found |= self.step(stmt)
            self.last = {
                v: first or self.last[v]
                for v, first in begin.items()
                if v in self.last and (not first or self.last[v] in ((), first))
            }
            if self.last == begin:
                return found

    def step(self, stmt: ir.Stmt) -> frozenset[Stream]:
        """Notes what a statement changes; its stream if it receives what has changed otherwise."""
        if isinstance(stmt, ir.Assign) and self.is_unspecified(stmt.value):
            self.last[stmt.variable] = ()
            return frozenset()
        groups = list[Targets]()
        if isinstance(stmt, ir.Receive) and stmt.stream not in self.apart:
            groups = [together for _, together in _groups_of(stmt) if len(together) > 1]
        is_told = all(self.last.get(v, (v,)) in ((), together) for together in groups for v in together)
        for variable in targets(stmt):
            self.last.pop(variable, None)
        self.last |= {v: together for together in groups for v in together}
        return frozenset() if is_told or not isinstance(stmt, ir.Receive) else frozenset({stmt.stream})

    def is_unspecified(self, value: ir.Expr) -> bool:
        variable = value.variable if isinstance(value, Read) else None
        return variable is not None and variable not in self.assigned and variable not in self.captured
