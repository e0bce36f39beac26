"""Where the members of structs and the scalars of values stand in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from macah.ctypes import ArrayType, CType, Integer, Member, Pointer, StreamType, StructType, align_of, size_of
from macah.diagnostic import MacahError
from macah.lower_packing import PLAIN, Packing
from macah.program import place_of
from macah.syntax import RECEIVE_FIRST


@dataclass(slots=True)
class Layout:
    """Places members one after the other, as the x86-64 and aarch64 ABIs do.

    `packing` is what the struct's attributes say; `limit` the largest alignment that `#pragma pack` allows,
    or 0.
    """

    is_union: bool
    packing: Packing = PLAIN
    limit: int = 0
    members: list[Member] = field(default_factory=list)
    bit: int = 0
    size: int = 0
    align: int = 1

    def add(self, name: str, ctype: CType, const: bool = False, own: Packing = PLAIN) -> None:
        """Place an ordinary member; `own` is what its own attributes say."""
        align = max(1 if self.packing.packed or own.packed else align_of(ctype), own.align)
        if self.limit:
            align = min(align, self.limit)
        offset = 0 if self.is_union else -(-self.bit // (8 * align)) * align
        self._placed(Member(name, ctype, offset, const), align, 8 * (offset + (size_of(ctype) or 0)))

    def add_bits(self, name: str, ctype: Integer, width: int, const: bool = False) -> None:
        """Place a bit-field; one of width 0 ends the storage unit."""
        unit = 8 * ctype.size
        start = 0 if self.is_union else self.bit
        tight = self.packing.packed or (0 < self.limit < ctype.size)
        if width == 0 or (not tight and start // unit != (start + width - 1) // unit):
            start = -(-start // unit) * unit
        align = ctype.size if name and not self.packing.packed else 1
        if self.limit:
            align = min(align, self.limit)
        if width < unit and not ctype.is_bool:
            ctype = replace(ctype, width=width)
        self._placed(Member(name, ctype, start // unit * ctype.size, const, start), align, start + width)

    def _placed(self, member: Member, align: int, end: int) -> None:
        self.members.append(member)
        self.align = max(self.align, align)
        self.bit = end
        self.size = max(self.size, -(-end // 8))

    def finish(self, struct: StructType) -> None:
        """Complete `struct` with what was placed."""
        struct.members = tuple(m for m in self.members if m.name or not m.bitfield)
        struct.align = max(self.align, self.packing.align)
        struct.size = -(-self.size // struct.align) * struct.align
        struct.complete = True


def scalar_leaves(ctype: CType, offset: int = 0) -> Iterator[tuple[tuple[str | int, ...], CType, int]]:
    """The scalars of a value of `ctype`: the steps to each, by member and index, its type and offset."""
    match ctype:
        case StructType():
            for member in ctype.members:
                for steps, leaf, at in scalar_leaves(member.type, offset + member.offset):
                    yield (member.name, *steps), leaf, at
        case ArrayType(element, length):
            for i in range(length or 0):
                for steps, leaf, at in scalar_leaves(element, offset + i * (size_of(element) or 0)):
                    yield (i, *steps), leaf, at
        case _:
            yield (), ctype, offset


def member_path(ctype: CType, name: str, node: Any) -> tuple[Member, ...]:
    """The way to a member of a struct value, or gcc's error."""
    if not isinstance(ctype, StructType):
        message = f"request for member '{name}' in something not a structure or union"
        hint = "use '->'" if isinstance(ctype, Pointer) else ""
        if isinstance(ctype, StreamType):
            hint = RECEIVE_FIRST
        raise MacahError(message, place_of(node), hint=hint, code="no-member")
    if not ctype.complete:
        raise MacahError(f"invalid use of incomplete type '{ctype}'", place_of(node), code="incomplete-type")
    path = ctype.find(name)
    if not path:
        raise MacahError(f"'{ctype}' has no member named '{name}'", place_of(node), code="no-member")
    return path
