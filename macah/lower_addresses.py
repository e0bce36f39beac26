"""Addresses: arithmetic on pointers, comparisons, and conversions to pointers of other types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StreamType, compatible, size_of
from macah.diagnostic import MacahError, Note, Place
from macah.lower_arithmetic import apply, binary
from macah.lower_base import Base, assigned_names
from macah.lower_facts import Reconsider, key_of
from macah.lower_given import Given, walks_alone
from macah.lower_layout import scalar_leaves
from macah.lower_scope import Object
from macah.lower_units import As, Position, Step, number, position, times, total
from macah.lower_values import Lvalue, Reference, Rvalue, Value
from macah.lower_words import unresolved
from macah.walk import loads_in, variables_in

_RELATIONS = {"<", "<=", ">", ">="}


class Addresses(Base):
    """Values of pointers."""

    def advanced(self, pointer: Reference, by: ir.Expr, where: Place) -> Reference:
        """`pointer + by`."""
        if by == ir.Const(0):
            return pointer
        if pointer.target.others:
            others = tuple((c, self._moved(other, by, where)) for c, other in pointer.target.others)
            main = self._moved(replace(pointer.target, others=()), by, where)
            return replace(pointer, target=replace(main, others=others))
        return replace(pointer, target=self._moved(pointer.target, by, where))

    def _moved(self, target: Lvalue, by: ir.Expr, where: Place) -> Lvalue:
        *before, last = target.steps or ("",)
        if isinstance(last, str | As):
            owner = target.object
            if owner.source is not None and owner.source.startswith("(*"):
                reasons = self.learn_size(self.storage.pointer_to(target))
                raise unresolved(owner.name, target.type, where, reasons)
            raise MacahError(
                f"pointer to '{owner.name}' does not point into an array", where, code="unresolved-pointer"
            )
        index = by if last == ir.Const(0) else apply("add", last, by)
        return replace(target, steps=(*before, index))

    def kept(self, target: Lvalue, name: str, where: Place) -> Lvalue:
        """What a pointer points to now, whatever is assigned later."""
        steps = tuple(s if isinstance(s, str | As) else self.keep(s, name, where) for s in target.steps)
        others = tuple((c, self.kept(other, name, where)) for c, other in target.others)
        return replace(target, steps=steps, others=others)

    def steady(self, part: Lvalue, changing: Lvalue, where: Place) -> Lvalue:
        """What `part` is now, also while what makes up `changing` is assigned one after the other.

        As in `node = list[node.next]`, where the index is one of the numbers that are assigned.
        """
        indices = list(_indices(part))
        if all(isinstance(index, ir.Const) for index in indices):
            return part
        objects = {changing.object, *(other.object for _, other in changing.others)}
        changed: set[object] = {leaf for (owner, _), leaf in self.storage.leaves.items() if owner in objects}
        for (owner, _), pointee in self.pointers.items():
            if owner in objects:
                changed.update(v for index in _indices(pointee.target) for v in variables_in(index))
        if any(not changed.isdisjoint(_looked_at(index)) for index in indices):
            name = part.object.name
            others = tuple((self.keep(c, name, where), other) for c, other in part.others)
            return self.kept(replace(part, others=others), name, where)
        return part

    # --- Comparisons

    def pointer_binary(self, op: str, left: Value, right: Value, where: Place) -> Value | None:
        """`left op right` if one of them is a pointer and the operator takes it, else None."""
        match left, right:
            case Reference(is_void=True), Rvalue(type=Integer()) if op in "+-":
                # GNU C moves it by bytes.
                moved = self.pointer_as(left, Pointer(ctypes.UCHAR), where, cast=True)
                result = self.pointer_binary(op, moved, right, where)
                assert isinstance(result, Reference)
                return replace(result, is_void=True)
            case Reference(), Rvalue(type=Integer()) if op in "+-":
                by = apply("trunc", right.expr) if right.expr.bits == 64 else right.expr
                return self.advanced(left, apply("neg", by) if op == "-" else by, where)
            case Rvalue(type=Integer()), Reference() if op == "+":
                return self.pointer_binary(op, right, left, where)
            case Reference(), Reference() if op == "-":
                first, second = self._places(left, right, where)
                difference = first if second == ir.Const(0) else apply("sub", first, second)
                return Rvalue(ctypes.LONG, apply("sext32", difference, bits=64))
            case Reference(), Reference() if op in _RELATIONS:
                expr, ctype = binary(op, *_pair(self._places(left, right, where)))
                return Rvalue(ctype, expr)
            case Reference(), Reference() if op in {"==", "!="}:
                return _truth(self._same(left, right, where), op)
            case (Reference() as pointer, Rvalue(expr=ir.Const(0))) | (
                Rvalue(expr=ir.Const(0)),
                Reference() as pointer,
            ) if op in {"==", "!="}:
                return _truth(apply("eq", self.is_set(pointer), ir.FALSE), op)
        return None

    def learn_size(self, pointer: Lvalue | None) -> tuple[Note, ...]:
        """Lower the kernel anew if all of the program gives a pointer of the host as many elements.

        It is an array of these then. Returns why that cannot be told, which is found out once.
        """
        if pointer is None or not isinstance(pointer.type, Pointer) or pointer.path != pointer.steps:
            return ()
        key = pointer.object, pointer.path
        if key not in self.facts.unsized:
            given = Given(self.types, self.program.unit)
            found = self._member_given(pointer, given) if pointer.steps else self._array_given(pointer, given)
            if found:
                raise Reconsider
            self.facts.unsized[key] = given.reasons
        return self.facts.unsized[key]

    def _array_given(self, pointer: Lvalue, given: Given) -> bool:
        """Learn the size of a parameter, or of what is allocated; if the kernel moves it, a copy moves."""
        assert isinstance(pointer.type, Pointer), pointer
        owner, target = pointer.object, pointer.type.target
        moves = owner.name in assigned_names(self.block)
        if moves and not walks_alone(self.program.unit, self.enclosing, self.block, owner):
            return False
        array = given.array(self.enclosing, owner, self.block)
        if array is None or (array.length or 0) < (1 if isinstance(target, ArrayType) else 2):
            return False
        sized = replace(owner, type=array, const=pointer.type.const, decayed=True)
        self.storage.scope.replace(owner, sized)
        self.facts.several.clear()  # it may be one of them
        if moves:
            self.facts.walking.append(sized)
        return True

    def _member_given(self, pointer: Lvalue, given: Given) -> bool:
        """Learn the size of the array that a member of a captured struct points to."""
        assert isinstance(pointer.type, Pointer), pointer
        array = given.member(self.enclosing, pointer.path[-1], pointer.type)
        if array is None or (array.length or 0) < 2:
            return False
        self.facts.members[key_of(pointer.object), pointer.path] = array
        return True

    def is_set(self, pointer: Reference) -> ir.Expr:
        """Whether a pointer is not null; what one of the host's points to is copied only then."""
        captured = self.storage.pointer_to(pointer.target)
        if captured is not None and key_of(captured.object) not in self.facts.nullable:
            self.facts.nullable.add(key_of(captured.object))
            raise Reconsider
        return pointer.valid

    def _same(self, a: Reference, b: Reference, where: Place) -> ir.Expr:
        """Whether two pointers are equal."""
        self.tell_apart(a.target, b.target)
        neither = apply("eq", apply("or", a.valid, b.valid), ir.FALSE)
        equal = self._same_place(a, b, where)
        if equal == ir.FALSE:
            return neither
        if a.valid == ir.TRUE and b.valid == ir.TRUE:
            return equal
        both = apply("and", a.valid, b.valid)
        return apply("or", apply("and", both, equal), neither)

    def _same_place(self, a: Reference, b: Reference, where: Place) -> ir.Expr:
        """Whether two pointers that are not null are equal."""
        for one, other in ((a, b), (b, a)):
            if one.target.others:
                (condition, first), *rest = one.target.others
                then = self._same_place(replace(one, target=first), other, where)
                left = replace(one, target=replace(one.target, others=tuple(rest)))
                orelse = self._same_place(left, other, where)
                return then if then == orelse else apply("select", condition, then, orelse)
        if a.target.object is not b.target.object:
            return self._same_on_host(a.target, b.target, where)
        return apply("eq", *self._places(a, b, where))

    def _same_on_host(self, a: Lvalue, b: Lvalue, where: Place) -> ir.Expr:
        """Whether two variables are the same memory: what captured pointers point to may be."""
        p, q = self.storage.pointer_to(a), self.storage.pointer_to(b)
        if p is not None and q is not None:
            return ir.Read(self.storage.host_equality(p, q, where))
        places = self._places_on_host(a, b, where)
        if places is not None:
            return apply("eq", *places)
        if (p or q) and a.object.source is not None and b.object.source is not None:
            name = (p or q or a).object.name
            message = f"whether pointer '{name}' points to a part of another variable is not known here"
            hint = "use an index in place of the pointer"
            raise MacahError(message, where, hint=hint, code="pointer-arrays")
        return ir.FALSE

    def _places_on_host(self, a: Lvalue, b: Lvalue, where: Place) -> tuple[ir.Expr, ir.Expr] | None:
        """The places of two pointers in an array of the host, of which the host knows that of one.

        As in `for (p = from; p != to; p++)`, where `to` is a parameter.
        """
        places: list[ir.Expr] = []
        if a.object is b.object:
            return None
        for one, other in ((a, b), (b, a)):
            last = other.steps[-1] if other.steps else ""
            captured = self.storage.pointer_to(one)
            if isinstance(last, str | As) or other.object.source is None or one.type != other.type:
                continue
            if captured is not None and all(isinstance(step, str | ir.Const) for step in other.steps[:-1]):
                base = replace(other, steps=(*other.steps[:-1], ir.Const(0)))
                offset = ir.Read(self.storage.host_offset(captured, base, where, in_bytes=False))
                places = [offset, last] if one is a else [last, offset]
        return (places[0], places[1]) if places else None

    def _places(self, a: Reference, b: Reference, where: Place) -> tuple[ir.Expr, ir.Expr]:
        """The places of two pointers in one array, as numbers of elements from some common place."""
        if a.is_void or b.is_void:
            a, b = (self.pointer_as(p, Pointer(ctypes.UCHAR), where, cast=True) for p in (a, b))
        first, second = a.target, b.target
        self.tell_apart(first, second)
        several = first.others or second.others
        if not several and (places := self._places_on_host(first, second, where)) is not None:
            return places
        if first.object is not second.object or several:
            raise MacahError("the pointers do not point into the same array", where, code="pointer-arrays")
        if first.steps and second.steps and first.steps[:-1] == second.steps[:-1]:
            x, y = first.steps[-1], second.steps[-1]
            if not isinstance(x, str | As) and not isinstance(y, str | As):
                return x, y
        if self._from_row_to_row(first, second) and can_be_raw(first.object.type):
            self.need_bytes(first, where)
        p, q = (position(v.object.type, v.steps) for v in (first, second))
        terms = (*p.terms, *((expr, -factor) for expr, factor in q.terms if (expr, factor) not in p.terms))
        terms = tuple(t for t in terms if t not in q.terms or t not in p.terms)
        distance = Position(p.start - q.start, terms)
        size = size_of(first.type) or 1
        elements = distance.divided_by(size)
        if elements is None:
            in_bytes = total([*(times(e, f) for e, f in distance.terms), number(distance.start)])
            elements = apply("sdiv", in_bytes, number(size))
        return elements, ir.Const(0)

    def _from_row_to_row(self, a: Lvalue, b: Lvalue) -> bool:
        """Whether who compares two elements of an array of arrays walks through several rows.

        As in `for (p = m[0]; p < m[4]; p++)`, but not in `for (p = m[i]; p < m[i] + 6; p++)`.
        """
        if not (_in_rows(a) and _in_rows(b)):
            return False
        first, second = ([self._begin(step) for step in v.steps[:-1]] for v in (a, b))
        return first != second or _is_beyond(a) or _is_beyond(b)

    def _begin(self, step: Step) -> Step:
        """What the index of a pointer was when it was bound, if it is never bound again."""
        while isinstance(step, ir.Read) and step.variable not in self.storage.written:
            if (bound := self.begins.get(step.variable)) is None:
                break
            step = bound
        return step

    # --- Conversions

    def pointer_as(self, value: Reference, wanted: Pointer, where: Place, cast: bool = False) -> Reference:
        """A pointer converted to another pointer type, by a cast or to and from `void *`."""
        target = wanted.target
        if target == ctypes.VOID:
            return replace(value, is_void=True)
        if compatible(target, value.target.type):
            return replace(value, is_void=False)
        if not cast and not value.is_void:
            message = f"incompatible pointer types: '{wanted}' from '{value.type}'"
            raise MacahError(message, where, code="incompatible-types")
        return replace(value, target=self._seen_as(value.target, target, where), is_void=False)

    def _seen_as(self, lvalue: Lvalue, ctype: CType, where: Place) -> Lvalue:
        """What a pointer points to, as a value of another type."""
        steps = lvalue.steps
        if len(steps) > 1 and isinstance(steps[-2], As) and steps[-1] == ir.Const(0):
            # Cast back.
            before = replace(lvalue, steps=steps[:-2])
            if compatible(before.whole, ctype):
                return replace(before, type=ctype)
        if lvalue.others:
            raise different(lvalue.object.name, where)
        both = isinstance(ctype, Integer) and isinstance(lvalue.type, Integer)
        if both and size_of(ctype) == size_of(lvalue.type):
            return replace(lvalue, type=ctype)
        if isinstance(ctype, Pointer | StreamType) or size_of(ctype) is None:
            message = f"a conversion of '{lvalue.type} *' to '{Pointer(ctype)}' is not supported in a kernel"
            raise MacahError(message, where, code="unsupported-expression")
        self.need_bytes(lvalue, where)
        return lvalue.viewed(ctype)

    def need_bytes(self, lvalue: Lvalue, where: Place) -> None:
        """Make sure that a variable is kept so that it can be read as another type."""
        owner = lvalue.object
        if self.storage.in_units(lvalue):
            return
        if self._is_formal(owner):
            self.expand_all()
        if not can_be_raw(owner.type):
            message = f"'{owner.name}' of type '{owner.type}' cannot be looked at as another type in a kernel"
            hint = "copy its elements to an array of the other type"
            raise MacahError(message, where, hint=hint, code="unsupported-expression")
        self.facts.raw.add(key_of(owner))
        raise Reconsider

    def tell_apart(self, a: Lvalue, b: Lvalue) -> None:
        """Make sure that two arrays that functions get are known, if they may be the same."""
        if a.object is not b.object and (self._is_formal(a.object) or self._is_formal(b.object)):
            self.expand_all()

    def expand_all(self) -> None:
        """Make sure that the functions that are being lowered are expanded where they are called."""
        functions = {id(function.definition) for function, _ in self.chain}
        if not functions <= self.facts.expanded:
            self.facts.expanded |= functions
            raise Reconsider

    def _is_formal(self, owner: Object) -> bool:
        """Whether a variable stands for whatever array a function gets."""
        return isinstance(owner.type, ArrayType) and owner.type.length is None

    def address(self, target: Lvalue, where: Place) -> Reference:
        """`&target`; the address of the very first element of an array of arrays leads through all of it."""
        outer = target
        depth = 0
        while outer.steps and outer.steps[-1] == ir.Const(0):
            outer = replace(outer, steps=outer.steps[:-1])
            depth += 1
        is_first = depth > 1 and isinstance(target.type, Integer) and not self._is_formal(target.object)
        if is_first and not target.others and can_be_raw(target.object.type):
            self.need_bytes(target, where)
            return Reference(replace(outer, type=outer.whole).viewed(target.type))
        return Reference(target)


def can_be_raw(ctype: CType) -> bool:
    """Whether a variable can be kept as bytes."""
    inner = ctype
    while isinstance(inner, ArrayType):
        if inner.shiftable:
            return False
        inner = inner.element
    leaves = (leaf for _, leaf, _ in scalar_leaves(inner))
    return size_of(ctype) is not None and not any(isinstance(t, Pointer | StreamType) for t in leaves)


def _in_rows(target: Lvalue) -> bool:
    """Whether this is an element of an array of arrays."""
    last = target.steps[-2:]
    return (
        len(last) == 2 and isinstance(target.type, Integer) and not any(isinstance(s, str | As) for s in last)
    )


def _is_beyond(target: Lvalue) -> bool:
    """Whether this is certainly an element of another row than its index tells."""
    row, last = replace(target, steps=target.steps[:-1]).whole, target.steps[-1]
    assert isinstance(row, ArrayType)
    return isinstance(last, ir.Const) and row.length is not None and last.value > row.length


def _indices(value: Lvalue) -> Iterator[ir.Expr]:
    """All that says where an lvalue is."""
    yield from value.index
    for condition, other in value.others:
        yield condition
        yield from _indices(other)


def _looked_at(expr: ir.Expr) -> Iterator[object]:
    """The variables and arrays that an expression reads."""
    yield from variables_in(expr)
    yield from (load.array for load in loads_in(expr))


def _pair(places: tuple[ir.Expr, ir.Expr]) -> tuple[ir.Expr, Integer, ir.Expr, Integer]:
    return places[0], ctypes.INT, places[1], ctypes.INT


def _truth(equal: ir.Expr, op: str) -> Rvalue:
    return Rvalue(ctypes.INT, equal if op == "==" else apply("eq", equal, ir.FALSE))


def different(name: str, where: Place, before: str = "", now: str = "") -> MacahError:
    """The error for a pointer into `before` and `now`, arrays or members; without them, for a cast of one."""
    message = f"pointer '{name}' points into '{before}' and into '{now}'"
    hint = "use one pointer for each array, or make both rows of one array: there it may change"
    if before == now:
        message = f"pointer '{name}' points into different members of '{now}'"
    if before == now or not now:
        hint = "use one pointer for each array"
    if not now:
        message = f"pointers into different arrays, as '{name}', cannot be cast in a kernel"
    return MacahError(message, where, hint=hint, code="pointer-arrays")
