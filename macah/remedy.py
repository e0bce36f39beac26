"""A change of a kernel that may lower its interval, with how to say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from macah import ir
from macah.ir import Array, Variable


@dataclass(frozen=True, slots=True)
class Remedy:
    """`kind`: "stream", "division", "width", "order", "array", "outside", "together", "test" or "turns".

    `name` and `text` say it, in short and as advice; `change` makes the kernel after it, in which
    `iterations` of before are one.
    """

    kind: str
    name: str
    text: str
    change: Callable[[ir.Kernel], ir.Kernel]
    iterations: int = 1


def captured(what: Array | Variable) -> ir.Capture:
    source = what.name + (
        "".join(f"[{{{k}}}]" for k in range(len(what.shape))) if isinstance(what, Array) else ""
    )
    return ir.Capture(what, source, "int")
