"""Makes nests flat before they are fused with what stands before or behind, however often their loops run.

    while (i < n) { B; i = i + 1; }   while (r < n) { while (k < end[r]) { C; k = k + 1; }  r = r + 1; }

Fused level by level, the first loop would wait for the inner one of the second: a nest of both starts an
iteration of its outer loop where no inner one runs. As flat loops, both decide by themselves what is next.
Inner loops run once for nothing there, and iterations are empty between rows, as in nests that stand alone
(`enter_loops`, `delay_rows`), if the kernel says so.

The nest by itself may store to fewer arrays than the kernel: what an earlier loop has stored in `end` is
loaded before the iteration in which it is needed (`ahead`). So such a load has no site any more.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.fold import fold
from macah.ir import Assign, Body, DoWhile, If
from macah.passes.ahead import constants
from macah.passes.convert_ifs import converted
from macah.passes.counters import Starts
from macah.passes.delay_rows import delayed
from macah.passes.enter_loops import with_entered_loops
from macah.passes.flatten_loops import Flattener
from macah.passes.liveness import Live, live_before
from macah.passes.predicate import Predicates
from macah.passes.sites import with_sites
from macah.walk import (
    arrays_written,
    map_expr,
    replace_reads,
    statements,
    targets,
)


class FlatStages:
    """Flattens nests of a kernel."""

    def __init__(self, kernel: ir.Kernel, predicates: Predicates) -> None:
        self.kernel = kernel
        self.predicates = predicates
        self.stored = arrays_written(kernel.body)
        self.rare = {branch.where for branch in kernel.rare}

    def flat(self, loop: DoWhile, before: Body, after: Live) -> Body:
        """A nest as some statements and a flat loop; it stands behind `before`, `after` is live after it."""
        (straight,) = converted((loop,), after, self.predicates)
        if self.kernel.entered:
            (straight,) = with_entered_loops((straight,), after, self.predicates)
        assert isinstance(straight, DoWhile)
        delay = self.kernel.delay
        body = delayed(self.kernel, self.predicates, straight, after) if delay else None
        if body is None:
            body = self.plain(straight, constants(before), after)
        # Of what an iteration leaves to the next one nothing is known at first, and nothing needed.
        left = live_before(body, after) - live_before((loop,), after)
        news = [v for v in dict.fromkeys(v for s in statements(body) for v in targets(s)) if v in left]
        return (*(Assign(v, ir.unspecified(v.bits), loop.where) for v in news), *body)

    def plain(self, loop: DoWhile, starts: Starts, after: Live) -> Body:
        """A nest of straight-line code without empty iterations; `starts` are constants before it."""
        stored = arrays_written((loop,))
        flattener = Flattener(self.kernel, self.predicates, stored=stored)
        before, nest = flattener.early((), loop)
        if before:
            elsewhere = self.stored - stored
            before, inside = (
                with_sites(body, lambda array, site: None if array in elsewhere else site)
                for body in (before, nest.body)
            )
            nest = replace(nest, body=inside)
        # Where the nest is entered, a bound that never changes is above where its counter starts.
        entered = self.predicates.truth(map_expr(replace_reads(loop.guard, starts), fold))
        facts = frozenset((entered,) if flattener.builder.is_invariant(entered) else ())
        flat = flattener.flatten(nest, after, facts, {})
        return (*before, *flat.state, flat.loop)

    def is_simple(self, loop: DoWhile) -> bool:
        """True if there is no branch in it that may take turns of its own."""
        return not any(isinstance(stmt, If) and stmt.where in self.rare for stmt in statements((loop,)))
