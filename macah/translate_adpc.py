"""Pseudo-constants: `const int N = ADPC(1, 8);` becomes `enum { N = 1 /* ADPC(1, 8) */ };`, C's constant.

Where its type is another than `int`, each use has a cast. In the head of a `for`, where C allows no such
declaration, it comes to stand before the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.ctypes import INT, Integer
from macah.translate_scope import Symbol

if TYPE_CHECKING:
    from macah.translate_walk import Translator


def replace_adpc(translator: Translator, node: Any) -> bool:
    """Note the edit of a `Decl` or `Enumerator` whose value is an ADPC; False if it is none."""
    if not _is_adpc(translator, node):
        return False
    value = node.value if isinstance(node, c_ast.Enumerator) else node.init
    number, cast = translator.constant(value, node), ""
    if isinstance(node, c_ast.Decl):
        number, cast = _converted(translator, node, number)
    chosen = f"{number} /* {translator.source.spelled(translator.place(value))} */"
    if isinstance(node, c_ast.Enumerator):
        translator.source.replace(translator.place(value), chosen)
    else:
        _replace_declaration(translator, node, number, chosen)
    translator.scopes.declare(node.name, Symbol("constant", cast=cast))
    return True


def cast_adpc(translator: Translator, node: Any) -> None:
    """Note the cast of a pseudo-constant that is used: an enumeration constant is an `int`."""
    symbol = translator.scopes.find(node.name)
    if symbol is not None and symbol.cast:
        start = node.coord.start
        translator.source.replace((start, start + len(node.name)), f"(({symbol.cast}){node.name})")


def _converted(translator: Translator, node: Any, number: int) -> tuple[int, str]:
    """The value of a pseudo-constant in its type, and that type if it is not `int`."""
    ctype = translator.declared_type(node)
    if not isinstance(ctype, Integer):
        message = f"the pseudo-constant '{node.name}' has type '{ctype}', which is no integer type"
        translator.fail(message, node, f"write 'const int {node.name} = ADPC(min, max);'", code="adpc")
    return ctype.wrap(number), "" if ctype == INT else str(ctype)


def hoist_adpc(translator: Translator, loop: Any) -> None:
    """Note the block around a `for` that declares pseudo-constants."""
    declared = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else ()
    if any(_is_adpc(translator, node) for node in declared):
        source = translator.source
        start, end = translator.place(loop)
        source.before(start, "{ ")
        source.behind(source.statement_end(end), " }")


def _is_adpc(translator: Translator, node: Any) -> bool:
    match node:
        case c_ast.Enumerator(value=call) | c_ast.Decl(init=call):
            pass
        case _:
            return False
    match call:
        case c_ast.FuncCall(name=c_ast.ID(name="ADPC")):
            return translator.is_builtin("ADPC")
    return False


def _replace_declaration(translator: Translator, node: Any, number: int, chosen: str) -> None:
    if "const" not in node.quals:
        message = f"'{node.name}' is initialised with ADPC, so it must be const"
        translator.fail(message, node, f"write 'const int {node.name} = ADPC(min, max);'", code="adpc")
    source = translator.source
    start, end = translator.place(node)
    tokens = source.tokens_in((start, end))
    value = translator.place(node.init)
    depths = [0]
    for token in tokens:
        depths.append(depths[-1] + (token.value in "([{") - (token.value in ")]}"))
    name = next(
        t
        for i, t in enumerate(tokens)
        if t.value == node.name and [u.value for u in tokens[i + 1 : i + 3]] == ["=", "ADPC"]
    )
    loop = translator.loop
    if loop is None and not any(
        t.type == "COMMA" and depth == 0 for t, depth in zip(tokens, depths, strict=False)
    ):
        source.replace((start, name.start), "enum { ")
        source.replace(value, f"{chosen} }}")
        return
    # Other declarators stay; in this one's place stands a variable that nothing names.
    place = start if loop is None else translator.place(loop)[0]
    source.before(place, f"enum {{ {node.name} = {chosen} }}; ")
    source.replace((name.start, name.end), f"macah_{node.name} __attribute__((unused))")
    source.replace(value, str(number))
