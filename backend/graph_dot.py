"""Graphs in the DOT language, as CGRA-ME, Pillars, GenMap and others write them.

The language has few rules and this reads all of them; the one library for it that is maintained takes 2 ms
for each statement, and keeps no places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .foreign import ForeignGraph, GraphError, assemble, with_back_edges
from .positions import Lines

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")|(?P<html><(?:[^<>]|<[^<>]*>)*>)
    |(?P<word>-?(?:\.\d+|\d+(?:\.\d*)?)|[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)
    |(?P<mark>->|--|[{}\[\];,=:])""",
    re.VERBOSE | re.DOTALL,
)

DEEPEST = 100
"""Subgraphs are nested no deeper."""

_Token = tuple[str, str, int]
"""The kind, the text (of a string: what it says), and the offset."""

_Attributes = dict[str, str]


def read_dot(text: str, file: str, name: str) -> ForeignGraph:
    """The graph that a DOT text describes; `name` if it does not say its own."""
    reader = _Reader(text, Lines(text, file))
    return reader.graph(name)


@dataclass(frozen=True)
class _Scope:
    """What nodes and edges get by default, in a graph or subgraph."""

    node: _Attributes = field(default_factory=dict)
    edge: _Attributes = field(default_factory=dict)


class _Reader:
    """A recursive-descent parser of the language."""

    def __init__(self, text: str, lines: Lines) -> None:
        self.text, self.lines = text, lines
        self.tokens = list(self._split())
        self.at = 0
        self.nodes: dict[str, tuple[_Attributes, int]] = {}
        self.edges: list[tuple[str, str, _Attributes, int]] = []

    def graph(self, name: str) -> ForeignGraph:
        self._word("strict")
        if self._word("graph"):
            raise self._error("a graph of edges without direction: 'digraph' is needed", self.at - 1)
        if not self._word("digraph"):
            raise self._error("'digraph' expected")
        if self._kind() in ("word", "string"):
            name = self._take()[1]
        self._block(_Scope(), 0)
        if self.at < len(self.tokens) - 1:
            raise self._error("the end of the file expected")
        edges = [
            (source, target, self._distance(attributes, offset), attributes.get("kind") == "order")
            for source, target, attributes, offset in self.edges
        ]
        places = {
            "node": [offset for _, offset in self.nodes.values()],
            "edge": [offset for *_, offset in self.edges],
        }
        nodes = [(key, _operation(key, attributes)) for key, (attributes, _) in self.nodes.items()]
        known, guessed = with_back_edges(nodes, edges)
        return assemble(name, nodes, known, self.lines.locate(places), guessed)

    def _split(self) -> Iterator[_Token]:
        """The tokens, with one of the kind `end` behind them."""
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise GraphError("nothing of the DOT language", self.lines.place(at))
            kind, word = str(found.lastgroup), found[0]
            if kind == "string":
                word = re.sub(r'\\(["\n])', lambda m: '"' if m[1] == '"' else "", word[1:-1])
            if kind != "skip":
                yield ("string" if kind == "html" else kind), word, at
            at = found.end()
        yield "end", "", len(self.text)

    def _kind(self) -> str:
        return self.tokens[self.at][0]

    def _take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def _mark(self, mark: str) -> bool:
        """Take a mark, if it comes next."""
        found = self.tokens[self.at][:2] == ("mark", mark)
        self.at += found
        return found

    def _word(self, *words: str) -> str:
        """Take one of some words, in capitals or not, if it comes next."""
        kind, word, _ = self.tokens[self.at]
        found = kind == "word" and word.lower() in words
        self.at += found
        return word.lower() if found else ""

    def _error(self, message: str, at: int | None = None) -> GraphError:
        return GraphError(message, self.lines.place(self.tokens[self.at if at is None else at][2]))

    def _id(self) -> tuple[str, int]:
        if self._kind() not in ("word", "string"):
            raise self._error("a name expected")
        _, name, offset = self._take()
        return name, offset

    def _block(self, scope: _Scope, depth: int) -> list[str]:
        """The statements in braces; the nodes that they name."""
        if depth > DEEPEST:
            raise self._error("subgraphs are nested too deeply")
        if not self._mark("{"):
            raise self._error("'{' expected")
        scope = _Scope(dict(scope.node), dict(scope.edge))
        named: list[str] = []
        while not self._mark("}"):
            named += self._statement(scope, depth)
            while self._mark(";") or self._mark(","):
                pass
        return named

    def _statement(self, scope: _Scope, depth: int) -> list[str]:
        if kind := self._word("node", "edge", "graph"):
            attributes = self._attributes()
            if kind != "graph":
                (scope.node if kind == "node" else scope.edge).update(attributes)
            return []
        start = self.tokens[self.at][2]
        first = self._ends(scope, depth)
        if self._mark("="):
            self._id()
            return []
        chain = [first]
        while self.tokens[self.at][1] in ("->", "--") and self._kind() == "mark":
            self._take()
            chain.append(self._ends(scope, depth))
        attributes = self._attributes()
        if len(chain) == 1:
            for name in first:
                self._node(name, start, scope)[0].update(attributes)
        for sources, targets in zip(chain, chain[1:], strict=False):
            for name in (*sources, *targets):
                self._node(name, start, scope)
            every = scope.edge | attributes
            self.edges += [(source, target, every, start) for source in sources for target in targets]
        return [name for names in chain for name in names]

    def _ends(self, scope: _Scope, depth: int) -> list[str]:
        """A node, or the nodes of a subgraph."""
        if self._word("subgraph"):
            if self._kind() in ("word", "string"):
                self._take()
            return self._block(scope, depth + 1)
        if self.tokens[self.at][:2] == ("mark", "{"):
            return self._block(scope, depth + 1)
        name, _ = self._id()
        while self._mark(":"):
            self._id()
        return [name]

    def _node(self, name: str, offset: int, scope: _Scope) -> tuple[_Attributes, int]:
        return self.nodes.setdefault(name, (dict(scope.node), offset))

    def _attributes(self) -> _Attributes:
        found: _Attributes = {}
        while self._mark("["):
            while not self._mark("]"):
                key, _ = self._id()
                found[key.lower()] = self._id()[0] if self._mark("=") else "true"
                while self._mark(",") or self._mark(";"):
                    pass
        return found

    def _distance(self, attributes: _Attributes, offset: int) -> int | None:
        """How many iterations an edge goes ahead; None if it does not say."""
        for key in ("distance", "dist"):
            if key in attributes:
                if not re.fullmatch(r"-?\d{1,9}", attributes[key]):
                    raise GraphError(f"'{key}' must be a whole number", self.lines.place(offset))
                return int(attributes[key])
        return None


def _operation(name: str, attributes: _Attributes) -> str:
    """What a node does: its `opcode`, `op` or `type`; else what its label or name looks like."""
    for key in ("opcode", "op", "type"):
        if attributes.get(key, "op").lower() != "op":
            return attributes[key]
    label = attributes.get("label", name)
    found = re.search(r"=\s*([A-Za-z]\w*)", label) or re.search(r"([A-Za-z]+)", label)
    return found[1].lower() if found else "op"
