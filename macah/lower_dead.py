"""Host variables whose values nobody reads after the kernel: these need not be copied out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pycparser import c_ast

from macah.program import KernelSite, walk
from macah.syntax import Asm, KernelBlock

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Goto, c_ast.Label, Asm)


def dead_after(site: KernelSite) -> frozenset[str]:
    """The automatic variables of the enclosing function that nothing but the kernel block mentions.

    None if the block may run again while they live: in a loop, or where there are labels. Inline assembly may
    mention anything.
    """
    inside = {id(node) for node in walk(site.node)}
    outside = [node for node in walk(site.function) if id(node) not in inside]
    if any(isinstance(node, _JUMPS) for node in outside) or _in_a_loop(site.function.body, site.node):
        return frozenset()
    declared = Counter(node.name for node in walk(site.function) if isinstance(node, c_ast.Decl))
    mentioned = {node.name for node in outside if isinstance(node, c_ast.ID)}
    own = {node.name for node in walk(site.function.body) if _is_automatic(node) and id(node) not in inside}
    return frozenset(name for name in own if declared[name] == 1 and name not in mentioned)


def _is_automatic(node: Any) -> bool:
    if not isinstance(node, c_ast.Decl) or isinstance(node.type, c_ast.PtrDecl):
        return False
    return not node.storage and not getattr(node, "attributes", None)


def _in_a_loop(body: Any, kernel: KernelBlock) -> bool:
    loops = (node for node in walk(body) if isinstance(node, _LOOPS))
    return any(inner is kernel for loop in loops for inner in walk(loop))
