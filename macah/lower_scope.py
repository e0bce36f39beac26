"""What names mean: the entities of a program and C's scopes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from macah.ctypes import CType, FunctionType, Integer, StructType
from macah.diagnostic import MacahError, Place
from macah.std_headers import header_hint
from macah.syntax import StreamType

# The values of a table's scalars, by the names and by the indices of the steps to each; the others are 0.
Table = Mapping[tuple[tuple[str, ...], tuple[int, ...]], int]


@dataclass(slots=True, eq=False)
class Object:
    """A variable or parameter; two of the same name are different.

    `source` is its C lvalue if it exists outside the kernel. `table` are its values if they are known and
    never change. `decayed` marks a parameter declared as an array, whose `sizeof` is a pointer's. `raw`: it
    is kept as bytes. `origin`: its declaration outside the kernel, and the scope of that.
    """

    name: str
    type: CType
    const: bool = False
    where: Place | None = None
    source: str | None = None
    table: Table | None = None
    decayed: bool = False
    raw: bool = False
    origin: tuple[Any, Scope] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """An enumeration constant, or a const integer with a constant initialiser, which has an address."""

    type: Integer
    value: int
    where: Place | None = None
    addressable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Typedef:
    """A name for a type."""

    type: CType
    const: bool = False
    where: Place | None = None

    @classmethod
    def named(cls, name: str, ctype: CType, const: bool, where: Place) -> Typedef:
        """What `typedef ctype name;` declares; messages call a struct without a tag by that name."""
        if isinstance(ctype, StructType) and not ctype.alias:
            ctype.alias = name
        return cls(ctype, const, where)


@dataclass(frozen=True, slots=True, eq=False)
class FunctionName:
    """A function; `definition` is its `FuncDef` if its body is visible, or known (`library`)."""

    name: str
    type: FunctionType
    definition: Any = None
    where: Place | None = None
    library: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """A name whose declaration is in error; using it repeats that error."""

    error: MacahError
    where: Place | None = None


Entity = Object | Constant | Typedef | FunctionName | Broken


@dataclass(slots=True, eq=False)
class Scope:
    """The names of a block and, through `outer`, of those around it.

    `function` is the name of the function whose outermost block it is.
    """

    outer: Scope | None = None
    names: dict[str, Entity] = field(default_factory=dict)
    tags: dict[str, CType] = field(default_factory=dict)
    function: str = ""
    named: Scope | None = field(init=False)

    def __post_init__(self) -> None:
        """Blocks around this one that have no names so far get none before it ends: nobody looks there."""
        outer = self.outer
        empty = outer and outer.outer and not outer.names and not outer.tags
        self.named = outer.named if outer and empty else outer

    def function_name(self) -> str:
        """The function that this block is in; "" at file scope."""
        return self.function or (self.outer.function_name() if self.outer else "")

    def find(self, name: str) -> Entity | None:
        """What `name` means here."""
        scope: Scope | None = self
        while scope:
            if found := scope.own(name):
                return found
            scope = scope.named
        return None

    def find_tag(self, tag: str) -> CType | None:
        """The struct, union or enumeration type named `tag`."""
        scope: Scope | None = self
        while scope:
            if found := scope.own_tag(tag):
                return found
            scope = scope.named
        return None

    def replace(self, old: Object, new: Object) -> None:
        """Give the name of a variable another meaning in the block where it has been declared."""
        scope: Scope | None = self
        while scope and scope.names.get(old.name) is not old:
            scope = scope.named
        if scope:
            scope.names[old.name] = new

    def own(self, name: str) -> Entity | None:
        """What `name` means if it is declared in this very block."""
        return self.names.get(name)

    def own_tag(self, tag: str) -> CType | None:
        """The type named `tag` if it is declared in this very block."""
        return self.tags.get(tag)

    def all_names(self) -> Iterator[str]:
        """All names that can be used here."""
        yield from self.names
        if self.outer:
            yield from self.outer.all_names()

    def guess(self, name: str) -> str:
        """What to append to a message about the unknown `name`."""
        close = difflib.get_close_matches(
            name, [n for n in self.all_names() if not n.startswith("_")], 1, 0.75
        )
        return f"; did you mean '{close[0]}'?" if close else ""


def undeclared(name: str, scope: Scope, where: Place) -> MacahError:
    """The error about a name that nothing declares."""
    hint = header_hint(name)
    guess = "" if hint else scope.guess(name)
    return MacahError(f"'{name}' undeclared{guess}", where, hint=hint, code="undeclared")


@dataclass(slots=True, eq=False)
class FileScope(Scope):
    """The names at file scope, each declared when it is first asked for: headers declare thousands."""

    declare: Callable[[Any, Scope], None] = lambda node, scope: None
    read_tag: Callable[[Any, Scope], object] = lambda node, scope: None
    nodes: dict[str, Any] = field(default_factory=dict)
    tag_nodes: dict[str, Any] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    """Where in the text each name is declared first, and each struct or union is defined."""

    def add(self, unit: Any) -> None:
        """Note what the translation unit declares."""
        for node in unit.ext:
            declaration = node.decl if isinstance(node, c_ast.FuncDef) else node
            if not isinstance(declaration, c_ast.Decl | c_ast.Typedef):
                continue
            self._note_tags(declaration.type)
            name = declaration.name
            if name and declaration.coord is not None:
                self.begins.setdefault(name, declaration.coord.start)
            if name and _weight(node) >= _weight(self.nodes.get(name)):
                self.nodes[name] = node

    def _note_tags(self, node: Any) -> None:
        """The types that are defined within a declaration are visible behind it."""
        while node is not None and not isinstance(node, c_ast.Struct | c_ast.Union | c_ast.Enum):
            node = node.element if isinstance(node, StreamType) else getattr(node, "type", None)
        if isinstance(node, c_ast.Enum) and node.values:
            self.nodes.update((e.name, node) for e in node.values.enumerators)
            self.tag_nodes[node.name] = node
        elif isinstance(node, c_ast.Struct | c_ast.Union) and node.decls:
            self.tag_nodes[node.name] = node
            self.begins.setdefault(f"struct {node.name}", node.coord.start)
            for member in node.decls:
                self._note_tags(getattr(member, "type", None))

    def own(self, name: str) -> Entity | None:
        if name not in self.names and name in self.nodes:
            self.declare(self.nodes.pop(name), self)
        return self.names.get(name)

    def own_tag(self, tag: str) -> CType | None:
        if tag not in self.tags and tag in self.tag_nodes:
            self.read_tag(self.tag_nodes.pop(tag), self)
        return self.tags.get(tag)

    def all_names(self) -> Iterator[str]:
        yield from self.names
        yield from self.nodes


def _weight(node: Any) -> int:
    """Which of several declarations of a name says most."""
    match node:
        case None:
            return 0
        case c_ast.FuncDef():
            return 4
        case c_ast.Decl(init=init, storage=storage):
            return 3 if init is not None else 1 if "extern" in storage else 2
        case _:
            return 3
