"""Variables that a kernel uses but that cannot be named where it stands: a pointer leads to each.

int next(void) {                     int next(void) {
  static int n;                =>      static int n; static void *const macah_static_next_n … = (void *)&n;
  return n++;                          return n++;
}                                    }

The pointer's name in assembly is known to the whole program, though in C it is known in its block alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pycparser import c_ast

from macah import ir
from macah.program import place_of, walk
from macah.translate_text import Source

_KEPT = "__attribute__((__used__))"


def refer_to_statics(source: Source, unit: Any, statics: Iterable[ir.Static]) -> None:
    """Note the edits that make pointers to variables."""
    wanted = {(static.name, static.where): static.symbol for static in statics if static.image is None}
    if not wanted:
        return
    for node in unit.ext:
        found = [n for n in walk(node) if isinstance(n, c_ast.Decl) and (n.name, place_of(n)) in wanted]
        for declaration in found:
            symbol = wanted[declaration.name, place_of(declaration)]
            text = f' static void *const {symbol} __asm__("{symbol}") {_KEPT} = (void *)&{declaration.name};'
            _behind(source, declaration, text)
        if found and isinstance(node, c_ast.FuncDef):
            # What nobody calls on the host would be gone, and its variables with it.
            symbol = wanted[found[0].name, place_of(found[0])]
            _behind(source, node, f" static void *const {symbol}_in {_KEPT} = (void *){node.decl.name};")


def _behind(source: Source, node: Any, text: str) -> None:
    span = source.span(node)
    assert span is not None, node
    source.behind(source.statement_end(span[1]), text)


def static_declarations(kernel: ir.Kernel) -> Iterator[str]:
    """The kernel's own static variables, and the pointers to those of others."""
    for static in kernel.statics:
        if static.image is None:
            yield f'extern void *const {static.symbol}_at __asm__("{static.symbol}");'
            continue
        image = static.image.rstrip(b"\0") or b"\0"
        size = f"[{len(static.image)}] __attribute__((__aligned__(16)))"
        yield f"static unsigned char {static.symbol}_at{size} = {{{', '.join(map(str, image))}}};"
