"""Where the scalars of a stream's elements are, as the runtime's traces want to know it.

A scalar is `i16`, `u8`, `f32`; a struct `{i8@0 u16@2}/4`: members with their offsets, and the size; an array
`[4]i32`. Nothing is said of what has no such form, as unions and bit-fields: it is traced byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from macah import ctypes
from macah.ctypes import ArrayType, CType, Floating, Integer, StructType
from macah.diagnostic import MacahError

if TYPE_CHECKING:
    from macah.translate_walk import Translator


def element_layout(translator: Translator, node: Any, within: Any, of_stream: bool = False) -> str:
    """The layout of the type that `node` names in the function `within`, or of that stream type's elements,
    as a string literal of C."""
    declarations = translator.declarations
    try:
        scope = declarations.file if within is None else declarations.scope_at(within, node)
        ctype, _ = declarations.read_type(node, scope)
        if of_stream:
            assert isinstance(ctype, ctypes.StreamType)
            ctype = ctype.element
        return f'"{layout_of(ctype)}"'
    except MacahError:
        return '""'


def layout_of(ctype: CType) -> str:
    """The layout of an element; "" if it has none."""
    match ctype:
        case Integer(size=size, signed=signed) if size <= 8:
            return f"{'i' if signed else 'u'}{8 * size}"
        case Floating(size=size) if size <= 8:
            return f"f{8 * size}"
        case ArrayType(element, int(length)) if length > 0:
            inner = layout_of(element)
            return f"[{length}]{inner}" if inner else ""
        case StructType(kind="struct", complete=True, members=members) if members:
            parts = [layout_of(m.type) for m in members]
            if not all(parts) or any(m.bitfield for m in members):
                return ""
            fields = " ".join(f"{part}@{m.offset}" for part, m in zip(parts, members, strict=True))
            return f"{{{fields}}}/{ctype.size}"
    return ""
