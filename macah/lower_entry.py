"""Host variables that a kernel finds as their declarations made them: they need not be copied in.

    unsigned a = 1;                             unsigned a = 1;
    kernel { while (…) a = (a + x) % 65521; }   kernel { a = 1; while (…) a = (a + x) % 65521; }

Else nothing would be known of `a` in the first iteration, and so of none. What is declared without an
initialiser, and nothing has given a value since, need not be copied in either: `int d[^5^]; kernel { … }`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pycparser import c_ast

from arch.ops import word
from macah.ctypes import Integer
from macah.diagnostic import MacahError
from macah.ir import Const
from macah.lower_dead import JUMPS, LOOPS, is_automatic
from macah.lower_declarations import Declarations
from macah.lower_scope import Object
from macah.program import KernelSite, walk
from macah.syntax import KernelBlock

_BORDERS = (*LOOPS, c_ast.Case, c_ast.Default, c_ast.FuncDef)
"""In one of these a kernel block may run again, or without a declaration before it having been met."""


class Entry:
    """What is known of variables at the entry of a kernel."""

    def __init__(self, site: KernelSite, types: Declarations) -> None:
        self._untouched = _untouched(site.function).get(id(site.node), frozenset())
        self._types = types

    def is_unset(self, owner: Object) -> bool:
        """Whether nothing has given a variable a value, so that the kernel may find any in it."""
        if owner.origin is None:
            return False
        declaration = owner.origin[0]
        untouched = id(declaration) in self._untouched and declaration.init is None
        return untouched and not _is_volatile(declaration.type)

    def value(self, owner: Object) -> Const | None:
        """The value of a variable, if it is always the same one."""
        if owner.origin is None:
            return None
        declaration, scope = owner.origin
        if id(declaration) not in self._untouched or declaration.init is None:
            return None
        if not isinstance(owner.type, Integer) or "volatile" in declaration.quals:
            return None
        try:
            value = self._types.constant(declaration.init, scope)
        except MacahError:
            return None
        bits = owner.type.bits
        return Const(word(bits, owner.type.wrap(value)), bits)


@lru_cache(maxsize=1)
def _untouched(function: Any) -> dict[int, frozenset[int]]:
    """For each kernel block, by `id`, the declarations it always comes after, with no mention between."""
    survey = _Survey()
    survey.visit(function)
    return {} if survey.jumps else survey.found


def _is_volatile(kind: Any) -> bool:
    """Whether the type of a declaration says that something else may write there."""
    return any("volatile" in (getattr(node, "quals", None) or ()) for node in walk(kind))


class _Survey:
    """Walks a function in the order of its text."""

    def __init__(self) -> None:
        self.found: dict[int, frozenset[int]] = {}
        self.jumps = False
        self._around: list[dict[str, Any]] = [{}]  # by name; the last is what nothing has come between

    def visit(self, node: Any) -> None:
        """Note what comes before the kernel blocks in a part of the function."""
        match node:
            case KernelBlock():
                self.found[id(node)] = frozenset(map(id, self._around[-1].values()))
                jumps = self.jumps
                self._children(node)
                self.jumps = jumps  # those in a kernel stay in it
            case c_ast.ID():
                for known in self._around:
                    known.pop(node.name, None)
            case c_ast.Compound():
                for item in node.block_items or ():
                    self.visit(item)
                    if isinstance(item, c_ast.Decl) and is_automatic(item):
                        self._around[-1][item.name] = item
            case _ if isinstance(node, _BORDERS):
                self._around.append({})
                self._children(node)
                self._around.pop()
            case _:
                self.jumps = self.jumps or isinstance(node, JUMPS)
                self._children(node)

    def _children(self, node: Any) -> None:
        for child in node:
            self.visit(child)
