"""Pseudo-constants: `const int N = ADPC(1, 8);` becomes `enum { N = 1 };`, which C takes for a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.translate_scope import Symbol

if TYPE_CHECKING:
    from macah.translate_walk import Translator


def replace_adpc(translator: Translator, node: Any) -> bool:
    """Note the edit of a `Decl` or `Enumerator` whose value is an ADPC; False if it is none."""
    value = node.value if isinstance(node, c_ast.Enumerator) else node.init
    match value:
        case c_ast.FuncCall(name=c_ast.ID(name="ADPC")) if translator.is_builtin("ADPC"):
            pass
        case _:
            return False
    number = translator.constant(value, node)
    if isinstance(node, c_ast.Enumerator):
        translator.source.replace(translator.place(value), str(number))
    else:
        _replace_declaration(translator, node, number)
    translator.scopes.declare(node.name, Symbol("constant"))
    return True


def _replace_declaration(translator: Translator, node: Any, number: int) -> None:
    if "const" not in node.quals:
        message = f"'{node.name}' is initialised with ADPC, so it must be const"
        translator.fail(message, node, f"write 'const int {node.name} = ADPC(min, max);'", code="adpc")
    source = translator.source
    start, end = translator.place(node)
    tokens = source.tokens_in((start, end))
    depths = [0]
    for token in tokens:
        depths.append(depths[-1] + (token.value in "([{") - (token.value in ")]}"))
    constant = f"enum {{ {node.name} = {number} }};"
    if not any(t.type == "COMMA" and depth == 0 for t, depth in zip(tokens, depths, strict=False)):
        source.replace((start, end), constant)
        return
    # Other declarators stay; in this one's place stands a variable that nothing names.
    at = next(
        i
        for i, t in enumerate(tokens)
        if t.value == node.name and [u.value for u in tokens[i + 1 : i + 3]] == ["=", "ADPC"]
    )
    source.replace((tokens[at].start, tokens[at].end), f"macah_{node.name} __attribute__((unused))")
    source.replace(translator.place(node.init), str(number))
    source.insert(start, f"{constant} ")
