"""Graphs as JSON; docs/graphs.md describes the form."""

from __future__ import annotations

import json
from typing import Any

from .dfg import Place
from .foreign import ForeignGraph, GraphError, assemble
from .graph_text import Path, Source
from .kernel_json import read_kernel, write_kernel

MORE = "a file has one graph, and this is behind it: put each into a file of its own"


def parse_json(text: str, file: str) -> dict[str, Any]:
    """The object of a JSON text; GraphError, with the place, if there is none."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        reason = MORE if error.msg == "Extra data" else f"not JSON: {error.msg}"
        raise GraphError(reason, Place(file, error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
        raise GraphError(f"not JSON of a graph: {reason}", Place(file, 1, 1)) from None
    if type(data) is not dict:
        raise GraphError("a graph is an object with 'nodes' and 'edges'", Place(file, 1, 1))
    return data


def read_json(text: str, file: str, name: str) -> ForeignGraph:
    """The graph that a JSON text describes; `name` if it does not say its own."""
    data, source = parse_json(text, file), Source(text, file)
    if "format" in data:
        return read_kernel(data, source)
    name = source.take(data, "name", (str,), (), name)
    nodes, edges = [], []
    for k, node in enumerate(source.take(data, "nodes", (list,), ())):
        path: Path = ("nodes", k)
        if type(node) is not dict:
            raise source.error("a node is an object with 'id' and 'op'", path)
        nodes.append((source.take(node, "id", (int, str), path), source.take(node, "op", (str,), path)))
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
    if graph.kernel is not None:
        return write_kernel(graph.kernel)
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
