"""Reads a graph file in whatever form it has."""

from __future__ import annotations

from pathlib import Path

from .dfg import Place
from .foreign import ForeignGraph, GraphError
from .graph_json import read_json

MOST_BYTES = 1 << 28
"""The largest file that is read."""


def read_graph(path: Path) -> ForeignGraph:
    """The graph of a file. Errors: GraphError, OSError."""
    return graph_of(*read_text(path))


def graph_of(text: str, path: Path) -> ForeignGraph:
    """The graph that a text describes. Errors: GraphError."""
    return read_json(text, str(path), path.stem)


def read_text(path: Path) -> tuple[str, Path]:
    """The text of a file, and its name. Errors: GraphError, OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise GraphError(f"the file has more than {MOST_BYTES} bytes", Place(str(path), 1))
    try:
        return data.decode("utf-8-sig"), path
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GraphError("the file is not encoded in UTF-8", Place(str(path), line)) from None
