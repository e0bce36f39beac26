"""Makes one loop, which receives once in each iteration, of a kernel that receives in several places.

    x <? in;
    do {
      do { x <? in; } while (x == 0) if x == 0;
      n = 0;
      do { n = n + 1; x <? in; } while (x > 0) if x > 0;
      out <! n;
    } while (x == 0);

Flattened as it is, an iteration has all the receives, one after the other. Instead, an iteration ends where
the next one receives, and that goes on from there:

    at = 1; at_0 = 0; at_n = 0;
    do {
      x <? in;
      counted = (at | at_0) & x != 0;
      if (counted) n = 0;
      if (counted & x <= 0 | at_n & x <= 0) out <! n;
      if (counted & x > 0 | at_n & x > 0) n = n + 1;
      at = 0; at_0 = x == 0; at_n = x > 0;
    } while (!(x != 0 & x <= 0));

So the kernel is a state machine, with one flag for each place where an iteration begins. Where control may
come back to a place without a receive, an iteration ends as well; the next one receives nothing. What the
flags become follows from the paths between these places (`flow_paths`). `Kernel.once` asks for it.

    x <? a; y <? b;      from two streams is received in one iteration, where nobody sees what is in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from backend.dfg import Place
from macah import ir
from macah.ir import Assign, Body, DoWhile, Expr, If, Read, Stmt, Variable
from macah.passes.control_flow import Block, Flow, Way, is_parted
from macah.passes.flow_facts import straighten
from macah.passes.flow_logic import FlowLogic
from macah.passes.flow_paths import Shortly, paths_between
from macah.passes.liveness import live_at_end, without_dead
from macah.passes.predicate import Predicates, either, negate
from macah.receives import is_loop, often_received
from macah.walk import Renaming, both, fresh, loads_in, statements, targets, variables_in


def receive_once(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel as one loop, if it says so; see the module for an example."""
    streams = often_received(kernel.body) if kernel.once else ()
    if not streams:
        return kernel
    parted = [place for place, stmt in enumerate(kernel.body) if is_parted(stmt, streams)]
    before, body, behind = (
        kernel.body[: parted[0]],
        kernel.body[parted[0] : parted[-1] + 1],
        kernel.body[parted[-1] + 1 :],
    )
    predicates = Predicates(kernel)
    flow = Flow(body, streams, predicates.truth)
    straighten(flow, predicates)
    where = next(stmt.where for stmt in statements(kernel.body) if is_loop(stmt))
    made = _Machine(flow, predicates, kernel.streams_end).made(where)
    if made is None:
        return kernel
    return replace(kernel, body=without_dead((*before, *made, *behind), set(live_at_end(kernel))))


class _Machine:
    """The flags and the one loop of a flow."""

    def __init__(self, flow: Flow, predicates: Predicates, streams_end: bool) -> None:
        self.flow, self.predicates, self.streams_end = flow, predicates, streams_end
        self.before = flow.lead()
        self.ends = set[Way]()  # the ways on which an iteration ends, and the next one goes on
        self.blocks = self.ordered()
        begins = {way.target for way in self.ends} | {flow.start}
        self.at = {block: predicates.variable("at", block.where) for block in self.blocks if block in begins}

    def ordered(self) -> list[Block]:
        """The blocks in the order in which an iteration goes through them.

        Where control comes back to a block that it has passed, without a receive, an iteration ends, too. So
        that this is seldom, those blocks come first where it goes on from a receive in many loops, and late.
        """
        left: list[Block] = []
        passed, around = set[Block](), set[Block]()

        def visit(block: Block) -> None:
            passed.add(block)
            around.add(block)
            for way in block.ways:
                if way.target.receives or way.target in around:
                    self.ends.add(way)
                elif way.target is not self.flow.exit and way.target not in passed:
                    visit(way.target)
            around.remove(block)
            left.append(block)

        received = [block for block in reversed(self.flow.blocks()) if block.receives]
        for block in (*sorted(received, key=lambda block: -block.depth), self.flow.start):
            if block not in passed:
                visit(block)
        return left[::-1]

    def made(self, where: Place | None) -> Body | None:
        """What stands before the loop, and the loop, at a place; None if there are too many ways to go."""
        flags = {flag: {block} for block, flag in self.at.items()}
        code = list[Stmt](self.received(flags))
        tests = self.tests()
        blocks = tuple(self.passed(tests))
        paths = paths_between(self.at, self.ends, self.flow.exit, tests)
        if paths is None:
            return None
        shortly = Shortly(FlowLogic(self.predicates), set(tests.values()), self.flow.exit)

        def comes(targets: Collection[Block]) -> Expr:
            return _any(both(self.at_one(p), taken) for p, taken in shortly.grouped(paths, targets))

        going_on = self.predicates.variable("going_on", where)
        then = {going_on: negate(comes((self.flow.exit,)))}
        then |= {self.predicates.like(flag): comes(targets) for flag, targets in flags.items()}
        asked = {v for value in then.values() for v in variables_in(value)}
        at_first = {v: self.predicates.like(v) for v in dict.fromkeys(self.changed) if v in asked}
        code += (
            *(Assign(copy, Read(v), copy.where) for v, copy in at_first.items()),
            *blocks,
            *(Assign(v, Renaming(at_first).expr(value), v.where) for v, value in then.items()),
            *(Assign(flag, Read(v), v.where) for flag, v in zip(flags, list(then)[1:], strict=True)),
        )
        begin = (
            Assign(flag, ir.TRUE if self.flow.start in targets else ir.FALSE, flag.where)
            for flag, targets in flags.items()
        )
        return *self.before, *begin, DoWhile(tuple(code), Read(going_on), where=where)

    def received(self, flags: dict[Variable, set[Block]]) -> Iterator[Stmt]:
        """What iterations receive, if it is what they begin with; new flags say so of several blocks."""
        for blocks in self.alike():
            where = blocks[0][0].where
            guard: Expr = ir.TRUE
            if len(blocks) < len(self.at):
                flag = self.predicates.variable("receives", where)
                flags[flag] = {block for block, _ in blocks}
                guard = Read(flag)
            receive = replace(blocks[0][1], guard=guard, where=where)
            if any(other.targets != receive.targets for _, other in blocks):
                receive = replace(receive, targets=tuple(map(fresh, receive.targets)))
                for block, other in blocks:
                    taken = zip(other.targets, receive.targets, strict=True)
                    block.body[:0] = [Assign(v, Read(new), block.where) for v, new in taken]
            yield receive

    def alike(self) -> Iterable[list[tuple[Block, ir.Receive]]]:
        """The blocks with the same receive.

        Where streams may end, it is that into the same variables: these keep their values then.
        """
        found: dict[object, list[tuple[Block, ir.Receive]]] = {}
        for block in self.at:
            for receive in block.receives:
                into = receive.targets if self.streams_end else ()
                found.setdefault((receive.stream, into), []).append((block, receive))
        order = self.flow.streams
        return sorted(found.values(), key=lambda alike: order.index(alike[0][1].stream))

    def at_one(self, blocks: Collection[Block]) -> Expr:
        """Whether an iteration begins in one of some blocks: it does in one of all."""
        others = [block for block in self.at if block not in blocks]
        if len(others) < len(blocks):
            return negate(_any(Read(self.at[block]) for block in others))
        return _any(Read(self.at[block]) for block in blocks)

    @cached_property
    def changed(self) -> list[Variable]:
        """The variables that an iteration changes after it has received."""
        return [v for block in self.blocks for s in statements(tuple(block.body)) for v in targets(s)]

    def tests(self) -> dict[Block, Variable]:
        """Variables for the conditions with which blocks are left, where these change in an iteration."""
        changed = {*self.changed}
        return {
            block: self.predicates.variable("test", block.where)
            for block in self.blocks
            for condition in [block.ways[0].condition]
            if any(loads_in(condition)) or not changed.isdisjoint(variables_in(condition))
        }

    def passed(self, tests: Mapping[Block, Variable]) -> Iterator[Stmt]:
        """What happens in the blocks, if control comes to them."""
        taken: dict[Block, list[Expr]] = {block: [Read(flag)] for block, flag in self.at.items()}
        for block in self.blocks:
            setup, live = self.predicates.named(_any(taken.get(block, ())), "live", block.where)
            yield from setup
            body, leaves = tuple(block.body), [way.condition for way in block.ways]
            if block in tests:
                test = tests[block]
                yield from self.predicates.free((test,), test.where)
                body = (*body, Assign(test, leaves[0], test.where))
                leaves = [Read(test), negate(Read(test))]
            if body:
                yield If(live, body, where=block.where)
            for way, leaving in zip(block.ways, leaves, strict=True):
                if way not in self.ends:
                    taken.setdefault(way.target, []).append(both(live, leaving))


def _any(conditions: Iterable[Expr]) -> Expr:
    found: Expr = ir.FALSE
    for condition in conditions:
        found = either(found, condition)
    return found
