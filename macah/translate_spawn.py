"""Memory accessors: for each function that is spawned, code that carries its arguments to its thread.

    struct macah_frame_of_f { MACAH_STREAM(short) a0; __typeof__(const short *) a1; __typeof__(int) a2; };
    static void macah_thread_of_f(void *frame) { … f(a->a0, a->a1, a->a2); }
    static MACAH_STREAM(short) macah_reader_of_f(size_t depth, const short *a1, int a2) { … }

It stands before the first function that spawns `f`; the call's arguments are converted and checked by C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.printer import Printer
from macah.program import walk
from macah.syntax import StreamType
from macah.translate_text import Source

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_DEPTH = "16"
_ANY_POINTER = "const volatile void *"


class _CPrinter(Printer):
    """Prints types with streams as C."""

    def visit_StreamType(self, n: StreamType) -> str:
        return f"MACAH_STREAM({self.visit(n.element).rstrip()})"

    def visit__Shiftable(self, n: Any) -> str:
        return str(self._visit_expr(n.size))

    def type_text(self, kind: Any) -> str:
        """A type without the name it declares."""
        return " ".join(self._generate_type(kind, emit_declname=False).split())


class Accessors:
    """The accessors of a program; `emit` writes those that came up since it was last called."""

    def __init__(self) -> None:
        self._made: set[tuple[str, str]] = set()
        self._pending: list[str] = []

    def spawn(self, translator: Translator, node: Any, name: str, arguments: list[Any]) -> None:
        """Note the edits of `mem_reader_spawn(f, args…)` and its relatives."""
        start, end = translator.place(node)[0], 0
        if name.endswith("_depth"):
            if not arguments:
                translator.fail(f"'{name}' needs a depth and a function", node, code="accessor")
            end = translator.place(arguments[0])[1]
            arguments = arguments[1:]
        function, parameters = _accessor(translator, node, name, arguments)
        role = "writer" if "writer" in name else "reader"
        self._make(translator, function, role, parameters)
        source, behind = translator.source, _end_of_argument(translator, node, arguments[0])
        starter = f"macah_{role}_of_{function}"
        if end:
            # The depth stays where it is; a parenthesis around the function's name goes with it.
            parenthesis = source.tokens_in((start, behind))[1]
            source.replace((start, parenthesis.end), f"{starter}(MACAH_HERE, ")
            comma = next(t for t in source.tokens_in((end, behind)) if t.type == "COMMA")
            source.replace((comma.start, behind), "")
        else:
            source.replace((start, behind), f"{starter}(MACAH_HERE, {_DEPTH}")

    def emit(self, source: Source, position: int) -> None:
        """Write what is new before the function at `position`."""
        if self._pending:
            source.before(position, "".join(self._pending), outermost=True)
            self._pending = []

    def _make(self, translator: Translator, function: str, role: str, parameters: list[Any]) -> None:
        types = [_type_text(translator, parameter, parameters) for parameter in parameters]
        if not any(made == function for made, _ in self._made):
            self._pending.append(_frame(function, types))
        if (function, role) not in self._made:
            layout = translator.layout(parameters[0].type, of_stream=True)
            self._pending.append(_starter(function, role, types, layout))
        self._made.add((function, role))


def _end_of_argument(translator: Translator, node: Any, function: Any) -> int:
    """The end of the function's name in a call, with the parentheses around it."""
    tokens = translator.source.tokens_in(translator.place(node))
    first = last = next(i for i, t in enumerate(tokens) if t.start == translator.place(function)[0])
    while first > 2 and tokens[first - 1].type == "LPAREN" and tokens[last + 1].type == "RPAREN":
        first, last = first - 1, last + 1
    return tokens[last].end


def _accessor(translator: Translator, node: Any, name: str, arguments: list[Any]) -> tuple[str, list[Any]]:
    """The name and the parameters of the function that a call spawns."""
    form = f"write '{name}({'depth, ' if name.endswith('depth') else ''}f, arguments of f behind its stream)'"
    if not arguments:
        translator.fail(f"'{name}' needs a function", node, form, code="accessor")
    function = arguments[0]
    kind = translator.scopes.type_of(function)
    symbol = translator.scopes.find(function.name) if isinstance(function, c_ast.ID) else None
    if symbol is None or symbol is not translator.scopes.names[0].get(function.name):
        translator.fail(f"'{name}' needs the name of a function", function, form, code="accessor")
    if not isinstance(kind, c_ast.FuncDecl):
        translator.fail(f"'{function.name}' is not a function", function, form, code="accessor")
    parameters = list(kind.args.params) if kind.args is not None else []
    if any(not isinstance(p, c_ast.Decl | c_ast.Typename) for p in parameters):
        translator.fail(
            f"'{function.name}' has parameters of unknown type",
            function,
            "declare all of them",
            code="accessor",
        )
    if not parameters or not isinstance(translator.scopes.resolve(parameters[0].type), StreamType):
        translator.fail(
            f"the first parameter of '{function.name}' is not a stream", function, form, code="accessor"
        )
    given, wanted = len(arguments) - 1, len(parameters) - 1
    if given != wanted:
        few = "few" if given < wanted else "many"
        translator.fail(
            f"too {few} arguments for '{function.name}': {given} instead of {wanted}",
            node,
            form,
            code="arguments",
        )
    return str(function.name), parameters


def _type_text(translator: Translator, parameter: Any, parameters: list[Any]) -> str:
    """A parameter's type at file scope, as that of a variable."""
    kind = parameter.type
    names = {p.name for p in parameters}
    if any(isinstance(n, c_ast.ID) and n.name in names for n in walk(kind)):
        return _ANY_POINTER  # an array of variable length, which cannot be named outside the function
    resolved = translator.scopes.resolve(kind)
    if isinstance(resolved, c_ast.ArrayDecl):
        kind = c_ast.PtrDecl([], resolved.type)
    elif isinstance(resolved, c_ast.FuncDecl):
        kind = c_ast.PtrDecl([], resolved)
    return f"__typeof__({_CPrinter().type_text(kind)})"


def _frame(function: str, types: list[str]) -> str:
    members = [f"  {kind} a{i};\n" for i, kind in enumerate(types)]
    values = [f"{'(void *)' * (kind == _ANY_POINTER)}a->a{i}" for i, kind in enumerate(types)]
    return (
        f'\n# 1 "<accessor {function}>" 3\n'
        f"struct macah_frame_of_{function} {{\n{''.join(members)}}};\n"
        f"static void macah_thread_of_{function}(void *frame) {{\n"
        f"  struct macah_frame_of_{function} *a = (struct macah_frame_of_{function} *)frame;\n"
        f"  {function}({', '.join(values)});\n"
        "}\n"
    )


def _starter(function: str, role: str, types: list[str], layout: str) -> str:
    parameters = [
        "const char *file",
        "int line",
        "unsigned long depth",
        *(f"{kind} a{i}" for i, kind in enumerate(types) if i),
    ]
    values = [f"a{i}" for i in range(len(types))]
    writes = int(role == "writer")
    return (
        f'\n# 1 "<{role} {function}>" 3\n'
        f"static {types[0]} macah_{role}_of_{function}({', '.join(parameters)}) {{\n"
        f"  {types[0]} a0 = ({types[0]})macah_stream_create(\n"
        f"    sizeof(MACAH_ELEMENT(({types[0]})0)), depth, {layout}, file, line);\n"
        f"  struct macah_frame_of_{function} frame = {{{', '.join(values)}}};\n"
        f'  macah_spawn(a0, "{function}", macah_thread_of_{function}, &frame, sizeof frame, {writes});\n'
        "  return a0;\n"
        "}\n"
    )
