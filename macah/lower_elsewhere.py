"""What a program does besides a kernel: whether it mentions a variable there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.program import walk


def mentioned_elsewhere(unit: Any, function: Any, kernel: Any, name: str) -> bool:
    """Whether a name is mentioned outside the kernel block in `function` and what only that calls."""
    if any(isinstance(node, c_ast.Decl) and node.name == name for node in walk(function)):
        return name in _names(function.body, kernel)
    functions = {part.decl.name: part for part in unit if isinstance(part, c_ast.FuncDef)}
    inside = [functions[name] for name in _reached(_names(kernel), functions)]
    others = [part for part in unit if part not in inside]
    outside = {found for part in (function, *others) for found in _names(part, kernel)}
    called = _reached(outside, functions)
    return name in outside or any(name in _names(functions[other], kernel) for other in called)


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
