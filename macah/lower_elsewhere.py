"""What a program does with variables besides a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pycparser import c_ast

from macah.lower_scope import Object
from macah.program import walk


def mentioned_elsewhere(unit: Any, function: Any, kernel: Any, owner: Object) -> bool:
    """Whether a variable is mentioned outside the kernel block in `function` and what only that calls."""
    name = owner.name
    if owner.origin is None or any(node is owner.origin[0] for node in walk(function)):
        return name in _names(function.body, kernel)
    functions = {part.decl.name: part for part in unit if isinstance(part, c_ast.FuncDef)}
    inside = [functions[name] for name in _reached(_names(kernel), functions)]
    others = [part for part in unit if part not in inside]
    outside = {found for part in (function, *others) for found in _names(part, kernel)}
    called = _reached(outside, functions)
    return name in outside or any(name in _names(functions[other], kernel) for other in called)


def handed_on(unit: Any, parts: Iterable[Any], name: str, harmless: set[int]) -> bool:
    """Whether elements of an array may be written without naming it, not counting mentions in `harmless`."""
    nodes = [node for part in parts for node in walk(part)]
    known = set(harmless)
    for node in nodes:
        match node:
            case c_ast.ArrayRef(name=c_ast.ID() as base):
                known.add(id(base))
            case c_ast.UnaryOp(op="sizeof", expr=inner):
                known.update(map(id, walk(inner)))
            case c_ast.FuncCall(name=c_ast.ID(name=function), args=c_ast.ExprList(exprs=arguments)):
                passed = zip(arguments, _parameters(unit, function), strict=False)
                known.update(id(argument) for argument, parameter in passed if _only_reads(parameter))
    return any(isinstance(node, c_ast.ID) and node.name == name and id(node) not in known for node in nodes)


def _parameters(unit: Any, function: str) -> list[Any]:
    for node in unit:
        match node.decl if isinstance(node, c_ast.FuncDef) else node:
            case c_ast.Decl(name=name, type=c_ast.FuncDecl(args=c_ast.ParamList(params=found))):
                if name == function:
                    return list(found)
    return []


def _only_reads(parameter: Any) -> bool:
    """Whether what a parameter points to is constant."""
    pointer = getattr(parameter, "type", None)
    behind = pointer.type if isinstance(pointer, c_ast.PtrDecl | c_ast.ArrayDecl) else None
    return "const" in (getattr(behind, "quals", None) or ())


def _reached(names: set[str], functions: dict[str, Any]) -> set[str]:
    """The functions that are named, and those that these name."""
    reached: set[str] = set()
    waiting = [name for name in names if name in functions]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in _names(functions[name]) if other in functions]
    return reached


def _names(part: Any, besides: Any = None) -> set[str]:
    return {node.name for node in _walk(part, besides) if isinstance(node, c_ast.ID)}


def _walk(part: Any, besides: Any) -> Iterator[Any]:
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if node is not besides:
            yield node
            waiting += list(node)
