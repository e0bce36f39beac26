"""Initialisers: which scalar gets which expression, by C's rules for braces and designators."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from pycparser import c_ast

from macah.ctypes import ArrayType, CType, StructType, compatible
from macah.diagnostic import MacahError
from macah.lower_constants import string_units
from macah.lower_layout import member_path
from macah.lower_scope import Scope
from macah.lower_typeof import Analyzer
from macah.program import has_effects, place_of
from macah.syntax import Range

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One initialised scalar, or struct if `value` is a struct; `value` is a node, or a character's code."""

    steps: Steps
    type: CType
    value: Any


@dataclass(slots=True)
class InitializerReader:
    """Flattens one initialiser into `items`."""

    types: Analyzer
    scope: Scope
    items: list[Item] = field(default_factory=list)

    def read(self, ctype: CType, node: Any) -> CType:
        """Reads the initialiser of a variable; returns its type, with its length if that was not given."""
        length = self._whole(ctype, node, ())
        if isinstance(ctype, ArrayType) and ctype.length is None:
            return replace(ctype, length=length)
        return ctype

    def _whole(self, ctype: CType, node: Any, steps: Steps) -> int:
        """Initialises a whole object; returns how many elements an array of unknown length has."""
        if isinstance(ctype, ArrayType) and (string := _string_of(ctype, node)):
            return self._string(ctype, string, steps)
        if isinstance(node, c_ast.InitList):
            if isinstance(ctype, ArrayType | StructType):
                return self._list(ctype, node, steps)
            if len(node.exprs) != 1:
                raise MacahError("a scalar has one initializer", place_of(node), code="initializer")
            return self._whole(ctype, node.exprs[0], steps)
        if isinstance(ctype, ArrayType):
            raise MacahError("invalid initializer", place_of(node), code="initializer")
        self.items.append(Item(steps, ctype, node))
        return 0

    def _list(self, ctype: ArrayType | StructType, node: Any, steps: Steps) -> int:
        waiting = deque(node.exprs)
        position = extent = 0
        while waiting:
            if isinstance(waiting[0], c_ast.NamedInitializer):
                position = self._designated(ctype, waiting.popleft(), steps, bool(waiting) and waiting[0])
            else:
                child = _child(ctype, position)
                if child is None:
                    kind = "array" if isinstance(ctype, ArrayType) else "struct"
                    raise MacahError(
                        f"excess elements in {kind} initializer", place_of(waiting[0]), code="initializer"
                    )
                self._elided(child[1], waiting, (*steps, child[0]))
            position += 1
            extent = max(extent, position)
        return extent

    def _designated(self, ctype: CType, node: Any, steps: Steps, following: Any) -> int:
        """Initialises what a designator names; returns the position in `ctype` of the last one."""
        position, ways = 0, [steps]
        for depth, designator in enumerate(node.name):
            if isinstance(designator, c_ast.ArrayDesignator) and isinstance(ctype, ArrayType):
                indices = self._indices(ctype, designator)
                position = position if depth else indices[-1]
                ctype, ways = ctype.element, [(*way, index) for way in ways for index in indices]
            elif isinstance(designator, c_ast.ID) and isinstance(ctype, StructType):
                members = member_path(ctype, designator.name, designator)
                position = position if depth else ctype.members.index(members[0])
                ctype, ways = members[-1].type, [(*way, *(m.name for m in members)) for way in ways]
            else:
                raise MacahError(
                    "the designator does not fit the type", place_of(designator), code="initializer"
                )
        if len(node.name) > 1 and following and not isinstance(following, c_ast.NamedInitializer):
            hint = "give the next initializer a designator too, or use nested braces"
            message = "an initializer without designator behind a nested designator is not supported"
            raise MacahError(message, place_of(following), hint=hint, code="initializer")
        if len(ways) > 1 and has_effects(node.expr):
            message = "an initializer of several elements cannot have a side effect in a kernel"
            raise MacahError(message, place_of(node.expr), hint="compute it before", code="initializer")
        for way in ways:
            self._whole(ctype, node.expr, way)
        return position

    def _indices(self, ctype: ArrayType, designator: Any) -> range:
        """The elements that `[2]` or, in GNU C, `[2 ... 4]` names."""
        ends = (designator.expr.low, designator.expr.high) if isinstance(designator.expr, Range) else ()
        low, high = [self.types.constant(end, self.scope) for end in ends or (designator.expr,) * 2]
        if low < 0 or ctype.length is not None and high >= ctype.length:
            message = "array index in initializer exceeds array bounds"
            raise MacahError(message, place_of(designator), code="initializer")
        if high < low:
            raise MacahError("empty index range in initializer", place_of(designator), code="initializer")
        return range(low, high + 1)

    def _elided(self, ctype: CType, waiting: deque[Any], steps: Steps) -> None:
        """Takes from `waiting` what initialises a part whose braces may have been left out."""
        node = waiting[0]
        if not isinstance(ctype, ArrayType | StructType) or self._fits_whole(ctype, node):
            waiting.popleft()
            self._whole(ctype, node, steps)
            return
        position = 0
        while waiting and not isinstance(waiting[0], c_ast.NamedInitializer):
            child = _child(ctype, position)
            if child is None:
                return
            self._elided(child[1], waiting, (*steps, child[0]))
            position += 1

    def _fits_whole(self, ctype: CType, node: Any) -> bool:
        if isinstance(node, c_ast.InitList):
            return True
        if isinstance(ctype, ArrayType):
            return _string_of(ctype, node) is not None
        try:
            return compatible(self.types.type_of(node, self.scope), ctype)
        except MacahError:
            return False

    def _string(self, ctype: ArrayType, string: Any, steps: Steps) -> int:
        units = [*string_units(string.value)[1], 0]
        if ctype.length is not None:
            if len(units) - 1 > ctype.length:
                raise MacahError(
                    "initializer-string for the array is too long", place_of(string), code="initializer"
                )
            units = units[: ctype.length]
        self.items += [Item((*steps, i), ctype.element, unit) for i, unit in enumerate(units)]
        return len(units)


def _child(ctype: CType, position: int) -> tuple[str | int, CType] | None:
    match ctype:
        case ArrayType(element, length):
            return (position, element) if length is None or position < length else None
        case StructType(members=members, kind=kind):
            last = 1 if kind == "union" else len(members)
            return (members[position].name, members[position].type) if position < last else None
        case _:
            return None


def _string_of(ctype: ArrayType, node: Any) -> Any:
    """The string constant that initialises an array of characters, if `node` is one."""
    if isinstance(node, c_ast.InitList) and len(node.exprs) == 1:
        node = node.exprs[0]
    if not isinstance(node, c_ast.Constant) or not node.value.endswith('"'):
        return None
    element = string_units(node.value)[0]
    fits = getattr(ctype.element, "size", 0) == element.size and not isinstance(ctype.element, StructType)
    return node if fits else None
