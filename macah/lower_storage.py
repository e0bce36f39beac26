"""Where values live: C's variables, split into scalars and arrays of the IR, and what the kernel captures.

A struct is one variable or array for each scalar member, named `p.x`; an array of structs one array for each,
and an array in them adds its dimensions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import product

from arch.ops import word
from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Floating, Integer, Pointer, StreamType, StructType, spell
from macah.diagnostic import MacahError, Place
from macah.lower_layout import scalar_leaves
from macah.lower_scope import Constant, FunctionName, Object, Scope

NO_FLOAT = "floating point is not supported on this architecture"


@dataclass(frozen=True, slots=True)
class Lvalue:
    """A variable or part of it: `steps` are the members and the indices on the way, in order."""

    object: Object
    type: CType
    const: bool = False
    steps: tuple[str | ir.Expr, ...] = ()

    def member(self, member: ctypes.Member) -> Lvalue:
        """The part `.name`."""
        const = self.const or member.const
        return replace(self, type=member.type, const=const, steps=(*self.steps, member.name))

    def element(self, index: ir.Expr) -> Lvalue:
        """The part `[index]` of an array."""
        assert isinstance(self.type, ArrayType), self
        return replace(self, type=self.type.element, steps=(*self.steps, index))

    @property
    def path(self) -> tuple[str, ...]:
        """The names among the steps."""
        return tuple(step for step in self.steps if isinstance(step, str))

    @property
    def index(self) -> tuple[ir.Expr, ...]:
        """The indices among the steps."""
        return tuple(step for step in self.steps if not isinstance(step, str))


@dataclass(frozen=True, slots=True)
class Rvalue:
    """A number, or nothing if its type is void."""

    type: Integer | ctypes.Void
    expr: ir.Expr = ir.FALSE


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointer value: the address of `target`."""

    target: Lvalue

    @property
    def type(self) -> Pointer:
        """Its C type."""
        return Pointer(self.target.type, self.target.const)


Value = Lvalue | Rvalue | Reference | FunctionName | Constant
Leaf = ir.Variable | ir.Array | ir.Stream | int


@dataclass(slots=True)
class _Capture:
    what: ir.Variable | ir.Array | ir.Stream
    source: str
    type: CType


@dataclass(slots=True)
class Storage:
    """The scalars, arrays and streams of all variables of a kernel.

    `scope` is the one around the kernel; `written` are the leaves that are assigned anywhere.
    """

    scope: Scope
    written: set[Leaf] = field(default_factory=set)
    leaves: dict[tuple[Object, tuple[str, ...]], Leaf] = field(default_factory=dict)
    _captured: list[_Capture] = field(default_factory=list)
    _pointees: dict[tuple[Object, tuple[str, ...]], Object] = field(default_factory=dict)

    def leaf(self, lvalue: Lvalue, where: Place) -> Leaf:
        """The scalar, array, stream or known value that holds `lvalue`, captured if need be."""
        key = (lvalue.object, lvalue.path)
        if key not in self.leaves:
            self.leaves[key] = self._make(lvalue, where)
        return self.leaves[key]

    def captures(
        self, dead: frozenset[str] = frozenset()
    ) -> tuple[tuple[ir.Capture, ...], tuple[ir.StreamCapture, ...]]:
        """What the kernel captures, in the order of first use; variables in `dead` are not copied out."""
        data, streams = [], []
        for c in self._captured:
            if isinstance(c.what, ir.Stream):
                streams.append(ir.StreamCapture(c.what, c.source))
            else:
                # The variable itself, a member or an element: what a pointer leads to begins otherwise.
                name = re.match(r"\w*", c.source)
                out = c.what in self.written and not (name and name[0] in dead)
                data.append(ir.Capture(c.what, c.source, str(c.type), True, out))
        return tuple(data), tuple(streams)

    def pointee(self, lvalue: Lvalue, where: Place) -> Lvalue:
        """The struct that a captured pointer points to, as a captured variable of its own."""
        assert isinstance(lvalue.type, Pointer), lvalue
        target = lvalue.type.target
        name = ".".join((lvalue.object.name, *lvalue.path))
        if not isinstance(target, StructType) or lvalue.object.source is None or lvalue.index:
            raise unresolved(name, target, where)
        key = (lvalue.object, lvalue.path)
        if key not in self._pointees:
            self._check_visible(lvalue.object, where)
            source = _source(lvalue.object.source, lvalue.path)
            self._pointees[key] = Object(name, target, lvalue.type.const, lvalue.object.where, f"(*{source})")
        found = self._pointees[key]
        return Lvalue(found, target, found.const)

    def _make(self, lvalue: Lvalue, where: Place) -> Leaf:
        shape, shiftable, source, ctype = _walk(lvalue, where)
        owner = lvalue.object
        name = ".".join((owner.name, *(step for step in lvalue.path if not step.startswith("@"))))
        if isinstance(ctype, StreamType):
            stream = stream_of(name, ctype, shape, owner.where, where)
            return self._capture(owner, stream, source, ctype, where)
        integer = integer_type(ctype, name, where)
        if owner.table is not None:
            values = _table(owner, lvalue.path, shape)
            if not shape:
                return values[0]
            words = tuple(word(integer.bits, v) for v in values)
            return ir.Array(name, shape, element_type(integer), shiftable, owner.where, words)
        if not shape:
            variable = ir.Variable(name, integer.bits, owner.where)
            return self._capture(owner, variable, source, ctype, where)
        array = ir.Array(name, shape, element_type(integer), shiftable, owner.where)
        return self._capture(owner, array, source, ctype, where)

    def _capture(
        self, owner: Object, what: ir.Variable | ir.Array | ir.Stream, source: str, ctype: CType, where: Place
    ) -> Leaf:
        if owner.source is not None:
            self._check_visible(owner, where)
            self._captured.append(_Capture(what, source, ctype))
        elif isinstance(what, ir.Stream):
            hint = "create the stream outside the kernel block"
            raise MacahError(
                f"stream '{what.name}' is never assigned", where, hint=hint, code="stream-handle"
            )
        return what

    def _check_visible(self, owner: Object, where: Place) -> None:
        """The host names what it copies; so a captured variable must be visible where the kernel stands."""
        if owner.source == owner.name and self.scope.find(owner.name) is not owner:
            message = f"variable '{owner.name}' is not visible where the kernel block stands"
            hint = "rename the variable that hides it, or move a static variable to file scope"
            raise MacahError(message, where, hint=hint, code="not-visible")


def unresolved(name: str, target: CType, where: Place) -> MacahError:
    """The error for a pointer that the kernel cannot capture."""
    hint = f"declare it as an array of known size, '{spell(target, name.split('.')[-1] + '[N]')}'"
    return MacahError(
        f"pointer '{name}' cannot be resolved to one array at compile time",
        where,
        hint=hint,
        code="unresolved-pointer",
    )


def stream_of(
    name: str, ctype: StreamType, shape: tuple[int, ...], declared: Place | None, where: Place
) -> ir.Stream:
    """The IR's stream for a stream handle, or an array of them."""
    words = []
    for _, leaf, offset in scalar_leaves(ctype.element):
        scalar = integer_type(leaf, name, where)
        words.append(ir.Word(offset, scalar.size, scalar.signed))
    if not words:
        raise MacahError(f"the elements of stream '{name}' are empty", where, code="stream-element")
    return ir.Stream(name, ctypes.size_of(ctype.element) or 0, tuple(words), shape, declared)


def integer_type(ctype: CType, name: str, where: Place) -> Integer:
    """`ctype` as a type that a word holds, or an error that says why not."""
    match ctype:
        case Integer(size=16):
            hint = "use 'long long', of 64 bits"
            raise MacahError(
                f"'{name}': type '{ctype}' is wider than kernels support", where, hint=hint, code="wide-type"
            )
        case Integer():
            return ctype
        case Floating():
            raise MacahError(
                f"'{name}' has type '{ctype}': {NO_FLOAT}", where, hint="use integers", code="floating-point"
            )
        case Pointer():
            hint = "use an array and an index, or point it to one array where it is declared"
            raise MacahError(
                f"pointer '{name}' cannot be resolved to one array at compile time",
                where,
                hint=hint,
                code="unresolved-pointer",
            )
        case StructType(kind="union"):
            raise MacahError(
                f"union '{name}' is not supported in a kernel", where, hint="use a struct", code="union"
            )
    raise MacahError(f"'{name}' of type '{ctype}' cannot be used in a kernel", where, code="unsupported-type")


def element_type(ctype: Integer) -> ir.ElementType:
    """How the host stores an integer."""
    return ir.ElementType(8 * ctype.size, ctype.signed)


def _walk(lvalue: Lvalue, where: Place) -> tuple[tuple[int, ...], tuple[bool, ...], str, CType]:
    """The dimensions on the way to a scalar of an object, which are shiftable, its C lvalue, and its type."""
    shape: list[int] = []
    shiftable: list[bool] = []
    source, ctype = lvalue.object.source or "", lvalue.object.type
    names = list(lvalue.path)
    while True:
        match ctype:
            case ArrayType(element, length, shifts):
                if length is None or length < 0:
                    kind = "variable-length array" if length is not None else "array of unknown size"
                    message = f"{kind} '{lvalue.object.name}' cannot be used in a kernel"
                    raise MacahError(
                        message, where, hint="give the array a constant size", code="variable-length-array"
                    )
                source += f"[{{{len(shape)}}}]"
                shape.append(length)
                shiftable.append(shifts)
                ctype = element
            case StructType(kind="struct") if names:
                member = next(m for m in ctype.members if m.name == names[0])
                if member.bitfield:
                    message = f"bit-field '{member.name}' is not supported in a kernel"
                    raise MacahError(message, where, hint="use an ordinary member", code="bit-field")
                source, ctype = _source(source, (names.pop(0),)), member.type
            case _:
                flags = tuple(shiftable) if any(shiftable) else ()
                return tuple(shape), flags, source, ctype


def _source(base: str, path: tuple[str, ...]) -> str:
    return ".".join((base, *(name for name in path if not name.startswith("@"))))


def _table(owner: Object, path: tuple[str, ...], shape: tuple[int, ...]) -> list[int]:
    assert owner.table is not None
    return [owner.table.get((path, index), 0) for index in product(*map(range, shape))]
