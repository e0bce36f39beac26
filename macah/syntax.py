"""The nodes that Macah adds to pycparser's syntax tree.

Everything else is pycparser's `c_ast`. Calls of built-in names (`ADPC`, `EXPECT`, `pstream_create`,
`mem_reader_spawn`, …) stay `c_ast.FuncCall`; a type among their arguments is a `c_ast.Typename`.
A shift `a <<= n` stays `c_ast.Assignment`: only the type of `a` tells it from C's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

TRANSFERS = "a send is 'stream <! value', a receive 'variable <? stream'"
"""What to tell who has the wrong operand in the place of the stream."""

RECEIVE_FIRST = "receive an element into a variable first, 'x <? s;', and use that"
"""What to tell who takes a stream for its elements."""

ADPC_FORM = "write 'const int N = ADPC(min, max);' or 'enum { N = ADPC(min, max) };'"
ADPC_MISPLACED = "'ADPC' must be the whole initialiser of a constant"
EXPECT_FORM = "write 'EXPECT(condition, 0.15)', with how often the condition is true"

NOT_A_SEND = (
    "a send is a statement of its own, 's <! x;', with nothing between '<' and '!'; "
    "'w :: s <! x;' says in 'w' whether it happened"
)
"""What to tell who has written a comparison of a stream with a negation, `s <! x` within an expression."""


class _Node(c_ast.Node):  # type: ignore[misc]
    """A node whose children are its attributes `fields`, in order, and that has plain `attr_names`."""

    __slots__ = ("coord", "__weakref__")
    fields: tuple[str, ...] = ()
    attr_names: tuple[str, ...] = ()

    def children(self) -> tuple[tuple[str, Any], ...]:
        return tuple((f, getattr(self, f)) for f in self.fields if getattr(self, f) is not None)

    def __iter__(self) -> Iterator[Any]:
        return (child for _, child in self.children())


class StreamType(_Node):
    """`T stream`: stands where an `IdentifierType` or a `Struct` would. `element` is a `Typename`."""

    __slots__ = ("element",)
    fields = ("element",)

    def __init__(self, element: Any, coord: Any = None) -> None:
        self.element, self.coord = element, coord


class ShiftableDecl(c_ast.ArrayDecl):  # type: ignore[misc]
    """An `ArrayDecl` whose dimension was written `[^N^]`."""

    __slots__ = ()


class KernelBlock(_Node):
    """`kernel { … }` or `name: kernel { … }`; `body` is a `Compound`, `name` a string or None."""

    __slots__ = ("name", "body")
    fields = ("body",)
    attr_names = ("name",)

    def __init__(self, name: str | None, body: Any, coord: Any = None) -> None:
        self.name, self.body, self.coord = name, body, coord


class UnrolledFor(c_ast.For):  # type: ignore[misc]
    """`FOR (init; cond; next) stmt`: attributes as of `c_ast.For`."""

    __slots__ = ()


class Send(_Node):
    """`stream <! value` or `worked :: stream <! value`; `worked` is an lvalue or None."""

    __slots__ = ("worked", "stream", "value")
    fields = ("worked", "stream", "value")

    def __init__(self, worked: Any, stream: Any, value: Any, coord: Any = None) -> None:
        self.worked, self.stream, self.value, self.coord = worked, stream, value, coord


class Receive(_Node):
    """`target <? stream` or `worked :: target <? stream`; `worked` is an lvalue or None."""

    __slots__ = ("worked", "target", "stream")
    fields = ("worked", "target", "stream")

    def __init__(self, worked: Any, target: Any, stream: Any, coord: Any = None) -> None:
        self.worked, self.target, self.stream, self.coord = worked, target, stream, coord


class Asm(_Node):
    """A GNU asm statement without its semicolon, or one at file scope; `text` is its spelling."""

    __slots__ = ("text",)
    attr_names = ("text",)

    def __init__(self, text: str, coord: Any = None) -> None:
        self.text, self.coord = text, coord


class LabelAddress(_Node):
    """GNU C's `&&label`."""

    __slots__ = ("name",)
    attr_names = ("name",)

    def __init__(self, name: str, coord: Any = None) -> None:
        self.name, self.coord = name, coord


class ComputedGoto(c_ast.Goto):  # type: ignore[misc]
    """GNU C's `goto *target`."""

    __slots__ = ("target",)

    def __init__(self, target: Any, coord: Any = None) -> None:
        super().__init__("", coord)
        self.target = target

    def children(self) -> tuple[tuple[str, Any], ...]:
        return (("target", self.target),)

    def __iter__(self) -> Iterator[Any]:
        yield self.target


class Range(_Node):
    """GNU C's `low ... high`, of a `case` or a designator."""

    __slots__ = ("low", "high")
    fields = ("low", "high")

    def __init__(self, low: Any, high: Any, coord: Any = None) -> None:
        self.low, self.high, self.coord = low, high, coord


class OrElse(_Node):
    """GNU C's `value ?: otherwise`: `value`, which is evaluated once, if it is not 0."""

    __slots__ = ("value", "otherwise")
    fields = ("value", "otherwise")

    def __init__(self, value: Any, otherwise: Any, coord: Any = None) -> None:
        self.value, self.otherwise, self.coord = value, otherwise, coord
