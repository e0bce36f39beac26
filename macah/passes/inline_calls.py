"""Puts the bodies of functions in the place of their calls.

x = f(&a[2][0], y)                        p'i = y
function f(p[0], i) -> r         ->       r' = a[2][p'i]
  r = p[i]                                x = r'
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from macah import ir
from macah.diagnostic import MacahError
from macah.fold import fold_apply
from macah.ir import Array, Assign, Body, Const, Expr, Function, Load, Read, Stmt, Stream, Variable
from macah.run import shifted_dimension
from macah.walk import (
    Renaming,
    flat_map,
    fresh,
    loads_in,
    map_expr,
    map_operands,
    operands,
    statements,
    targets,
    variables_in,
)

Index = tuple[Expr, ...]


def inline_calls(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without calls."""
    captured = {capture.what for capture in kernel.captured} | {c.stream for c in kernel.streams}
    return replace(kernel, body=_Inliner(frozenset(captured)).body(kernel.body))


@dataclass(frozen=True, slots=True)
class _Views:
    """What a callee's arrays and streams are."""

    arrays: dict[Array, ir.View]
    streams: dict[Stream, ir.StreamView]


class _Inliner:
    def __init__(self, captured: frozenset[Variable | Array | Stream]) -> None:
        self.captured = captured
        self.expanded: dict[Function, Body] = {}

    def body(self, body: Body) -> Body:
        return flat_map(body, lambda stmt: self.call(stmt) if isinstance(stmt, ir.Call) else (stmt,))

    def call(self, call: ir.Call) -> Body:
        function = call.function
        if function not in self.expanded:
            self.expanded[function] = self.body(function.body)
        body = self.expanded[function]
        own = _own(function, body, self.captured)
        head: list[Stmt] = []
        views = _Views({}, {})
        for parameter, argument in zip(function.parameters, call.arguments, strict=True):
            match parameter, argument:
                case Variable(), ir.Const() | Read() | Load() | ir.Apply():
                    head.append(Assign(own.variables[parameter], argument, call.where))
                case Array(), ir.View(array, index):
                    views.arrays[parameter] = ir.View(array, _once(index, parameter.name, head, call))
                case Stream(), ir.StreamView(stream, index):
                    view = ir.StreamView(stream, _once(index, parameter.name, head, call))
                    views.streams[parameter] = view
                case _:
                    raise AssertionError(call)
        # Not what the last call returned, where that depends on the way through the function.
        always = {variable for stmt in body for variable in targets(stmt)}
        for result in function.results:
            if result not in always and result in own.variables:
                head.append(Assign(own.variables[result], ir.unspecified(result.bits), call.where))
        inside = flat_map(own.body(body), lambda stmt: (_through(stmt, views),))
        tail = [
            Assign(target, Read(own.variables.get(result, result)), call.where)
            for target, result in zip(call.results, function.results, strict=True)
        ]
        return (*head, *inside, *tail)


def _own(function: Function, body: Body, captured: frozenset[Variable | Array | Stream]) -> Renaming:
    """New objects for one call, in place of the function's own."""
    own = Renaming()
    variables = [p for p in function.parameters if isinstance(p, Variable)]
    variables += function.results
    for stmt in statements(body):
        variables += targets(stmt)
        for expr in operands(stmt):
            variables += variables_in(expr)
            for load in loads_in(expr):
                _own_array(load.array, function, captured, own)
        if isinstance(stmt, ir.Store | ir.Shift | ir.Forget):
            _own_array(stmt.array, function, captured, own)
        if isinstance(stmt, ir.Block):
            own.labels[stmt.label] = ir.Label(stmt.label.name)
    for variable in variables:
        if variable not in captured and variable not in own.variables:
            own.variables[variable] = fresh(variable)
    return own


def _own_array(
    array: Array, function: Function, captured: frozenset[Variable | Array | Stream], own: Renaming
) -> None:
    # A constant table can be shared by all calls; a parameter is a view of another array.
    if array not in captured and array not in function.parameters and not array.initial:
        own.arrays.setdefault(array, replace(array))


def _once(index: Index, name: str, head: list[Stmt], call: ir.Call) -> Index:
    """The index evaluated before the call."""
    result: list[Expr] = []
    for expr in index:
        if isinstance(expr, Const):
            result.append(expr)
        else:
            place = Variable(f"{name}_index", expr.bits, call.where)
            head.append(Assign(place, expr, call.where))
            result.append(Read(place))
    return tuple(result)


def _through(stmt: Stmt, views: _Views) -> Stmt:
    """The statement on the arrays and streams behind the views."""

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array in views.arrays:
            view = views.arrays[expr.array]
            return Load(view.array, _at(view.index, expr.index))
        return expr

    stmt = map_operands(stmt, lambda expr: map_expr(expr, leaf))
    match stmt:
        case ir.Store() if stmt.array in views.arrays:
            view = views.arrays[stmt.array]
            return replace(stmt, array=view.array, index=_at(view.index, stmt.index))
        case ir.Shift() if stmt.array in views.arrays:
            return _shift(stmt, views.arrays[stmt.array])
        case ir.Receive() | ir.Send() | ir.Close() | ir.Ended() if stmt.stream in views.streams:
            base = views.streams[stmt.stream]
            return replace(stmt, stream=base.stream, index=(*base.index, *stmt.index))
        case _:
            return stmt


def _at(base: Index, index: Index) -> Index:
    if not base:
        return index
    first, offset = index[0], base[-1]
    if first.bits != offset.bits:
        first, offset = _wide(first), _wide(offset)
    return (*base[:-1], fold_apply("add", (offset, first), first.bits), *index[1:])


def _wide(index: Expr) -> Expr:
    return index if index.bits == 64 else fold_apply("sext32", (index,), 64)


def _shift(stmt: ir.Shift, view: ir.View) -> ir.Shift:
    index = view.index
    if not index:
        return replace(stmt, array=view.array)
    if not stmt.index and index[-1] != Const(0, index[-1].bits):
        raise MacahError(
            f"this shift would move a part of '{view.array.name}'",
            stmt.where,
            hint="pass the whole shiftable dimension to the function",
            code="not-shiftable",
        )
    moved = shifted_dimension(stmt.array, len(stmt.index)) + len(index) - 1
    base = _at(index, stmt.index) if stmt.index else index[:-1]
    if not any(view.array.shiftable[len(base) :]) or shifted_dimension(view.array, len(base)) != moved:
        raise MacahError(
            f"dimension {moved} of '{view.array.name}' is not shiftable",
            stmt.where,
            hint="declare it '[^N^]'",
            code="not-shiftable",
        )
    return replace(stmt, array=view.array, index=base)
