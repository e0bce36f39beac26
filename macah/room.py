"""What a machine has for the arrays of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """Memories with so many ports each.

    Arrays are spread over several where the ports do not suffice for an iteration in `interval` cycles.
    `odd`: also over numbers that are no powers of two.
    """

    memories: int
    ports: int
    interval: int
    odd: bool = False
