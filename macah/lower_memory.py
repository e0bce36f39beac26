"""`memcpy` and its like on arrays that the kernel knows: element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StructType, compatible
from macah.diagnostic import MacahError, Place
from macah.lower_addresses import can_be_raw
from macah.lower_arithmetic import apply, convert, index_word
from macah.lower_base import type_text
from macah.lower_bits import Bits
from macah.lower_functions import check_count
from macah.lower_scope import Object
from macah.lower_units import As, overlaps
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.program import place_of

_NAMES = ("memcpy", "memmove", "memset", "memcmp")
MEMORY_FUNCTIONS = frozenset(_NAMES) | {f"__builtin_{name}" for name in _NAMES}


class Memory(Bits):
    """Calls of functions on blocks of memory."""

    def memory_function(self, name: str, arguments: list[Any], where: Place) -> Value:
        """Lower a call of one of `MEMORY_FUNCTIONS`."""
        check_count(name, len(arguments), 3, where)
        what = name.removeprefix("__builtin_")
        first = self._block_at(what, arguments[0])
        to = first = replace(first, target=self.steady(first.target, first.target, where))
        if what == "memset":
            byte, source = self.number(arguments[1])
            byte = self.keep(convert(byte, source, ctypes.UCHAR), "byte", where)
            size = index_word(self.number(arguments[2])[0])
            self._keep_whole(first, size, where)
            first = self._divided(first, size, where)
            self._each_element(
                _element_count(first, size),
                first.target.type,
                where,
                lambda i: self._fill_bytes(self._element_at(first, i, where), byte, where),
            )
            return to
        second = self._block_at(what, arguments[1])
        second = replace(second, target=self.steady(second.target, first.target, where))
        size = index_word(self.number(arguments[2])[0])
        for block in (first, second):
            self._keep_whole(block, size, where)
        if compatible(first.target.type, second.target.type):
            first, second = (self._divided(block, size, where) for block in (first, second))
        else:
            first, second = (self._in_bytes(block, where) for block in (first, second))
        if what == "memcmp":
            first, second = (self._in_scalars(block, where) for block in (first, second))
            return self._compared_blocks(first, second, _element_count(first, size), where)
        count = _element_count(first, size)
        if what == "memmove" and self._may_overlap(first.target, second.target):
            self._move_block(first, second, count, where)
        else:
            self._each_element(
                count, first.target.type, where, lambda i: self._copy_element(first, second, i, where)
            )
        return to

    def _may_overlap(self, a: Lvalue, b: Lvalue) -> bool:
        """Whether two blocks may be in one variable, whichever of several these are in."""
        self.tell_apart(a, b)
        owners = ({one.object, *(other.object for _, other in one.others)} for one in (a, b))
        return bool(set.intersection(*owners))

    def _keep_whole(self, block: Reference, size: ir.Expr, where: Place) -> None:
        """Make sure that what is behind the block's row, if it goes on there, is the next row.

        A memory of its own for each few columns may have something else between them.
        """
        for target in (block.target, *(other for _, other in block.target.others)):
            if _may_leave_row(target, size):
                if self._is_formal(target.object):
                    self.expand_all()
                if isinstance(size, ir.Const) or can_be_raw(target.object.type):
                    self.need_bytes(target, where)

    def _divided(self, block: Reference, size: ir.Expr, where: Place) -> Reference:
        """A block as its elements, or as bytes if its size may be no whole number of them."""
        element = ctypes.size_of(block.target.type) or 1
        return block if _is_multiple(size, element) else self._in_bytes(block, where)

    def _in_bytes(self, block: Reference, where: Place) -> Reference:
        return self.pointer_as(block, Pointer(ctypes.UCHAR), where, cast=True)

    def _in_scalars(self, block: Reference, where: Place) -> Reference:
        """A block whose elements are arrays of integers as these integers."""
        inner = block.target.type
        while isinstance(inner, ArrayType):
            inner = inner.element
        return (
            self.pointer_as(block, Pointer(inner), where, cast=True) if isinstance(inner, Integer) else block
        )

    def _block_at(self, name: str, node: Any) -> Reference:
        value = self.rvalue(node)
        if not isinstance(value, Reference):
            message = f"'{name}' needs a pointer, not a value of type '{type_text(value)}'"
            raise MacahError(message, place_of(node), code="incompatible-types")
        return value

    def _each_element(
        self, count: ir.Expr, element: CType, where: Place, body: Callable[[ir.Expr], None]
    ) -> None:
        if isinstance(count, ir.Const):
            self.for_each(count.value, element, where, body)
        else:
            self.repeat(self.keep(count, "count", where), where, body)

    def _element_at(self, block: Reference, index: ir.Expr, where: Place) -> Lvalue:
        return self.advanced(block, index, where).target

    def _copy_element(self, to: Reference, source: Reference, index: ir.Expr, where: Place) -> None:
        target = self._element_at(to, index, where)
        if target.const:
            raise MacahError("assignment of read-only location", where, code="read-only")
        self.copy(target, self._element_at(source, index, where), where)

    def _move_block(self, to: Reference, source: Reference, count: ir.Expr, where: Place) -> None:
        """Copy a block that may overlap with where it comes from."""
        element = source.target.type
        if isinstance(count, ir.Const):
            ctype = ArrayType(element, count.value)
            moved = Reference(Lvalue(Object("moved", ctype, where=where), ctype).element(ir.Const(0)))
            self._each_element(count, element, where, lambda i: self._copy_element(moved, source, i, where))
            self._each_element(count, element, where, lambda i: self._copy_element(to, moved, i, where))
            return
        # No array holds so many: from the end at which nothing is overwritten that is still to be read.
        there, here = self._places(to, source, where)
        back = self.keep(apply("slt", here, there), "back", where)
        count = self.keep(count, "count", where)
        last = self.keep(apply("sub", count, ir.Const(1)), "last", where)

        def copy(i: ir.Expr) -> None:
            index = self.keep(apply("select", back, apply("sub", last, i), i), "index", where)
            self._copy_element(to, source, index, where)

        self.repeat(count, where, copy)

    def _fill_bytes(self, target: Lvalue, byte: ir.Expr, where: Place) -> None:
        """Set all bytes of a value."""
        if target.const:
            raise MacahError("assignment of read-only location", where, code="read-only")
        match target.type:
            case StructType() as ctype if overlaps(ctype):
                # Bits that members share are filled once.
                first = self._in_bytes(Reference(target), where)
                count = ir.Const(ctypes.size_of(ctype) or 0)
                self._each_element(
                    count,
                    ctypes.UCHAR,
                    where,
                    lambda i: self._fill_bytes(self._element_at(first, i, where), byte, where),
                )
            case StructType(members=members):
                for member in members:
                    self._fill_bytes(target.member(member), byte, where)
            case ArrayType(element=element, length=length):
                self.for_each(
                    length or 0, element, where, lambda i: self._fill_bytes(target.element(i), byte, where)
                )
            case Integer(size=8):
                word = apply("mul", byte, ir.Const(0x01010101))
                low, high = apply("zext32", word, bits=64), apply("zext32", word, bits=64)
                whole = apply("or", apply("shl", high, ir.Const(32), bits=64), low, bits=64)
                self.store(target, whole, ctypes.ULONG, where)
            case Integer():
                self.store(target, apply("mul", byte, ir.Const(0x01010101)), ctypes.UINT, where)
            case Pointer() if byte == ir.Const(0):
                self.bind_null(target, where)
            case ctype:
                raise self._unsupported_block("memset", ctype, where)

    def _compared_blocks(self, a: Reference, b: Reference, count: ir.Expr, where: Place) -> Value:
        ctype = a.target.type
        if not isinstance(ctype, Integer):
            raise self._unsupported_block("memcmp", ctype, where)
        unsigned = {1: ctypes.UCHAR, 2: ctypes.USHORT, 4: ctypes.UINT}.get(ctype.size, ctypes.ULONG)
        result = self.variable("memcmp", 32, where)
        self.emit(ir.Assign(result, ir.Const(0), where))

        def compare(index: ir.Expr) -> None:
            words = []
            for block in (a, b):
                value = self.load(self._element_at(block, index, where), where)
                assert isinstance(value, Rvalue), value
                word = self.keep(convert(value.expr, ctype, unsigned), "word", where)
                words.append(self.keep(self.swapped(word, unsigned, where), "word", where))
            less, more = apply("ult", *words), apply("ult", *reversed(words))
            order = apply("sub", more, less)
            found = apply("select", ir.Read(result), ir.Read(result), order)
            self.emit(ir.Assign(result, found, where))

        self._each_element(count, ctype, where, compare)
        return Rvalue(ctypes.INT, ir.Read(result))

    def _unsupported_block(self, name: str, ctype: CType, where: Place) -> MacahError:
        message = f"'{name}' on elements of type '{ctype}' is not supported in a kernel"
        return MacahError(message, where, hint="use a loop", code="builtin-function")


def _element_count(block: Reference, size: ir.Expr) -> ir.Expr:
    """How many elements a number of bytes is."""
    return apply("udiv", size, ir.Const(ctypes.size_of(block.target.type) or 1))


def _may_leave_row(target: Lvalue, size: ir.Expr) -> bool:
    """Whether so many bytes may be more than what is left of a row of an array of arrays."""
    last = target.steps[-2:]
    if len(last) < 2 or any(isinstance(step, str | As) for step in last):
        return False
    row, index = replace(target, steps=target.steps[:-1]).whole, last[1]
    if not isinstance(row, ArrayType) or row.length is None:
        return False
    match index, size:
        case ir.Const(begin), ir.Const(count):
            return begin * (ctypes.size_of(target.type) or 1) + count > (ctypes.size_of(row) or 0)
        case _:
            return True


def _is_multiple(size: ir.Expr, of: int) -> bool:
    """Whether a number of bytes is certainly one of whole elements."""
    match size:
        case ir.Const(value):
            return value % of == 0
        case ir.Apply("mul", (a, b)):
            return _is_multiple(a, of) or _is_multiple(b, of)
        case ir.Apply("shl", (_, ir.Const(places))):
            return (1 << places) % of == 0
        case ir.Apply("add" | "sub", (a, b)):
            return _is_multiple(a, of) and _is_multiple(b, of)
        case ir.Apply("trunc" | "zext32" | "sext32", (a,)):
            return _is_multiple(a, of)
    return of == 1
