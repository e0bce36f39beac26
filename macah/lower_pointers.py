"""Pointers: each resolves to one variable at compile time; where in it is a matter of numbers.

    const int *p = &a[2][1];  while (*p) p++;        p'0 = 2; p'1 = 1; while (a[p'0][p'1]) p'1 = p'1 + 1;

A pointer that may be null has a further variable that tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StructType, compatible, size_of
from macah.diagnostic import MacahError, Place
from macah.lower_addresses import different
from macah.lower_arithmetic import apply
from macah.lower_elsewhere import mentioned_elsewhere
from macah.lower_facts import Key, Reconsider, key_of
from macah.lower_host_pointers import HostPointers, HostTarget
from macah.lower_scope import Object
from macah.lower_several import Several, alternatives, either, skeleton
from macah.lower_units import As, Step, number, position, times, total
from macah.lower_values import Lvalue, Pointee, Reference, Value
from macah.lower_words import unresolved


class Pointers(Several):
    """Pointer variables."""

    # --- Variables

    def bind_pointer(self, target: Lvalue, value: Reference, where: Place) -> None:
        """Makes a pointer point into an array: always the same one, at any place of it."""
        assert isinstance(target.type, Pointer), target
        value = self.pointer_as(value, target.type, where)
        if value.is_void and key_of(target.object) in self.facts.loose:
            value = replace(value, target=_in_bytes(replace(value.target, type=ctypes.UCHAR)))
        key = _pointer_key(target)
        if target.others:
            message = f"a pointer is assigned that is in '{target.object.name}' or in another variable"
            hint = "assign it where it is known in which, with 'if' and 'else'"
            raise MacahError(message, where, hint=hint, code="pointer-arrays")
        if key is None:
            message = f"an element of the array of pointers '{target.object.name}' is assigned at an index"
            hint = "use constant indices, or one array and an index"
            raise MacahError(message + " that is not constant", where, hint=hint, code="pointer-arrays")
        bound = self.pointers.get(key) or self._from_host(target, where)
        if target.object.source is not None and (bound is None or key in self.bound_here):
            self.expand_all()
            self._check_host(target, value.target, key not in self.bound_here, where)
            self.bound_here.add(key)
            if bound is not None and _is_gone(bound.target.object, value.target.object):
                bound = None
        if bound is None:
            self._bind_first(target, key, value, where)
        else:
            self._bind_again(target, bound, value, where)

    def _check_host(self, target: Lvalue, to: Lvalue, first: bool, where: Place) -> None:
        """Make sure that nobody needs where a pointer of the host points to before and after the kernel."""
        owner = target.object
        begins = owner.origin is None or owner.origin[0].init is not None
        used = mentioned_elsewhere(self.program.unit, self.enclosing, self.block, owner)
        if used and (to.object.source is not None or to.object.table is not None):
            fault = f"is used outside the kernel, where it would not point into '{to.object.name}'"
        elif first and (self.storage.has_pointee(target) or (self.depth and (begins or used))):
            fault = f"points into '{to.object.name}' and to what it pointed to before the kernel"
        else:
            return
        message = f"pointer '{'.'.join((owner.name, *target.path))}' {fault}"
        hint = "use a pointer declared in the kernel block"
        self.note_error(MacahError(message, where, hint=hint, code="pointer-arrays"))

    def begin_walks(self) -> None:
        """Declare the pointers that begin where parameters point to."""
        for given in self.facts.walking:
            assert isinstance(given.type, ArrayType) and given.where is not None, given
            first = Lvalue(given, given.type.element, given.const, (ir.Const(0),))
            own = Object(given.name, Pointer(given.type.element, given.const), where=given.where)
            self.scope.names[own.name] = own
            self.bind_pointer(Lvalue(own, own.type), Reference(first), given.where)

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

    def lose(self, pointer: Lvalue, why: MacahError) -> None:
        """Notes that a pointer is a copy of what is not resolved: it may not be used at all."""
        key = key_of(pointer.object), pointer.path
        if key not in self.facts.lost:
            self.facts.lost[key] = why
            if any(owner is pointer.object for owner, _ in self.pointers):
                raise Reconsider  # it may have been used already

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
            to = value.target.object
            self.facts.bound[key_of(owner)] = (key_of(to), skeleton(value.target))
            if to.source is not None or to.table is not None:
                self.facts.outer[key_of(to)] = to
            raise Reconsider
        flag = self.flags_of_null.get(key)
        if nullable:
            flag = flag or self.flag(f"{owner.name} is set", where)
            self.emit(ir.Assign(flag, value.valid, where))
        if key_of(owner) in self.facts.several:
            known = self.all_targets(target, where)
            self.pointers[key] = Pointee(known, flag, value.is_void)
            self.point_to(target, known, value.target, where)
            return
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
        self.begins[variable] = index
        return ir.Read(variable)

    def _bind_again(self, target: Lvalue, bound: Pointee, value: Reference, where: Place) -> None:
        name, old, new = target.object.name, bound.target, value.target
        if target.object.source is not None and (bound.valid is not None or value.valid != ir.TRUE):
            message = f"pointer '{name}', which may be null, cannot be assigned in a kernel"
            hint = "use a pointer declared in the kernel block, or an index"
            raise MacahError(message, where, hint=hint, code="pointer-arrays")
        if key_of(target.object) in self.facts.several:
            self.point_to(target, old, new, where)
        else:
            if [c for c, _ in old.others] != [c for c, _ in new.others]:
                self.learn_targets(target, old, new)
                raise different(name, where, old.object.name, new.object.name)
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
        match old.steps:
            case (As() as array, _) if old.object is new.object and old.type == new.type:
                new = _as_element(new, array)
        if old.object is not new.object:
            self.learn_targets(target, old, new)
        if old.object is not new.object or skeleton(old) != skeleton(new) or old.type != new.type:
            is_void = isinstance(target.type, Pointer) and target.type.target == ctypes.VOID
            same = old.object is new.object and (is_void or old.type == new.type)
            if same and self.storage.is_raw(old.object) and key_of(target.object) not in self.facts.loose:
                self._learn(self.facts.loose, target)
            raise different(name, where, old.object.name, new.object.name)
        changed = [(a, b) for a, b in zip(old.index, new.index, strict=True) if a != b]
        if len(changed) > 1:
            changed = [(before, self.keep(after, name, where)) for before, after in changed]
        for before, after in changed:
            if isinstance(before, ir.Read):
                self.storage.written.add(before.variable)
                self.emit(ir.Assign(before.variable, after, where))
            else:
                self._learn(self.facts.varying, target)

    # --- Reading

    def pointee(self, pointer: Lvalue, where: Place) -> Value:
        """The value of a pointer variable; a struct behind a captured pointer is captured itself."""
        if pointer.others:
            return self._of_several(pointer, where)
        if why := self.facts.lost.get((key_of(pointer.object), pointer.path)):
            raise why
        key = _pointer_key(pointer)
        if key is None:
            return Reference(self._chosen_by_index(pointer, where))
        found = self.pointers.get(key) or self._bound_later(pointer, where) or self._from_host(pointer, where)
        if key in self.bound_here:
            self.expand_all()
        if found is not None:
            valid = ir.TRUE if found.valid is None else ir.Read(found.valid)
            return Reference(found.target, valid, found.is_void)
        if key in self.only_null:
            return _nowhere(pointer, where)
        if pointer.object.source is not None:
            assert isinstance(pointer.type, Pointer)
            if isinstance(pointer.type.target, ArrayType):
                self.learn_size(pointer)
            return Reference(*self.storage.pointee(pointer, where))
        self.unbound.add(key)
        name = ".".join((pointer.object.name, *pointer.path))
        hint = "initialise it with an array where it is declared"
        message = f"pointer '{name}' cannot be resolved to one array at compile time"
        raise MacahError(message, where, hint=hint, code="unresolved-pointer")

    def _of_several(self, pointer: Lvalue, where: Place) -> Reference:
        """What a pointer in one of several variables points to, as `p->data` if `p` may be one of several."""
        assert isinstance(pointer.type, Pointer)
        for one in alternatives(pointer):
            if pointer.type.target in self._types_before(one.object):
                # Of a list, there would be no end to what is behind it.
                raise unresolved(".".join((one.object.name, *one.path)), pointer.type, where)
        found, *others = [self.pointee(one, where) for one in alternatives(pointer)]
        assert isinstance(found, Reference)
        for (condition, _), other in reversed(list(zip(pointer.others, others, strict=True))):
            assert isinstance(other, Reference)
            valid = apply("select", condition, other.valid, found.valid)
            if other.valid == ir.FALSE:
                found = replace(found, valid=valid)
            elif found.valid == ir.FALSE:
                found = replace(other, valid=valid)
            elif (target := either(condition, other.target, found.target)) is not None:
                found = Reference(target, valid, found.is_void or other.is_void)
            else:
                name = ".".join((pointer.object.name, *pointer.path))
                raise different(name, where, found.target.object.name, other.target.object.name)
        return found

    def _types_before(self, owner: Object) -> Iterator[CType]:
        """The types of all that was behind pointers of the host on the way to a variable, itself included."""
        while (leading := self.facts.leading.get(owner)) is not None:
            yield owner.type
            owner = leading.object

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
        target = replace(target, type=target.whole, const=const)
        if key_of(pointer.object) in self.facts.several:
            target = self.all_targets(pointer, where)
        self.pointers[key] = Pointee(target, flag)
        return self.pointers[key]

    def _chosen_by_index(self, pointer: Lvalue, where: Place) -> Lvalue:
        """What an element of an array of pointers points to, by its index."""
        choices: list[tuple[ir.Expr, Lvalue]] = []
        if pointer.object.source is not None:
            for steps in self.host_pointers.elements(pointer.object):
                element = Lvalue(pointer.object, pointer.type, steps=steps)
                if skeleton(element) == skeleton(pointer):
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
        return HostPointers(self.types, self.program.unit, self.enclosing, self.block)

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
        if found.is_constant and key_of(pointer.object) not in self.facts.varying:
            return replace(whole, type=found.type, steps=found.steps)
        if found.is_row and key_of(pointer.object) not in self.facts.loose:
            base = replace(whole, type=found.type, steps=(*found.steps[:-1], ir.Const(0)))
            offset = self.storage.host_offset(pointer, base, where, in_bytes=False)
            return replace(base, steps=(*base.steps[:-1], ir.Read(offset)))
        self.need_bytes(whole, where)
        in_bytes = key_of(pointer.object) in self.facts.loose
        if not in_bytes and not _is_multiple(found):
            self._learn(self.facts.loose, pointer)
        base = whole.viewed(found.type)
        offset = self.storage.host_offset(pointer, base, where, in_bytes)
        if in_bytes:
            return _at_byte(base, ir.Read(offset))
        return replace(base, steps=(*base.steps[:-1], ir.Read(offset)))


def _is_gone(before: Object, now: Object) -> bool:
    """Whether a variable is that of an earlier call of the function that now has another one."""
    return before is not now and before.source is None and key_of(before) == key_of(now)


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
    return _at_byte(lvalue, place)


def _at_byte(lvalue: Lvalue, place: ir.Expr) -> Lvalue:
    """What begins at a byte of the same variable and is of the same type."""
    steps = (As(ArrayType(ctypes.UCHAR, None)), place, As(ArrayType(lvalue.type, None)), ir.Const(0))
    return replace(lvalue, steps=steps)


def _is_multiple(found: HostTarget) -> bool:
    """Whether all places of the same shape are multiples of the size of what is there."""
    anywhere = ir.Read(ir.Variable("", 32))
    at = position(found.object.type, [step if isinstance(step, str) else anywhere for step in found.steps])
    size = size_of(found.type) or 1
    return at.start % size == 0 and all(factor % size == 0 for _, factor in at.terms)


def _as_element(lvalue: Lvalue, array: As) -> Lvalue:
    """The same part as an element of an array that the whole variable is seen as, if it is one."""
    at, size = position(lvalue.object.type, lvalue.steps), size_of(lvalue.type) or 1
    index = at.divided_by(size) if at.start % size == 0 else None
    return lvalue if index is None else replace(lvalue, steps=(array, index))


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
