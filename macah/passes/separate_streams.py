"""Makes a stream of its own of every element of an array of streams.

s[0] <! x          ->          s[0] <! x         with streams named `s[0]`, `s[1]`
s[1] <! x                      s[1] <! x
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.diagnostic import MacahError
from macah.ir import Const, Stmt, Stream
from macah.sources import element_name, element_source
from macah.walk import flat_map


def separate_streams(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without arrays of streams; an index that is not constant is the user's mistake."""
    elements: dict[Stream, dict[tuple[int, ...], Stream]] = {}

    def separate(stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case ir.Receive() | ir.Send() | ir.Close() | ir.Ended() if stmt.stream.shape:
                places = _places(stmt)
                found = elements.setdefault(stmt.stream, {})
                if places not in found:
                    name = element_name(stmt.stream.name, places)
                    found[places] = replace(stmt.stream, name=name, shape=())
                return (replace(stmt, stream=found[places], index=()),)
            case _:
                return (stmt,)

    body = flat_map(kernel.body, separate)
    streams: list[ir.StreamCapture] = []
    for capture in kernel.streams:
        if not capture.stream.shape:
            streams.append(capture)
        for places, stream in sorted(elements.get(capture.stream, {}).items()):
            source = element_source(capture.source, dict(enumerate(places)))
            streams.append(replace(capture, stream=stream, source=source))
    return replace(kernel, body=body, streams=tuple(streams))


def _places(stmt: ir.Move) -> tuple[int, ...]:
    stream = stmt.stream
    for expr, extent in zip(stmt.index, stream.shape, strict=True):
        if not isinstance(expr, Const):
            raise MacahError(
                f"the index into the streams '{stream.name}' is not known at compile time",
                stmt.where,
                hint="index arrays of streams with constants or FOR variables",
                code="stream-index",
            )
        if expr.value >= extent:
            raise MacahError(
                f"the index into the {extent} streams '{stream.name}' is out of range",
                stmt.where,
                code="stream-index",
            )
    return tuple(expr.value for expr in stmt.index if isinstance(expr, Const))
