"""What changes the layout of structs: GNU attributes, `_Alignas` and `#pragma pack`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from macah.diagnostic import MacahError
from macah.program import place_of, walk

_PACKED = re.compile(r"\b(__)?packed\b|\b__packed__\b")
_ALIGNED = re.compile(r"\b(?:aligned|__aligned__)\b\s*(\()?")
_LITERAL = re.compile(r"\(\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*\)")
_PRAGMA = re.compile(r"pack\s*\(\s*(?:(push|pop)\b)?\s*,?\s*([A-Za-z_]\w*)?\s*,?\s*([0-9]+)?\s*\)")
# `aligned` without a number: the largest alignment that the machine has a use for.
_LARGEST = 16


@dataclass(frozen=True, slots=True)
class Packing:
    """How a struct or member is placed: with alignment 1, or at least `align`."""

    packed: bool = False
    align: int = 1


PLAIN = Packing()


def packing_of(node: Any, constant: Callable[[Any], int]) -> Packing:
    """The packing that the attributes of a struct, or of a member and its declarator, ask for."""
    packed, align = False, 1
    for attribute in _attributes(node):
        packed |= bool(_PACKED.search(attribute.arguments or ""))
        align = max(align, *_alignments(attribute))
    for alignas in getattr(node, "align", None) or ():
        if not isinstance(alignas.alignment, c_ast.Typename):
            align = max(align, constant(alignas.alignment))
    return Packing(packed, align)


def _attributes(node: Any) -> Iterator[Any]:
    while isinstance(node, c_ast.Node):
        yield from (a for a in getattr(node, "attributes", None) or () if a.name == "__attribute__")
        # Those of a struct that a member has as its type are of that struct.
        inner = getattr(node, "type", None)
        node = inner if isinstance(inner, c_ast.TypeDecl | c_ast.ArrayDecl | c_ast.PtrDecl) else None


def _alignments(attribute: Any) -> Iterator[int]:
    yield 1
    text = attribute.arguments or ""
    for match in _ALIGNED.finditer(text):
        if match[1] is None:
            yield _LARGEST
        elif number := _LITERAL.match(text, match.start(1)):
            yield int(number[1], 0)
        else:
            hint = "write the number of bytes"
            raise MacahError(
                "this alignment is not supported where a kernel needs it",
                place_of(attribute),
                hint=hint,
                code="alignment",
            )


@lru_cache(maxsize=1)
def pragma_packing(unit: Any) -> dict[int, int]:
    """The largest alignment of members, by the `id` of each struct under a `#pragma pack`."""
    limits: dict[int, int] = {}
    now, kept = 0, list[tuple[str, int]]()
    for node in walk(unit):
        match node:
            case c_ast.Pragma(string=str(text)) if text.lstrip().startswith("pack"):
                now = _packed_by(text.strip(), now, kept)
            case c_ast.Struct() | c_ast.Union() if now:
                limits[id(node)] = now
    return limits


def _packed_by(text: str, now: int, kept: list[tuple[str, int]]) -> int:
    """The limit behind a `#pragma pack`; 0 if there is none."""
    match = _PRAGMA.match(text)
    if match is None:
        return now
    action, name, number = match.groups()
    if action == "push":
        kept.append((name or "", now))
        return int(number) if number else now
    if action == "pop":
        while kept:
            label, now = kept.pop()
            if not name or label == name:
                break
        return int(number) if number else now
    return int(number or 0)
