"""Calls of Macah's built-in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.program import walk
from macah.syntax import ADPC_FORM, ADPC_MISPLACED, EXPECT_FORM, StreamType
from macah.translate_batch import cursor

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
_BATCHED = {"pstream_close": "macah_batch_close", "pstream_ended": "macah_batch_ended"}
_CREATE = frozenset({"pstream_create", "stream_create"})
_SPAWN = frozenset(f"mem_{role}_spawn{depth}" for role in ("reader", "writer") for depth in ("", "_depth"))
_ARITHMETIC = {"min": 2, "max": 2, "abs": 1}
BUILTINS = frozenset(_OF_STREAM) | _CREATE | _SPAWN | frozenset(_ARITHMETIC) | {"ADPC", "EXPECT"}
_TRUTH = frozenset({"==", "!=", "<", "<=", ">", ">=", "&&", "||"})


def translate_call(translator: Translator, node: Any, name: str) -> None:
    """Note the edits of a call of the built-in function `name`."""
    arguments = list(node.args.exprs) if node.args is not None else []
    if name in _OF_STREAM:
        _check_count(translator, node, name, arguments, 1)
        translator.check_stream(arguments[0], f"'{name}'", void_too=True)
        if translator.ends and name in _BATCHED:
            stream = f"{cursor(arguments[0].name, receives=True)}, " if name == "pstream_ended" else ""
            _rename(translator, node, _BATCHED[name], stream)
        else:
            _rename(translator, node, _OF_STREAM[name])
    elif name in _CREATE:
        _create(translator, node, name, arguments)
    elif name in _SPAWN:
        translator.accessors.spawn(translator, node, name, arguments)
    elif name in _ARITHMETIC:
        _check_count(translator, node, name, arguments, _ARITHMETIC[name])
        # A constant has to stay one, as for the size of an array.
        constant = all(is_constant(translator, argument) for argument in arguments)
        _rename(translator, node, f"macah_{name}_of_constants" if constant else f"macah_{name}")
    elif name == "EXPECT":
        _check_count(translator, node, name, arguments, 2)
        _expect(translator, node, *arguments)
    else:
        translator.fail(ADPC_MISPLACED, node, ADPC_FORM, code="adpc")


def _rename(translator: Translator, node: Any, name: str, first: str = "") -> None:
    # With its parenthesis: a line marker between them would keep the macro from being seen.
    start, end = translator.place(node)
    parenthesis = translator.source.tokens_in((start, end))[1]
    translator.source.replace((start, parenthesis.end), f"{name}({first}")


def _check_count(translator: Translator, node: Any, name: str, arguments: list[Any], wanted: int) -> None:
    if len(arguments) != wanted:
        few = "few" if len(arguments) < wanted else "many"
        translator.fail(
            f"too {few} arguments to '{name}': {len(arguments)} instead of {wanted}",
            node,
            code="arguments",
        )


def _kind_of_tag(translator: Translator, tag: str) -> str:
    """`struct`, `union` or `enum` if that has the name; '' if nothing has."""
    for node in walk(translator.source.program.unit) if tag else ():
        if isinstance(node, c_ast.Struct | c_ast.Union | c_ast.Enum) and node.name == tag:
            return type(node).__name__.lower()
    return ""


def _create(translator: Translator, node: Any, name: str, arguments: list[Any]) -> None:
    if not arguments or not isinstance(arguments[0], c_ast.Typename):
        tag = arguments[0].name if arguments and isinstance(arguments[0], c_ast.ID) else ""
        kind = _kind_of_tag(translator, tag)
        translator.fail(
            f"'{name}' needs the type of the elements",
            node,
            f"write '{name}({kind} {tag})'" if kind else f"write '{name}(int)' or '{name}(int, 32)'",
            code="arguments",
        )
    if len(arguments) > 2:
        translator.fail(
            f"too many arguments to '{name}': {len(arguments)} instead of 1 or 2",
            node,
            code="arguments",
        )
    _refuse_element(translator, node, arguments[0])
    _rename(translator, node, "macah_create")
    source, element = translator.source, translator.place(arguments[0])
    depth = "" if len(arguments) > 1 else f", {_DEPTH}"
    source.behind(translator.place(node)[1] - 1, f"{depth}, {translator.layout(arguments[0])}")
    if any(token.type == "COMMA" for token in source.tokens_in(element)):
        # As an argument of a macro.
        source.around(element, "__typeof__(", ")")


def _refuse_element(translator: Translator, node: Any, element: Any) -> None:
    """Refuse a type that a stream cannot have as element, which the C compiler would only be puzzled by."""
    match translator.scopes.resolve(element.type):
        case c_ast.PtrDecl() | c_ast.FuncDecl():
            what, hint = "pointers", "send indices or the values themselves"
        case c_ast.ArrayDecl():
            what, hint = "arrays", "send the elements one by one, or a struct with the array inside"
        case c_ast.IdentifierType(names=["void"]):
            what, hint = "'void'", "a stream of tokens without data can be a 'char stream'"
        case StreamType():
            what, hint = "streams", "send an index into an array of streams"
        case _:
            return
    translator.fail(f"a stream cannot carry {what}", node, hint, code="stream-element")


def _expect(translator: Translator, node: Any, condition: Any, likelihood: Any) -> None:
    """The C compiler is told of a constant likelihood; a value keeps its type."""
    start, end = translator.place(node)
    is_truth = (isinstance(condition, c_ast.BinaryOp) and condition.op in _TRUTH) or (
        isinstance(condition, c_ast.UnaryOp) and condition.op == "!"
    )
    if not is_constant(translator, likelihood):
        tokens = translator.source.tokens_in((start, end))
        inside = translator.source.tokens_in((start, translator.place(likelihood)[0]))
        comma = next(t for t in reversed(inside) if t.type == "COMMA")
        translator.source.replace((start, tokens[0].end), "")
        translator.source.replace((comma.start, tokens[-2].end), "")
    else:
        _check_likelihood(translator, likelihood)
        _rename(translator, node, "macah_expect" if is_truth else "macah_expect_value")


def _check_likelihood(translator: Translator, node: Any) -> None:
    # What names mean depends on where they stand.
    if any(isinstance(part, c_ast.ID | c_ast.Typename) for part in walk(node)):
        return
    declarations = translator.declarations
    if not 0 <= declarations.number(node, declarations.file)[1] <= 1:
        translator.fail("the frequency must be between 0 and 1", node, EXPECT_FORM, code="expect")


def is_constant(translator: Translator, node: Any) -> bool:
    """Whether an expression is made of constants alone."""
    match node:
        case c_ast.Constant() | c_ast.Typename():
            return True
        case c_ast.ID(name=name):
            symbol = translator.scopes.find(name)
            return symbol is not None and symbol.kind == "constant"
        case c_ast.UnaryOp(op="sizeof" | "_Alignof"):
            return True
        case c_ast.FuncCall(name=c_ast.ID(name=name), args=arguments) if translator.is_builtin(name):
            return name in _ARITHMETIC and all(is_constant(translator, a) for a in arguments.exprs)
        case c_ast.UnaryOp() | c_ast.BinaryOp() | c_ast.TernaryOp() | c_ast.Cast():
            return all(is_constant(translator, child) for child in node)
        case _:
            return False
