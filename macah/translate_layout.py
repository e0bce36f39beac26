"""Where the scalars of a stream's elements are, as the runtime's traces want to know it.

A scalar is `i16`, `u8`, `f32`; a struct `{i8@0 u16@2}/4`: members with their offsets, and the size; an array
`[4]i32`. What has no such form, as unions and bit-fields, is traced byte by byte: `m07ff` says which bits of
these mean something, as those between members may differ from run to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from macah import ctypes
from macah.ctypes import ArrayType, CType, Floating, Integer, Member, StructType
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
        return f'"{layout_of(ctype) or _mask_text(ctype)}"'
    except MacahError:
        return '""'


def _mask_text(ctype: CType) -> str:
    mask = mask_of(ctype)
    return "" if mask is None else f"m{mask.hex()}"


def mask_of(ctype: CType) -> bytes | None:
    """The bits that mean something in an element's bytes (of a little-endian host), or None."""
    match ctype:
        case Integer(size=size) | Floating(size=size) if size <= 8:
            return b"\xff" * size
        case ArrayType(element, int(length)) if length > 0:
            inner = mask_of(element)
            return None if inner is None else inner * length
        case StructType(complete=True, members=members) if members:
            bits = 0
            for member in members:
                mask = _bits_of(member)
                if mask is None:
                    return None
                bits |= mask
            return bits.to_bytes(ctype.size, "little")
    return None


def _bits_of(member: Member) -> int | None:
    """The same for a member, as a number, at its place."""
    if member.bit is not None and isinstance(member.type, Integer):
        return ((1 << member.type.precision) - 1) << member.bit
    mask = mask_of(member.type)
    return None if mask is None else int.from_bytes(mask, "little") << 8 * member.offset


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
