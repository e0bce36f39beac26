"""Graphs as lines of text: the edges of SAT-MapIt, and the vertices and edges of HierCGRA."""

from __future__ import annotations

import re

from .dfg import Place
from .foreign import ForeignGraph, GraphError, assemble, with_back_edges
from .positions import Lines


def read_edges(text: str, file: str, name: str, operations: dict[str, str]) -> ForeignGraph:
    """The graph of lines `source target distance latency`; `operations` by node, as far as they are known.

    The latency, if there is one, is not read: the machine has its own.
    """
    keys = dict.fromkeys(operations)
    edges, places = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        where = Place(file, number, 1)
        if not 2 <= len(words) <= 4 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
            raise GraphError("'SOURCE TARGET DISTANCE LATENCY' expected, in numbers", where)
        keys |= dict.fromkeys(words[:2])
        edges.append((words[0], words[1], int(words[2]) if len(words) > 2 else 0, False))
        places.append(where)
    nodes = [(key, operations.get(key, "op")) for key in sorted(keys, key=int)]

    def locate(what: str, position: int) -> Place:
        return places[position] if what == "edge" else Place(file, 1, 1)

    return assemble(name, nodes, edges, locate)


def read_operations(text: str, file: str) -> dict[str, str]:
    """The operations by node of lines `node operation …`, which SAT-MapIt has beside the edges."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and (len(words) < 2 or not re.fullmatch(r"\d{1,9}", words[0])):
            raise GraphError("'NODE OPERATION …' expected", Place(file, number, 1))
        if words:
            found[words[0]] = words[1].lower()
    return found


def read_vertices(text: str, file: str, name: str) -> ForeignGraph:
    """The graph of lines `vertex NAME`, `attr optype str OPERATION`, and `edge NAME.outK NAME.inK`.

    Vertices with a dot in their names are the ports of others.
    """
    operations: dict[str, str] = {}
    edges, starts = [], {}
    edge_starts = []
    vertex = ""
    at = 0
    for line in text.splitlines(keepends=True):
        match line.split():
            case ["vertex", vertex]:
                if "." not in vertex:
                    operations[vertex] = "op"
                    starts[vertex] = at
            case ["attr", "optype", "str", operation] if vertex in operations:
                operations[vertex] = operation.lower()
            case ["edge", source, target]:
                ends = source.partition(".")[0], target.partition(".")[0]
                if "." in source and "." in target:
                    edges.append((*ends, None, False))
                    edge_starts.append(at)
            case [] | ["attr", *_]:
                pass
            case _:
                raise GraphError(
                    "'vertex NAME', 'attr …' or 'edge NAME NAME' expected", Lines(text, file).place(at)
                )
        at += len(line)
    places = {"node": list(starts.values()), "edge": edge_starts}
    nodes = list(operations.items())
    known, guessed = with_back_edges(nodes, edges)
    return assemble(name, nodes, known, Lines(text, file).locate(places), guessed)
