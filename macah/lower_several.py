"""Pointers to one of several variables: `t = now; now = next; next = t;`.

Such a pointer is a place in each of them, and flags that say which of them it is; what is read through
it is chosen from what all of them have there, and what is written through it is written to one.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.ctypes import ArrayType, Integer, Pointer, StructType, compatible
from macah.diagnostic import Place
from macah.lower_addresses import Addresses, different
from macah.lower_arithmetic import apply
from macah.lower_facts import Reconsider, key_of
from macah.lower_scope import Object
from macah.lower_units import As, Step
from macah.lower_values import Lvalue


class Several(Addresses):
    """Pointer variables of a kernel with several targets; which these are, an earlier lowering found."""

    def learn_targets(self, pointer: Lvalue, *targets: Lvalue) -> None:
        """Lower the kernel anew with all of these as what a pointer may point into, if that can be."""
        known = self.facts.several.get(key_of(pointer.object), {})
        all_of_them = [one for target in targets for one in alternatives(target)]
        loose = key_of(pointer.object) in self.facts.loose
        if loose or pointer.object.source is not None or pointer.steps or not are_alike(all_of_them):
            return
        for one in all_of_them:
            self.tell_apart(all_of_them[0], one)
        found = dict(known)
        for one in all_of_them:
            owner = one.object
            outer = owner if owner.source is not None or owner.table is not None else None
            found.setdefault(key_of(owner), (outer, one.steps))
        if len(found) > len(known):
            self.facts.several[key_of(pointer.object)] = found
            raise Reconsider

    def all_targets(self, pointer: Lvalue, where: Place) -> Lvalue:
        """What a pointer may point into, with a flag for each but the first, and with indices of its own."""
        assert isinstance(pointer.type, Pointer), pointer
        name = pointer.object.name
        varying = key_of(pointer.object) in self.facts.varying
        made: list[Lvalue] = []
        for key, (outer, steps) in self.facts.several[key_of(pointer.object)].items():
            owner: Object | None = outer or self.declared.get(key)
            if owner is None or key_of(pointer.object) in self.facts.loose:
                raise different(name, where, made[0].object.name if made else name, key[0])

            def own(step: Step) -> Step:
                if isinstance(step, str | As) or (isinstance(step, ir.Const) and not varying):
                    return step
                return ir.Read(self.variable(name, 32, where))

            target = Lvalue(owner, owner.type, owner.const, tuple(own(step) for step in steps))
            seen = pointer.type.target
            made.append(replace(target, type=target.whole if compatible(target.whole, seen) else seen))
        const = pointer.type.const or any(one.const for one in made)
        flags = [self.flag(f"{name} is {one.object.name}", where) for one in made[1:]]
        self.storage.written.update(flags)
        return replace(made[0], const=const, others=tuple(zip(map(ir.Read, flags), made[1:], strict=True)))

    def point_to(self, pointer: Lvalue, known: Lvalue, value: Lvalue, where: Place) -> None:
        """Makes a pointer with several targets point to one of them, or to what another one points to."""
        name = pointer.object.name
        targets, given = alternatives(known), alternatives(value)
        numbers = {one.object: number for number, one in enumerate(targets)}
        for one in given:
            number = numbers.get(one.object)
            if number is None:
                self.learn_targets(pointer, known, value)
            if number is None or skeleton(one) != skeleton(targets[number]):
                raise different(name, where, known.object.name, one.object.name)
        conditions = [condition for condition, _ in value.others]
        which = [numbers[one.object] for one in (*(other for _, other in value.others), given[0])]
        ones = [*(other for _, other in value.others), given[0]]
        changes: list[tuple[ir.Expr, ir.Expr]] = []
        for number, (flag, _) in enumerate(known.others, 1):
            is_it: list[ir.Expr] = [ir.TRUE if one == number else ir.FALSE for one in which]
            changes.append((flag, _first(conditions, is_it)))
        for number, target in enumerate(targets):
            places = [k for k, one in enumerate(which) if one == number]
            for position, before in enumerate(target.index if places else ()):
                there = [ones[k].index[position] for k in places]
                held = [conditions[k] for k in places if k < len(conditions)][: len(there) - 1]
                changes.append((before, _first(held, there)))
        self._change(pointer, changes, where)

    def _change(self, pointer: Lvalue, changes: list[tuple[ir.Expr, ir.Expr]], where: Place) -> None:
        """Assign all at once."""
        name = pointer.object.name
        changes = [(before, after) for before, after in changes if before != after]
        if any(not isinstance(before, ir.Read) for before, _ in changes):
            self.facts.varying.add(key_of(pointer.object))
            raise Reconsider
        kept = [(before, self.keep(after, name, where)) for before, after in changes]
        for before, after in kept:
            assert isinstance(before, ir.Read)
            self.storage.written.add(before.variable)
            self.emit(ir.Assign(before.variable, after, where))


def either(condition: ir.Expr, yes: Lvalue, no: Lvalue) -> Lvalue | None:
    """What a pointer chosen by a condition points to; None if that is of no use."""
    if not are_alike([*alternatives(yes), *alternatives(no)]):
        return None
    main, *_ = alternatives(yes)
    others = [(apply("and", condition, c), other) for c, other in yes.others]
    return replace(no, others=(*others, (condition, main), *no.others), const=yes.const or no.const)


def alternatives(target: Lvalue) -> list[Lvalue]:
    """The one that it is where no condition holds, and the others."""
    return [replace(target, others=()), *(other for _, other in target.others)]


def are_alike(targets: list[Lvalue]) -> bool:
    """Whether all are of one type, of which a kernel can choose one."""
    ctype = targets[0].type
    return isinstance(ctype, Integer | StructType | ArrayType) and all(one.type == ctype for one in targets)


def skeleton(lvalue: Lvalue) -> tuple[str | As | None, ...]:
    """The way to a part, with None for each index."""
    return tuple(step if isinstance(step, str | As) else None for step in lvalue.steps)


def _first(conditions: list[ir.Expr], values: list[ir.Expr]) -> ir.Expr:
    """The value of the first condition that holds, the last one if none does."""
    expr = values[-1]
    for condition, value in reversed(list(zip(conditions, values, strict=False))):
        expr = value if value == expr else apply("select", condition, value, expr)
    return expr
