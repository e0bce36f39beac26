"""`#pragma macah …` that has no effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic
from macah.program import PRAGMAS, Program, place_of, pragma_name, walk
from macah.unrolling import is_plain_loop, unroll_factor


def stray_pragmas(program: Program) -> Iterator[Diagnostic]:
    """Those of an unknown name, `unroll` before no loop, and others before anything but a kernel block."""
    used = {id(site.node) for site in program.kernels if site.ordered or site.bubbles}
    working = {id(pragma) for pragma, behind in _pairs(program.unit) if id(behind) in used}
    unrolling = {id(pragma) for pragma, behind in _pairs(program.unit) if is_plain_loop(behind)}
    for node in walk(program.unit):
        if isinstance(node, c_ast.Pragma) and (node.string or "").split()[:1] == ["macah"]:
            name = pragma_name(node)
            if unroll_factor(node) is not None:
                if id(node) not in unrolling:
                    message = "'#pragma macah unroll' stands before no loop"
                    yield Diagnostic(message, place_of(node), code="macah-pragma")
            elif name is None:
                message = f"unknown '#pragma {' '.join(node.string.split())}'"
                known = "".join(f"'#pragma macah {pragma}', " for pragma in PRAGMAS)
                hint = f"there are {known}'#pragma macah unroll N' and '… unroll all'"
                yield Diagnostic(message, place_of(node), (), hint, code="macah-pragma")
            elif id(node) not in working:
                message = f"'#pragma macah {name}' stands before no kernel block"
                yield Diagnostic(message, place_of(node), code="macah-pragma")


def _pairs(unit: Any) -> Iterator[tuple[Any, Any]]:
    for block in walk(unit):
        if isinstance(block, c_ast.Compound):
            items = block.block_items or ()
            yield from zip(items, items[1:], strict=False)
