"""Changes of a kernel's loops, on trial: see `macah/remedies.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from backend.dfg import Node, Place
from macah import ir
from macah.ir import Apply, Assign, Body, Const, Read, Stmt, Variable
from macah.remedy import Remedy, captured
from macah.walk import bodies, flat_map, has_loop, loads_in, map_bodies, targets, variables_in, written
from macah.walk import statements as inside
from macah.why_text import lines_text, test_text, turns_text

TURNS = (2, 3)
"""So many independent values may take turns."""


def test_remedies(kernel: ir.Kernel, nodes: Sequence[Node], loops: tuple[Place, ...]) -> Iterator[Remedy]:
    """Loops whose tests are on recurrences: how often they run would be known."""
    on = {(node.where.file, node.where.line) for node in nodes if node.where is not None}
    for where in loops:
        lines = [where, *_leaving(kernel, where)]
        if any((place.file, place.line) in on for place in lines) and not _counted(kernel, where):
            name = f"a known number of iterations of the loop{lines_text(lines)}"
            yield Remedy("test", name, test_text(lines), _Counted(where).changed)


def _leaving(kernel: ir.Kernel, where: Place) -> list[Place]:
    """Where branches leave a loop."""
    found = [_exits(stmt, leaving) for stmt, leaving in _loops(kernel.body) if stmt.where == where]
    return [stmt.where for exits in found for stmt in exits if stmt.where is not None]


def _exits(loop: ir.While, label: ir.Label | None) -> list[ir.If]:
    return [
        stmt
        for stmt in inside(loop.body)
        if isinstance(stmt, ir.If)
        and any(isinstance(s, ir.Leave) and s.label is label for s in (*stmt.then, *stmt.orelse))
    ]


def _loops(body: Body, label: ir.Label | None = None) -> Iterator[tuple[ir.While, ir.Label | None]]:
    """The loops in a body, and what is left to leave each."""
    for stmt in body:
        if isinstance(stmt, ir.While):
            yield stmt, label
        for part in bodies(stmt):
            yield from _loops(part, stmt.label if isinstance(stmt, ir.Block) else label)


def _counted(kernel: ir.Kernel, where: Place) -> bool:
    """True if all that a loop's test reads is counted or does not change."""
    for stmt, label in _loops(kernel.body):
        if stmt.where == where:
            if not set(variables_in(stmt.condition)) & written(stmt.body) <= _counters(stmt.body):
                return False
            if _exits(stmt, label) or loads_in(stmt.condition):
                return False
    return True


def _counters(body: Body) -> set[Variable]:
    """The variables that a body only adds constants to."""
    found = dict[Variable, bool]()
    for stmt in inside(body):
        for variable in targets(stmt):
            found[variable] = variable not in found and _counts(stmt, variable)
    return {variable for variable, counts in found.items() if counts}


def _counts(stmt: Stmt, variable: Variable) -> bool:
    match stmt:
        case Assign(_, Apply("add" | "sub", (Read(counted), Const()))):
            return counted is variable
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Counted:
    """A loop runs a number of times that is known before."""

    where: Place

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        trips = Variable("trips")
        body = self.body(kernel.body, trips, None)
        return replace(kernel, body=body, captured=(*kernel.captured, captured(trips)))

    def body(self, body: Body, trips: Variable, label: ir.Label | None) -> Body:
        made = list[Stmt]()
        for stmt in body:
            inner = stmt.label if isinstance(stmt, ir.Block) else label

            def deeper(part: Body, inner: ir.Label | None = inner) -> Body:
                return self.body(part, trips, inner)

            now = map_bodies(stmt, deeper)
            if isinstance(now, ir.While) and now.where == self.where:
                count = Variable("count")
                again = Apply("slt", (Read(count), Read(trips)))
                exits = set(map(id, _exits(now, label)))
                rest = _without(now.body, exits)
                step = Assign(count, Apply("add", (Read(count), Const(1))), now.where)
                made.append(Assign(count, Const(0), now.where))
                now = replace(now, condition=again, body=(step, *rest))
            made.append(now)
        return tuple(made)


def _without(body: Body, gone: set[int]) -> Body:
    """Without branches that leave a loop."""
    made = list[Stmt]()
    for stmt in body:
        if id(stmt) in gone:
            assert isinstance(stmt, ir.If)
            made += [s for s in (*stmt.then, *stmt.orelse) if not isinstance(s, ir.Leave)]
        else:
            made.append(map_bodies(stmt, lambda inner: _without(inner, gone)))
    return tuple(made)


def turn_remedies(kernel: ir.Kernel, nodes: Sequence[Node]) -> Iterator[Remedy]:
    """What loops carry is that of another one in every second or third iteration."""
    loops = [stmt for stmt, _ in _loops(kernel.body)]
    if loops and not any(has_loop(stmt.body) for stmt in loops):  # else the outer one would have to, too
        for number in TURNS:
            yield Remedy(
                "turns", "independent values by turns", turns_text(nodes, number), _Turns(number).changed
            )


@dataclass(frozen=True, slots=True)
class _Turns:
    number: int

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        begins = list[ir.Capture]()  # each one begins with something else

        def begun(variable: Variable) -> Read:
            begins.append(captured(Variable(f"{variable.name}_{len(begins)}_begin", variable.bits)))
            assert isinstance(begins[-1].what, Variable)
            return Read(begins[-1].what)

        def rotated(stmt: Stmt) -> tuple[Stmt, ...]:
            if not isinstance(stmt, ir.While) or has_loop(stmt.body):
                return (stmt,)
            before, after = list[Stmt](), list[Stmt]()
            changed = written((*stmt.before, *stmt.body))
            for variable in sorted(changed - _counters(stmt.body), key=lambda v: v.name):
                others = [Variable(f"{variable.name}_{k}", variable.bits) for k in range(self.number)]
                before += [Assign(other, begun(other), stmt.where) for other in others[1:]]
                ring = [variable, *others[1:], others[0]]
                after.append(Assign(others[0], Read(variable), stmt.where))
                after += [Assign(a, Read(b), stmt.where) for a, b in zip(ring, ring[1:], strict=False)]
            return (*before, replace(stmt, body=(*stmt.body, *after)))

        body = flat_map(kernel.body, rotated)
        return replace(kernel, body=body, captured=(*kernel.captured, *begins))
