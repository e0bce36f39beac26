"""Calls of Macah's built-in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.translate_decl import stream_of
from macah.translate_text import Parts

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_DEPTH = 16

# Functions of one stream, and what the runtime calls them.
_OF_STREAM = {
    "pstream_free": "macah_free",
    "stream_free": "macah_free",
    "pstream_close": "macah_close",
    "pstream_ended": "macah_ended",
    "pstream_empty": "macah_empty",
    "pstream_full": "macah_full",
    "mem_reader_join": "macah_reader_join",
    "mem_writer_join": "macah_writer_join",
}
_CREATE = frozenset({"pstream_create", "stream_create"})
_SPAWN = frozenset(f"mem_{role}_spawn{depth}" for role in ("reader", "writer") for depth in ("", "_depth"))
_ARITHMETIC = {"min": 2, "max": 2, "abs": 1}
BUILTINS = frozenset(_OF_STREAM) | _CREATE | _SPAWN | frozenset(_ARITHMETIC) | {"ADPC", "EXPECT"}


def translate_call(translator: Translator, node: Any, name: str) -> Parts:
    """What stands for a call of the built-in function `name`."""
    arguments = list(node.args.exprs) if node.args is not None else []
    if name in _OF_STREAM:
        _check_count(translator, node, name, arguments, 1)
        translator.check_stream(arguments[0], f"'{name}'", void_too=True)
        return (f"{_OF_STREAM[name]}(", translator.place(arguments[0]), ")")
    if name in _CREATE:
        return _create(translator, node, name, arguments)
    if name in _SPAWN:
        return translator.accessors.spawn(translator, node, name, arguments)
    if name in _ARITHMETIC:
        _check_count(translator, node, name, arguments, _ARITHMETIC[name])
        return _arithmetic(translator, name, arguments)
    if name == "EXPECT":
        _check_count(translator, node, name, arguments, 2)
        return ("(", translator.place(arguments[0]), ")")
    return translator.fail(
        "ADPC must be the whole initialiser of a constant",
        node,
        "write 'const int N = ADPC(min, max);' or 'enum { N = ADPC(min, max) };'",
        code="adpc",
    )


def _check_count(translator: Translator, node: Any, name: str, arguments: list[Any], wanted: int) -> None:
    if len(arguments) != wanted:
        few = "few" if len(arguments) < wanted else "many"
        translator.fail(
            f"too {few} arguments to '{name}': {len(arguments)} instead of {wanted}", node, code="arguments"
        )


def _create(translator: Translator, node: Any, name: str, arguments: list[Any]) -> Parts:
    if not arguments or not isinstance(arguments[0], c_ast.Typename):
        translator.fail(
            f"'{name}' needs the type of the elements",
            node,
            f"write '{name}(int)' or '{name}(int, 32)'",
            code="arguments",
        )
    if len(arguments) > 2:
        translator.fail(
            f"too many arguments to '{name}': {len(arguments)} instead of 1 or 2", node, code="arguments"
        )
    element = translator.place(arguments[0])
    before, behind = stream_of(translator.source.text[slice(*element)])
    depth: Parts = ("(", translator.place(arguments[1]), ")") if len(arguments) > 1 else (str(_DEPTH),)
    layout = translator.layout(arguments[0])
    if before == "MACAH_STREAM(":
        return ("macah_create(", *depth, f", {layout}, ", element, ")")
    handle: Parts = ("macah_stream_create(sizeof(", element, "), ", *depth, f", {layout}, MACAH_HERE)")
    return (f"(({before}", element, f"{behind})", *handle, ")")


def _arithmetic(translator: Translator, name: str, arguments: list[Any]) -> Parts:
    operands = [translator.operand(argument) for argument in arguments]
    if name == "abs":
        # Unlike `a < 0 ? -a : a`, this is quiet about unsigned types and gives +0.0 for both zeros.
        return (
            "__extension__({ __auto_type macah_a = +",
            *operands[0],
            "; macah_a > 0 ? macah_a : 0 - macah_a; })",
        )
    sign = "<" if name == "min" else ">"
    if all(_is_constant(translator, argument) for argument in arguments):
        # A constant has to stay one, as for the size of an array.
        left, right = (("(", translator.place(argument), ")") for argument in arguments)
        return ("(", *left, f" {sign} ", *right, " ? ", *left, " : ", *right, ")")
    return (
        *("__extension__({ __auto_type macah_a = +", *operands[0], "; __auto_type macah_b = +", *operands[1]),
        "; __typeof__(macah_a + macah_b) macah_l = macah_a, macah_r = macah_b; ",
        f"macah_l {sign} macah_r ? macah_l : macah_r; }})",
    )


def _is_constant(translator: Translator, node: Any) -> bool:
    match node:
        case c_ast.Constant() | c_ast.Typename():
            return True
        case c_ast.ID(name=name):
            symbol = translator.scopes.find(name)
            return symbol is not None and symbol.kind == "constant"
        case c_ast.UnaryOp(op="sizeof" | "_Alignof"):
            return True
        case c_ast.FuncCall(name=c_ast.ID(name=name), args=arguments) if translator.is_builtin(name):
            return name in {"min", "max"} and all(_is_constant(translator, a) for a in arguments.exprs)
        case c_ast.UnaryOp() | c_ast.BinaryOp() | c_ast.TernaryOp() | c_ast.Cast():
            return all(_is_constant(translator, child) for child in node)
        case _:
            return False
