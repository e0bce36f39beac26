"""What a pass left as it was, and why: for the report."""

from __future__ import annotations

from dataclasses import dataclass

from backend.dfg import Place


@dataclass(frozen=True, slots=True)
class Touch:
    """An access to an array or a stream of that name."""

    name: str
    stores: bool
    where: Place | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """`kind` is "fusion" of the loops at `where` and `other`, "unrolling" of a loop, or "scalarization" or
    "banking" of the array `name`.

    `why` is a clause; `touches` are accesses that it speaks of: of a fusion, one in each loop.
    """

    kind: str
    where: Place | None
    why: str
    name: str = ""
    other: Place | None = None
    touches: tuple[Touch, ...] = ()
