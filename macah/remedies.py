"""Changes that who wrote a kernel could make, tried on the kernel: what each is, and the kernel after it.

    h[x]++;                  ->    h[0][x]++; ... h[1][y]++;       an array for each of two iterations
    while (a[i] != x) i++;   ->    for (k = 0; k < n; k++) i++;    a number of iterations that is known
    q = x / d;               ->    q = x / 10;                     a divisor that is a constant
    char c; c = c + x;       ->    int c; c = c + x;               a type in which all values fit

What is made only tells what the interval would be: it need not compute what the program is to compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from backend.dfg import DFG, Node, Place
from macah import ir
from macah.fold import NARROWING
from macah.ir import Apply, Array, Assign, Const, Expr, Stmt, Store, Variable
from macah.remedies_arrays import array_remedies
from macah.remedies_loops import test_remedies, turn_remedies
from macah.remedy import Remedy
from macah.sources import element_name
from macah.walk import flat_map, map_expr, map_operands
from macah.walk import statements as inside
from macah.why import Why
from macah.why_text import division_text, lines_text, stream_text, width_text

Index = tuple[Expr, ...]

WORD_BYTES = 4
DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})


def remedies(kernel: ir.Kernel, dfg: DFG, found: Why, loops: tuple[Place, ...]) -> Iterator[Remedy]:
    """What may help against what binds in a graph, the easiest first.

    `kernel` has no calls and no FOR loops any more; `loops` are the places of the source's loops.
    """
    nodes = [node for recurrence in found.recurrences for node in recurrence.nodes]
    binding = dfg.nodes if found.only_units else nodes  # what is done less often helps wherever it is
    yield from _streams(kernel, found, nodes)
    yield from _divisions(kernel, binding, bool(nodes))
    yield from array_remedies(kernel, found)
    yield from test_remedies(kernel, nodes, loops)
    yield from _conversions(kernel, binding)  # there may be many, and so many changes are not tried
    if found.recurrences:
        yield from turn_remedies(kernel, nodes)


# --- Streams


def _streams(kernel: ir.Kernel, found: Why, nodes: list[Node]) -> Iterator[Remedy]:
    """A stream that is used several times gets others beside it."""
    needed = {r.name: r.needed for r in found.resources if r.kind == "stream"}
    places = {node.where for node in nodes if node.stream is not None}
    for capture, index, sites in _used_streams(kernel):
        stream = capture.stream
        named = element_name(stream.name, tuple(i.value for i in index if isinstance(i, Const)))
        if len(sites) < 2 or not (named in needed or places & {s.where for s in sites}):
            continue
        narrow = 2 * stream.size <= WORD_BYTES
        words = needed.get(named, len(sites))
        text = stream_text(named, words, [s.where for s in sites], narrow)
        name = f"a stream each for what '{named}' moves{lines_text(s.where for s in sites)}"
        yield Remedy("stream", name, text, _Streams(capture, index).changed)


def _used_streams(kernel: ir.Kernel) -> Iterator[tuple[ir.StreamCapture, Index, list[ir.Receive | ir.Send]]]:
    """The streams, each element of an array for itself, with what is received and sent there."""
    for capture in kernel.streams:
        found: dict[Index, list[ir.Receive | ir.Send]] = {}
        for stmt in inside(kernel.body):
            if isinstance(stmt, ir.Receive | ir.Send) and stmt.stream is capture.stream:
                found.setdefault(stmt.index, []).append(stmt)
        for index, sites in found.items():
            yield capture, index, sites


@dataclass(frozen=True, slots=True)
class _Streams:
    capture: ir.StreamCapture
    index: Index

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        streams, own = list(kernel.streams), self.capture.stream
        first = True

        def other(stmt: Stmt) -> tuple[Stmt]:
            nonlocal first
            if not isinstance(stmt, ir.Receive | ir.Send) or (stmt.stream, stmt.index) != (own, self.index):
                return (stmt,)
            if first:
                first = False
                return (stmt,)
            beside = replace(own, name=f"{own.name}_{len(streams)}")
            streams.append(replace(self.capture, stream=beside))
            return (replace(stmt, stream=beside),)

        body = flat_map(kernel.body, other)
        return replace(kernel, body=body, streams=tuple(streams))


# --- Divisions


def _divisions(kernel: ir.Kernel, nodes: Sequence[Node], waited_for: bool) -> Iterator[Remedy]:
    places = tuple(dict.fromkeys(n.where for n in nodes if n.op in DIVISIONS and n.where is not None))
    if places:
        name = f"constants to divide by{lines_text(places)}"
        yield Remedy("division", name, division_text(places, waited_for), _Divisions(places).changed)


@dataclass(frozen=True, slots=True)
class _Divisions:
    places: tuple[Place, ...]

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        lines = {(place.file, place.line) for place in self.places}

        def constant(expr: Expr) -> Expr:
            if isinstance(expr, Apply) and expr.op in DIVISIONS:
                return Apply(expr.op, (expr.args[0], Const(10, expr.args[1].bits)), expr.bits)
            return expr

        def divided(stmt: Stmt) -> tuple[Stmt]:
            where = stmt.where
            if where is None or (where.file, where.line) not in lines:
                return (stmt,)
            return (map_operands(stmt, lambda expr: map_expr(expr, constant)),)

        return replace(kernel, body=flat_map(kernel.body, divided))


# --- Types that values are made to fit


def _conversions(kernel: ir.Kernel, nodes: Sequence[Node]) -> Iterator[Remedy]:
    """Another type for each variable or array to whose type values are made to fit."""
    lines = {(n.where.file, n.where.line) for n in nodes if n.op in NARROWING and n.where is not None}
    found: dict[Variable | Array, list[Place]] = {}
    for stmt in inside(kernel.body):
        what, where = _narrow(stmt), stmt.where
        if what is not None and where is not None and (where.file, where.line) in lines:
            found.setdefault(what, []).append(where)
    for what, places in found.items():
        name = f"a wider type for '{what.name}'{lines_text(places)}"
        yield Remedy("width", name, width_text(what.name, places), _Width(what).changed)


def _narrow(stmt: Stmt) -> Variable | Array | None:
    """What gets a value that is made to fit its type."""
    match stmt:
        case Assign(what, Apply(op, (value,), bits)) | Store(what, value=Apply(op, (value,), bits)):
            return what if op in NARROWING and value.bits == bits else None
    return None


@dataclass(frozen=True, slots=True)
class _Width:
    what: Variable | Array

    def changed(self, kernel: ir.Kernel) -> ir.Kernel:
        def wide(stmt: Stmt) -> tuple[Stmt]:
            match stmt:
                case Assign(value=Apply(_, (value,))) | Store(value=Apply(_, (value,))):
                    return (replace(stmt, value=value) if _narrow(stmt) is self.what else stmt,)
            return (stmt,)

        return replace(kernel, body=flat_map(kernel.body, wide))
