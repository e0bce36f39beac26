"""Host variables whose values nobody reads after the kernel: these need not be copied out.

int level[16];
for (int k = 0; k < 16; k++) level[k] = start;         needed before the kernel, but not after it
kernel { … level[3] = … }
return sum;
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from macah.ctypes import ArrayType, CType
from macah.program import KernelSite, walk
from macah.syntax import Asm, KernelBlock

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
JUMPS = (c_ast.Goto, c_ast.Label, Asm)


@dataclass(frozen=True, slots=True)
class DeadAfter:
    """The variables that nothing behind a kernel block mentions, with how many subscripts follow each mention
    before it."""

    subscripts: Mapping[str, frozenset[int | None]]

    def __contains__(self, variable: tuple[str, CType]) -> bool:
        """Whether nobody needs a variable of that type after the kernel.

        Where an array has fewer subscripts than dimensions, a pointer to it may outlive the mention.
        """
        name, ctype = variable
        return name in self.subscripts and self.subscripts[name] <= {_dimensions(ctype)}


def dead_after(site: KernelSite) -> DeadAfter:
    """What of the enclosing function's automatic variables nobody needs after a kernel block.

    None if the block may run again while they live: in a loop, or where there are labels. Inline assembly may
    mention anything.
    """
    facts = _facts(site.function)
    block = facts.blocks[id(site.node)]
    if block.in_loop or any(at not in block.span for at in facts.jumps):
        return DeadAfter({})
    found = {}
    for name, declared in facts.declared.items():
        if len(declared) > 1 or declared[0] is None or declared[0] in block.span:
            continue
        outside = [mention for mention in facts.mentions.get(name, ()) if mention.at not in block.span]
        if all(mention.at < block.span.start for mention in outside):
            found[name] = frozenset(mention.subscripts for mention in outside)
    return DeadAfter(found)


def _dimensions(ctype: CType) -> int:
    return 1 + _dimensions(ctype.element) if isinstance(ctype, ArrayType) else 0


@dataclass(frozen=True, slots=True)
class _Mention:
    """Where a name is, in the order of the text, and its subscripts; None if more is done with it."""

    at: int
    subscripts: int | None


@dataclass(frozen=True, slots=True)
class _Block:
    span: range
    in_loop: bool


@dataclass(slots=True)
class _Facts:
    """What is where in a function, in the order of the text; of what is declared, None if not automatic."""

    jumps: list[int] = field(default_factory=list)
    declared: dict[str, list[int | None]] = field(default_factory=dict)
    mentions: dict[str, list[_Mention]] = field(default_factory=dict)
    blocks: dict[int, _Block] = field(default_factory=dict)


_Pending = tuple[Any, bool, int | None]
"""A node, whether it is in a loop, and the subscripts of what it names, or None."""


@lru_cache(maxsize=1)
def _facts(function: Any) -> _Facts:
    """Those of a function, which may have many kernels."""
    facts, at = _Facts(), 0
    head = (function.decl, *(function.param_decls or ()))
    parameters = {id(node) for piece in head for node in walk(piece)}
    begun: dict[int, int] = {}
    pending: list[_Pending] = [(function, False, 0)]
    while pending:
        node, in_loop, subscripts = pending.pop()
        at += 1
        match node:
            case KernelBlock() if id(node) in begun:
                facts.blocks[id(node)] = _Block(range(begun.pop(id(node)), at), in_loop)
                continue
            case KernelBlock():
                begun[id(node)] = at
                pending.append((node, in_loop, 0))  # once more at its end
            case c_ast.Decl():
                automatic = is_automatic(node) and id(node) not in parameters
                facts.declared.setdefault(node.name, []).append(at if automatic else None)
            case c_ast.ID():
                facts.mentions.setdefault(node.name, []).append(_Mention(at, subscripts))
            case _ if isinstance(node, JUMPS):
                facts.jumps.append(at)
        looping = in_loop or isinstance(node, LOOPS)
        pending += [(inner, looping, count) for inner, count in reversed(_parts(node, subscripts))]
    return facts


def _parts(node: Any, subscripts: int | None) -> list[tuple[Any, int | None]]:
    """What is in a node, and how many subscripts follow each part, if nothing else is done with it."""
    match node:
        case c_ast.ArrayRef():
            return [(node.name, None if subscripts is None else subscripts + 1), (node.subscript, 0)]
        case c_ast.StructRef():
            return [(node.name, None)]
        case c_ast.UnaryOp(op="&"):
            return [(node.expr, None)]
        case _:
            return [(inner, 0) for inner in node]


def is_automatic(node: Any) -> bool:
    """True for the declaration of a local variable that is no pointer and has no attributes."""
    if not isinstance(node, c_ast.Decl) or isinstance(node.type, c_ast.PtrDecl):
        return False
    return not node.storage and not getattr(node, "attributes", None)
