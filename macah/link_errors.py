"""What the linker did not find, as the program has it: its messages know no lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pycparser import c_ast

from .diagnostic import Diagnostic, Note, Place
from .program import Program, place_of, walk

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?([A-Za-z_]\w*)")
_OTHER = re.compile(r"multiple definition|duplicate symbol|cannot find|unable to find")
_MATHEMATICS = re.compile(r"\b(?:math|mathcalls|complex|cmathcalls|tgmath|fenv)[\w-]*\.h$")


def undefined(said: str, program: Program, arguments: Sequence[str]) -> tuple[Diagnostic, ...]:
    """What the linker said; () if that is not only that something is defined nowhere.

    `arguments` are those of the program, which a library behind its name is by mistake.
    """
    names = dict.fromkeys(_UNDEFINED.findall(said))
    if not names or _OTHER.search(said):
        return ()
    uses, declared = _uses(program), _declarations(program)
    if not names.keys() <= uses.keys():
        return ()
    late = next((word for word in arguments if word.startswith("-l")), "")
    return tuple(_diagnostic(name, uses[name], declared.get(name), late) for name in names)


def _diagnostic(name: str, use: Place, declared: Place | None, late: str) -> Diagnostic:
    notes = () if declared is None else (Note("it is declared here", declared),)
    if late:
        hint = f"what stands behind the program is its own; '{late}' for the linker stands before it"
    elif declared is not None and _MATHEMATICS.search(declared.file):
        hint = "it is in the library of mathematics: add -lm, before the program"
    else:
        hint = "define it, or name the library that has it with -l, before the program"
    message = f"'{name}' is used here, but neither the program nor a library defines it"
    return Diagnostic(message, use, notes, hint, code="undefined")


def _uses(program: Program) -> dict[str, Place]:
    """Where each name stands in an expression first; as one that is called, if it is."""
    called: dict[str, Place] = {}
    named: dict[str, Place] = {}
    for node in walk(program.unit):
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            called.setdefault(node.name.name, place_of(node.name))
        elif isinstance(node, c_ast.ID):
            named.setdefault(node.name, place_of(node))
    return {**named, **called}


def _declarations(program: Program) -> dict[str, Place]:
    """Where each name of the whole program is declared first."""

    def found() -> Iterator[tuple[str, Place]]:
        for node in reversed(program.unit.ext):
            if isinstance(node, c_ast.Decl) and node.name:
                yield node.name, place_of(node)

    return dict(found())
