"""A dataflow graph under construction: value numbering, and values that come from the iteration before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from arch.ops import COMPARISONS, OPS
from backend.dfg import Const, LiveIn, Node, Operand, Place, Use
from backend.record import made_quickly
from macah import ir
from macah.fold import simpler
from macah.ir import Apply, Expr, Read, Variable

WIDTH = 32
_COMMUTATIVE = frozenset(name for name, op in OPS.items() if op.commutative)


@made_quickly
@dataclass(frozen=True, slots=True)
class Before:
    """The value that a variable had when the iteration began."""

    variable: Variable

    def __hash__(self) -> int:
        return hash(self.variable)


Value = Const | LiveIn | Use | Before
ZERO, ONE = Const(0), Const(1)


@dataclass(slots=True)
class Draft:
    """A node whose operands may still be `Before`. `effect`: it stays though nothing uses it.

    `turn`: the node of another graph in whose place it takes part in orders.
    """

    op: str
    operands: tuple[Value, ...]
    stream: int | None = None
    memory: int | None = None
    index: int = 0
    where: Place | None = None
    variable: str | None = None
    effect: bool = False
    turn: int | None = None

    def with_operands(self, operands: tuple[Value, ...]) -> Draft:
        """The same done to other values."""
        return Draft(
            self.op,
            operands,
            self.stream,
            self.memory,
            self.index,
            self.where,
            self.variable,
            self.effect,
            self.turn,
        )


class Graph:
    """Drafts by number. A pure operation on the same values is the same draft.

    Folding is that of `macah.fold`: each value has an expression that stands for it, an operation that of
    its operands, anything else a variable.
    """

    def __init__(self, predicates: Iterable[Variable] = ()) -> None:
        self.drafts: list[Draft] = []
        self.numbers: dict[object, Use] = {}
        self.constants: dict[int, ir.Const] = {}
        self.predicates = set(predicates)  # variables that are always 0 or 1
        self.logical: set[int] = set()  # pure drafts that are
        self.exprs: dict[Value | Variable | int, Expr] = {}  # by what `_key` says
        self.values: dict[int, Value] = {}  # by the id of one of these expressions
        self.leaves: dict[Variable, Value] = {}

    def add(self, draft: Draft) -> int:
        """A new node, and its number."""
        self.drafts.append(draft)
        return len(self.drafts) - 1

    def shared(self, draft: Draft, *state: object) -> Use:
        """The node that does this already in the same state, or a new one."""
        use = self.known(draft, *state)
        if use is None:
            use = self.numbers[_doing(draft, state)] = Use(self.add(draft))
        return use

    def known(self, draft: Draft, *state: object) -> Use | None:
        """The node that does this already in the same state, if there is one."""
        return self.numbers.get(_doing(draft, state))

    def name(self, value: Value, variable: str) -> None:
        """The value is assigned to a variable: the first such name is the node's."""
        if isinstance(value, Use) and value.output == 0 and self.drafts[value.node].variable is None:
            self.drafts[value.node].variable = variable

    def pure(self, op: str, *operands: Value, where: Place | None = None) -> Value:
        """The result of a pure operation, folded."""
        found = simpler(op, tuple([self._expr(operand) for operand in operands]), WIDTH, self._holds)
        return self._made(op, list(operands), where) if found is None else self._value(found, where)

    def mark_predicate(self, value: Value) -> None:
        """The value is certainly 0 or 1, at least in iterations that count."""
        if isinstance(value, Use) and value.output == 0:
            self.logical.add(value.node)

    def split(self, value: Value) -> tuple[Value, int]:
        """A value as another plus a constant."""
        if isinstance(value, Const):
            return ZERO, value.value
        if isinstance(value, Use):
            draft = self.drafts[value.node]
            if draft.op == "add" and isinstance(draft.operands[1], Const):
                return draft.operands[0], draft.operands[1].value
        return value, 0

    def holds(self, value: Value) -> bool:
        """True if a value is certainly 0 or 1."""
        return self._holds(self._expr(value))

    def _expr(self, value: Value) -> Expr:
        if isinstance(value, Const):
            known = self.constants.get(value.value)
            if known is None:
                known = self.constants[value.value] = ir.Const(value.value)
            return known
        found = self.exprs.get(_key(value))
        if found is None:
            leaf = value.variable if isinstance(value, Before) else Variable("leaf")
            found = self._enter(Read(leaf), value)
            self.leaves[leaf] = value
            if isinstance(value, Use) and _gives_predicate(self.drafts[value.node].op, value.output):
                self.predicates.add(leaf)
        return found

    def _enter(self, expr: Expr, value: Value) -> Expr:
        self.exprs[_key(value)] = expr
        self.values[id(expr)] = value
        return expr

    def _value(self, expr: Expr, where: Place | None) -> Value:
        known = self.values.get(id(expr))
        if known is not None:
            return known
        match expr:
            case ir.Const(number):
                return Const(number)
            case Read(variable):
                return self.leaves[variable]
            case Apply(op, args):
                return self._made(op, [self._value(arg, where) for arg in args], where)
        raise AssertionError(expr)

    def _made(self, op: str, operands: list[Value], where: Place | None) -> Use:
        """The draft of an operation that is folded already."""
        if op in _COMMUTATIVE:
            operands.sort(key=_rank)
        key = (op, *[_key(operand) for operand in operands])
        use = self.numbers.get(key)
        if use is None:
            use = self.numbers[key] = Use(self.add(Draft(op, tuple(operands), where=where)))
            made = Apply(op, tuple([self._expr(operand) for operand in operands]))
            if self._holds(made):
                self.logical.add(use.node)
            self._enter(made, use)
        return use

    def _holds(self, expr: Expr) -> bool:
        """True if the value is certainly 0 or 1."""
        if isinstance(expr, ir.Const):
            return expr.value < 2
        if isinstance(expr, Read):
            return expr.variable in self.predicates
        if not isinstance(expr, Apply):
            return False
        if expr.op in COMPARISONS:
            return True
        known = self.values.get(id(expr))
        if isinstance(known, Use):
            return known.node in self.logical
        if expr.op not in ("and", "or", "xor", "select"):
            return False
        for arg in expr.args[expr.op == "select" :]:  # noqa: SIM110 - `all` takes twice as long
            if not self._holds(arg):
                return False
        return True


def _doing(draft: Draft, state: tuple[object, ...]) -> tuple[object, ...]:
    return draft.op, draft.operands, draft.stream, draft.memory, state


def _key(value: Value) -> Value | Variable | int:
    """What stands for a value where it is looked up and is compared quickly.

    That is the number of its node, the complement of a constant, or the variable.
    """
    if isinstance(value, Use):
        return value if value.output or value.distance else value.node
    if isinstance(value, Const):
        return ~value.value
    return value.variable if isinstance(value, Before) else value


def _gives_predicate(op: str, output: int) -> bool:
    return op in ("ended", "try_send") or (op in ("try_recv", "await") and output == 1)


def _rank(value: Value) -> tuple[int, int]:
    """An order of operands: what was computed last first, constants at the end."""
    if isinstance(value, Use):
        return (0, -value.node)
    if isinstance(value, Before):
        return (1, 0)
    return (2, value.index) if isinstance(value, LiveIn) else (3, value.value)


class Recurrences:
    """Says what `Before(v)` is: a node some iterations ago, or a value that never changes."""

    def __init__(
        self, graph: Graph, initial: Mapping[Variable, Const | LiveIn], final: Mapping[Variable, Value]
    ) -> None:
        self.graph = graph
        self.initial = initial
        self.final = final
        self.moves: dict[Variable, Use] = {}

    def invariants(self) -> dict[Variable, Const | LiveIn]:
        """Variables that are written, but with the value that they have."""
        found: dict[Variable, Const | LiveIn] = {}
        for variable, value in self.final.items():
            start = self.initial.get(variable)
            if value == Before(variable):
                found[variable] = start or ZERO
            elif isinstance(value, Const | LiveIn) and start in (None, value):
                found[variable] = value
        return found

    def operand(self, value: Value) -> Operand:
        """The operand that stands for a value; may add `mov` nodes."""
        return self._before(value.variable) if isinstance(value, Before) else value

    def _before(self, first: Variable) -> Operand:
        known: Const | LiveIn | None = None
        chain: list[Variable] = []
        current = first
        while current not in chain:
            start = self.initial.get(current)
            if known is not None and start is not None and known != start:
                # Where the chain reaches before iteration 0 it would need two initial values.
                return replace(self._move(chain[-1]), distance=len(chain), initial=known)
            known = known or start
            chain.append(current)
            match self.final[current]:
                case Use() as use:
                    return replace(use, distance=len(chain), initial=known or ZERO)
                case Before(variable):
                    current = variable
                case Const() | LiveIn() as value:
                    if known in (None, value):
                        return value
                    return replace(self._move(current), distance=len(chain), initial=known or ZERO)
        return known or ZERO

    def _move(self, variable: Variable) -> Use:
        """A node that copies what `variable` is at the end of the iteration."""
        if variable not in self.moves:
            draft = Draft("mov", (self.final[variable],), variable=variable.name)
            self.moves[variable] = Use(self.graph.add(draft))
        return self.moves[variable]


def finish(graph: Graph, recurrences: Recurrences) -> tuple[list[Node], dict[int, int]]:
    """The live nodes, renumbered, and their new numbers by the old."""
    resolved: dict[int, tuple[Operand, ...]] = {}
    pending = [number for number, draft in enumerate(graph.drafts) if draft.effect]
    while pending:
        number = pending.pop()
        if number not in resolved:
            operands = tuple([recurrences.operand(value) for value in graph.drafts[number].operands])
            resolved[number] = operands
            pending.extend(_nodes(operands))
    new = {number: position for position, number in enumerate(sorted(resolved))}
    nodes = []
    for number, position in new.items():
        d = graph.drafts[number]
        operands = tuple([_renumber(operand, new) for operand in resolved[number]])
        nodes.append(Node(position, d.op, operands, d.stream, d.memory, d.index, d.where, d.variable))
    return nodes, new


def _nodes(operands: Iterable[Operand]) -> list[int]:
    return [operand.node for operand in operands if isinstance(operand, Use)]


def _renumber(operand: Operand, new: Mapping[int, int]) -> Operand:
    if not isinstance(operand, Use):
        return operand
    return Use(new[operand.node], operand.distance, operand.initial, operand.output)
