"""A program: its preprocessed text, its syntax tree, where each part of the tree stands, and its kernels.

The text of a program is kept, because the host's C is this text with only the parts replaced that are Macah.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pycparser import c_ast

from macah.columns import forget_files, place_at
from macah.diagnostic import MacahError, Place
from macah.includes import with_includes
from macah.parser import MacahParser
from macah.preprocess import preprocess
from macah.syntax import KernelBlock, Receive, Send, ShiftableDecl, StreamType, UnrolledFor

_MACAH_NODES = (KernelBlock, Receive, Send, ShiftableDecl, StreamType, UnrolledFor)
# Calls that are no calls of C functions: they take types, or any arguments, or are constants.
MACAH_CALLS = frozenset(
    {"ADPC", "EXPECT", "pstream_create", "stream_create"}
    | {f"mem_{kind}_spawn{depth}" for kind in ("reader", "writer") for depth in ("", "_depth")}
)


PRAGMAS = ("ordered", "bubbles")
"""What `#pragma macah` may say of the kernel block behind it."""


@dataclass(frozen=True)
class KernelSite:
    """A kernel block; `name` is unique in its program, `index` counts from 0 in the order of the text.

    `ordered` and `bubbles`: `#pragma macah` of that name stands before it.
    """

    name: str
    node: KernelBlock
    function: Any
    where: Place
    index: int
    ordered: bool = False
    bubbles: bool = False


@dataclass(frozen=True)
class Program:
    """`spans[i]` are the characters `text[start:end]` of `unit.ext[i]`, with its semicolon.

    Declarators of one declaration share its span. `warnings` is what the preprocessor said; `command` is the
    preprocessor with its flags, () if `text` is from elsewhere.
    """

    path: Path
    text: str = field(repr=False)
    unit: Any = field(repr=False)
    spans: tuple[tuple[int, int], ...] = field(repr=False)
    kernels: tuple[KernelSite, ...]
    parser: MacahParser = field(repr=False, compare=False)
    warnings: str = ""
    command: tuple[str, ...] = ()

    def span_of(self, node: Any) -> tuple[int, int] | None:
        """The characters of a node that the parser made from text of its own, else None.

        Declarations include their semicolon (and declarators of one declaration share its span), statements
        that are expressions, sends or receives exclude it, and expressions exclude parentheses around them.
        """
        return self.parser.span_of(node)

    @cached_property
    def shiftable(self) -> frozenset[str]:
        """The names of all variables, parameters, members and types that are declared shiftable."""
        return _shiftable_names(self.unit)

    def contains_macah(self, node: Any) -> bool:
        """Whether `node` needs translation to be C, shifts included."""
        return contains_macah(node, self.shiftable)


def read_program(path: Path, cpp_flags: Sequence[str] = (), cc: str = "cc") -> Program:
    """Preprocess and parse the program in the file `path`."""
    text, warnings = preprocess(path, cpp_flags, cc)
    command = (*shlex.split(cc), "-E", "-D__MACAH__", *cpp_flags)
    return parse_program(text, path, warnings, command)


def parse_program(text: str, path: Path, warnings: str = "", command: tuple[str, ...] = ()) -> Program:
    """The program whose preprocessed text is `text`."""
    parser = MacahParser()
    forget_files()
    try:
        unit = parser.parse(text, str(path))
        sites = _kernel_sites(unit)
    except MacahError as error:
        raise MacahError.of(with_includes(error.diagnostics, text)) from None
    spans = tuple(parser.span_of(node) or (0, 0) for node in unit.ext)
    return Program(path, text, unit, spans, sites, parser, warnings, command)


def place_of(node: Any) -> Place:
    """Where a node begins in its source file."""
    coord = node.coord or next((n.coord for n in walk(node) if n.coord is not None), None)
    return place_at(coord) if coord else Place("<unknown>", 0)


_LEAVES = frozenset({c_ast.ID, c_ast.Constant, c_ast.IdentifierType, c_ast.Break, c_ast.Continue})
"""Nothing is below these, and half of all nodes are of these classes."""


def walk(node: Any) -> Iterator[Any]:
    """A node and all below it, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if type(current) not in _LEAVES:
            waiting += list(current)[::-1]


def contains_macah(node: Any, shiftable: Container[str] = ()) -> bool:
    """Whether there is Macah in `node`; `a <<= n` is a shift if `a` is one of the `shiftable` names."""
    return any(_is_macah(n, shiftable) for n in walk(node))


def _is_macah(node: Any, shiftable: Container[str]) -> bool:
    match node:
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            return name in MACAH_CALLS
        case c_ast.Assignment(op="<<=" | ">>=", lvalue=target):
            return _name_of(target) in shiftable
        case _:
            return isinstance(node, _MACAH_NODES)


def _name_of(target: Any) -> str:
    """The variable or member that an lvalue is, or is an element of."""
    while True:
        match target:
            case c_ast.ID(name=name):
                return str(name)
            case c_ast.StructRef(field=inner) | c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(expr=inner):
                target = inner
            case _:
                return ""


def _shiftable_names(unit: Any) -> frozenset[str]:
    names: set[str] = set()
    for node in walk(unit):
        if isinstance(node, c_ast.Decl | c_ast.Typedef) and node.name and _is_shiftable(node.type, names):
            names.add(node.name)
    return frozenset(names)


def _is_shiftable(kind: Any, names: set[str]) -> bool:
    while isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl | c_ast.TypeDecl):
        if isinstance(kind, ShiftableDecl):
            return True
        kind = kind.type
    return isinstance(kind, c_ast.IdentifierType) and not names.isdisjoint(kind.names)


def _kernel_sites(unit: Any) -> tuple[KernelSite, ...]:
    found = [
        (function, node)
        for function in unit.ext
        if isinstance(function, c_ast.FuncDef)
        for node in _outermost(function)
    ]
    functions = list({id(function): function for function, _ in found}.values())
    for function in functions:
        _refuse_inner_kernels(function)
    names = _unique_names([(node.name, f"{function.decl.name}_kernel") for function, node in found])
    marked = {(id(node), name) for function in functions for node, name in _marked(function)}
    return tuple(
        KernelSite(
            name,
            node,
            function,
            place_of(node),
            index,
            (id(node), "ordered") in marked,
            (id(node), "bubbles") in marked,
        )
        for index, (name, (function, node)) in enumerate(zip(names, found, strict=True))
    )


def _marked(function: Any) -> Iterator[tuple[Any, str]]:
    """The statements of a function that stand behind a `#pragma macah …`, with its name."""
    for block in walk(function):
        if isinstance(block, c_ast.Compound):
            items = block.block_items or ()
            for a, b in zip(items, items[1:], strict=False):
                if name := pragma_name(a):
                    yield b, name


def pragma_name(node: Any) -> str | None:
    """The name of a `#pragma macah` if it is one of `PRAGMAS`."""
    words = (node.string or "").split() if isinstance(node, c_ast.Pragma) else []
    return words[1] if len(words) == 2 and words[0] == "macah" and words[1] in PRAGMAS else None


def _outermost(node: Any) -> Iterator[KernelBlock]:
    """The kernel blocks that are in no other; who lowers or translates a kernel refuses those in it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, KernelBlock):
            yield current
        else:
            waiting.extend(reversed(list(current)))


def _refuse_inner_kernels(function: Any) -> None:
    for inner in walk(function.body):
        if not isinstance(inner, c_ast.FuncDef):
            continue
        for node in (n for n in walk(inner) if isinstance(n, KernelBlock)):
            hint = f"move '{inner.decl.name}' out of '{function.decl.name}'"
            raise MacahError(
                "a kernel block in a nested function", place_of(node), hint=hint, code="kernel-block"
            )


def _unique_names(wanted: list[tuple[str | None, str]]) -> list[str]:
    """A name for each kernel: its label, or the second of the pair; numbered where already taken."""
    taken: set[str] = set()
    names = [""] * len(wanted)
    # Labels first, so that a label is only ever changed for another label.
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at][0] is None):
        label, otherwise = wanted[at]
        name = base = label or otherwise
        number = 1
        while name in taken:
            number += 1
            name = f"{base}{number}"
        taken.add(name)
        names[at] = name
    return names


def has_effects(node: Any) -> bool:
    """Whether evaluating an expression may do more than give its value."""
    return any(
        isinstance(n, c_ast.FuncCall | c_ast.Assignment | c_ast.Compound)
        or (isinstance(n, c_ast.UnaryOp) and n.op in {"++", "--", "p++", "p--"})
        for n in walk(node)
    )
