"""C's types as what a kernel holds in words: integers, elements of arrays and streams, or why not."""

from __future__ import annotations

import re

from macah import ctypes, ir
from macah.ctypes import CType, Floating, Integer, Pointer, StreamType, StructType, size_of, spell
from macah.diagnostic import MacahError, Note, Place
from macah.lower_layout import scalar_leaves
from macah.lower_units import overlaps, unit_of

NO_FLOAT = "floating point is not supported on this architecture"


def unresolved(name: str, target: CType, where: Place, notes: tuple[Note, ...] = ()) -> MacahError:
    """The error for a pointer that the kernel cannot capture."""
    unknown = iter("MLK")
    spelled = spell(target, name.split(".")[-1] + "[N]")
    spelled = re.sub(r"\[\*?\]", lambda _: f"[{next(unknown, '…')}]", spelled)
    hint = f"declare it as an array of known size, '{spelled}'"
    if isinstance(target, ctypes.Void | ctypes.FunctionType):
        hint = "declare it as an array of a known type and size"
    if isinstance(target, Pointer):
        hint = "keep indices into one array in place of these pointers"
    return MacahError(
        f"pointer '{name}' cannot be resolved to one array at compile time",
        where,
        notes,
        hint,
        code="unresolved-pointer",
    )


def stream_of(
    name: str, ctype: StreamType, shape: tuple[int, ...], declared: Place | None, where: Place
) -> ir.Stream:
    """The IR's stream for a stream handle, or an array of them."""
    words = []
    unit = unit_of(ctype.element) if overlaps(ctype.element) else None
    for _, leaf, offset in scalar_leaves(ctype.element):
        scalar = integer_type(leaf, name, where)
        words.append(ir.Word(offset, scalar.size, scalar.signed))
    if unit is not None:
        size = size_of(ctype.element) or 0
        words = [ir.Word(offset, unit.size, False) for offset in range(0, size, unit.size)]
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
                f"union '{name}' is not supported in a kernel",
                where,
                hint="use a struct",
                code="unsupported-type",
            )
    raise MacahError(f"'{name}' of type '{ctype}' cannot be used in a kernel", where, code="unsupported-type")


def element_type(ctype: Integer) -> ir.ElementType:
    """How the host stores an integer."""
    return ir.ElementType(8 * ctype.size, ctype.signed)
