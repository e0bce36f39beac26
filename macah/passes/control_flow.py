"""The control flow of a body: blocks and ways between them, parted where it receives and at its loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from backend.dfg import Place
from macah import ir
from macah.ir import Assign, Body, Const, DoWhile, Expr, If, Stmt, Variable
from macah.passes.predicate import negate
from macah.passes.unplaced import unplaced
from macah.receives import Streams, goes_along, is_loop, waits
from macah.walk import statements, targets, variables_in, written


@dataclass(eq=False, slots=True)
class Block:
    """Statements without loops, inside so many loops, and where control goes from there.

    Before them come `receives`, from a stream each. `where` is the place of what begins the block.
    """

    depth: int
    receives: list[ir.Receive] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)

    @property
    def where(self) -> Place | None:
        return next((stmt.where for stmt in (*self.receives, *self.body) if stmt.where), None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens in it."""
        return not self.receives and not self.body


@dataclass(eq=False, slots=True)
class Way:
    """Where control goes if a condition, a predicate, holds; of a block's ways one is taken."""

    condition: Expr
    target: Block


class Flow:
    """The control flow of a body, from `start` to `exit`, parted where it receives from some streams.

    Its conditions become predicates by `truth`.
    """

    def __init__(self, body: Body, streams: Streams, truth: Callable[[Expr], Expr]) -> None:
        self.truth = truth
        self.streams = streams
        self.flags = _flags(body)
        self._depth = 0
        self._blocks: list[Block] = []
        self.exit = Block(0)
        self.start = self._block()
        self._go(self._body(body, self.start), self.exit)

    def blocks(self) -> list[Block]:
        """The blocks that control can come to, in the order of the program."""
        found, pending = {self.start}, [self.start]
        while pending:
            new = {way.target for way in pending.pop().ways} - found
            found |= new
            pending += new
        return [block for block in self._blocks if block in found]

    def pass_empty(self) -> None:
        """Have ways lead past blocks in which nothing happens and that have one way."""
        for way in (way for block in self._blocks for way in block.ways):
            way.target = _passed(way.target)
        self.start = _passed(self.start)

    def join_alike(self) -> None:
        """Have ways lead to one block of those in which the same happens, and that are left alike."""
        while True:
            first: dict[object, Block] = {}
            instead: dict[Block, Block] = {}
            for block in self.blocks():
                ways = tuple((way.condition, way.target) for way in block.ways)
                key = unplaced(tuple(block.receives)), unplaced(tuple(block.body)), ways
                instead[block] = first.setdefault(key, block)
            instead = {block: other for block, other in instead.items() if block is not other}
            if not instead:
                return
            for way in (way for block in self._blocks for way in block.ways):
                way.target = instead.get(way.target, way.target)
            self.start = instead.get(self.start, self.start)

    def lead(self) -> Body:
        """Have control start behind what certainly happens first, which is this."""
        found, seen = list[Stmt](), {self.start, self.exit}
        while not self.start.receives and len(self.start.ways) == 1:
            target = self.start.ways[0].target
            if target in seen:
                break
            found += self.start.body
            self.start = target
            seen.add(target)
        return tuple(found)

    def _block(self, *receives: ir.Receive) -> Block:
        self._blocks.append(Block(self._depth, list(receives)))
        return self._blocks[-1]

    def _go(self, block: Block, target: Block) -> None:
        block.ways.append(Way(ir.TRUE, target))

    def _branch(self, block: Block, condition: Expr, then: Block, orelse: Block) -> None:
        condition = self.truth(condition)
        if isinstance(condition, Const):
            self._go(block, then if condition.value else orelse)
        else:
            block.ways += [Way(condition, then), Way(negate(condition), orelse)]

    def _body(self, body: Body, block: Block) -> Block:
        """Where control is behind a body that it enters in a block."""
        for stmt in body:
            match stmt:
                case ir.Receive() if is_parted(stmt, self.streams):
                    if goes_along(stmt, block.receives, tuple(block.body), self.streams):
                        block.receives.append(stmt)
                        continue
                    received = self._block(stmt)
                    self._go(block, received)
                    block = received
                case If() if is_parted(stmt, self.streams) or self._is_flagged(stmt):
                    block = self._if(stmt, block)
                case DoWhile():
                    block = self._loop(stmt, block)
                case _:
                    block.body.append(stmt)
        return block

    def _is_flagged(self, stmt: If) -> bool:
        """Whether flags decide which branch is taken, or it sets some: where it does, they are known."""
        asked = variables_in(stmt.condition)
        return bool(asked and self.flags.issuperset(asked)) or not self.flags.isdisjoint(written((stmt,)))

    def _if(self, stmt: If, block: Block) -> Block:
        arms, behind = (self._block(), self._block()), self._block()
        self._branch(block, stmt.condition, *arms)
        for arm, inside in zip(arms, (stmt.then, stmt.orelse), strict=True):
            self._go(self._body(inside, arm), behind)
        return behind

    def _loop(self, stmt: DoWhile, block: Block) -> Block:
        self._depth += 1
        head = self._block()
        last = self._body(stmt.body, head)
        self._depth -= 1
        behind = self._block()
        self._branch(block, stmt.guard, head, behind)
        self._branch(last, stmt.condition, head, behind)
        return behind


def is_parted(stmt: Stmt, streams: Streams) -> bool:
    """Whether a statement is a loop, or receives from one of the streams, or something in it is."""
    return any(is_loop(inner) or (waits(inner) and inner.stream in streams) for inner in statements((stmt,)))


def _flags(body: Body) -> set[Variable]:
    """The variables that decide where control goes, and that are assigned nothing but constants."""
    constants, others, asked = set[Variable](), set[Variable](), set[Variable]()
    for stmt in statements(body):
        match stmt:
            case Assign(variable, Const()):
                constants.add(variable)
            case If(condition) | DoWhile(_, condition):
                asked.update(variables_in(condition))
            case _:
                others.update(targets(stmt))
    return (constants & asked) - others


def _passed(block: Block) -> Block:
    """Where control goes on from a block in which nothing happens."""
    seen = {block}
    while block.is_empty and len(block.ways) == 1 and block.ways[0].target not in seen:
        block = block.ways[0].target
        seen.add(block)
    return block
