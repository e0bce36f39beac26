"""Host variables whose values nobody reads after the kernel: these need not be copied out."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from macah.program import KernelSite, walk
from macah.syntax import Asm, KernelBlock

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
JUMPS = (c_ast.Goto, c_ast.Label, Asm)


def dead_after(site: KernelSite) -> frozenset[str]:
    """The automatic variables of the enclosing function that nothing but the kernel block mentions.

    None if the block may run again while they live: in a loop, or where there are labels. Inline assembly may
    mention anything.
    """
    all_, inside = _facts(site.function), _Facts(site.node)
    if all_.jumps > inside.jumps or id(site.node) in all_.looping:
        return frozenset()
    return frozenset(
        name
        for name, count in all_.automatic.items()
        if count > inside.automatic[name]
        and all_.declared[name] == 1
        and all_.mentioned[name] == inside.mentioned[name]
    )


class _Facts:
    """What occurs how often in a part of a program; the kernel blocks that are in loops there."""

    def __init__(self, part: Any) -> None:
        self.jumps = 0
        self.declared: Counter[str] = Counter()
        self.mentioned: Counter[str] = Counter()
        self.automatic: Counter[str] = Counter()
        self.looping = set[int]()
        head = [part.decl, *(part.param_decls or ())] if isinstance(part, c_ast.FuncDef) else []
        parameters = {id(node) for piece in head for node in walk(piece)}
        pending = [(part, False)]
        while pending:
            node, in_loop = pending.pop()
            match node:
                case c_ast.Decl():
                    self.declared[node.name] += 1
                    if is_automatic(node) and id(node) not in parameters:
                        self.automatic[node.name] += 1
                case c_ast.ID():
                    self.mentioned[node.name] += 1
                case KernelBlock() if in_loop:
                    self.looping.add(id(node))
                case _ if isinstance(node, JUMPS):
                    self.jumps += 1
            in_loop = in_loop or isinstance(node, LOOPS)
            pending += [(inner, in_loop) for inner in node]


@lru_cache(maxsize=1)
def _facts(function: Any) -> _Facts:
    """Those of a function, which may have many kernels."""
    return _Facts(function)


def is_automatic(node: Any) -> bool:
    """True for the declaration of a local variable that is no pointer and has no attributes."""
    if not isinstance(node, c_ast.Decl) or isinstance(node.type, c_ast.PtrDecl):
        return False
    return not node.storage and not getattr(node, "attributes", None)
