"""Which values pseudo-constants get where the command line gives none.

The larger the value the more the program does at once or keeps close, so each constant gets the largest value
with which every kernel that depends on it still fits on the architecture, with room left for placement and
routing, and with which no lower bound of an initiation interval grows. Nothing is placed: the bounds of
`backend.bound` decide, so the choice is quick, and the same in every mode. Constants that no kernel depends
on, and those of kernels that do not fit at all, get their least value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.adpc import PseudoConstant, pseudo_constants
from macah.diagnostic import MacahError
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import KernelSite, Program
from macah.show import show_with_sizes
from macah.todfg import build_dfg

# Of what the arithmetic units can do in an interval, the share that may be used: routing needs some too.
_SHARE = 0.6
# So many graphs are built to choose one constant.
_TRIALS = 12


@dataclass(frozen=True, slots=True)
class _Cost:
    """A kernel with certain values: its bound, its use of the units, and what tells it from others."""

    interval: int
    operations: int
    crowded: bool
    text: str


def choose(program: Program, given: Mapping[str, int], fabric: Fabric) -> dict[str, int]:
    """The values of all pseudo-constants, under their keys; `given` are those that the user chose."""
    values = dict(given)
    chooser = _Chooser(program, fabric)
    for constant in pseudo_constants(program, values):
        if constant.key in values:
            continue
        # Its range may depend on values that have been chosen since.
        now = [c for c in pseudo_constants(program, values) if c.key == constant.key]
        low, high = max(c.minimum for c in now), min(c.maximum for c in now)
        if low <= high:
            values[constant.key] = low
            values[constant.key] = chooser.largest(constant, values, low, high)
    return values


class _Chooser:
    """Tries values. Kernels that lower to the same IR are looked at once."""

    def __init__(self, program: Program, fabric: Fabric) -> None:
        self.program = program
        self.fabric = fabric
        self._known: dict[tuple[str, int | None], _Cost | None] = {}
        # kernels with arrays larger than a memory whatever the constants are; no constant makes one so large
        self._spread: set[str] = set()

    def largest(self, constant: PseudoConstant, values: Mapping[str, int], low: int, high: int) -> int:
        """The largest value that costs no more than the least one: found by doubling steps, then halving."""
        base = [self._cost(site, values) or self._large(site, values) for site in self.program.kernels]
        best, step, trials = low, 1, 0
        useful = False
        while best < high and step and trials < _TRIALS:
            trial = min(best + step, high)
            costs = self._costs({**values, constant.key: trial})
            trials += 1
            useful = useful or costs != base
            if not useful:
                return low
            if _no_worse(costs, base):
                best = trial
                step *= 2
            else:
                high = trial - 1
                step //= 2
        return best

    def _costs(self, values: Mapping[str, int]) -> list[_Cost | None]:
        return [self._cost(site, values) for site in self.program.kernels]

    def _large(self, site: KernelSite, values: Mapping[str, int]) -> _Cost | None:
        self._spread.add(site.name)
        return self._cost(site, values)

    def _cost(self, site: KernelSite, values: Mapping[str, int]) -> _Cost | None:
        """None if the kernel is in error, or too large for any interval."""
        try:
            kernel = lower(self.program, site, values)
            if site.name in self._spread:
                kernel = replace(kernel, words=self.fabric.largest_memory)
            text = show_with_sizes(kernel)
            key = text, kernel.words
            if key not in self._known:
                self._known[key] = self._measured(kernel, text)
            return self._known[key]
        except MacahError:
            return None

    def _measured(self, kernel: ir.Kernel, text: str) -> _Cost | None:
        try:
            dfg = build_dfg(optimize(kernel), self.fabric)
            interval = minimum_interval(dfg, self.fabric).mii
        except (MacahError, DoesNotFit):
            return None
        return _Cost(interval, len(dfg.nodes), self._crowded(dfg, interval), text)

    def _crowded(self, dfg: DFG, interval: int) -> bool:
        return len(dfg.nodes) > _SHARE * interval * len(self.fabric.units_for("add"))


def _no_worse(costs: list[_Cost | None], base: list[_Cost | None]) -> bool:
    """Whether what fitted still does, in as short an interval."""
    for cost, before in zip(costs, base, strict=True):
        if cost is before or before is None:
            continue
        if cost is None or cost.interval > before.interval:
            return False
        if cost.crowded and cost.operations > before.operations:
            return False
    return True
