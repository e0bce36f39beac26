"""Graphs as JSON; docs/graphs.md describes the form."""

from __future__ import annotations

import json
from typing import Any

from .dfg import Place
from .foreign import ForeignGraph, GraphError, assemble
from .positions import json_offset, place_at

_NAMES = {int: "a whole number", str: "a string", list: "a list", dict: "an object"}

Path = tuple[str | int, ...]


class _Text:
    """A text that is read, to find places in it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file

    def error(self, message: str, path: Path) -> GraphError:
        return GraphError(message, self.place(path))

    def place(self, path: Path) -> Place:
        return place_at(self.file, self.text, json_offset(self.text, path))

    def locate(self, what: str, position: int) -> Place:
        """See `foreign.Locate`."""
        return self.place((f"{what}s", position) if what else ())

    def take(
        self, table: dict[str, Any], key: str, kinds: tuple[type, ...], path: Path, default: Any = None
    ) -> Any:
        """The value of a key, of one of `kinds`."""
        value = table.get(key, default)
        if value is None:
            raise self.error(f"'{key}' is missing", path)
        if type(value) not in kinds:
            names = " or ".join(_NAMES[kind] for kind in kinds)
            raise self.error(f"'{key}' must be {names}", (*path, key))
        return value


def parse_json(text: str, file: str) -> dict[str, Any]:
    """The object of a JSON text; GraphError, with the place, if there is none."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphError(f"not JSON: {error.msg}", Place(file, error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
        raise GraphError(f"not JSON of a graph: {reason}", Place(file, 1, 1)) from None
    if type(data) is not dict:
        raise GraphError("a graph is an object with 'nodes' and 'edges'", Place(file, 1, 1))
    return data


def _printable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can have but no output can."""
    return text.encode("utf-8", "replace").decode()


def read_json(text: str, file: str, name: str) -> ForeignGraph:
    """The graph that a JSON text describes; `name` if it does not say its own."""
    data, source = parse_json(text, file), _Text(text, file)
    name = _printable(source.take(data, "name", (str,), (), name))
    nodes, edges = [], []
    for k, node in enumerate(source.take(data, "nodes", (list,), ())):
        path: Path = ("nodes", k)
        if type(node) is not dict:
            raise source.error("a node is an object with 'id' and 'op'", path)
        nodes.append(
            (source.take(node, "id", (int, str), path), _printable(source.take(node, "op", (str,), path)))
        )
    for k, edge in enumerate(source.take(data, "edges", (list,), (), [])):
        path = ("edges", k)
        if type(edge) is not dict:
            raise source.error("an edge is an object with 'src' and 'dst'", path)
        kind = source.take(edge, "kind", (str,), path, "data")
        if kind not in ("data", "order"):
            raise source.error(f"'kind' is '{kind}', but must be 'data' or 'order'", (*path, "kind"))
        ends = (source.take(edge, key, (int, str), path) for key in ("src", "dst"))
        distance = source.take(edge, "distance", (int,), path, 0)
        edges.append((*ends, distance, kind == "order"))
    return assemble(name, nodes, edges, source.locate)


def write_json(graph: ForeignGraph) -> str:
    """A graph in the form that `read_json` reads: one line for each node and edge."""
    keys = [node.key for node in graph.nodes]
    nodes: list[object] = [{"id": node.key, "op": node.op} for node in graph.nodes]
    edges: list[object] = [
        {
            "src": keys[edge.source],
            "dst": keys[edge.target],
            "distance": edge.distance,
            "kind": "order" if edge.order else "data",
        }
        for edge in graph.edges
    ]
    name = json.dumps(graph.name)
    return f'{{\n"name": {name},\n"nodes": {_rows(nodes)},\n"edges": {_rows(edges)}\n}}\n'


def _rows(values: list[object]) -> str:
    return "[\n" + ",\n".join(map(json.dumps, values)) + "\n]"
