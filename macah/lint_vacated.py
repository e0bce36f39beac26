"""Reads of elements that a shift has vacated and nothing has written since: their values are unspecified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from backend.dfg import Place
from macah import ir
from macah.diagnostic import Diagnostic, Note
from macah.ir import Array, Body, Label, Stmt
from macah.walk import loads_in, operands

Index = tuple[int, ...]
State = dict[tuple[Array, Index], Place | None]
"""The elements that are certainly vacated, each with the place of the shift. No state: not reached."""

_LARGEST = 1024


def vacated_reads(kernel: ir.Kernel) -> Iterator[Diagnostic]:
    """The warnings of a kernel without calls and FOR loops."""
    walk = _Walk()
    walk.body(kernel.body, {})
    for (where, name, index), shift in walk.found.items():
        element = name + "".join(f"[{i}]" for i in index)
        note = Note("it is vacated here", shift)
        message = f"'{element}' holds an unspecified value: it was vacated and not written since"
        hint = "write the element behind the shift, before it is read"
        yield Diagnostic(message, where, (note,), hint, code="vacated-element")


@dataclass
class _Walk:
    """Forwards, with what is vacated on every way; loops until nothing changes."""

    found: dict[tuple[Place | None, str, Index], Place | None] = field(default_factory=dict)
    leaving: dict[Label, list[State]] = field(default_factory=dict)
    silent: int = 0

    def body(self, body: Body, state: State | None) -> State | None:
        received = {(word, s.where) for s in body if isinstance(s, ir.Receive) for word in s.targets}
        for stmt in body:
            if state is None:
                return None
            # A receive keeps what an element held before if the stream has ended, which nobody means.
            if not (isinstance(stmt, ir.Assign) and (stmt.variable, stmt.where) in received):
                state = self.statement(stmt, state)
        return state

    def statement(self, stmt: Stmt, state: State) -> State | None:
        if not isinstance(stmt, ir.While | ir.DoWhile):
            self.reads(stmt, state)
        match stmt:
            case ir.Shift():
                return _shifted(stmt, state)
            case ir.Store(array, index):
                if all(isinstance(i, ir.Const) for i in index):
                    place = tuple(i.value for i in index if isinstance(i, ir.Const))
                    return {key: where for key, where in state.items() if key != (array, place)}
                return {key: where for key, where in state.items() if key[0] is not array}
            case ir.Forget(array):
                return {key: where for key, where in state.items() if key[0] is not array}
            case ir.If(_, then, orelse):
                return _met([self.body(then, state), self.body(orelse, state)])
            case ir.Block(label, body):
                self.leaving[label] = []
                end = self.body(body, state)
                return _met([end, *self.leaving.pop(label)])
            case ir.Leave(label):
                self.leaving[label].append(state)
                return None
            case ir.While(before, _, body):
                return self.loop(stmt, before, body, state)
            case ir.DoWhile(body):
                return self.loop(stmt, body, (), state)
            case _:
                return state

    def loop(self, stmt: Stmt, before: Body, body: Body, state: State) -> State | None:
        """Around `before`, where the loop may be left, and `body`."""
        entry: State = state
        self.silent += 1
        while True:
            kept = {label: list(states) for label, states in self.leaving.items()}
            again = self.around(stmt, before, body, entry)[1]
            self.leaving = kept
            met = _met([entry, again]) or {}
            if met == entry:
                break
            entry = met
        self.silent -= 1
        return self.around(stmt, before, body, entry)[0]

    def around(self, stmt: Stmt, before: Body, body: Body, state: State) -> tuple[State | None, State | None]:
        """What holds where the loop is left, and where it begins again."""
        tested = self.body(before, state)
        if tested is None:
            return None, None
        self.reads(stmt, tested)
        return tested, self.body(body, tested)

    def reads(self, stmt: Stmt, state: State) -> None:
        if self.silent or not state:
            return
        for expr in operands(stmt):
            for load in loads_in(expr):
                index = tuple(i.value for i in load.index if isinstance(i, ir.Const))
                key = (load.array, index)
                if len(index) == len(load.index) and key in state:
                    self.found.setdefault((stmt.where, load.array.name, index), state[key])


def _shifted(stmt: ir.Shift, state: State) -> State:
    array = stmt.array
    others = {key: where for key, where in state.items() if key[0] is not array}
    index = tuple(i.value for i in stmt.index if isinstance(i, ir.Const))
    if not isinstance(stmt.amount, ir.Const) or stmt.guard != ir.TRUE or array.size > _LARGEST:
        return others
    if len(index) != len(stmt.index):
        return others
    by = stmt.amount.value - (stmt.amount.value >> 31 << 32)
    dimension = array.shiftable.index(True, len(index))
    for place in product(*map(range, array.shape)):
        source = (*place[:dimension], place[dimension] - by, *place[dimension + 1 :])
        if place[: len(index)] != index:
            source = place
        inside = 0 <= source[dimension] < array.shape[dimension]
        if not inside:
            others[array, place] = stmt.where
        elif (array, source) in state:
            others[array, place] = state[array, source]
    return others


def _met(states: list[State | None]) -> State | None:
    """What holds in all states that are reached."""
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    first, *others = reached
    return {key: where for key, where in first.items() if all(key in other for other in others)}
