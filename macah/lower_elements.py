"""Stream elements whose scalars share bytes: bit-fields and unions travel in units.

v.b <? s;    becomes    receive units; element = units; v = element;
"""

from __future__ import annotations

from dataclasses import dataclass

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, size_of
from macah.diagnostic import Place
from macah.lower_lvalues import Lvalues
from macah.lower_scope import Object
from macah.lower_units import As, unit_of
from macah.lower_values import Lvalue, Rvalue


@dataclass(frozen=True, slots=True)
class Element:
    """A stream's element as a variable, and its units."""

    whole: Lvalue
    units: tuple[Lvalue, ...]
    unit: Integer


def element_of(ctype: CType, where: Place) -> Element:
    """A variable for an element of a stream."""
    owner = Object("element", ctype, where=where, raw=True)
    whole = Lvalue(owner, ctype)
    unit = unit_of(ctype)
    count = (size_of(ctype) or 0) // unit.size
    units = Lvalue(owner, ArrayType(unit, count), steps=(As(ArrayType(unit, count)),))
    return Element(whole, tuple(units.element(ir.Const(i)) for i in range(count)), unit)


class Elements(Lvalues):
    """Sending and receiving elements in units."""

    def packed(self, value: Lvalue, element: Element, where: Place) -> tuple[ir.Expr, ...]:
        """The units of a value."""
        for unit in element.units:
            self.store(unit, ir.FALSE, ctypes.INT, where)
        self.copy(element.whole, value, where)
        words = []
        for unit in element.units:
            loaded = self.load(unit, where)
            assert isinstance(loaded, Rvalue), unit
            words.append(loaded.expr)
        return tuple(words)

    def unpack(self, words: tuple[ir.Variable, ...], element: Element, target: Lvalue, where: Place) -> None:
        """Assign received units."""
        for word, unit in zip(words, element.units, strict=True):
            self.store(unit, ir.Read(word), element.unit, where)
        self.copy(target, element.whole, where)
