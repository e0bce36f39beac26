"""Straight-line code that runs under a predicate: what `convert_ifs`, `fuse_loops` and `flatten_loops` share.

    [p] { t = a + 1; x = t * 2; A[i] = x; }     where x must keep its value if p is 0, t need not

becomes

    t = a + 1; x' = t * 2; A[i] = x' if p; x = p ? x' : x;
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from arch.ops import COMPARISONS
from backend.dfg import Place
from macah import ir
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.walk import (
    Renaming,
    bodies,
    fresh,
    is_constant,
    map_bodies,
    map_operands,
    map_targets,
    read,
    replace_reads,
    statements,
    targets,
    with_guard,
    written,
)

Values = dict[Variable, Expr]

_INVERSE = {"eq": "ne", "ne": "eq"}
_SWAPPED_INVERSE = {"slt": "sle", "sle": "slt", "ult": "ule", "ule": "ult"}
_LOGIC = frozenset({"and", "or", "xor"})


def negate(predicate: Expr) -> Expr:
    """The other one of 0 and 1."""
    match predicate:
        case Const(value):
            return Const(1 - value)
        case Apply(op, (a, b)) if op in _INVERSE:
            return Apply(_INVERSE[op], (a, b))
        case Apply(op, (a, b)) if op in _SWAPPED_INVERSE:
            return Apply(_SWAPPED_INVERSE[op], (b, a))
        case Apply("xor", (a, Const(1))):
            return a
        case _:
            return Apply("xor", (predicate, ir.TRUE))


def either(a: Expr, b: Expr) -> Expr:
    """The disjunction of two predicates."""
    if is_constant(a, 1) or is_constant(b, 1):
        return ir.TRUE
    if is_constant(a, 0) or a == b:
        return b
    return a if is_constant(b, 0) else Apply("or", (a, b))


def select(predicate: Expr, a: Expr, b: Expr) -> Expr:
    """`predicate ? a : b`."""
    match predicate, a, b:
        case Const(value), _, _:
            return a if value else b
        case _, Const(1, 32), Const(0, 32):
            return predicate
        case _, Const(0, 32), Const(1, 32):
            return negate(predicate)
        case _ if a == b:
            return a
        case _:
            return Apply("select", (predicate, a, b), a.bits)


class Predicates:
    """Makes predicates. `known` are the variables that hold nothing but 0 and 1."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.known = _booleans(kernel)
        captured = {c.what for c in kernel.captured if isinstance(c.what, Variable)}
        self.unspecified = read(kernel.body) - written(kernel.body) - captured

    def truth(self, condition: Expr) -> Expr:
        """A condition as a predicate."""
        match condition:
            case Const(value):
                return ir.TRUE if value else ir.FALSE
            case _ if self.holds(condition):
                return condition
            case _:
                return Apply("ne", (condition, Const(0, condition.bits)))

    def holds(self, expr: Expr) -> bool:
        """True if the value is a predicate already: 0 or 1."""
        return _is_boolean(expr, self.known)

    def is_unspecified(self, expr: Expr) -> bool:
        """True if the value is that of a variable that nothing assigns."""
        return isinstance(expr, Read) and expr.variable in self.unspecified

    def variable(self, name: str, where: Place | None = None) -> Variable:
        """A new variable for a predicate."""
        made = Variable(name, 32, where)
        self.known.add(made)
        return made

    def like(self, variable: Variable) -> Variable:
        """A new variable that holds predicates if another one does."""
        made = fresh(variable)
        if variable in self.known:
            self.known.add(made)
        return made

    def named(self, condition: Expr, name: str, where: Place | None = None) -> tuple[Body, Expr]:
        """A condition's truth in a variable of its own, and the statements that put it there."""
        value = self.truth(condition)
        if isinstance(value, Const):
            return (), value
        made = self.variable(name, where)
        return (Assign(made, value, where),), Read(made)


def _is_boolean(expr: Expr, known: set[Variable]) -> bool:
    match expr:
        case Const(value):
            return value <= 1
        case Read(variable):
            return variable in known
        case Apply(op) if op in COMPARISONS:
            return True
        case Apply(op, args) if op in _LOGIC:
            return all(_is_boolean(arg, known) for arg in args)
        case Apply("select", (_, a, b)):
            return _is_boolean(a, known) and _is_boolean(b, known)
        case _:
            return False


def _booleans(kernel: ir.Kernel) -> set[Variable]:
    """The variables that are only ever given predicates: all that may be, less those that are not."""
    values: dict[Variable, list[Expr]] = {}
    other = {c.what for c in kernel.captured if isinstance(c.what, Variable)}
    for stmt in statements(kernel.body):
        match stmt:
            case Assign(variable, value):
                values.setdefault(variable, []).append(value)
            case ir.Receive():
                other.update(stmt.targets)
            case _:
                pass
            # what is left among the targets is `worked` and the like: 0 or 1
        for variable in targets(stmt):
            values.setdefault(variable, [])
    known = values.keys() - other
    while True:
        wrong = {v for v in known if not all(_is_boolean(value, known) for value in values[v])}
        if not wrong:
            return known
        known -= wrong


# --- Code under a predicate


@dataclass(slots=True)
class _Arm:
    """Code that is being made safe to run in vain: what stands for the variables that it must not touch."""

    keep: frozenset[Variable]
    guard: Expr
    predicates: Predicates
    values: Values = field(default_factory=dict)
    unspecified: dict[Variable, Expr] = field(default_factory=dict)
    made: list[Stmt] = field(default_factory=list)

    def run(self, body: Body) -> None:
        for stmt in body:
            match stmt:
                case Assign(variable, value, where):
                    self.assign(variable, replace_reads(value, self.values), where)
                case _:
                    self.effect(stmt)

    def assign(self, variable: Variable, value: Expr, where: Place | None) -> None:
        self.unspecified.pop(variable, None)
        if variable not in self.keep:
            self.made.append(Assign(variable, value, where))
        elif self.predicates.is_unspecified(value):
            self.values[variable] = Const(0, variable.bits)
            self.unspecified[variable] = value
        elif isinstance(value, Const):
            self.values[variable] = value
        else:
            self.made.append(Assign(self.own(variable), value, where))

    def own(self, variable: Variable) -> Variable:
        """The arm's variable that stands for another."""
        match self.values.get(variable):
            case Read(made):
                return made
            case _:
                made = fresh(variable)
                self.values[variable] = Read(made)
                return made

    def effect(self, stmt: Stmt) -> None:
        """An effect or a loop: without its guard it writes nothing, so no copies are needed."""
        for variable in (*targets(stmt), *_written_inside(stmt)):
            self.unspecified.pop(variable, None)
            value = self.values.get(variable)
            if isinstance(value, Const):
                self.made.append(Assign(self.own(variable), value, stmt.where))
        renaming = Renaming({v: e.variable for v, e in self.values.items() if isinstance(e, Read)})
        constants = {v: e for v, e in self.values.items() if isinstance(e, Const)}

        def rename(inner: Stmt) -> Stmt:
            inner = map_bodies(inner, lambda body: tuple([rename(s) for s in body]))
            inner = map_operands(inner, lambda expr: renaming.expr(replace_reads(expr, constants)))
            return map_targets(inner, lambda v: renaming.variables.get(v, v))

        renamed = rename(stmt) if self.values else stmt
        self.made.append(with_guard(renamed, self.guard))


def _written_inside(stmt: Stmt) -> tuple[Variable, ...]:
    """The variables that a loop writes, in the order of the program."""
    inside = (inner for body in bodies(stmt) for inner in statements(body))
    return tuple(dict.fromkeys(variable for inner in inside for variable in targets(inner)))


def speculate(
    body: Body, keep: Iterable[Variable], predicates: Predicates, guard: Expr = ir.TRUE
) -> tuple[Body, Values]:
    """Straight-line code and loops made safe to run in vain.

    Effects and loops get the guard as well. Variables in `keep` are not assigned; the second result says what
    holds their new values.
    """
    arm = _Arm(frozenset(keep), guard, predicates)
    arm.run(body)
    return tuple(arm.made), arm.values | arm.unspecified
