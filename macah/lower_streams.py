"""Sends, receives, closing streams, and shifts of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Floating, Integer, StreamType, compatible
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, convert, index_word, negation
from macah.lower_base import type_text
from macah.lower_elements import Elements, element_of
from macah.lower_expressions import Expressions
from macah.lower_layout import scalar_leaves
from macah.lower_operators import NOTHING
from macah.lower_units import overlaps
from macah.lower_values import Lvalue, Rvalue, Value
from macah.lower_words import integer_type
from macah.program import place_of
from macah.syntax import RECEIVE_FIRST, TRANSFERS


@dataclass(frozen=True, slots=True)
class _Part:
    """One word of a received element: `target` gets it, by way of `word` if that is not direct."""

    target: Lvalue
    element: Integer
    word: ir.Variable
    direct: bool


class Streams(Expressions, Elements):
    """Stream operations and shifts."""

    def stream(self, node: Any, hint: str = "") -> tuple[ir.Stream, tuple[ir.Expr, ...], CType]:
        """The stream that an expression is, its index, and the type of its elements."""
        value = self.value(node)
        if not isinstance(value, Lvalue) or not isinstance(value.type, StreamType):
            message = f"expected a stream, have a value of type '{type_text(value)}'"
            match value:
                case Lvalue(type=ArrayType(element=StreamType())):
                    hint = "name one of the array's elements"
            raise MacahError(message, place_of(node), hint=hint, code="not-a-stream")
        _refuse_pointers(value.type.element, place_of(node))
        leaf = self.storage.leaf(value, place_of(node))
        assert isinstance(leaf, ir.Stream), leaf
        return leaf, value.index, value.type.element

    def send(self, node: Any) -> None:
        """`s <! e` and `w :: s <! e`."""
        where = place_of(node)
        worked = self.lvalue(node.worked, "left operand of '::'") if node.worked else None
        stream, index, element = self.stream(node.stream, TRANSFERS)
        value = self.rvalue(node.value)
        values: list[ir.Expr] = []
        match element, value:
            case Integer(), Rvalue(type=Integer() as source):
                values.append(convert(value.expr, source, element))
            case ctypes.StructType(), Lvalue() if compatible(element, value.type) and overlaps(element):
                values += self.packed(value, element_of(element, where), where)
            case ctypes.StructType(), Lvalue() if compatible(element, value.type):
                for part in _scalars(value):
                    loaded = self.load(part, where)
                    assert isinstance(loaded, Rvalue), part
                    values.append(loaded.expr)
            case _:
                message = f"incompatible types when sending type '{type_text(value)}' to '{element} stream'"
                hint = RECEIVE_FIRST if isinstance(value.type, ctypes.StreamType) else ""
                raise MacahError(message, where, hint=hint, code="incompatible-types")
        flag = self._flag(worked, where)
        self.emit(ir.Send(stream, index, tuple(values), flag, where=where))
        self._set_worked(worked, flag, where)

    def receive(self, node: Any) -> None:
        """`x <? s` and `w :: x <? s`."""
        where = place_of(node)
        worked = self.lvalue(node.worked, "left operand of '::'") if node.worked else None
        target = self.lvalue(node.target, "left operand of '<?'")
        stream, index, element = self.stream(node.stream, TRANSFERS)
        self._check_receive(target, element, where)
        target = self.steady(target, target, where)
        if overlaps(element):
            self._receive_units(target, worked, stream, index, element, where)
            return
        parts = self._parts(target, element, where)
        words = tuple(part.word for part in parts)
        indirect = [part for part in parts if not part.direct]
        if worked is not None:
            own = self.storage.leaf(worked, where) if isinstance(worked.type, Integer) else None
            flag = self._flag(worked, where, fresh=bool(indirect) or own in words)
            self.emit(ir.Receive(stream, index, words, flag, where=where))
            self._store_if(flag, indirect, where)
            self._set_worked(worked, flag, where)
        elif any(p.target.type.size == 8 and p.element.bits == 32 for p in self._kept_parts(indirect)):
            self._receive_or_end(stream, index, words, indirect, where)
        else:
            if self.streams_end:
                self._preload(indirect, where)
            else:
                self._renew(indirect, where)
                self.received |= {part.word for part in parts if part.direct}
            self.emit(ir.Receive(stream, index, words, where=where))
            for part in indirect:
                self.store(part.target, ir.Read(part.word), part.element, where)

    def _receive_units(
        self,
        target: Lvalue,
        worked: Lvalue | None,
        stream: ir.Stream,
        index: tuple[ir.Expr, ...],
        ctype: CType,
        where: Place,
    ) -> None:
        """Receive an element with bit-fields or unions."""
        element = element_of(ctype, where)
        words = tuple(self.variable("received", element.unit.bits, where) for _ in element.units)
        flag = self._flag(worked, where, fresh=True)
        if flag is None and self.streams_end:
            for word, old in zip(words, self.packed(target, element, where), strict=True):
                self.emit(ir.Assign(word, old, where))
        self.emit(ir.Receive(stream, index, words, flag, where=where))
        with self.collected() as unpacked:
            self.unpack(words, element, target, where)
        self.body += unpacked if flag is None else [ir.If(ir.Read(flag), tuple(unpacked), where=where)]
        self._set_worked(worked, flag, where)

    def _check_receive(self, target: Lvalue, element: CType, where: Place) -> None:
        if target.const:
            raise MacahError(
                f"receive into read-only variable '{target.object.name}'", where, code="read-only"
            )
        both_integers = isinstance(target.type, Integer) and isinstance(element, Integer)
        if not both_integers and not (
            compatible(target.type, element) and isinstance(element, ctypes.StructType)
        ):
            if not isinstance(element, ctypes.StructType):
                integer_type(element, "the stream's element", where)
                if isinstance(target.type, Floating):
                    integer_type(target.type, target.object.name, where)
            message = f"incompatible types when receiving type '{element}' into type '{target.type}'"
            hint = RECEIVE_FIRST if isinstance(target.type, StreamType) else ""
            raise MacahError(message, where, hint=hint, code="incompatible-types")

    def _parts(self, target: Lvalue, element: CType, where: Place) -> list[_Part]:
        parts = []
        leaves = list(_scalars(target))
        types = [leaf for _, leaf, _ in scalar_leaves(element)]
        for part, ctype in zip(leaves, types, strict=True):
            scalar = integer_type(ctype, target.object.name, where)
            leaf = self.storage.leaf(part, where)
            self.storage.written.add(leaf)
            if isinstance(leaf, ir.Variable) and leaf.bits == scalar.bits:
                direct = convert(ir.Read(leaf), scalar, _integer(part)) == ir.Read(leaf)
                if direct:
                    parts.append(_Part(part, scalar, leaf, True))
                    continue
            word = self.variable("received", scalar.bits, where)
            parts.append(_Part(part, scalar, word, False))
        return parts

    def _kept_parts(self, parts: list[_Part]) -> list[Any]:
        """The parts whose targets' values must survive a receive from a stream that has ended."""
        return parts if self.streams_end else []

    def _preload(self, parts: list[_Part], where: Place) -> None:
        for part in parts:
            old = self.load(part.target, where)
            assert isinstance(old, Rvalue) and isinstance(old.type, Integer), part
            wide = ctypes.LONG if part.element.bits == 64 else ctypes.INT
            self.emit(ir.Assign(part.word, convert(old.expr, old.type, wide), where))

    def _renew(self, parts: list[_Part], where: Place) -> None:
        """What was received last time is not needed where nothing is, and would come round.

        But of an element that becomes a variable, as in unrolled loops, it is what that holds.
        """
        for part in parts:
            indices = [step for step in part.target.steps if isinstance(step, ir.Expr)]
            if all(isinstance(index, ir.Const) for index in indices):
                continue
            renewed = ir.Assign(part.word, ir.unspecified(part.word.bits), where)
            if self.unrolling:
                self.fresh.append(renewed)
            else:
                self.emit(renewed)

    def _store_if(self, flag: ir.Variable | None, parts: list[_Part], where: Place) -> None:
        with self.collected() as stores:
            for part in parts:
                self.store(part.target, ir.Read(part.word), part.element, where)
        if stores and flag is not None:
            self.emit(ir.If(ir.Read(flag), tuple(stores), where=where))

    def _receive_or_end(
        self,
        stream: ir.Stream,
        index: tuple[ir.Expr, ...],
        words: tuple[ir.Variable, ...],
        indirect: list[_Part],
        where: Place,
    ) -> None:
        """A blocking receive into a wider variable, which a word cannot preserve if the stream has ended."""
        worked, ended = self.variable("worked", 32, where), self.variable("ended", 32, where)
        receive = ir.Receive(stream, index, words, worked, where=where)
        again = apply("and", negation(ir.Read(worked)), negation(ir.Read(ended)))
        self.emit(ir.DoWhile((receive, ir.Ended(stream, index, ended, where=where)), again, where=where))
        self._store_if(worked, indirect, where)

    def _flag(self, worked: Lvalue | None, where: Place, fresh: bool = False) -> ir.Variable | None:
        """The variable that a non-blocking operation tells its success: the program's own, if it fits."""
        if worked is None:
            return None
        if worked.const:
            raise MacahError(
                f"assignment of read-only variable '{worked.object.name}'", where, code="read-only"
            )
        if not isinstance(worked.type, Integer):
            message = f"the left operand of '::' must be an integer, not of type '{worked.type}'"
            raise MacahError(message, where, code="incompatible-types")
        leaf = self.storage.leaf(worked, where)
        if isinstance(leaf, ir.Variable) and leaf.bits == 32 and not fresh:
            self.storage.written.add(leaf)
            return leaf
        return self.variable("worked", 32, where)

    def _set_worked(self, worked: Lvalue | None, flag: ir.Variable | None, where: Place) -> None:
        if worked is not None and flag is not None:
            self.store(worked, ir.Read(flag), ctypes.INT, where)

    def close(self, node: Any) -> Value:
        """`pstream_close(s)`."""
        stream, index, _ = self.stream(node)
        self.emit(ir.Close(stream, index, where=place_of(node)))
        return NOTHING

    def ended(self, node: Any) -> Value:
        """`pstream_ended(s)`."""
        stream, index, _ = self.stream(node)
        target = self.flag("ended", place_of(node))
        self.emit(ir.Ended(stream, index, target, where=place_of(node)))
        return Rvalue(ctypes.INT, ir.Read(target))

    def shift(self, target: Lvalue, node: Any) -> None:
        where = place_of(node)
        self._check_shift(target, where)
        expr, _ = self.number(node.rvalue)
        amount = index_word(expr)
        if node.op == "<<=":
            amount = apply("neg", amount)
        parts = list(_rows(target))
        if len(parts) > 1:  # one after the other
            target, amount = self.steady(target, target, where), self.keep(amount, "places", where)
        for part in parts:
            leaf = self.storage.leaf(part, where)
            assert isinstance(leaf, ir.Array), leaf
            self.storage.written.add(leaf)
            self.emit(ir.Shift(leaf, target.index, amount, where=where))

    def _check_shift(self, target: Lvalue, where: Place) -> None:
        if target.const:
            raise MacahError(f"shift of read-only array '{target.object.name}'", where, code="read-only")
        ctype = target.type
        while isinstance(ctype, ArrayType):
            if ctype.shiftable:
                return
            ctype = ctype.element
        name = target.object.name
        if isinstance(target.object.type, ArrayType) and target.index:
            message = f"no shiftable dimension of '{name}' is left behind the indices"
        else:
            message = f"array '{name}' is not shiftable"
        raise MacahError(
            message, where, hint=f"declare the dimension to shift as '{name}[^N^]'", code="not-shiftable"
        )


def _scalars(lvalue: Lvalue) -> list[Lvalue]:
    """All scalars of a value, in the order of its layout."""
    match lvalue.type:
        case ctypes.StructType(members=members):
            return [leaf for member in members for leaf in _scalars(lvalue.member(member))]
        case ArrayType(length=length):
            return [leaf for i in range(length or 0) for leaf in _scalars(lvalue.element(ir.Const(i)))]
        case _:
            return [lvalue]


def _rows(lvalue: Lvalue) -> list[Lvalue]:
    """A scalar of each member of an array's elements."""
    match lvalue.type:
        case ctypes.StructType(kind="struct", members=members):
            return [leaf for member in members for leaf in _rows(lvalue.member(member))]
        case ArrayType(length=length):
            return _rows(lvalue.element(ir.Const(0))) if length else []
        case _:
            return [lvalue]


def _integer(lvalue: Lvalue) -> Integer:
    assert isinstance(lvalue.type, Integer), lvalue
    return lvalue.type


def _refuse_pointers(element: CType, where: Place) -> None:
    for steps, ctype, _ in scalar_leaves(element):
        if isinstance(ctype, ctypes.Pointer | StreamType):
            what = "a stream" if isinstance(ctype, StreamType) else "a pointer"
            member = next((str(step) for step in reversed(steps) if isinstance(step, str)), "")
            message = f"the elements of this stream, of type '{element}', have {what} inside, '{member}'"
            raise MacahError(message, where, hint="send an index or the value itself", code="stream-element")
