"""Where values live: C's variables, split into scalars and arrays of the IR, and what the kernel captures.

A struct is one variable or array for each scalar member, named `p.x`; an array of structs one array for each,
and an array in them adds its dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from arch.ops import word
from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer, StreamType, StructType, size_of
from macah.diagnostic import MacahError, Place
from macah.lower_dead import DeadAfter
from macah.lower_entry import Entry
from macah.lower_facts import Facts, Reconsider, key_of
from macah.lower_host_names import beginning, flattened, named_beginning, source_of, unit_source, written_as
from macah.lower_image import table_units, table_values
from macah.lower_scope import FileScope, Object, Scope
from macah.lower_units import Step, Window, after, position, unit_of
from macah.lower_values import Leaf, Lvalue
from macah.lower_words import element_type, integer_type, stream_of, unresolved


@dataclass(slots=True)
class _Capture:
    what: ir.Variable | ir.Array | ir.Stream
    owner: Object
    source: str
    type: CType
    base: str | None = None
    is_pointer: bool = False


@dataclass(slots=True)
class Storage:
    """The scalars, arrays and streams of all variables of a kernel.

    `scope` is the one around the kernel; `written` are the leaves that are assigned anywhere.
    """

    scope: Scope
    facts: Facts = field(default_factory=Facts)
    written: set[Leaf] = field(default_factory=set)
    leaves: dict[tuple[Object, tuple[str, ...]], Leaf] = field(default_factory=dict)
    statics: dict[Object, ir.Static] = field(default_factory=dict)
    begin: int = 0
    """Where in the text the kernel begins."""
    _captured: list[_Capture] = field(default_factory=list)
    _pointees: dict[tuple[Object, tuple[str, ...]], Object] = field(default_factory=dict)
    _flags: dict[Object, ir.Variable] = field(default_factory=dict)  # whether pointers lead to these

    def leaf(self, lvalue: Lvalue, where: Place) -> Leaf:
        """The scalar, array, stream or known value that holds `lvalue`, captured if need be."""
        if lvalue.others:
            message = "which of several pointers this is must be known here at compile time"
            raise MacahError(message, where, hint="use a constant index", code="pointer-arrays")
        self._show_hidden(lvalue.object)
        root = self._root(lvalue)
        if root is not None and isinstance(lvalue.type, StreamType):
            raise _handle_in_units(lvalue, where)
        if root is not None:
            return self._units(root[0], where)
        key = (lvalue.object, lvalue.path)
        if key not in self.leaves:
            self.leaves[key] = self._make(lvalue, where)
        return self.leaves[key]

    def window(self, lvalue: Lvalue, where: Place) -> Window | None:
        """Where a number is in the units of a union or of a variable looked at as bytes, if it is in one."""
        self._show_hidden(lvalue.object)
        root = self._root(lvalue)
        if root is None:
            return None
        whole, rest = root
        ctype = integer_type(lvalue.type, ".".join((lvalue.object.name, *lvalue.path)), where)
        leaf = self._units(whole, where)
        assert not isinstance(leaf, ir.Stream), lvalue
        unit = unit_of(whole.type)
        count = (size_of(whole.type) or 0) // unit.size
        at = position(whole.type, rest)
        return Window(leaf, unit, whole.index, count, at, ctype, where)

    def host_offset(self, pointer: Lvalue, base: Lvalue, where: Place, in_bytes: bool) -> ir.Variable:
        """The place of a captured pointer in what it points into, from `base` on, in elements or bytes."""
        source = written_as(pointer)
        if in_bytes:
            source = f"(*(char **)&{source})"
        self._check_visible(base.object, where)
        whole = f"(__typeof__({source}))&{written_as(base)}"
        return self._host_word(pointer.object.name, source, whole, pointer, where)

    def host_flag(self, pointer: Lvalue, where: Place) -> ir.Variable:
        """Whether a captured pointer is not null."""
        return self._host_word(f"{pointer.object.name} is set", _is_set(pointer), None, pointer, where)

    def host_equality(self, pointer: Lvalue, other: Lvalue, where: Place) -> ir.Variable:
        """Whether two captured pointers are equal."""
        self._check_visible(other.object, where)
        p, q = written_as(pointer), written_as(other)
        return self._host_word(f"{p} is {q}", f"(void *){p} == (void *){q}", None, pointer, where)

    def _host_word(
        self, name: str, source: str, base: str | None, pointer: Lvalue, where: Place
    ) -> ir.Variable:
        """What the host knows about a captured pointer, as one number however often it is asked for."""
        for known in self._captured:
            if (known.source, known.base) == (source, base) and isinstance(known.what, ir.Variable):
                return known.what
        variable = ir.Variable(name, 32, pointer.object.where)
        self._check_visible(pointer.object, where)
        self._captured.append(_Capture(variable, pointer.object, source, ctypes.INT, base, True))
        return variable

    def is_raw(self, owner: Object) -> bool:
        """Whether a variable is kept as bytes."""
        return owner.raw or key_of(owner) in self.facts.raw

    def in_units(self, lvalue: Lvalue) -> bool:
        """Whether a part is in a union, or in a variable that is looked at as bytes."""
        return self._root(lvalue) is not None

    def is_viewed(self, lvalue: Lvalue) -> bool:
        """Whether a part is not stored as what its type says."""
        return bool(lvalue.others) or self._root(lvalue) is not None or lvalue.whole != lvalue.type

    def _root(self, lvalue: Lvalue) -> tuple[Lvalue, tuple[Step, ...]] | None:
        """The union that a part is in, or the variable if that is raw, and the steps behind it."""
        ctype = lvalue.object.type
        if self.is_raw(lvalue.object):
            return replace(lvalue, type=ctype, steps=()), lvalue.steps
        for number, step in enumerate(lvalue.steps):
            if isinstance(ctype, StructType) and ctype.kind == "union":
                return replace(lvalue, type=ctype, steps=lvalue.steps[:number]), lvalue.steps[number:]
            ctype = after(ctype, step)
        is_union = isinstance(ctype, StructType) and ctype.kind == "union"
        return (replace(lvalue, type=ctype), ()) if is_union else None

    def _units(self, whole: Lvalue, where: Place) -> Leaf:
        """The units of a union or raw variable."""
        key = (whole.object, whole.path)
        if key not in self.leaves:
            self.leaves[key] = self._make_units(whole, where)
        return self.leaves[key]

    def _make_units(self, whole: Lvalue, where: Place) -> Leaf:
        owner = whole.object
        shape, shiftable, source = (
            flattened(whole, where)[:3] if whole.steps else ((), (), owner.source or "")
        )
        if whole.path and whole.path[-1].startswith("@"):
            named = named_beginning(whole.type)
            if not named:
                self.facts.raw.add(key_of(owner))
                raise Reconsider
            source = source_of(source, named)
        size = size_of(whole.type)
        if size is None:
            raise MacahError(f"the size of '{owner.name}' is not known", where, code="incomplete-type")
        unit = unit_of(whole.type)
        count = size // unit.size
        source = beginning(source, whole.type)
        name = ".".join((owner.name, *(step for step in whole.path if not step.startswith("@"))))
        if count > 1:
            source = unit_source(source, unit, f"[{{{len(shape)}}}]")
            shape, shiftable = (*shape, count), (*shiftable, False) if shiftable else ()
        else:
            source = unit_source(source, unit, "[0]")
        if owner.table is not None:
            words = table_units(owner, whole, unit, shape[:-1] if count > 1 else shape)
            return (
                ir.Array(name, shape, element_type(unit), shiftable, owner.where, words)
                if shape
                else words[0]
            )
        what: ir.Variable | ir.Array = ir.Variable(name, unit.bits, owner.where)
        if shape:
            what = ir.Array(name, shape, element_type(unit), shiftable, owner.where)
        return self._capture(owner, what, source, unit, where)

    def captures(
        self, entry: Entry | None, dead: DeadAfter
    ) -> tuple[tuple[ir.Capture, ...], tuple[ir.StreamCapture, ...], tuple[ir.Assign, ...]]:
        """What the kernel captures, in the order of first use; variables that are `dead` are not copied out.

        Those that `entry` knows are not copied in: the kernel is to begin with assignments to them, unless
        they are unset.
        """
        data, streams, known = [], [], []
        for c in self._captured:
            if isinstance(c.what, ir.Stream):
                assert isinstance(c.type, StreamType), c
                streams.append(ir.StreamCapture(c.what, c.source, c.type.element))
            else:
                # What a pointer leads to is not named as the pointer is.
                is_named = c.owner.source == c.owner.name
                out = c.what in self.written and not (is_named and (c.owner.name, c.owner.type) in dead)
                at_entry = entry if is_named and not c.is_pointer else None
                value = at_entry.value(c.owner) if at_entry else None
                unset = at_entry is not None and at_entry.is_unset(c.owner)
                if value is not None:
                    assert isinstance(c.what, ir.Variable), c
                    known.append(ir.Assign(c.what, value, c.owner.where))
                name = getattr(c.type, "name", "")
                extent = self._extent(c)
                into = value is None and not unset
                guard = self._guard(c.owner)
                data.append(ir.Capture(c.what, c.source, name, into, out, None, c.base, extent, guard))
        return tuple(c for c in data if c.into or c.out), tuple(streams), tuple(known)

    def _extent(self, capture: _Capture) -> ir.Extent | None:
        """Where the host has what is captured; None for what is no part of a variable."""
        owner, source = capture.owner, capture.source
        if capture.is_pointer or owner.source is None:
            return None
        if isinstance(capture.type, Integer) and capture.type.width:
            # A bit-field has no address, but its struct has.
            source = source.rpartition(".")[0]
        shape = capture.what.shape if isinstance(capture.what, ir.Array) else ()
        first = last = source
        for d, extent in enumerate(shape):
            first = first.replace(f"{{{d}}}", "0")
            last = last.replace(f"{{{d}}}", str(extent - 1))
        is_pointee = owner.source.startswith("(*") and owner not in self.statics
        name = f"*{owner.name}" if is_pointee and not owner.decayed else owner.name
        return ir.Extent(
            name, owner.source, owner.type, first, last, is_pointee or owner.decayed, self._guard(owner)
        )

    def _guard(self, owner: Object) -> str | None:
        """The condition on which the host has what a captured pointer points to."""
        return _is_set(self.facts.leading[owner]) if owner in self._flags else None

    def pointee(self, lvalue: Lvalue, where: Place) -> tuple[Lvalue, ir.Expr]:
        """The struct or number that a captured pointer points to, as a captured variable of its own.

        Also whether there is one, where the kernel asks.
        """
        assert isinstance(lvalue.type, Pointer), lvalue
        target = lvalue.type.target
        name = ".".join((lvalue.object.name, *lvalue.path))
        if array := self.facts.members.get((key_of(lvalue.object), lvalue.path)):
            return self._member_array(lvalue, name, array, where), ir.TRUE
        if not isinstance(target, StructType | Integer) or lvalue.object.source is None or lvalue.index:
            raise unresolved(name, target, where)
        key = (lvalue.object, lvalue.path)
        if key not in self._pointees:
            self._check_visible(lvalue.object, where)
            source = source_of(lvalue.object.source, lvalue.path)
            made = Object(name, target, lvalue.type.const, lvalue.object.where, f"(*{source})")
            found = self.facts.pointees.setdefault(key, made)
            self._pointees[key], self.facts.leading[found] = found, lvalue
            if key_of(lvalue.object) in self.facts.nullable:
                self._flags[found] = self.host_flag(lvalue, where)
        found = self._pointees[key]
        flag = self._flags.get(found)
        return Lvalue(found, target, found.const), ir.Read(flag) if flag else ir.TRUE

    def _member_array(self, lvalue: Lvalue, name: str, array: ArrayType, where: Place) -> Lvalue:
        """The first element of the array that a pointer in a captured struct leads to."""
        assert isinstance(lvalue.type, Pointer), lvalue
        self._check_visible(lvalue.object, where)
        source = f"({source_of(lvalue.object.source or '', lvalue.path)})"  # no variable's name
        made = Object(name, array, lvalue.type.const, lvalue.object.where, source, decayed=True)
        found = self.facts.pointees.setdefault((lvalue.object, (*lvalue.path, "[]")), made)
        self._pointees[lvalue.object, lvalue.path] = found
        return Lvalue(found, array.element, found.const, (ir.Const(0),))

    def has_pointee(self, pointer: Lvalue) -> bool:
        """Whether what a captured pointer points to is captured as a variable of its own."""
        return (pointer.object, pointer.path) in self._pointees

    def pointer_to(self, pointee: Lvalue) -> Lvalue | None:
        """The captured pointer that leads to a variable of its own, if one does."""
        return None if pointee.steps else self.facts.leading.get(pointee.object)

    def _make(self, lvalue: Lvalue, where: Place) -> Leaf:
        shape, shiftable, source, ctype = flattened(lvalue, where)
        owner = lvalue.object
        name = ".".join((owner.name, *(step for step in lvalue.path if not step.startswith("@"))))
        if isinstance(ctype, StreamType):
            stream = stream_of(name, ctype, shape, owner.where, where)
            return self._capture(owner, stream, source, ctype, where)
        integer = integer_type(ctype, name, where)
        if owner.table is not None:
            values = table_values(owner, lvalue.path, shape)
            if not shape:
                return values[0]
            words = tuple(word(integer.bits, v) for v in values)
            return ir.Array(name, shape, element_type(integer), shiftable, owner.where, words)
        if not shape:
            variable = ir.Variable(name, integer.bits, owner.where)
            return self._capture(owner, variable, source, ctype, where)
        array = ir.Array(name, shape, element_type(integer), shiftable, owner.where)
        return self._capture(owner, array, source, ctype, where)

    def _capture(
        self, owner: Object, what: ir.Variable | ir.Array | ir.Stream, source: str, ctype: CType, where: Place
    ) -> Leaf:
        if owner.source is not None:
            self._check_visible(owner, where)
            self._captured.append(_Capture(what, owner, source, ctype))
        elif isinstance(what, ir.Stream):
            hint = "create the stream outside the kernel block"
            raise MacahError(
                f"stream '{what.name}' is never assigned", where, hint=hint, code="stream-handle"
            )
        return what

    def make_static(self, owner: Object, function: str, image: bytes | None, later: bool = False) -> None:
        """Let a variable that cannot be named where the kernel stands be captured through a pointer."""
        line, column = (owner.where.line, owner.where.column) if owner.where else (0, 0)
        place = f"macah_static_{function}_{owner.name}_{line}_{column}"
        self.statics[owner] = ir.Static(place, owner.name, owner.where, image)
        structs = _structs(owner.type)
        tags = [t for t in structs if later or not t.tag or self.scope.find_tag(t.tag) is not t]
        # Bytes need no type that may not be known there.
        owner.raw = bool(tags)
        owner.source = f"(*({_pointer_to(owner.type)}){place}_at)"
        if owner.raw:
            owner.source = f"(*(char (*)[{size_of(owner.type)}]){place}_at)"

    def used_statics(self) -> tuple[ir.Static, ...]:
        """The variables that are captured through pointers."""
        used = {capture.owner for capture in self._captured}
        return tuple(static for owner, static in self.statics.items() if owner in used)

    def _show_hidden(self, owner: Object) -> None:
        """Capture a variable of file scope through a pointer if it cannot be named where the kernel stands.

        Another one hides it there, or it is declared further down, before a function that the kernel calls.
        """
        if owner.source != owner.name or owner.origin is None or not isinstance(owner.origin[1], FileScope):
            return
        needed = [owner.name, *(f"struct {struct.tag}" for struct in _structs(owner.type))]
        later = any(owner.origin[1].begins.get(name, 0) > self.begin for name in needed)
        if later or self.scope.find(owner.name) is not owner:
            self.make_static(owner, "file", None, later)

    def _check_visible(self, owner: Object, where: Place) -> None:
        """The host names what it copies; so a captured variable must be visible where the kernel stands."""
        self._show_hidden(owner)
        if owner.source == owner.name and self.scope.find(owner.name) is not owner:
            message = f"variable '{owner.name}' is not visible where the kernel block stands"
            hint = "rename the variable that hides it, or move a static variable to file scope"
            raise MacahError(message, where, hint=hint, code="not-visible")


def _is_set(pointer: Lvalue) -> str:
    """The host's condition that a pointer is not null."""
    return f"{written_as(pointer)} != 0"


def _handle_in_units(lvalue: Lvalue, where: Place) -> MacahError:
    """The error for a stream's handle in what the kernel has as bytes."""
    name = ".".join((lvalue.object.name, *(step for step in lvalue.path if not step.startswith("@"))))
    if not lvalue.object.raw:
        message, hint = (
            f"stream '{name}' in a union cannot be used in a kernel",
            "copy the handle into a variable",
        )
        return MacahError(message, where, hint=f"{hint} outside the kernel block", code="stream-handle")
    message = f"stream '{name}' is not visible where the kernel block stands"
    hint = "declare it above the function with the kernel block, and nothing else of that name in there"
    return MacahError(message, where, hint=hint, code="not-visible")


def _pointer_to(ctype: CType) -> str:
    """The C type of a pointer to a variable; of a stream it says nothing but the size of its elements."""
    element = ctype
    while isinstance(element, ArrayType):
        element = element.element
    pointer = str(ctypes.Pointer(ctype))
    if not isinstance(element, StreamType):
        return pointer
    handle = f"MACAH_STREAM(struct {{ char bytes[{size_of(element.element)}]; }})"
    return pointer.replace(str(element), handle)


def _structs(ctype: CType) -> list[StructType]:
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    return [ctype] if isinstance(ctype, StructType) else []
