"""Which thread of a program does what to which streams, as far as its text tells.

The program is walked from `main` on, into every call, each with variables of its own, and into every function
that a thread is started with. This is done again until nothing new is found about the values of variables;
then the operations on streams are written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from pycparser import c_ast

from macah.lint_evaluation import Evaluation
from macah.lint_events import Context, Entry, Event, Thread, Walk
from macah.lint_names import Names, arguments, callee, parameters
from macah.lint_trips import literal_trips
from macah.lint_values import (
    ANYWHERE,
    NOTHING,
    UNKNOWN,
    Address,
    Code,
    Location,
    Site,
    Value,
    Values,
    locations,
)
from macah.program import Program, place_of
from macah.syntax import KernelBlock, Receive, Send, UnrolledFor

SPAWNS = {f"mem_{kind}_spawn{d}": len(d) > 0 for kind in ("reader", "writer") for d in ("", "_depth")}
"""Which argument of a call that starts an accessor is its function."""

_CREATIONS = ("pstream_create", "stream_create")
_ON_STREAM = {
    "pstream_close": "close",
    "stream_close": "close",
    "pstream_ended": "ended",
    "pstream_empty": "look",
    "pstream_full": "look",
}
_STARTS = {"pthread_create": 2, "thrd_create": 1}
_JOINS = ("pthread_join", "thrd_join", "mem_reader_join", "mem_writer_join")
_WAITS = ("pthread_cond_wait", "pthread_cond_timedwait", "pthread_barrier_wait", "sem_wait", "cnd_wait")
_ALLOCATIONS = ("malloc", "calloc", "aligned_alloc")
_COPIES = ("memcpy", "memmove")
# They keep nothing of what they are given.
_HARMLESS = frozenset(
    ["free", "memset", "memcmp", "printf", "fprintf", "puts", "assert", "exit", "abort"]
    + ["pstream_free", "stream_free", "pthread_detach", "pthread_mutex_lock", "pthread_mutex_unlock"]
)
_MOST_CALLS, _MOST_ROUNDS, _DEEPEST = 1500, 30, 30


class TooMuch(Exception):
    """The program is too large to be walked in this way."""


class Threads(Evaluation):
    """The operations on streams of a program, and the sites of their streams.

    `escaped` are the sites whose streams unseen code may use. A program that is too large has no events.
    `joins` wait for the end of threads, the `values` of each are where these were started, and `starts` says
    by what each was. `waits`: threads also wait for one another in ways that are not looked into.
    """

    def __init__(self, program: Program, names: Names) -> None:
        super().__init__(program.unit, names)
        self.program = program
        self.events: list[Event] = []
        self.joins: list[Event] = []
        self.starts: dict[Thread, Event] = {}
        self.waits = False
        self.loop_nodes: dict[int, Any] = {}  # by number
        self.sites: dict[int, Site] = {}
        self._started: dict[int, Site] = {}
        self._call_count = self._loops = self._positions = 0
        self._roots = self._find_roots()
        try:
            self._repeat()
        except TooMuch:
            self.events = []

    @property
    def escaped(self) -> set[object]:
        """Creations of streams that unseen code may use."""
        return self.store.escaped

    def trips(self, loop: int) -> float:
        """The iterations of a loop, by its number; infinite if literals do not say them."""
        trips = literal_trips(self.loop_nodes[loop])
        return inf if trips is None else trips

    @property
    def whole(self) -> bool:
        """Whether the program has a `main`, so that nobody else calls its functions."""
        return "main" in self.names.functions

    def _find_roots(self) -> list[Any]:
        functions = self.names.functions
        if self.whole:
            return [functions["main"]]
        return [f for f in functions.values() if "static" not in (f.decl.storage or ())]

    def _repeat(self) -> None:
        for _ in range(_MOST_ROUNDS):
            self.store.changed = False
            self.events, self.joins, self.starts, self.loop_nodes = [], [], {}, {}
            self._call_count = self._loops = self._positions = 0
            outside = Walk(Thread(""), Context(0))
            for node in self.program.unit.ext:
                if isinstance(node, c_ast.Decl):
                    self._declare(node, outside)
            for root in self._roots:
                count = 0 if self.whole else len(parameters(root))
                passed = [(frozenset[Value]({UNKNOWN}), [ANYWHERE])] * count
                self._start(Code(root.decl.name), passed, root, outside)
            if not self.store.changed:
                return
        raise TooMuch

    # --- Statements

    def visit(self, node: Any, at: Walk) -> None:
        """Walk a statement, or an expression whose value nobody wants."""
        match node:
            case None:
                return
            case c_ast.Decl():
                self._declare(node, at)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                with self._loop(node, at), self._under(node.cond, at):
                    for child in node:
                        self.visit(child, at)
            case c_ast.If() | c_ast.Switch():
                with self._under(node.cond, at):
                    for child in node:
                        self.visit(child, at)
            case KernelBlock():
                at.entry = Entry(node, len(at.loops))
                self.visit(node.body, at)
                at.entry = None
            case Send():
                self.values(node.value, at)
                self._event("send", node, node.stream, at)
            case Receive():
                self._event("receive", node, node.stream, at)
            case c_ast.Return():
                for source in self.sources(node.expr, at):
                    self.store.copy(source, Location(("result", at.context.number)))
                self.store.write(Location(("result", at.context.number)), self.values(node.expr, at))
            case c_ast.FuncDef() | c_ast.Typedef() | c_ast.Typename():
                return
            case c_ast.DeclList(decls=parts) | c_ast.Compound(block_items=parts):
                last = bool(parts) and isinstance(parts[-1], c_ast.Break | c_ast.Return)
                for part in parts or ():
                    at.last = last
                    self.visit(part, at)
                at.last = False
            case c_ast.Case() | c_ast.Default() | c_ast.Label():
                for child in node:
                    self.visit(child, at)
            case _:
                self.values(node, at)

    @contextmanager
    def _loop(self, node: Any, at: Walk) -> Iterator[None]:
        self._loops += 1
        number = -self._loops if isinstance(node, UnrolledFor) else self._loops
        self.loop_nodes[number] = node
        outer, at.loops, at.last = at.loops, (*at.loops, number), False
        yield
        at.loops = outer

    @contextmanager
    def _under(self, condition: Any, at: Walk) -> Iterator[None]:
        outer = at.conditions
        if condition is not None:
            at.conditions |= {id(found) for found in self.names.mentioned(condition)}
        yield
        at.conditions = outer

    def _declare(self, node: Any, at: Walk) -> None:
        if node.init is not None:
            self.initialize(self.variable(node, at), node.type, node.init, at)

    def _event(self, kind: str, node: Any, stream: Any, at: Walk) -> None:
        self.events.append(self._made(kind, node, stream, self.values(stream, at), at))

    def _made(self, kind: str, node: Any, stream: Any, values: Values, at: Walk) -> Event:
        self._positions += 1
        position = self._positions
        return Event(
            kind, node, stream, values, at.thread, position, at.loops, at.entry, at.conditions, at.last
        )

    # --- Calls

    def call(self, node: Any, at: Walk) -> Values:
        name, given = callee(node), arguments(node)
        if not name or self.names.declaration(node.name) is not None:
            found = self._indirect(node, given, at)
            if found is not None:
                return found
        if name in _CREATIONS:
            for argument in given[1:]:
                self.visit(argument, at)
            return frozenset({self._site(node, self.sites)})
        if name in _ON_STREAM and given:
            self._event(_ON_STREAM[name], node, given[0], at)
            return NOTHING
        if name in SPAWNS:
            return self._spawn(node, given[SPAWNS[name] :], at)
        if name in _STARTS and len(given) > _STARTS[name] + 1:
            for thread in locations(self.values(given[0], at)):
                self.store.write(thread, {self._site(node, self._started)})
            for code in self.values(given[_STARTS[name]], at):
                argument = self.values(given[_STARTS[name] + 1], at)
                self._start(code, [(argument, [])], node, at)
            return NOTHING
        if name in _JOINS and given:
            self.joins.append(self._made("join", node, None, self.values(given[0], at), at))
            for argument in given[1:]:
                self.visit(argument, at)
            return NOTHING
        self.waits |= name in _WAITS
        return self._library(name, node, given, at)

    def _indirect(self, node: Any, given: list[Any], at: Walk) -> Values | None:
        """A call of functions that have a body; None if there are none."""
        found = self.values(node.name, at)
        codes = [code for code in found if isinstance(code, Code)]
        passed = [(self.values(a, at), self.sources(a, at)) for a in given] if codes else []
        results: Values | None = None
        for code in sorted(codes, key=lambda c: c.name):
            results = (results or NOTHING) | self._enter(code, passed, (at.context.number, id(node)), at)
        return results

    def _site(self, node: Any, known: dict[int, Site]) -> Site:
        return known.setdefault(id(node), Site(node, place_of(node)))

    def _spawn(self, node: Any, given: list[Any], at: Walk) -> Values:
        created: Values = frozenset({self._site(node, self.sites)})
        passed = [(created, []), *((self.values(a, at), self.sources(a, at)) for a in given[1:])]
        for code in self.values(given[0], at) if given else ():
            self._start(code, passed, node, at)
        return created

    def _library(self, name: str, node: Any, given: list[Any], at: Walk) -> Values:
        """A call of a function without a body."""
        values = [self.values(argument, at) for argument in given]
        if name in _ALLOCATIONS:
            return frozenset({Address(Location((id(node), at.context.number), (0,)))})
        if name == "realloc" and values:
            return values[0] | {Address(Location((id(node), at.context.number), (0,)))}
        if name in _COPIES and len(values) > 1:
            for source in locations(values[1]):
                for target in locations(values[0]):
                    self.store.write(target, self.store.read(source))
                    self.store.copy(source, target)
            return values[0]
        if name in _HARMLESS:
            return NOTHING
        everything = self.union(values)
        self.store.escape(everything)
        for code in everything:
            if isinstance(code, Code):
                count = len(parameters(self.names.functions[code.name]))
                many: Any = [(frozenset[Value]({UNKNOWN}), [])] * count
                self._start(code, many, node, at)
        return frozenset({UNKNOWN})

    def _start(self, code: Value, passed: Any, node: Any, at: Walk) -> None:
        """A function in a thread of its own."""
        if isinstance(code, Code):
            thread = Thread(code.name)
            self.starts[thread] = self._made("start", node, None, NOTHING, at)
            self._enter(code, passed, (at.context.number, id(node)), Walk(thread, at.context))

    def _enter(self, code: Code, passed: Any, key: tuple[int, int], caller: Walk) -> Values:
        """Walk a call: `passed` are the values of each argument, and where its members lie."""
        function = self.names.functions[code.name]
        again = next((number for name, number in caller.context.chain if name == code.name), None)
        context = self.contexts.setdefault(
            (*key, code.name),
            Context(
                again or len(self.contexts) + 1,
                (*caller.context.chain, (code.name, len(self.contexts) + 1)),
            ),
        )
        at = Walk(caller.thread, context, caller.loops, caller.entry)
        for parameter, (values, sources) in zip(parameters(function), passed, strict=False):
            target = self.variable(parameter, at)
            self.store.write(target, values)
            for source in sources:
                self.store.copy(source, target)
        self._call_count += 1
        if self._call_count > _MOST_CALLS or len(caller.context.chain) > _DEEPEST:
            raise TooMuch
        if again is None:
            self.visit(function.body, at)
        return self.store.read(Location(("result", context.number)))
