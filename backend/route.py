"""Routing: negotiation between routes, and between operations, for the fabric's resources.

Conflicts become dearer until none is left. An operation whose unit or routes stay in conflict moves to where
the prices of the moment are least; that succeeds where routing between fixed places fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from .flat import SHARING, Board, Problem
from .flood import Flood
from .flow import Flow
from .ledger import Ledger
from .mapping import Mapping, Placement, Route
from .nearly import Best, Nearly
from .place import placement_of
from .pressure import demand
from .relocate import Relocation

GROWTH = 1.03
"""How fast the price of sharing grows."""

PATIENCE = 400
"""Iterations without a new best number of conflicts, at effort 1, until the attempt is given up."""

USUAL = 1000
"""With more edges than this, more states may be visited, in proportion."""

CROWDED = 8
"""While more than one edge in so many is in conflict, operations move four times less often."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How to negotiate.

    In the first `settling` iterations only routes move, before operations do. Later an edge in conflict moves
    one of its ends once in `rest` times. Once in `renewal` times (0: never) all edges of its value are routed
    anew: a way that they share moves only as a whole. `work` is how many states are visited without a new
    best number of conflicts, at effort 1, until the attempt is given up.
    """

    settling: int
    rest: int
    renewal: int
    work: int


@dataclass(frozen=True, slots=True)
class Left:
    """What was left when an attempt was given up.

    At the best moment so many conflicts; at the end, what was wanted by several, the commonest kind first,
    and the operations in conflict, those with most such routes first. `nearly`: if there were few conflicts,
    where everything was then.
    """

    count: int
    places: tuple[tuple[str, int], ...] = ()
    nodes: tuple[int, ...] = ()
    nearly: Nearly | None = None


ROOMY = Manner(settling=3, rest=3, renewal=0, work=4_000_000)
PRESSED = Manner(settling=20, rest=40, renewal=2, work=12_000_000)
"""With few registers free an operation that moves does more harm to others than good."""

ROUND, KEPT = 100, 0.3
"""Iterations without a new best until prices begin anew, and how much of what was learnt they keep."""

ASTRAY, MORE, SOON = 1.5, 10, 20
"""Where tiles have one way out each, everything then goes back to where the best was, too; after SOON such
iterations already, if there are MORE conflicts than ASTRAY times the best. High prices drive operations apart
there, so that words take the ways of others, and conflicts grow and grow."""

LONG, FULL = 8, 0.6
"""With intervals so long values are mostly held, not moved; where they need more than this part of the
registers, those are scarce."""


def route(
    problem: Problem,
    placement: Placement,
    seed: int,
    effort: float = 1.0,
    pulse: Callable[[int], None] = lambda _: None,
) -> Mapping | Left:
    """A mapping near a placement, or which conflicts there still were when they became no fewer.

    `pulse` is told again and again how many are left, and may raise what ends the work.
    """
    interval = placement.schedule.interval
    streams = [-1] * problem.streams
    for node in problem.dfg.nodes:
        if node.stream is not None:
            streams[node.stream] = placement.unit[node.id]
    banks = [place.bank for place in placement.memory]
    start = placement.schedule.start
    longest = max(
        (
            start[problem.target[e]] + problem.distance[e] * interval - start[problem.source[e]]
            for e in range(len(problem.source))
        ),
        default=0,
    )
    layers = max(longest, 0) + 2 * interval + 24
    board = Board(problem, interval, placement.unit, start, streams + banks, layers)
    flow = Flow(problem, board)
    ledger = Ledger(problem, board)
    flood = Flood(problem, board, flow)
    for n in sorted(range(problem.nodes), key=lambda n: (start[n], n)):
        flow.route_node(n)
    scarce = (
        interval >= LONG
        and sum(demand(problem, interval, start)) > FULL * interval * problem.terrain.registers
    )
    relocation = Relocation(problem, board, flood, seed)
    narrow = problem.terrain.overwritten or 0 < problem.terrain.ways_out <= problem.terrain.tiles
    best = Best(ledger, interval, len(problem.source))
    negotiation = Negotiation(flow, flood, ledger, relocation, PRESSED if scarce else ROOMY, narrow, best)
    conflicts = negotiation.run(len(problem.source), effort, pulse)
    if conflicts:
        return _left(problem, board, ledger, conflicts, best.nearly)
    return _mapping_of(problem, ledger, interval, banks)


def _left(problem: Problem, board: Board, ledger: Ledger, count: int, nearly: Nearly | None) -> Left:
    """What is in conflict now."""
    kinds = [resource.kind.value for resource in problem.fabric.resources]
    places = Counter(kinds[k // board.interval] for k, used in enumerate(board.used) if used > 1)
    places["function unit"] = sum(busy > 1 for busy in board.busy)
    nodes, edges = ledger.survey()
    wanting = Counter(nodes)
    for e in edges:
        wanting[problem.source[e]] += 1
    shown = sorted(((f"{what}s", n) for what, n in places.items() if n), key=lambda place: -place[1])
    return Left(count, tuple(shown), tuple(n for n, _ in wanting.most_common()), nearly)


@dataclass(frozen=True, slots=True)
class Negotiation:
    """The parts that negotiate, and how.

    `narrow`: tiles have one way out each. `best` keeps the moment that is nearest to a mapping.
    """

    flow: Flow
    flood: Flood
    ledger: Ledger
    relocation: Relocation
    manner: Manner
    narrow: bool
    best: Best

    def run(self, all_edges: int, effort: float, pulse: Callable[[int], None]) -> int:
        """Move routes and operations until nothing conflicts or progress ends; the fewest conflicts seen."""
        best, iteration, manner = 1 << 30, 0, self.manner
        best_iteration, best_work, begun, places = 0, 0, 0, self.ledger.places()
        while True:
            nodes, edges = self.ledger.survey()
            conflicts, work = len(nodes) + len(edges), self.flow.spent() + self.flood.spent()
            pulse(conflicts)
            self.best.see(nodes, edges)
            if conflicts < best:
                best, best_iteration, best_work, begun = conflicts, iteration, work, iteration
                places = self.ledger.places() if self.narrow else places
            astray = self.narrow and iteration - begun > SOON and conflicts > ASTRAY * best + MORE
            if astray or iteration - begun > ROUND:
                begun = iteration
                self.ledger.forgive(KEPT, SHARING)
                if self.narrow:
                    self.flow.restore(*places)
                    nodes, edges = self.ledger.survey()
            patience = effort * max(1.0, all_edges / USUAL)
            stale = (
                iteration - best_iteration > PATIENCE * effort or work - best_work > manner.work * patience
            )
            if conflicts == 0 or stale:
                return best
            self.ledger.remember(GROWTH)
            for node in self._shuffled(nodes):
                if self.ledger.node_state(node):
                    self.relocate(node)
            rest = manner.rest if CROWDED * len(edges) < all_edges else 4 * manner.rest
            for edge in self._shuffled(edges):
                self._mend(edge, rest if iteration >= manner.settling else 0)
            iteration += 1

    def relocate(self, node: int) -> None:
        """Rip a node with its edges, put it where that is cheapest now, and route its edges again."""
        self.flow.lift(node)
        unit, start = self.relocation.choose(node, self.flow.sharing())
        self.flow.put(node, unit, start)

    def _mend(self, edge: int, rest: int) -> None:
        """Route an edge in conflict anew or, once in `rest` times, move one of its ends."""
        state = self.ledger.edge_state(edge)
        if state == 0:
            return
        if state == 2 or (rest and self.relocation.pick(rest) == 0):
            self.relocate(self.ledger.end_of(edge, self.relocation.pick(2)))
        elif self.manner.renewal and self.relocation.pick(self.manner.renewal) == 0:
            self.flow.renew(self.ledger.end_of(edge, 0))
        else:
            self.flow.reroute(edge)

    def _shuffled(self, items: list[int]) -> list[int]:
        for k in range(len(items) - 1, 0, -1):
            other = self.relocation.pick(k + 1)
            items[k], items[other] = items[other], items[k]
        return items


def _mapping_of(problem: Problem, ledger: Ledger, interval: int, banks: list[int]) -> Mapping:
    units, start = ledger.places()
    placement = placement_of(problem, interval, units, start, banks)
    shift = [new - old for new, old in zip(placement.schedule.start, start, strict=True)]
    routes = tuple(
        Route(
            problem.target[e],
            problem.position[e],
            tuple((r, cycle + shift[problem.source[e]]) for r, cycle in ledger.path(e)),
        )
        for e in range(len(problem.source))
    )
    return Mapping(placement, routes)
