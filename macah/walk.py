"""Walking and rebuilding the kernel IR: the loops that every pass would otherwise write again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TypeVar

from arch.ops import COMPARISONS
from macah import ir
from macah.ir import Apply, Array, Body, Const, Expr, Label, Load, Read, Stmt, Stream, Variable

S = TypeVar("S", bound=Stmt)
T = TypeVar("T")

LEAVES = (Const, Read)
GUARDED = ir.Store | ir.Shift | ir.Receive | ir.Send | ir.Close | ir.Ended | ir.Turns | ir.Late | ir.Assert
"""The effects that a guard can keep from happening."""
_LOOPS = frozenset({ir.While, ir.DoWhile})
_NESTING = frozenset({ir.If, ir.Block, ir.DoWhile, ir.While, ir.UnrolledFor})

# --- Expressions


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    if isinstance(expr, Apply):
        return expr.args
    return expr.index if isinstance(expr, Load) else ()


def subexpressions(expr: Expr) -> list[Expr]:
    """The expression and everything in it, each shared object once, outer before inner."""
    pending, found = [expr], dict[int, Expr]()
    while pending:
        inner = pending.pop()
        if id(inner) not in found:
            found[id(inner)] = inner
            if isinstance(inner, Apply):
                pending.extend(inner.args[::-1])
            elif isinstance(inner, Load):
                pending.extend(inner.index[::-1])
    return list(found.values())


def variables_in(expr: Expr) -> tuple[Variable, ...]:
    """The variables that an expression reads, some more than once; found once, as many passes ask."""
    if isinstance(expr, Read):
        return (expr.variable,)
    if isinstance(expr, Const):
        return ()
    try:
        return expr.variables
    except AttributeError:
        _look(expr)
        return expr.variables


def loads_in(expr: Expr) -> tuple[Load, ...]:
    """The loads in an expression, each shared object once, outer before inner; found once, too."""
    if isinstance(expr, LEAVES):
        return ()
    try:
        return expr.loads
    except AttributeError:
        _look(expr)
        return expr.loads


def _look(expr: Apply | Load) -> None:
    """Notes what variables and loads there are in an expression."""
    if isinstance(expr, Apply):
        for arg in expr.args:
            if not isinstance(arg, LEAVES):
                break
        else:  # most are that simple
            flat = tuple([arg.variable for arg in expr.args if isinstance(arg, Read)])
            object.__setattr__(expr, "variables", flat)
            object.__setattr__(expr, "loads", ())
            return
    found, loads, seen = list[Variable](), list[Load](), set[int]()
    pending: list[Expr] = [expr]
    while pending:
        inner = pending.pop()
        if isinstance(inner, Read):
            found.append(inner.variable)
        elif not isinstance(inner, Const) and id(inner) not in seen:
            seen.add(id(inner))
            if isinstance(inner, Load):
                loads.append(inner)
                pending += inner.index[::-1]
            else:
                pending += inner.args[::-1]
    object.__setattr__(expr, "variables", tuple(found))
    object.__setattr__(expr, "loads", tuple(loads))


def folded(expr: Expr, made: Callable[[Expr, list[T]], T]) -> T:
    """What `made` makes of an expression and what it made of its operands; shared ones are visited once."""
    return _folded(expr, made, {})


def _folded(expr: Expr, made: Callable[[Expr, list[T]], T], done: dict[int, T]) -> T:
    if isinstance(expr, LEAVES):
        return made(expr, [])
    if id(expr) not in done:
        done[id(expr)] = made(expr, [_folded(arg, made, done) for arg in children(expr)])
    return done[id(expr)]


def map_expr(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`change` applied to every subexpression, inner ones first; shared ones are visited once."""
    return change(expr) if isinstance(expr, LEAVES) else _mapped(expr, change, {})


def _mapped(old: Expr, change: Callable[[Expr], Expr], done: dict[int, Expr]) -> Expr:
    """`map_expr` for a part; a closure would be garbage that only the collector finds."""
    if isinstance(old, LEAVES):
        return change(old)
    found = done.get(id(old))
    if found is not None:
        return found
    new = old
    if isinstance(old, Apply):
        inner = tuple([_mapped(arg, change, done) for arg in old.args])
        if not all(map(is_, inner, old.args)):
            new = Apply(old.op, inner, old.bits)
    else:
        inner = tuple([_mapped(arg, change, done) for arg in old.index])
        if not all(map(is_, inner, old.index)):
            new = Load(old.array, inner, old.site, old.settled)
    done[id(old)] = result = change(new)
    return result


# --- Statements


def operands(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement itself evaluates, without those of the bodies inside it."""
    match stmt:
        case ir.Assign():
            return (stmt.value,)
        case ir.Store():
            return (*stmt.index, stmt.value, stmt.guard)
        case ir.Shift():
            return (*stmt.index, stmt.amount, stmt.guard)
        case ir.Receive() | ir.Close() | ir.Ended():
            return (*stmt.index, stmt.guard)
        case ir.Send():
            return (*stmt.index, *stmt.values, stmt.guard)
        case ir.Turns():
            return (stmt.guard,)
        case ir.Late():
            return (stmt.value, stmt.guard)
        case ir.Assert():
            return (stmt.condition, stmt.guard)
        case ir.If() | ir.While() | ir.UnrolledFor():
            return (stmt.condition,)
        case ir.DoWhile():
            return (stmt.condition, stmt.guard)
        case ir.Block() | ir.Leave() | ir.Forget():
            return ()
        case ir.Call():
            return tuple(expr for argument in stmt.arguments for expr in _argument_operands(argument))


def _argument_operands(argument: ir.Argument) -> tuple[Expr, ...]:
    match argument:
        case ir.View(_, index) | ir.StreamView(_, index):
            return index
        case _:
            return (argument,)


def map_operands(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """The statement with `change` applied to each of its `operands` (whole expressions)."""
    match stmt:
        case ir.Assign():
            value = change(stmt.value)
            return stmt if value is stmt.value else ir.Assign(stmt.variable, value, stmt.where)
        case ir.Store():
            index = _each(stmt.index, change)
            return updated(stmt, index=index, value=change(stmt.value), guard=change(stmt.guard))
        case ir.Shift():
            index = _each(stmt.index, change)
            return updated(stmt, index=index, amount=change(stmt.amount), guard=change(stmt.guard))
        case ir.Receive() | ir.Close() | ir.Ended():
            return updated(stmt, index=_each(stmt.index, change), guard=change(stmt.guard))
        case ir.Send():
            index, values = _each(stmt.index, change), _each(stmt.values, change)
            return updated(stmt, index=index, values=values, guard=change(stmt.guard))
        case ir.Turns():
            return updated(stmt, guard=change(stmt.guard))
        case ir.Late():
            return updated(stmt, value=change(stmt.value), guard=change(stmt.guard))
        case ir.Assert():
            return updated(stmt, condition=change(stmt.condition), guard=change(stmt.guard))
        case ir.If() | ir.While() | ir.UnrolledFor():
            return updated(stmt, condition=change(stmt.condition))
        case ir.DoWhile():
            return updated(stmt, condition=change(stmt.condition), guard=change(stmt.guard))
        case ir.Block() | ir.Leave() | ir.Forget():
            return stmt
        case ir.Call():
            return replace(stmt, arguments=tuple(_map_argument(a, change) for a in stmt.arguments))


def updated(stmt: S, **changes: object) -> S:
    """The statement with some fields changed; itself if they are the same objects as before."""
    if all(getattr(stmt, name) is value for name, value in changes.items()):
        return stmt
    # As `replace` does, which takes twice as long.
    make: Callable[..., S] = type(stmt)
    return make(*[changes[n] if n in changes else getattr(stmt, n) for n in stmt.__match_args__])


def _each(exprs: tuple[Expr, ...], change: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    changed = tuple([change(expr) for expr in exprs])
    return exprs if all(map(is_, changed, exprs)) else changed


def _map_argument(argument: ir.Argument, change: Callable[[Expr], Expr]) -> ir.Argument:
    match argument:
        case ir.View(array, index):
            return ir.View(array, _each(index, change))
        case ir.StreamView(stream, index):
            return ir.StreamView(stream, _each(index, change))
        case _:
            return change(argument)


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The bodies inside a statement, in the order in which they are written."""
    match stmt:
        case ir.If():
            return (stmt.then, stmt.orelse)
        case ir.Block() | ir.DoWhile():
            return (stmt.body,)
        case ir.While():
            return (stmt.before, stmt.body)
        case ir.UnrolledFor():
            return (stmt.init, stmt.before, stmt.body, stmt.step, stmt.fresh)
        case _:
            return ()


def map_bodies(stmt: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """The statement with `change` applied to each of its `bodies`."""
    match stmt:
        case ir.If():
            return updated(stmt, then=change(stmt.then), orelse=change(stmt.orelse))
        case ir.Block() | ir.DoWhile():
            return updated(stmt, body=change(stmt.body))
        case ir.While():
            return updated(stmt, before=change(stmt.before), body=change(stmt.body))
        case ir.UnrolledFor():
            init, before, fresh = change(stmt.init), change(stmt.before), change(stmt.fresh)
            body, step = change(stmt.body), change(stmt.step)
            return updated(stmt, init=init, before=before, body=body, step=step, fresh=fresh)
        case _:
            return stmt


def targets(stmt: Stmt) -> tuple[Variable, ...]:
    """The variables that a statement itself may write."""
    match stmt:
        case ir.Assign():
            return (stmt.variable,)
        case ir.Receive():
            return (*stmt.targets, *(v for v in (stmt.worked, stmt.passed) if v is not None))
        case ir.Send():
            return () if stmt.worked is None else (stmt.worked,)
        case ir.Ended() | ir.Late():
            return (stmt.target,)
        case ir.Call():
            return stmt.results
        case _:
            return ()


def map_targets(stmt: Stmt, change: Callable[[Variable], Variable]) -> Stmt:
    """The statement with `change` applied to each of its `targets`."""
    match stmt:
        case ir.Assign():
            return ir.Assign(change(stmt.variable), stmt.value, stmt.where)
        case ir.Receive():
            worked = None if stmt.worked is None else change(stmt.worked)
            passed = None if stmt.passed is None else change(stmt.passed)
            return replace(stmt, targets=tuple(change(v) for v in stmt.targets), worked=worked, passed=passed)
        case ir.Send():
            return stmt if stmt.worked is None else replace(stmt, worked=change(stmt.worked))
        case ir.Ended() | ir.Late():
            return replace(stmt, target=change(stmt.target))
        case ir.Call():
            return replace(stmt, results=tuple(change(v) for v in stmt.results))
        case _:
            return stmt


def statements(body: Body) -> Iterator[Stmt]:
    """Every statement of a body, those inside others too, outer before inner."""
    pending = [iter(body)]
    while pending:
        for stmt in pending[-1]:
            yield stmt
            if type(stmt) in _NESTING:
                pending += map(iter, reversed(bodies(stmt)))
                break
        else:
            pending.pop()


def parted(body: Body) -> tuple[list[ir.Assign], list[Stmt]]:
    """The assignments of a body, those inside others too, and all other statements; in no special order.

    Nearly all are assignments, and who looks for something else need not go through them.
    """
    assigns, others, pending = list[ir.Assign](), list[Stmt](), [body]
    while pending:
        inner = pending.pop()
        assigns += [stmt for stmt in inner if type(stmt) is ir.Assign]
        for stmt in [stmt for stmt in inner if type(stmt) is not ir.Assign]:
            others.append(stmt)
            if type(stmt) in _NESTING:
                pending += bodies(stmt)
    return assigns, others


def flat_map(body: Body, change: Callable[[Stmt], Iterable[Stmt]]) -> Body:
    """`change` applied to every statement, inner ones first; each is replaced by what it returns."""
    result: list[Stmt] = []
    for stmt in body:
        inside = (
            stmt if isinstance(stmt, ir.Assign) else map_bodies(stmt, lambda inner: flat_map(inner, change))
        )
        result.extend(change(inside))
    return body if len(result) == len(body) and all(map(is_, result, body)) else tuple(result)


def has_loop(body: Body) -> bool:
    """Whether there is a loop in a body, at any depth; a FOR loop is none."""
    return any(isinstance(stmt, ir.While | ir.DoWhile) for stmt in parted(body)[1])


def own_loops(body: Body) -> int:
    """How many of a body's own statements are loops."""
    return len([stmt for stmt in body if type(stmt) in _LOOPS])


# --- What a body touches


def written(body: Body) -> set[Variable]:
    """The variables that a body may write."""
    assigns, others = parted(body)
    found = {stmt.variable for stmt in assigns}
    for stmt in others:
        found.update(targets(stmt))
    return found


def read(body: Body) -> set[Variable]:
    """The variables that a body may read; a guarded write does not count as reading the old value."""
    assigns, others = parted(body)
    found = {variable for assign in assigns for variable in variables_in(assign.value)}
    for stmt in others:
        found.update([variable for expr in operands(stmt) for variable in variables_in(expr)])
    return found


def arrays_written(body: Body) -> set[Array]:
    """The arrays that a body may change."""
    others = parted(body)[1]
    found = {stmt.array for stmt in others if isinstance(stmt, ir.Store | ir.Shift)}
    for call in [stmt for stmt in others if isinstance(stmt, ir.Call)]:
        found.update([argument.array for argument in call.arguments if isinstance(argument, ir.View)])
    return found


def arrays_read(body: Body) -> set[Array]:
    """The arrays that a body may read."""
    assigns, others = parted(body)
    found = {load.array for assign in assigns for load in loads_in(assign.value)}
    for stmt in others:
        if isinstance(stmt, ir.Shift):
            found.add(stmt.array)
        found.update([load.array for expr in operands(stmt) for load in loads_in(expr)])
    return found


def leaves_to(body: Body) -> set[Label]:
    """The labels of enclosing blocks that a body may leave to."""
    others = parted(body)[1]
    found = {stmt.label for stmt in others if isinstance(stmt, ir.Leave)}
    return found - {stmt.label for stmt in others if isinstance(stmt, ir.Block)}


# --- Copies


@dataclass(slots=True)
class Renaming:
    """What stands for what in a copy; objects that are not mentioned stand for themselves."""

    variables: dict[Variable, Variable] = field(default_factory=dict)
    arrays: dict[Array, Array] = field(default_factory=dict)
    streams: dict[Stream, Stream] = field(default_factory=dict)
    labels: dict[Label, Label] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        """A copy of an expression."""
        return map_expr(expr, self._leaf)

    def _leaf(self, expr: Expr) -> Expr:
        match expr:
            case Read(variable) if variable in self.variables:
                return Read(self.variables[variable])
            case Load(array, index) if array in self.arrays:
                return Load(self.arrays[array], index)
            case _:
                return expr

    def body(self, body: Body) -> Body:
        """A copy of a body."""
        return flat_map(body, lambda stmt: (self.statement(stmt),))

    def statement(self, stmt: Stmt) -> Stmt:
        """A copy of a statement, whose inner bodies are copied already."""
        stmt = map_operands(stmt, self.expr)
        stmt = map_targets(stmt, lambda variable: self.variables.get(variable, variable))
        match stmt:
            case ir.Store() | ir.Shift() | ir.Forget():
                return replace(stmt, array=self.arrays.get(stmt.array, stmt.array))
            case ir.Receive() | ir.Send() | ir.Close() | ir.Ended():
                return replace(stmt, stream=self.streams.get(stmt.stream, stmt.stream))
            case ir.Block() | ir.Leave():
                return replace(stmt, label=self.labels.get(stmt.label, stmt.label))
            case ir.Call():
                return replace(stmt, arguments=tuple(self._argument(a) for a in stmt.arguments))
            case _:
                return stmt

    def _argument(self, argument: ir.Argument) -> ir.Argument:
        match argument:
            case ir.View(array, index):
                return ir.View(self.arrays.get(array, array), index)
            case ir.StreamView(stream, index):
                return ir.StreamView(self.streams.get(stream, stream), index)
            case _:
                return argument


def fresh(variable: Variable, name: str | None = None) -> Variable:
    """A new variable like another."""
    return Variable(variable.name if name is None else name, variable.bits, variable.where)


def replace_reads(expr: Expr, values: Mapping[Variable, Expr]) -> Expr:
    """The expression with the values of some variables put in."""

    def leaf(inner: Expr) -> Expr:
        return values.get(inner.variable, inner) if isinstance(inner, Read) else inner

    return map_expr(expr, leaf)


# --- Building expressions


def is_constant(expr: Expr, value: int) -> bool:
    """True if the expression is that constant."""
    return isinstance(expr, Const) and expr.value == value


def both(a: Expr, b: Expr) -> Expr:
    """The conjunction of two predicates."""
    if is_constant(a, 0) or is_constant(b, 0):
        return ir.FALSE
    if is_constant(a, 1) or a == b:
        return b
    return a if is_constant(b, 1) else Apply("and", (a, b))


def truth(condition: Expr) -> Expr:
    """The condition as a predicate: 0 or 1."""
    match condition:
        case Const(value):
            return ir.TRUE if value else ir.FALSE
        case Apply(op) if op in COMPARISONS:
            return condition
        case _:
            return Apply("ne", (condition, Const(0, condition.bits)))


def with_guard(stmt: Stmt, guard: Expr) -> Stmt:
    """An effect that happens only if `guard` is not 0 as well."""
    assert isinstance(stmt, GUARDED | ir.DoWhile), stmt
    return updated(stmt, guard=both(guard, stmt.guard))
