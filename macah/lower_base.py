"""What all of lowering shares: the function being lowered, where its statements go, and the errors found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.ctypes import ArrayType, CType, Integer, StructType
from macah.diagnostic import Diagnostic, MacahError, Note, Place
from macah.lower_declarations import Declarations
from macah.lower_facts import Facts, Key
from macah.lower_scope import FunctionName, Object, Scope
from macah.lower_storage import Storage
from macah.lower_units import Step
from macah.lower_values import Lvalue, Pointee, Rvalue, Value
from macah.program import Program, place_of, walk

# Copies of at most so many elements are written out, of fewer in loops; longer ones are loops.
_WRITTEN_OUT = 16
_WRITTEN_OUT_INSIDE = 4
# Told once of each name, as gcc does: the declaration is wrong, not each use.
_ONCE = frozenset(
    {"undeclared", "unresolved-pointer", "variable-length-array", "floating-point", "wide-type"}
)


@dataclass(slots=True)
class Jump:
    """A place that `break`, `continue` or `return` goes to."""

    label: ir.Label
    used: bool = False

    def leave(self, where: Place) -> ir.Leave:
        """The statement that goes there."""
        self.used = True
        return ir.Leave(self.label, where)

    def around(self, body: list[ir.Stmt], where: Place) -> list[ir.Stmt]:
        """`body`, as a block to leave if something does."""
        return [ir.Block(self.label, tuple(body), where)] if self.used else body


@dataclass(slots=True)
class Frame:
    """The kernel or function that is being lowered.

    `assigned` are the names that it assigns anywhere. `returning` is None in the kernel itself. `last` is the
    statement behind which the function ends.
    """

    function: str
    scope: Scope
    assigned: frozenset[str] = frozenset()
    result: Lvalue | None = None
    returning: Jump | None = None
    last: Any = None
    breaks: list[Jump] = field(default_factory=list)
    continues: list[Jump] = field(default_factory=list)


@lru_cache(maxsize=1)
def _names(unit: Any) -> frozenset[str]:
    return frozenset(n.name for n in walk(unit) if isinstance(n, c_ast.ID))


class Base(ABC):
    """The state of lowering one kernel; what it only declares comes with the classes built on it."""

    def __init__(self, program: Program, types: Declarations, frame: Frame, facts: Facts) -> None:
        self.program = program
        self.types = types
        self.frame = frame
        self.facts = facts
        self.storage = Storage(frame.scope, facts)
        self.body: list[ir.Stmt] = []
        self.errors: list[Diagnostic] = []
        # What local pointers point into; parameters that stand for a variable of the caller.
        self.pointers: dict[tuple[Object, tuple[Step, ...]], Pointee] = {}
        # What indices of pointers were when these were bound.
        self.begins: dict[ir.Variable, ir.Expr] = {}
        # Pointers that were null, or used, before anything else was assigned; flags of what may be null.
        self.only_null: set[tuple[Object, tuple[Step, ...]]] = set()
        # Pointers of the host that point to something since the kernel assigned them.
        self.bound_here: set[tuple[Object, tuple[Step, ...]]] = set()
        self.unbound: set[tuple[Object, tuple[Step, ...]]] = set()
        self.flags_of_null: dict[tuple[Object, tuple[Step, ...]], ir.Variable] = {}
        # The function that the kernel stands in; the variables declared so far.
        self.enclosing: Any = None
        # The kernel block itself, and how many branches, loops and calls are around what is lowered.
        self.block: Any = None
        self.depth = 0
        # How many loops are around what is lowered that stand for one statement.
        self.repeats = 0
        self.declared: dict[Key, Object] = {}
        # Static variables, by their declarations: a function may be expanded several times.
        self.statics: dict[int, Object] = {}
        self.aliases: dict[Object, Lvalue] = {}
        # Variables of the compiler's own that are 0 or 1.
        self.flags: set[ir.Variable] = set()
        # The functions being lowered, with the places that call them.
        self.chain: list[tuple[FunctionName, Place]] = []
        # How many FOR loops are around what is lowered, and what makes their words anew that are received.
        self.unrolling = 0
        self.fresh: list[ir.Assign] = []
        # Whether a receive can find its stream closed: those whose end a kernel asks for Python closes.
        self.streams_end = bool({"pstream_close", "pstream_ended"} & _names(program.unit))
        # Variables that a blocking receive of a stream without an end gives all of their value.
        self.received: set[ir.Variable] = set()

    @abstractmethod
    def value(self, node: Any, wanted: bool = True) -> Value:
        """Lower an expression; its effects become statements. `wanted`: its value is used."""

    @abstractmethod
    def statement(self, node: Any) -> None:
        """Lower a statement."""

    @abstractmethod
    def call(self, node: Any) -> Value:
        """Lower a function call."""

    @abstractmethod
    def class_of_character(self, node: Any) -> Value | None:
        """What a macro of <ctype.h> says of a character, if `node` comes of one."""

    @abstractmethod
    def shift(self, target: Lvalue, node: Any) -> None:
        """Lower `a <<= n` or `a >>= n` of an array."""

    @abstractmethod
    def compound_value(self, node: Any) -> Value:
        """Lower GNU's `({ … })`."""

    @abstractmethod
    def literal_object(self, node: Any) -> Lvalue:
        """Lower a compound literal."""

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.frame.scope

    def emit(self, statement: ir.Stmt) -> None:
        """Append a statement to what is being lowered."""
        self.body.append(statement)

    @contextmanager
    def collected(self) -> Iterator[list[ir.Stmt]]:
        """Statements emitted within go to a list of their own."""
        outer, self.body = self.body, []
        self.depth += 1
        try:
            yield self.body
        finally:
            self.body = outer
            self.depth -= 1

    @contextmanager
    def inner_scope(self) -> Iterator[Scope]:
        """A block's scope."""
        outer = self.frame.scope
        self.frame.scope = Scope(outer)
        try:
            yield self.frame.scope
        finally:
            self.frame.scope = outer

    @contextmanager
    def within(self, frame: Frame) -> Iterator[None]:
        """Lowers another function."""
        outer, self.frame = self.frame, frame
        try:
            yield
        finally:
            self.frame = outer

    def note_error(self, error: MacahError) -> None:
        """Keep an error, to go on and find more; say how the kernel gets to the function it is in."""
        chain, called = list(self.chain), None
        while chain and chain[-1][0].library:  # nobody can see what is in there
            called = chain.pop()[1]
        calls = tuple(Note(f"'{f.name}' is called here", at) for f, at in reversed(chain))
        known = {(d.message, d.where) for d in self.errors}
        told = {d.message for d in self.errors if d.code in _ONCE}
        for found in error.diagnostics:
            found = found if called is None else replace(found, where=called)
            if (found.message, found.where) not in known and found.message not in told:
                self.errors.append(replace(found, notes=(*found.notes, *calls)))

    def variable(self, name: str, bits: int, where: Place) -> ir.Variable:
        """A variable of the compiler's own."""
        return ir.Variable(name, bits, where)

    def flag(self, name: str, where: Place) -> ir.Variable:
        """A variable of the compiler's own that is 0 or 1."""
        variable = self.variable(name, 32, where)
        self.flags.add(variable)
        return variable

    def keep(self, expr: ir.Expr, name: str, where: Place) -> ir.Expr:
        """The value that `expr` has now, whatever is assigned later."""
        if isinstance(expr, ir.Const):
            return expr
        variable = self.variable(name, expr.bits, where)
        self.emit(ir.Assign(variable, expr, where))
        return ir.Read(variable)

    def emit_if(
        self,
        condition: ir.Expr,
        then: list[ir.Stmt],
        orelse: list[ir.Stmt],
        where: Place,
        expect: float | None = None,
    ) -> None:
        """An `If`; what the macro `assert` expands to becomes an assertion."""
        match then, orelse:
            case [], []:
                return
            case [], [ir.Assert(ir.Const(0), message)]:
                self.emit(ir.Assert(condition, message, where=where))
            case _:
                self.emit(ir.If(condition, tuple(then), tuple(orelse), expect, where))

    def for_each(self, length: int, element: CType, where: Place, body: Callable[[ir.Expr], None]) -> None:
        """Emit `body(index)` for all indices of a dimension, whose elements have this type.

        Written out are arrays of few elements, all dimensions together: with constant indices alone, they
        become scalars.
        """
        if length * _elements(element) <= (_WRITTEN_OUT_INSIDE if self.repeats else _WRITTEN_OUT):
            for i in range(length):
                body(ir.Const(i))
        else:
            self.repeat(ir.Const(length), where, body)

    def repeat(self, count: ir.Expr, where: Place, body: Callable[[ir.Expr], None]) -> None:
        """Emit a loop that does `body(index)` for all indices before `count`, which does not change."""
        counter = self.variable("i", 32, where)
        self.emit(ir.Assign(counter, ir.Const(0), where))
        # Loops are known by their places: one in another has the next column.
        place = replace(where, column=where.column + self.repeats)
        self.repeats += 1
        try:
            with self.collected() as inner:
                body(ir.Read(counter))
                self.emit(ir.Assign(counter, ir.Apply("add", (ir.Read(counter), ir.Const(1))), where))
        finally:
            self.repeats -= 1
        self.emit(ir.While((), ir.Apply("ult", (ir.Read(counter), count)), tuple(inner), place))

    def number(self, node: Any) -> tuple[ir.Expr, Integer]:
        """Lower an expression that must be an integer."""
        return self.as_number(self.rvalue(node), node)

    def as_number(self, value: Value, node: Any) -> tuple[ir.Expr, Integer]:
        """The value of an expression that must be an integer."""
        if isinstance(value, Rvalue) and isinstance(value.type, Integer):
            return value.expr, value.type
        raise MacahError(
            f"expected an integer, have a value of type '{type_text(value)}'",
            place_of(node),
            code="invalid-operands",
        )

    @abstractmethod
    def rvalue(self, node: Any) -> Value:
        """Lower an expression for its value: a variable is read, an array becomes a pointer."""


def _elements(ctype: CType) -> int:
    """How many elements the largest array in a type has."""
    match ctype:
        case ArrayType(element=element, length=length):
            return (length or 0) * _elements(element)
        case StructType(members=members):
            return max((_elements(member.type) for member in members), default=1)
        case _:
            return 1


def type_text(value: Value) -> str:
    """The type of a value, for messages."""
    ctype: CType = value.type
    return str(ctype)


def assigned_names(node: Any) -> frozenset[str]:
    """The names that are assigned, incremented or decremented in `node`, other than by their declaration."""
    return frozenset(name for n in walk(node) if (name := _assigned_name(n)))


def _assigned_name(node: Any) -> str:
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            return str(name)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" | "&", expr=c_ast.ID(name=name)):
            return str(name)
        case _:
            return ""
