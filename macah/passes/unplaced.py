"""Bodies as what they do, wherever they stand."""

from __future__ import annotations

from dataclasses import replace

from macah.ir import Body
from macah.walk import flat_map


def unplaced(body: Body) -> Body:
    """A body without what says where it stands in the program."""
    return flat_map(body, lambda stmt: (replace(stmt, where=None),))
