"""The invariants of the kernel IR, beyond what its constructors refuse."""

from __future__ import annotations

from dataclasses import dataclass

from macah import ir
from macah.ir import Array, Body, Const, Expr, Label, Load, Read, Stmt, Stream
from macah.walk import bodies, operands, targets


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel whose invariants hold, with the identities of its assignments and of expressions elsewhere."""

    kernel: ir.Kernel  # keeps them alive, so that nothing else has their identities
    absent: frozenset[type]
    widths: tuple[int, ...]
    exprs: set[int]

    def holds(self, kernel: ir.Kernel, absent: frozenset[type], widths: tuple[int, ...]) -> bool:
        """True if nothing in another kernel, or of what is asked of it, is new."""
        mine = self.kernel
        same = kernel.body is mine.body and (kernel.captured, kernel.streams) == (mine.captured, mine.streams)
        return same and (absent, widths) == (self.absent, self.widths)


def check_kernel(
    kernel: ir.Kernel,
    absent: frozenset[type] = frozenset(),
    widths: tuple[int, ...] = (32, 64),
    before: Checked | None = None,
) -> Checked:
    """Assert a kernel's invariants: scopes, arities, no class in `absent`, no word of another width.

    Expressions that were checked `before`, for the pass before, are not looked at again.
    """
    if before and before.holds(kernel, absent, widths):
        return before
    captured = [capture.what for capture in kernel.captured]
    assert len(set(captured)) == len(captured), f"{kernel.name}: something is captured twice"
    for capture in kernel.captured:
        assert capture.what.bits in widths, capture
        assert isinstance(capture.what, ir.Variable) or capture.what.shape, capture
    known = before.exprs if before and before.widths == widths else set[int]()
    checker = _Checker(absent, widths, frozenset(c.stream for c in kernel.streams), known)
    checker.body(kernel.body, frozenset())
    return Checked(kernel, absent, widths, checker.exprs)


class _Checker:
    def __init__(
        self,
        absent: frozenset[type],
        widths: tuple[int, ...],
        streams: frozenset[Stream],
        known: set[int],
    ) -> None:
        self.absent = absent
        self.known = known
        self.widths = widths
        self.streams = streams
        self.blocks: set[Label] = set()
        self.exprs: set[int] = set()
        self.functions: set[ir.Function] = set()

    def body(self, body: Body, labels: frozenset[Label]) -> None:
        assert isinstance(body, tuple), body
        known = self.known
        # Nearly all are; the only statements whose identities are kept are assignments.
        self.exprs.update(known.intersection(map(id, body)))
        for stmt in [stmt for stmt in body if id(stmt) not in known]:
            self.statement(stmt, labels)

    def statement(self, stmt: Stmt, labels: frozenset[Label]) -> None:
        assert type(stmt) not in self.absent, stmt
        if isinstance(stmt, ir.Assign):
            self.exprs.add(id(stmt))
            assert stmt.variable.bits in self.widths, stmt
            self.expression(stmt.value)
            return
        for expr in operands(stmt):
            self.expression(expr)
        assert all(variable.bits in self.widths for variable in targets(stmt)), stmt
        self.kind(stmt, labels)
        if isinstance(stmt, ir.Block):
            assert stmt.label not in self.blocks, f"two blocks of one label: {stmt.label}"
            self.blocks.add(stmt.label)
            labels |= {stmt.label}
        for inner in bodies(stmt):
            self.body(inner, labels)

    def kind(self, stmt: Stmt, labels: frozenset[Label]) -> None:
        """What the kind of a statement demands."""
        match stmt:
            case ir.Store():
                assert len(stmt.index) == len(stmt.array.shape), stmt
                assert not stmt.array.initial, stmt
            case ir.Shift():
                assert any(stmt.array.shiftable[len(stmt.index) :]), stmt
            case ir.Receive() | ir.Send() | ir.Close() | ir.Ended():
                self.stream(stmt.stream, len(stmt.index), stmt)
            case ir.Leave():
                assert stmt.label in labels, stmt
            case ir.Call():
                self.call(stmt)
            case _:
                pass
        match stmt:
            case ir.Receive():
                assert len(set(stmt.targets)) == len(stmt.targets), stmt
                assert stmt.worked not in stmt.targets and stmt.passed not in stmt.targets, stmt
                self.words([variable.bits for variable in stmt.targets], stmt.stream)
            case ir.Send():
                self.words([value.bits for value in stmt.values], stmt.stream)
            case _:
                pass

    def words(self, found: list[int], stream: Stream) -> None:
        assert found == [64 if word.size == 8 else 32 for word in stream.words], stream

    def stream(self, stream: Stream, rank: int, stmt: Stmt) -> None:
        assert rank == len(stream.shape), stmt
        assert not self.streams or self.functions or stream in self.streams, stmt

    def expression(self, expr: Expr) -> None:
        widths, exprs, known = self.widths, self.exprs, self.known
        pending = [expr]
        while pending:
            inner = pending.pop()
            if isinstance(inner, Read):
                assert inner.variable.bits in widths, inner
                continue
            assert inner.bits in widths, inner
            if isinstance(inner, Const) or id(inner) in exprs:
                continue
            exprs.add(id(inner))
            if id(inner) in known:
                continue
            if isinstance(inner, Load):
                assert len(inner.index) == len(inner.array.shape), inner
                pending += inner.index
            else:
                pending += inner.args

    def call(self, call: ir.Call) -> None:
        function = call.function
        assert len(call.arguments) == len(function.parameters), call
        for argument, parameter in zip(call.arguments, function.parameters, strict=True):
            match parameter:
                case ir.Variable():
                    assert not isinstance(argument, ir.View | ir.StreamView), call
                    assert argument.bits == parameter.bits, call
                case Array():
                    assert isinstance(argument, ir.View), call
                    self.view(argument, parameter)
                case Stream():
                    assert isinstance(argument, ir.StreamView), call
                    assert len(argument.stream.shape) - len(argument.index) == len(parameter.shape), call
        assert [v.bits for v in call.results] == [v.bits for v in function.results], call
        if function not in self.functions:
            self.functions.add(function)
            self.body(function.body, frozenset())

    def view(self, view: ir.View, parameter: Array) -> None:
        rank = len(view.array.shape) - max(0, len(view.index) - 1)
        assert rank == len(parameter.shape), (view, parameter)
        assert view.array.bits == parameter.bits, (view, parameter)
