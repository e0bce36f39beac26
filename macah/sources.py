"""Names of parts of captured arrays, in C and in the compiler's output."""

from __future__ import annotations

import re
from collections.abc import Mapping


def element_name(name: str, places: tuple[int, ...]) -> str:
    """The name of an element: `a[1][2]`."""
    return name + "".join(f"[{place}]" for place in places)


def source_name(name: str) -> str:
    """The variable of the source that an array is, or a part of."""
    return re.split(r"[.\[]", name)[0]


def piece_name(name: str, fixed: Mapping[int, int], rank: int) -> str:
    """The name of a piece with some dimensions fixed, `a[][2]`; a piece of that is `a[1][2]`."""
    whole = ""
    if name.count("[]") != rank:  # it may itself be made of a piece, as `a[][2]_base` is
        whole, name = name, "[]" * rank
    numbers = iter(range(rank))

    def index(match: re.Match[str]) -> str:
        number = next(numbers)
        return f"[{fixed[number]}]" if number in fixed else match[0]

    return whole + re.sub(r"\[\]", index, name)


def element_source(source: str, fixed: Mapping[int, int]) -> str:
    """A capture's source with some of its indices `{0}`, `{1}` fixed, and the others numbered anew."""
    left: list[int] = sorted({int(n) for n in re.findall(r"\{(\d+)\}", source)} - fixed.keys())

    def index(match: re.Match[str]) -> str:
        number = int(match[1])
        return str(fixed[number]) if number in fixed else f"{{{left.index(number)}}}"

    return re.sub(r"\{(\d+)\}", index, source)
