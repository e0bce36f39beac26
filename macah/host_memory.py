"""What host code holds of a kernel's variables, in words that need nothing of the IR."""

from __future__ import annotations

from dataclasses import dataclass

from backend.dfg import Place
from macah.ctypes import CType


@dataclass(frozen=True, slots=True)
class Extent:
    """Memory of the host: from the beginning of the lvalue `first` to the end of the lvalue `last`.

    It belongs to the variable called `name`, of `type`, whose lvalue is `owner`; `reached`: through a
    pointer, so it may be that of another variable, too, and there is none if the condition `guard` is false.
    """

    name: str
    owner: str
    type: CType
    first: str
    last: str
    reached: bool
    guard: str | None = None


@dataclass(frozen=True, slots=True)
class Static:
    """A variable that host code cannot name where the kernel stands: a static one, or one that is hidden.

    `symbol` leads to it. `image`: its first bytes, if it is declared in the kernel block itself.
    """

    symbol: str
    name: str
    where: Place | None
    image: bytes | None = None
