"""Forms of a kernel: the fastest is not always the one that maps best.

What shortens recurrences takes operations. Where words leave tiles through one register alone, these are in
the way of all others: a kernel of 11 operations has an interval of 4, of 15 one of 3, and of 31, which could
have one of 2 by its recurrences, none of 3 on the same array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping

from .ir import Kernel
from .optional import GROWING, RESHAPING
from .passes.pipeline import optimize
from .program import KernelSite
from .spread import MOST_NODES
from .stages import Stages
from .todfg import build_dfg
from .trials import Choice

LIGHTER = 0.85
"""A form for a longer interval is one of its own if it has no more than this part of the operations."""

ROOMY = 0.35
"""The fastest form comes first where its operations have no more than this part of the tiles' slots."""

DEARER = 1.3
"""Where there is less room, forms are left whose operations times cycles, what an iteration takes of an
array, are so many times those of the mapping that is there."""


@dataclass(frozen=True)
class Front:
    """A kernel as far as the mapper: lowered, with what was chosen for it, in its final form; its graph.

    `choice`: what was expected of that, if anything was chosen.
    """

    site: KernelSite
    plain: Kernel
    lowered: Kernel
    kernel: Kernel
    dfg: DFG
    choice: Choice | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, site: KernelSite, plain: Kernel, choice: Choice) -> Front:
        """What was chosen for a kernel."""
        return cls(site, plain, choice.kernel, choice.final, choice.dfg, choice=choice)


def smaller_first(
    front: Front, fabric: Fabric, wanted: MapOptions, stages: Stages
) -> tuple[Front, Mapping] | None:
    """A mapping without what makes kernels grow, or one with as much of it as gives a smaller interval.

    Where words leave tiles through one register alone, operations that only a still smaller interval would
    need are in the way: so forms are made for the interval below the last one, until none of them has it.
    """
    if wanted.interval or wanted.time_limit or len(front.dfg.nodes) > MOST_NODES:
        return None
    if (form := ungrown(front, fabric)) is None:
        return None
    if (found := _first_mapped([form], fabric, wanted, stages)) is None:
        return None
    with suppress(KeyboardInterrupt):  # then the last mapping is the result
        while found[0] is not front and not found[1].late and (below := found[1].interval - 1):
            wanted = replace(wanted, max_interval=below)
            forms = _forms(front, fabric, below, round(DEARER * len(found[0].dfg.nodes) * found[1].interval))
            if (better := _first_mapped(forms, fabric, wanted, stages)) is None:
                break
            found = better
    return found


def _first_mapped(
    forms: Iterable[Front], fabric: Fabric, wanted: MapOptions, stages: Stages
) -> tuple[Front, Mapping] | None:
    """The first of some forms of a kernel that has a mapping."""
    for form in forms:
        with suppress(DoesNotFit):
            return form, map_kernel(form.dfg, fabric, wanted, stages.say)
    return None


def _forms(front: Front, fabric: Fabric, interval: int, dearest: int) -> Iterator[Front]:
    """A kernel made for an interval, if that makes it lighter by far, and as fast as it can be.

    What is made for the next longer one is lighter still, and sometimes fast enough: it comes first, unless
    there is so much room that this gains nothing, as making it takes longer than mapping then. Without that
    room operations times cycles are no more than `dearest`.
    """
    roomy = len(front.dfg.nodes) <= ROOMY * len(fabric.tiles) * interval
    if roomy:
        yield front
    heaviest = LIGHTER * len(front.dfg.nodes)
    if not roomy:
        heaviest = min(heaviest, dearest / interval)
    for least in (interval + 1, interval):
        if least <= minimum_interval(front.dfg, fabric).mii:
            break
        dfg = build_dfg(front.kernel, fabric, least=least)
        if len(dfg.nodes) > heaviest:
            break
        if minimum_interval(dfg, fabric).mii <= interval:
            yield replace(front, dfg=dfg)
    if not roomy and len(front.dfg.nodes) * interval <= dearest:
        yield front


def ungrown(front: Front, fabric: Fabric) -> Front | None:
    """A kernel without what makes it grow, unless that leaves as many operations."""
    lowered = replace(front.lowered, without=front.lowered.without | (GROWING - RESHAPING))
    found = smaller(front, lowered, fabric)
    return found if found is not None and len(found.dfg.nodes) < len(front.dfg.nodes) else None


def smaller(front: Front, lowered: Kernel, fabric: Fabric) -> Front | None:
    """A kernel after the front end if it is lowered like this; None if it is already."""
    if lowered == front.lowered:
        return None
    kernel = optimize(lowered)
    return replace(front, lowered=lowered, kernel=kernel, dfg=build_dfg(kernel, fabric))
