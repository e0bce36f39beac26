"""Reads a graph file in whatever form it has: by the end of its name, else by how it begins."""

from __future__ import annotations

import re
from pathlib import Path

from .dfg import Place
from .foreign import ForeignGraph, GraphError
from .graph_dot import read_dot
from .graph_json import read_json
from .graph_lines import read_edges, read_operations, read_vertices
from .graph_xml import read_xml

MOST_BYTES = 1 << 28
"""The largest file that is read."""

_SUFFIXES = {".json": "json", ".dot": "dot", ".gv": "dot", ".xml": "xml"}
_READABLE = re.compile(r"graph [^\n{]*\n  %\d+ = ")
"""How the text begins that `--emit dfg` writes for readers."""

_BEGINNINGS = (
    (r"\s*<", "xml"),
    (r"\s*(?:(?://|#)[^\n]*\s*)*(?:strict\s+)?(?:di)?graph\b", "dot"),
    (r"\s*(?:vertex|edge)\s", "vertices"),
    (r"\s*\d+[ \t]+\d+", "edges"),
)


def read_graph(path: Path) -> ForeignGraph:
    """The graph of a file. Errors: GraphError, OSError."""
    text, file, name = read_text(path), str(path), path.stem
    if path.suffix in (".macah", ".c"):
        raise GraphError("a program, no graph: '--emit graph' writes that of a kernel", Place(file, 1, 1))
    if _READABLE.match(text):
        what = "a graph as '--emit dfg' shows it: '--emit graph' writes it as it can be read"
        raise GraphError(what, Place(file, 1, 1))
    match _form(path, text):
        case "dot":
            return read_dot(text, file, name)
        case "xml":
            return read_xml(text, file, name)
        case "vertices":
            return read_vertices(text, file, name)
        case "edges":
            return read_edges(text, file, name.removesuffix("_edges"), _operations(path))
    return read_json(text, file, name)


def _form(path: Path, text: str) -> str:
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    return next((form for pattern, form in _BEGINNINGS if re.match(pattern, text, re.IGNORECASE)), "json")


def _operations(path: Path) -> dict[str, str]:
    """The operations of `x_nodes`, which stands beside `x_edges`."""
    beside = path.with_name(path.name.replace("_edges", "_nodes"))
    if beside == path or not beside.is_file():
        return {}
    return read_operations(read_text(beside), str(beside))


def read_text(path: Path) -> str:
    """The text of a file. Errors: GraphError, OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise GraphError(f"the file has more than {MOST_BYTES} bytes", Place(str(path), 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GraphError("the file is not encoded in UTF-8", Place(str(path), line)) from None
