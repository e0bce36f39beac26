"""What the host calls the variables, and the parts of variables, that a kernel captures: C lvalues as text.

Where an index belongs there is `{0}`, `{1}` and so on, one for each dimension.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.ctypes import ArrayType, CType, Integer, StructType
from macah.diagnostic import MacahError, Place
from macah.lower_units import As
from macah.lower_values import Lvalue


def flattened(lvalue: Lvalue, where: Place) -> tuple[tuple[int, ...], tuple[bool, ...], str, CType]:
    """The dimensions on the way to a scalar of an object, which are shiftable, its C lvalue, and its type."""
    shape: list[int] = []
    shiftable: list[bool] = []
    source, ctype = lvalue.object.source or "", lvalue.object.type
    names = list(lvalue.path)
    while True:
        match ctype:
            case ArrayType(element, length, shifts):
                if length is None or length <= 0:
                    path = (lvalue.object.name, *lvalue.path)
                    name = path[len(path) - len(names) - 1]
                    kind = "variable-length array" if (length or 0) < 0 else "array of unknown size"
                    message = f"{kind} '{name}' cannot be used in a kernel"
                    raise MacahError(
                        message, where, hint="give the array a constant size", code="variable-length-array"
                    )
                source += f"[{{{len(shape)}}}]"
                shape.append(length)
                shiftable.append(shifts)
                ctype = element
            case StructType(kind="struct") if names:
                member = ctype.named[names[0]]
                source, ctype = source_of(source, (names.pop(0),)), member.type
            case _:
                flags = tuple(shiftable) if any(shiftable) else ()
                return tuple(shape), flags, source, ctype


def source_of(base: str, path: tuple[str, ...]) -> str:
    """The C lvalue of a member of `base`; members without a name (`@…`) are not written."""
    return ".".join((base, *(name for name in path if not name.startswith("@"))))


def named_beginning(ctype: CType) -> tuple[str, ...]:
    """The way to a member with a name, at the beginning of a union without one; () if there is none."""
    assert isinstance(ctype, StructType), ctype
    for member in ctype.members:
        if member.offset == 0 and not member.bitfield:
            if not member.name.startswith("@"):
                return (member.name,)
            if inner := named_beginning(member.type):
                return (member.name, *inner)
    return ()


def written_as(lvalue: Lvalue) -> str:
    """The C lvalue of a part of a variable of the host at constant indices."""
    text = lvalue.object.source or ""
    for number, step in enumerate(lvalue.steps):
        match step:
            case ir.Const(value):
                text += f"[{value}]"
            case str() if not step.startswith("@"):
                text += f".{step}"
            case As():
                return beginning(text, replace(lvalue, steps=lvalue.steps[:number]).whole)
            case _:
                pass
    return text


def beginning(source: str, ctype: CType) -> str:
    """The C lvalue of what a variable begins with: that of an array that is a parameter is not `&source`."""
    return f"{source}[0]" if isinstance(ctype, ArrayType) else source


def unit_source(source: str, unit: Integer, index: str) -> str:
    """The C lvalue of one unit of what begins as `source` does; its struct may alias anything."""
    word = f"__UINT{8 * unit.size}_TYPE__"
    return f"((struct __attribute__((__packed__, __may_alias__)) {{ {word} word; }} *)&{source}){index}.word"
