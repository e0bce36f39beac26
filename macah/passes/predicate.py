"""Straight-line code that runs under a predicate: what `convert_ifs`, `fuse_loops` and `flatten_loops` share.

    [p] { t = a + 1; x = t * 2; A[i] = x; }     where x must keep its value if p is 0, t need not

becomes

    t = a + 1; x' = t * 2; A[i] = x' if p; x = p ? x' : x;
"""

from __future__ import annotations

from collections.abc import Collection, Set
from functools import cached_property

from backend.dfg import Place
from macah import ir
from macah.fold import is_predicate, predicates
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.passes.code import Code, Node
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
    """Makes predicates for a kernel: looks at all of it, when one is asked for."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self._kernel = kernel
        self._free = set[Variable]()

    @cached_property
    def known(self) -> set[Variable]:
        """The variables that hold nothing but 0 and 1."""
        return set(predicates(self._kernel))

    @cached_property
    def unspecified(self) -> set[Variable]:
        """The variables that nothing assigns."""
        captured = {c.what for c in self._kernel.captured if isinstance(c.what, Variable)}
        return read(self._kernel.body) - written(self._kernel.body) - captured

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
        return is_predicate(expr) or is_predicate(expr, self.known)  # `known` takes long to find

    def is_unspecified(self, expr: Expr) -> bool:
        """True if the value is that of a variable that nothing assigns."""
        return isinstance(expr, Read) and (expr.variable in self._free or expr.variable in self.unspecified)

    def free(self, variables: Collection[Variable], where: Place | None) -> Body:
        """Unspecified values for variables."""
        values = [ir.unspecified(variable.bits) for variable in variables]
        self._free.update(value.variable for value in values)
        return tuple([Assign(v, value, where) for v, value in zip(variables, values, strict=True)])

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


# --- Code under a predicate


class Arm:
    """Code that is made safe to run in vain: variables in `keep` are not assigned.

    `values` says what holds their new values, `writers` where these are written.
    """

    def __init__(self, code: Code, keep: Set[Variable], predicates: Predicates) -> None:
        self.code = code
        self.keep = keep
        self.predicates = predicates
        self.values: Values = {}
        self.unspecified: dict[Variable, Expr] = {}
        self.writers: dict[Variable, list[Node]] = {}
        few, many = (code.assigns, keep) if len(code.assigns) < len(keep) else (keep, code.assigns)
        for node in code.taken([variable for variable in few if variable in many]):
            self._rewrite(node)
        self.values |= self.unspecified

    def _rewrite(self, node: Node) -> None:
        node.before = [self._put_in(stmt) for stmt in node.before]
        match node.stmt:
            case Assign() as stmt:
                stmt = self._put_in(stmt)
                node.stmt = self._assign(node, stmt) if stmt.variable in self.keep else stmt
            case None:
                pass
            case stmt:
                node.stmt = self._effect(node, stmt)

    def _put_in(self, stmt: Assign) -> Assign:
        return Assign(stmt.variable, replace_reads(stmt.value, self.values), stmt.where)

    def _assign(self, node: Node, stmt: Assign) -> Stmt | None:
        variable, value = stmt.variable, stmt.value
        self.unspecified.pop(variable, None)
        if self.predicates.is_unspecified(value):
            self.values[variable] = Const(0, variable.bits)
            self.unspecified[variable] = value
            return None
        if isinstance(value, Const):
            self.values[variable] = value
            return None
        return Assign(self._own(variable, node), value, stmt.where)

    def _own(self, variable: Variable, node: Node) -> Variable:
        """The arm's variable that stands for another, which is written at that place."""
        match self.values.get(variable):
            case Read(made):
                pass
            case _:
                made = fresh(variable)
                self.values[variable] = Read(made)
                self.code.made.add(made)
        self.writers.setdefault(made, []).append(node)
        return made

    def _effect(self, node: Node, stmt: Stmt) -> Stmt:
        """An effect or a loop: without its guard it writes nothing, so no copies are needed."""
        for variable in (*targets(stmt), *_written_inside(stmt)):
            self.unspecified.pop(variable, None)
            match self.values.get(variable):
                case Const() as value:
                    node.before.append(Assign(self._own(variable, node), value, stmt.where))
                    self._own(variable, node)
                case Read():
                    self._own(variable, node)
        touched = read((stmt,)) | written((stmt,))
        values = {v: self.values[v] for v in touched if v in self.values}
        renaming = Renaming({v: e.variable for v, e in values.items() if isinstance(e, Read)})
        constants = {v: e for v, e in values.items() if isinstance(e, Const)}

        def rename(inner: Stmt) -> Stmt:
            inner = map_bodies(inner, lambda body: tuple([rename(s) for s in body]))
            inner = map_operands(inner, lambda expr: renaming.expr(replace_reads(expr, constants)))
            return map_targets(inner, lambda v: renaming.variables.get(v, v))

        return rename(stmt)


def _written_inside(stmt: Stmt) -> tuple[Variable, ...]:
    """The variables that a loop writes, in the order of the program."""
    inside = (inner for body in bodies(stmt) for inner in statements(body))
    return tuple(dict.fromkeys(variable for inner in inside for variable in targets(inner)))
