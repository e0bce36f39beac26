"""Pointers: each resolves to one variable at compile time; where in it is a matter of numbers.

    const int *p = &a[2][1];  while (*p) p++;        p'0 = 2; p'1 = 1; while (a[p'0][p'1]) p'1 = p'1 + 1;

A pointer that may be null has a further variable that tells.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StreamType, StructType, compatible, size_of
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, binary
from macah.lower_base import Base
from macah.lower_facts import Key, Reconsider, key_of
from macah.lower_host_pointers import HostPointers, HostTarget
from macah.lower_layout import scalar_leaves
from macah.lower_scope import Object
from macah.lower_storage import Lvalue, Pointee, Reference, Rvalue, Value, unresolved
from macah.lower_units import As, Position, Step, number, position, times, total

NULL = Rvalue(ctypes.INT)
_RELATIONS = {"<", "<=", ">", ">="}


class Pointers(Base):
    """Pointer values and pointer variables."""

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
                raise unresolved(owner.name, target.type, where)
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
                return _truth(apply("eq", pointer.valid, ir.FALSE), op)
        return None

    def _same(self, a: Reference, b: Reference, where: Place) -> ir.Expr:
        """Whether two pointers are equal."""
        self.tell_apart(a.target, b.target)
        neither = apply("eq", apply("or", a.valid, b.valid), ir.FALSE)
        if a.target.object is not b.target.object and not (a.target.others or b.target.others):
            return neither
        equal = apply("eq", *self._places(a, b, where))
        if a.valid == ir.TRUE and b.valid == ir.TRUE:
            return equal
        both = apply("and", a.valid, b.valid)
        return apply("or", apply("and", both, equal), neither)

    def _places(self, a: Reference, b: Reference, where: Place) -> tuple[ir.Expr, ir.Expr]:
        """The places of two pointers in one array, as numbers of elements from some common place."""
        if a.is_void or b.is_void:
            a, b = (self.pointer_as(p, Pointer(ctypes.UCHAR), where, cast=True) for p in (a, b))
        first, second = a.target, b.target
        self.tell_apart(first, second)
        if first.object is not second.object or first.others or second.others:
            raise MacahError("the pointers do not point into the same array", where, code="pointer-arrays")
        if first.steps and second.steps and first.steps[:-1] == second.steps[:-1]:
            x, y = first.steps[-1], second.steps[-1]
            if not isinstance(x, str | As) and not isinstance(y, str | As):
                return x, y
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
            raise _different(lvalue.object.name, where)
        both = isinstance(ctype, Integer) and isinstance(lvalue.type, Integer)
        if both and size_of(ctype) == size_of(lvalue.type):
            return replace(lvalue, type=ctype)
        if isinstance(ctype, Pointer | StreamType) or size_of(ctype) is None:
            message = f"a conversion of '{lvalue.type} *' to '{Pointer(ctype)}' is not supported in a kernel"
            raise MacahError(message, where, code="unsupported-expression")
        self._need_bytes(lvalue, where)
        return lvalue.viewed(ctype)

    def _need_bytes(self, lvalue: Lvalue, where: Place) -> None:
        """Make sure that a variable is kept so that it can be read as another type."""
        owner = lvalue.object
        if self.storage.in_units(lvalue):
            return
        if self._is_formal(owner):
            self._expand_all()
        if not can_be_raw(owner.type):
            message = f"'{owner.name}' of type '{owner.type}' cannot be looked at as another type in a kernel"
            hint = "copy its elements to an array of the other type"
            raise MacahError(message, where, hint=hint, code="unsupported-expression")
        self.facts.raw.add(key_of(owner))
        raise Reconsider

    def tell_apart(self, a: Lvalue, b: Lvalue) -> None:
        """Make sure that two arrays that functions get are known, if they may be the same."""
        if a.object is not b.object and (self._is_formal(a.object) or self._is_formal(b.object)):
            self._expand_all()

    def _expand_all(self) -> None:
        """Expand the functions that are being lowered where they are called."""
        self.facts.expanded.update(id(function.definition) for function, _ in self.chain)
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
            self._need_bytes(target, where)
            return Reference(replace(outer, type=outer.whole).viewed(target.type))
        return Reference(target)

    # --- Variables

    def bind_pointer(self, target: Lvalue, value: Reference, where: Place) -> None:
        """Makes a pointer point into an array: always the same one, at any place of it."""
        assert isinstance(target.type, Pointer), target
        value = self.pointer_as(value, target.type, where)
        if value.is_void and key_of(target.object) in self.facts.loose:
            value = replace(value, target=_in_bytes(replace(value.target, type=ctypes.UCHAR)))
        key = _pointer_key(target)
        if key is None:
            message = f"an element of the array of pointers '{target.object.name}' is assigned at an index"
            hint = "use constant indices, or one array and an index"
            raise MacahError(message + " that is not constant", where, hint=hint, code="pointer-arrays")
        bound = self.pointers.get(key) or self._from_host(target, where)
        if bound is None:
            self._bind_first(target, key, value, where)
        else:
            self._bind_again(target, bound, value, where)

    def bind_null(self, target: Lvalue, where: Place) -> None:
        """Makes a pointer null."""
        key = _pointer_key(target)
        if target.object.source is not None or key is None:
            message = f"pointer '{target.object.name}' cannot be made null in a kernel"
            raise MacahError(message, where, hint="use a variable of its own", code="pointer-arrays")
        bound = self.pointers.get(key)
        if bound is None and key_of(target.object) in self.facts.nullable:
            self.flags_of_null.setdefault(key, self.flag(f"{target.object.name} is set", where))
        elif bound is not None and bound.valid is None:
            self._learn(self.facts.nullable, target)
        flag = bound.valid if bound is not None else self.flags_of_null.get(key)
        if isinstance(flag, ir.Variable):
            self.emit(ir.Assign(flag, ir.FALSE, where))
        elif bound is None:
            self.only_null.add(key)

    def _learn(self, facts: set[Key], pointer: Lvalue) -> None:
        key = key_of(pointer.object)
        assert key not in facts, pointer
        facts.add(key)
        raise Reconsider

    def _bind_first(
        self, target: Lvalue, key: tuple[Object, tuple[Step, ...]], value: Reference, where: Place
    ) -> None:
        owner = target.object
        nullable = key_of(owner) in self.facts.nullable
        if not nullable and (key in self.only_null or value.valid != ir.TRUE):
            self._learn(self.facts.nullable, target)
        if key in self.unbound and key_of(owner) not in self.facts.bound:
            skeleton = tuple(s if isinstance(s, str | As) else None for s in value.target.steps)
            to = value.target.object
            self.facts.bound[key_of(owner)] = (key_of(to), skeleton)
            if to.source is not None or to.table is not None:
                self.facts.outer[key_of(to)] = to
            raise Reconsider
        flag = self.flags_of_null.get(key)
        if nullable:
            flag = flag or self.flag(f"{owner.name} is set", where)
            self.emit(ir.Assign(flag, value.valid, where))
        const = value.target.const or isinstance(target.type, Pointer) and target.type.const
        place = self._own_places(value.target, owner, where)
        others = tuple(
            (self.keep(c, owner.name, where), self._own_places(other, owner, where))
            for c, other in value.target.others
        )
        self.pointers[key] = Pointee(replace(place, const=const, others=others), flag, value.is_void)

    def _own_places(self, target: Lvalue, owner: Object, where: Place) -> Lvalue:
        """What a pointer points to, with indices of its own."""
        if key_of(owner) in self.facts.loose:
            target = _in_bytes(target)
        steps = tuple(
            step if isinstance(step, str | As) else self._place(step, owner, where) for step in target.steps
        )
        return replace(target, steps=steps, others=())

    def _place(self, index: ir.Expr, pointer: Object, where: Place) -> ir.Expr:
        """An index of what a pointer points to, as a variable if it may change."""
        moves = pointer.name in self.frame.assigned or key_of(pointer) in self.facts.varying
        if isinstance(index, ir.Const) and not moves:
            return index
        variable = self.variable(pointer.name, 32, where)
        self.emit(ir.Assign(variable, index, where))
        return ir.Read(variable)

    def _bind_again(self, target: Lvalue, bound: Pointee, value: Reference, where: Place) -> None:
        name, old, new = target.object.name, bound.target, value.target
        if target.object.source is not None and (bound.valid is not None or value.valid != ir.TRUE):
            message = f"pointer '{name}', which may be null, cannot be assigned in a kernel"
            hint = "use a pointer declared in the kernel block, or an index"
            raise MacahError(message, where, hint=hint, code="pointer-arrays")
        if [c for c, _ in old.others] != [c for c, _ in new.others]:
            raise _different(name, where, old.object.name, new.object.name)
        self._repoint(target, old, new, where)
        for (_, before), (_, after) in zip(old.others, new.others, strict=True):
            self._repoint(target, before, after, where)
        if isinstance(bound.valid, ir.Variable):
            self.emit(ir.Assign(bound.valid, value.valid, where))
        elif value.valid != ir.TRUE:
            self._learn(self.facts.nullable, target)

    def _repoint(self, target: Lvalue, old: Lvalue, new: Lvalue, where: Place) -> None:
        """Makes a pointer point to another place of its array."""
        name = target.object.name
        self.tell_apart(old, new)
        if old.object is new.object and key_of(target.object) in self.facts.loose:
            new = _in_bytes(new)
        if old.object is not new.object or _skeleton(old) != _skeleton(new) or old.type != new.type:
            is_void = isinstance(target.type, Pointer) and target.type.target == ctypes.VOID
            same = old.object is new.object and (is_void or old.type == new.type)
            if same and self.storage.is_raw(old.object) and key_of(target.object) not in self.facts.loose:
                self._learn(self.facts.loose, target)
            raise _different(name, where, old.object.name, new.object.name)
        indices = list(new.index)
        if len(indices) > 1:
            indices = [self.keep(index, name, where) for index in indices]
        for before, after in zip(old.index, indices, strict=True):
            if isinstance(before, ir.Read):
                self.storage.written.add(before.variable)
                self.emit(ir.Assign(before.variable, after, where))
            elif before != after:
                self._learn(self.facts.varying, target)

    # --- Reading

    def pointee(self, pointer: Lvalue, where: Place) -> Value:
        """The value of a pointer variable; a struct behind a captured pointer is captured itself."""
        key = _pointer_key(pointer)
        if key is None:
            return Reference(self._chosen_by_index(pointer, where))
        found = self.pointers.get(key) or self._bound_later(pointer, where) or self._from_host(pointer, where)
        if found is not None:
            valid = ir.TRUE if found.valid is None else ir.Read(found.valid)
            return Reference(found.target, valid, found.is_void)
        if key in self.only_null:
            return _nowhere(pointer, where)
        if pointer.object.source is not None:
            return Reference(self.storage.pointee(pointer, where))
        self.unbound.add(key)
        name = ".".join((pointer.object.name, *pointer.path))
        hint = "initialise it with an array where it is declared"
        message = f"pointer '{name}' cannot be resolved to one array at compile time"
        raise MacahError(message, where, hint=hint, code="unresolved-pointer")

    def _bound_later(self, pointer: Lvalue, where: Place) -> Pointee | None:
        """What a pointer points to that is assigned further down, in a loop."""
        fact = self.facts.bound.get(key_of(pointer.object))
        owner = None if fact is None else self.declared.get(fact[0]) or self.facts.outer.get(fact[0])
        if fact is None or owner is None:
            return None
        steps: list[Step] = []
        for step in fact[1]:
            assert step is None or isinstance(step, str | As)
            steps.append(ir.Read(self.variable(pointer.object.name, 32, where)) if step is None else step)
        target = Lvalue(owner, owner.type, steps=tuple(steps))
        nullable = key_of(pointer.object) in self.facts.nullable
        key = _pointer_key(pointer)
        assert key is not None
        flag = self.flags_of_null.get(key) or self.flag(f"{owner.name} is set", where) if nullable else None
        assert isinstance(pointer.type, Pointer)
        const = owner.const or pointer.type.const
        self.pointers[key] = Pointee(replace(target, type=target.whole, const=const), flag)
        return self.pointers[key]

    def _chosen_by_index(self, pointer: Lvalue, where: Place) -> Lvalue:
        """What an element of an array of pointers points to, by its index."""
        choices: list[tuple[ir.Expr, Lvalue]] = []
        if pointer.object.source is not None:
            for steps in self.host_pointers.elements(pointer.object):
                element = Lvalue(pointer.object, pointer.type, steps=steps)
                if _skeleton(element) == _skeleton(pointer):
                    self._from_host(element, where)
        for (owner, steps), found in self.pointers.items():
            if owner is not pointer.object or len(steps) != len(pointer.steps):
                continue
            condition: ir.Expr | None = ir.TRUE
            for have, want in zip(steps, pointer.steps, strict=True):
                condition = _and_equal(condition, have, want)
            if condition is not None:
                choices.append((condition, found.target))
        if not choices:
            name = ".".join((pointer.object.name, *pointer.path))
            raise unresolved(name, pointer.type, where)
        return replace(choices[-1][1], others=tuple(choices[:-1]))

    # --- Pointers of the host

    @property
    def host_pointers(self) -> HostPointers:
        """What the host's pointers point to."""
        return HostPointers(self.types, self.program.unit, self.enclosing)

    def _from_host(self, pointer: Lvalue, where: Place) -> Pointee | None:
        """What a captured pointer points to, if its assignments tell; its place in it is captured."""
        key = _pointer_key(pointer)
        if pointer.object.source is None or key is None or key in self.pointers:
            return self.pointers.get(key) if key is not None else None
        found = self.host_pointers.target(pointer.object, pointer.steps)
        assert isinstance(pointer.type, Pointer)
        if found is None or not isinstance(found.type, Integer | StructType):
            return None
        target = self._host_target(found, pointer, where)
        if not compatible(target.type, pointer.type.target):
            return None
        const = found.object.const or pointer.type.const
        valid = self.storage.host_flag(pointer, where) if found.nullable else None
        self.pointers[key] = Pointee(replace(target, const=const), valid)
        return self.pointers[key]

    def _host_target(self, found: HostTarget, pointer: Lvalue, where: Place) -> Lvalue:
        whole = Lvalue(found.object, found.object.type)
        if found.is_constant:
            return replace(whole, type=found.type, steps=found.steps)
        if found.is_row:
            base = replace(whole, type=found.type, steps=(*found.steps[:-1], ir.Const(0)))
        else:
            self._need_bytes(whole, where)
            base = whole.viewed(found.type)
        offset = self.storage.host_offset(pointer, base, where)
        return replace(base, steps=(*base.steps[:-1], ir.Read(offset)))


def can_be_raw(ctype: CType) -> bool:
    """Whether a variable can be kept as bytes."""
    inner = ctype
    while isinstance(inner, ArrayType):
        if inner.shiftable:
            return False
        inner = inner.element
    leaves = (leaf for _, leaf, _ in scalar_leaves(inner))
    return size_of(ctype) is not None and not any(isinstance(t, Pointer | StreamType) for t in leaves)


def _nowhere(pointer: Lvalue, where: Place) -> Reference:
    """The null pointer: what is read through it is unspecified."""
    assert isinstance(pointer.type, Pointer)
    target = pointer.type.target
    is_void = size_of(target) is None or target == ctypes.VOID
    ctype = ArrayType(ctypes.INT if is_void else target, 1)
    array = Lvalue(Object(f"{pointer.object.name} is null", ctype, where=where), ctype)
    return Reference(array.element(ir.Const(0)), ir.FALSE, is_void)


def _in_bytes(lvalue: Lvalue) -> Lvalue:
    """A part of a variable that is kept as bytes, at a number of bytes from its beginning."""
    at = position(lvalue.object.type, lvalue.steps)
    place = total([*(times(expr, factor) for expr, factor in at.terms), number(at.start)])
    steps = (As(ArrayType(ctypes.UCHAR, None)), place, As(ArrayType(lvalue.type, None)), ir.Const(0))
    return replace(lvalue, steps=steps)


def _pair(places: tuple[ir.Expr, ir.Expr]) -> tuple[ir.Expr, Integer, ir.Expr, Integer]:
    return places[0], ctypes.INT, places[1], ctypes.INT


def _truth(equal: ir.Expr, op: str) -> Rvalue:
    return Rvalue(ctypes.INT, equal if op == "==" else apply("eq", equal, ir.FALSE))


def _skeleton(lvalue: Lvalue) -> tuple[str | As | None, ...]:
    return tuple(step if isinstance(step, str | As) else None for step in lvalue.steps)


def _pointer_key(pointer: Lvalue) -> tuple[Object, tuple[Step, ...]] | None:
    """A pointer variable, if it is known at compile time which element of an array it is."""
    known = all(isinstance(step, str | ir.Const) for step in pointer.steps)
    return (pointer.object, pointer.steps) if known and not pointer.others else None


def _and_equal(condition: ir.Expr | None, have: Step, want: Step) -> ir.Expr | None:
    """The condition and that two steps are equal; None if they never are."""
    if condition is None or isinstance(have, str | As) or isinstance(want, str | As):
        return condition if have == want else None
    equal = apply("eq", want, have)
    if equal == ir.FALSE:
        return None
    return (
        equal if condition == ir.TRUE else condition if equal == ir.TRUE else apply("and", condition, equal)
    )


def _different(name: str, where: Place, before: str = "", now: str = "") -> MacahError:
    message = f"pointer '{name}' points into '{before}' and into '{now}'"
    if not now:
        message = f"pointers into different arrays, as '{name}', cannot be cast in a kernel"
    return MacahError(message, where, hint="use one pointer for each array", code="pointer-arrays")
