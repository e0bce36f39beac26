"""What would lower the interval of a kernel, found by compiling the kernel with one change after the other.

Nothing is promised that the compiler would not keep: a change helps if the graph that is made of the changed
kernel (`macah/remedies.py`) has a lower bound than the graph of the kernel has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from arch.fabric import Fabric
from backend.bound import Bounds, minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.diagnostic import MacahError
from macah.passes.pipeline import opened, optimize
from macah.remedies import remedies
from macah.remedy import Remedy
from macah.source_bound import SourceBound
from macah.todfg import build_dfg
from macah.whole import done_at_once
from macah.why import Why

MOST_TRIED = 12
"""So many changed kernels are compiled."""

MOST_NODES = 400
"""Graphs with more operations are not tried: compiling them takes long."""

PROVISOS = frozenset({"width", "order", "array", "turns"})
"""What needs that values fit, that elements never meet, or that something is independent, is told if nothing
else helps."""

ROW = 3
"""So many iterations inner loops make at least, where what is left is to know when they end."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What would help, and the interval then, of so many `iterations` of those of now.

    Where nothing is known to help, `interval` is None, and `text` says so. `tried` are changes that, each for
    itself, would not help.
    """

    interval: int | None
    iterations: int
    kinds: tuple[str, ...]
    text: str
    tried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Helpful:
    """Changes that help together, and the interval then."""

    interval: int
    remedies: tuple[Remedy, ...]

    @property
    def iterations(self) -> int:
        return max(remedy.iterations for remedy in self.remedies)

    @property
    def each(self) -> Fraction:
        return Fraction(self.interval, self.iterations)


def advice(kernel: ir.Kernel, dfg: DFG, fabric: Fabric, found: Why, source: SourceBound) -> Advice:
    """What would lower the interval of a graph that is more than 1; `kernel` is what was lowered."""
    bounds = minimum_interval(dfg, fabric)
    if not found.recurrences and not found.resources:
        return Advice(
            None, 1, ("placement",), "more attempts (--effort high), or a larger accelerator with --arch"
        )
    trials = _Trials(opened(kernel), fabric, bounds.mii)
    best = trials.best(dfg, found, source) if len(dfg.nodes) <= MOST_NODES else None
    tried = tuple(dict.fromkeys(remedy.name for remedy in trials.failed))
    if best is None and found.only_units:
        text = f"{bounds.binding}: choose a larger accelerator with --arch"
        return Advice(None, 1, ("units",), text, tried)
    if best is None:
        at_once = done_at_once(kernel)
        least = max((count for _, count in at_once), default=1) * source.interval
        text = _nothing(tried, source.interval if least < bounds.mii else None, bool(at_once))
        return Advice(None, 1, (), text, tried)
    text = "; and ".join(dict.fromkeys(remedy.text for remedy in best.remedies))
    text += f". The interval could be {best.interval} then"
    if best.iterations > 1:
        text += f", for {best.iterations} iterations of now"
    return Advice(best.interval, best.iterations, tuple(r.kind for r in best.remedies), text, tried)


def _nothing(tried: Sequence[str], bound: int | None, each: bool) -> str:
    """What is to be said where no change helps. `bound`: the interval that the source would allow.

    `each`: that is for one iteration of several that are done at once.
    """
    found = "no small change is known to help"
    if tried:
        found += f" (not enough: {'; '.join(tried)})"
    if bound is not None:
        wanted = f"{bound} for each iteration" if each else f"{bound}"
        return f"{found}; the source would allow {wanted}, and the compiler finds no way to it"
    return f"{found}: do less from one iteration to the next, or use another method"


@dataclass(slots=True)
class _Trials:
    kernel: ir.Kernel
    fabric: Fabric
    now: int
    left: int = MOST_TRIED
    failed: list[Remedy] = field(default_factory=list)

    def best(self, dfg: DFG, found: Why, source: SourceBound) -> _Helpful | None:
        """The one remedy that helps most, first of all without provisos; else as few as help together."""
        known = list(remedies(self.kernel, dfg, found, source.loops))
        helpful = list[_Helpful]()
        for remedy in known:
            tried = self.tried([remedy])
            if tried is None:
                self.failed.append(remedy)
            else:
                helpful.append(tried)
        if helpful:
            return min(helpful, key=lambda tried: (tried.remedies[0].kind in PROVISOS, tried.each))
        return self.joint([remedy for remedy in known if remedy.iterations == 1])

    def joint(self, known: Sequence[Remedy]) -> _Helpful | None:
        """Several of them, without those that are not needed."""
        some = [r for r in known if r.kind != "turns"] + [r for r in known if r.kind == "turns"][-1:]
        best = self.tried(some) if len(some) > 1 else None
        if best is None:
            return None
        for remedy in reversed(some):
            fewer = [other for other in best.remedies if other is not remedy]
            if len(fewer) > 1 and (tried := self.tried(fewer)) and tried.interval <= best.interval:
                best = tried
        return best

    def tried(self, some: Sequence[Remedy]) -> _Helpful | None:
        """What comes of changes, if that is better than what is."""
        if self.left == 0:
            return None
        self.left -= 1
        kernel = self.kernel
        for remedy in some:
            kernel = remedy.change(kernel)
        made = self.made(kernel)
        if made is not None and made.recurrence == made.mii >= self.now and not kernel.row:
            made = self.made(replace(kernel, row=ROW)) or made
        tried = _Helpful(made.mii, tuple(some)) if made is not None else None
        return tried if tried is not None and tried.each < self.now else None

    def made(self, kernel: ir.Kernel) -> Bounds | None:
        """The bounds of what the compiler makes of a kernel."""
        try:
            return minimum_interval(build_dfg(optimize(kernel), self.fabric), self.fabric)
        except (MacahError, DoesNotFit):
            return None
