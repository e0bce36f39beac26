"""Graphs as Morpher writes them: XML, but for attributes without space between them and several roots."""

from __future__ import annotations

import re
from xml.parsers import expat

from .dfg import Place
from .foreign import ForeignGraph, GraphError, assemble

_ROOT = "graphs"


def read_xml(text: str, file: str, name: str) -> ForeignGraph:
    """The graph of the elements `Node` of a text.

    A node has an `idx`, its operation in `OP`, and its edges in `Output`: `idx` is the target, `nextiter` the
    distance, and type `PS` means an order. `RecParent` names a node that has to follow in the next iteration.
    """
    reader = _Reader(file)
    reader.parse(text)
    places = {"node": reader.node_places, "edge": reader.edge_places}

    def locate(what: str, position: int) -> Place:
        return places[what][position] if what else Place(file, 1, 1)

    return assemble(name, reader.nodes, reader.edges, locate)


class _Reader:
    """Collects nodes and edges from the events of the parser."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes: list[tuple[str, str]] = []
        self.edges: list[tuple[str, str, int, bool]] = []
        self.node_places: list[Place] = []
        self.edge_places: list[Place] = []
        self.operation: list[str] | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity

    def parse(self, text: str) -> None:
        """Read all of a text."""
        # What comes before the first element is one line still, so that lines stay.
        head = re.match(r"\s*<\?xml[^>]*\?>", text)
        body = text[head.end() :] if head else text
        lines = "\n" * head[0].count("\n") if head else ""
        spaced = re.sub(r'("[^"<>]*")([A-Za-z_]?)', lambda m: f"{m[1]} {m[2]}" if m[2] else m[1], body)
        try:
            self.parser.Parse(f"<{_ROOT}>{lines}{spaced}</{_ROOT}>".encode(), True)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code) or "unknown error"
            where = Place(self.file, error.lineno, error.offset + 1)
            raise GraphError(f"not the XML of a graph: {message}", where) from None

    def _place(self) -> Place:
        column = self.parser.CurrentColumnNumber + 1
        first = self.parser.CurrentLineNumber == 1
        return Place(self.file, self.parser.CurrentLineNumber, column - (len(_ROOT) + 2) * first)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "Node":
                self.nodes.append((self._index(attributes), ""))
                self.node_places.append(self._place())
            case "OP":
                self.operation = []
            case "Output":
                order = attributes.get("type") == "PS"
                ahead = self._number(attributes, "nextiter")
                self._edge(self._owner(), self._index(attributes), ahead, order)
            case "RecParent":
                self._edge(self._owner(), self._index(attributes), 1, True)

    def _edge(self, source: str, target: str, distance: int, order: bool) -> None:
        self.edges.append((source, target, distance, order))
        self.edge_places.append(self._place())

    def _end(self, tag: str) -> None:
        if tag == "OP" and self.operation is not None:
            key = self._owner()
            self.nodes[-1] = key, "".join(self.operation).strip().lower() or "op"
            self.operation = None
        if tag == "Node" and not self.nodes[-1][1]:
            raise GraphError("'OP' is missing", self.node_places[-1])

    def _text(self, text: str) -> None:
        if self.operation is not None:
            self.operation.append(text)

    def _entity(self, *_: object) -> None:
        raise GraphError("entities are not read", self._place())

    def _owner(self) -> str:
        """The node that an element is in."""
        if not self.nodes:
            raise GraphError("an element outside of a 'Node'", self._place())
        return self.nodes[-1][0]

    def _index(self, attributes: dict[str, str]) -> str:
        if "idx" not in attributes:
            raise GraphError("'idx' is missing", self._place())
        return attributes["idx"]

    def _number(self, attributes: dict[str, str], key: str) -> int:
        text = attributes.get(key, "0")
        if not re.fullmatch(r"-?\d{1,9}", text):
            raise GraphError(f"'{key}' must be a whole number", self._place())
        return int(text)
