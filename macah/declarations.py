"""The grammar of declarations: stream types, shiftable arrays and GNU attributes; and what text a node is.

A GNU attribute is a `c_ast.Attribute("__attribute__", None, arguments)` among the `attributes` of what it
belongs to: structure, enumeration, declarator or declaration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from macah.lexer import MacahLexer
from macah.recovery import Recovering
from macah.syntax import Asm, Receive, Send, ShiftableDecl, StreamType

_QUALIFIERS = {"CONST", "VOLATILE", "_ATOMIC"}
_STORAGE = {"AUTO", "REGISTER", "STATIC", "EXTERN", "TYPEDEF", "_THREAD_LOCAL"}
# What may follow `T stream` when `stream` is the word of the language and not the declared name.
_BEHIND_STREAM = {"ID", "TYPEID", "TIMES"} | _QUALIFIERS | _STORAGE
# What an error about underlines as a whole; of other nodes only the word they begin with.
_EXPRESSIONS = (
    *(c_ast.ArrayRef, c_ast.Assignment, c_ast.BinaryOp, c_ast.Cast, c_ast.CompoundLiteral, c_ast.FuncCall),
    *(c_ast.StructRef, c_ast.TernaryOp, c_ast.UnaryOp, Receive, Send),
)


class _Scope(dict[str, bool]):
    """The names of a scope, types or not; `outer` is the next one around it that has any."""

    def __init__(self, around: dict[str, bool]) -> None:
        self.outer: dict[str, bool] = around if around or not isinstance(around, _Scope) else around.outer


class Declarations(Recovering):
    """Declarations and types of Macah, and the spans of all nodes."""

    def __init__(self) -> None:
        super().__init__(lexer=MacahLexer)
        self._spans: dict[int, tuple[Any, int, int]] = {}
        self._in_type_name = False

    def span_of(self, node: Any) -> tuple[int, int] | None:
        """The characters `text[start:end]` of a node, without a statement's final semicolon."""
        found = self._spans.get(id(node))
        return found[1:] if found else None

    def _spanned(self, node: Any, start: int) -> Any:
        """Remember that `node` begins with token number `start` and has just ended.

        The first note stays: it excludes parentheses around an expression. The node is kept with it, so that
        no other can get its id.
        """
        if self._tokens.index > start:
            begin = self._tokens.tokens[start].start
            end = self._tokens.tokens[self._tokens.index - 1].end
            if id(node) not in self._spans:
                self._spans[id(node)] = (node, begin, end)
                if isinstance(node, _EXPRESSIONS) and node.coord is not None and node.coord.start == begin:
                    # Nodes share coordinates, but not where they end.
                    node.coord = replace(node.coord, end=end)
        return node

    def _push_scope(self) -> None:
        self._scope_stack.append(_Scope(self._scope_stack[-1]))
        self._typedef_checked_token = None

    def _peek(self, k: int = 1) -> Any:
        """As pycparser's, in one call instead of two: this is what a parser does most."""
        stream = self._tokens
        at = stream.index + k - 1
        token = stream.tokens[at] if 0 <= at < len(stream.tokens) else None
        if token is not self._typedef_checked_token:
            self._classify_identifier(token)
        return token

    def _is_type_in_scope(self, name: str) -> bool:
        """As pycparser's, but blocks without declarations, one in the other, cost nothing."""
        scope: dict[str, bool] = self._scope_stack[-1]
        while name not in scope:
            if not isinstance(scope, _Scope):
                return False
            scope = scope.outer
        return scope[name]

    def _at_word(self, word: str, following: str) -> bool:
        token = self._peek()
        return (
            token is not None
            and token.value == word
            and token.type in {"ID", "TYPEID"}
            and self._peek_type(2) == following
        )

    def _parse_external_declaration(self) -> list[Any]:
        start = self._mark()
        if self._at_word("kernel", "LBRACE"):
            self._fail("a kernel block must stand inside a function", code="kernel-block")
        self._refuse_unknown_type("ID", "TIMES")
        if token := self._accept("ASM"):
            self._expect("SEMI")
            return [self._spanned(Asm(token.value, self._tok_coord(token)), start)]
        return [self._spanned(node, start) for node in super()._parse_external_declaration()]

    def _parse_function_definition(self, spec: Any, decl: Any) -> Any:
        # Only with an old-style list of names can there be declarations before the body.
        names = decl.args.params if isinstance(decl, c_ast.FuncDecl) and decl.args is not None else [None]
        old_style = all(isinstance(name, c_ast.ID) for name in names)
        if self._peek_type() != "LBRACE" and not old_style:
            if self._lacks_brace():
                self._add_brace()
            if self._ends_line():
                self._add_semicolon()
            self._unexpected("';'")
        return super()._parse_function_definition(spec, decl)

    def _parse_declaration(self) -> list[Any]:
        start = self._mark()
        return [self._spanned(node, start) for node in super()._parse_declaration()]

    def _parse_parameter_declaration(self) -> Any:
        start = self._mark()
        return self._spanned(super()._parse_parameter_declaration(), start)

    def _parse_parameter_list(self) -> Any:
        parameters = super()._parse_parameter_list()
        if sum(getattr(p, "name", None) == "stream" for p in parameters.params) > 1:
            self._fail(
                "two parameters named 'stream': a parameter 'T stream s' needs a name",
                parameters.coord,
                code="declaration",
            )
        return parameters

    def _parse_identifier_list(self) -> Any:
        self._refuse_unknown_type("ID", "TIMES")
        return super()._parse_identifier_list()

    def _parse_struct_declaration(self) -> list[Any] | None:
        start = self._mark()
        self._refuse_unknown_type()
        nodes = super()._parse_struct_declaration()
        return nodes and [self._spanned(node, start) for node in nodes]

    def _parse_type_name(self) -> Any:
        start = self._mark()
        self._in_type_name = True
        return self._spanned(super()._parse_type_name(), start)

    def _parse_specifiers(self, *, allow_storage_and_function: bool) -> Any:
        in_type_name, self._in_type_name = self._in_type_name, False
        start = self._mark()
        spec, saw_type, first = super()._parse_specifiers(
            allow_storage_and_function=allow_storage_and_function
        )
        while saw_type and self._at_stream_type(in_type_name):
            where = self._tok_coord(self._advance())
            if isinstance(spec["type"][0], StreamType):
                self._fail("the elements of a stream cannot be streams", where, code="stream-element")
            if getattr(spec["type"][0], "names", None) == ["void"]:
                hint = "a stream of tokens without data can be a 'char stream'"
                self._fail("a stream cannot carry 'void'", where, hint=hint, code="stream-element")
            plain = {**spec, "qual": [], "type_attributes": []}
            spec["type"] = [StreamType(self._build_type_name(plain, None, first), where)]
            while (kind := self._peek_type()) in _QUALIFIERS or (
                allow_storage_and_function and kind in _STORAGE
            ):
                spec["qual" if kind in _QUALIFIERS else "storage"].append(self._advance().value)
        if spec is not None:
            spec["attributes"] = self._take_attributes(start, self._mark() + 1)
        return spec, saw_type, first

    def _at_stream_type(self, in_type_name: bool) -> bool:
        """Whether `stream`, behind a type, makes it a stream type, where C has no use for a name."""
        token = self._peek()
        if token is None or token.value != "stream" or token.type not in {"ID", "TYPEID"}:
            return False
        following = self._peek_type(2)
        return (
            in_type_name
            or following in _BEHIND_STREAM
            or (following == "LPAREN" and self._peek_type(3) == "TIMES")
        )

    def _parse_array_decl_common(self, base_type: Any, coord: Any = None) -> Any:
        bracket = self._peek()
        if self._peek_type(2) != "XOR" and self._peek_type(2) != "SHIFTABLE_END":
            return super()._parse_array_decl_common(base_type, coord)
        self._advance()
        self._advance()
        if self._peek_type() in {"RBRACKET", "SHIFTABLE_END"}:
            self._fail("a shiftable dimension '[^N^]' needs a size", code="shiftable-dimension")
        dim = self._parse_assignment_expression()
        self._expect("SHIFTABLE_END")
        self._expect("RBRACKET")
        return ShiftableDecl(base_type, dim, [], coord or self._tok_coord(bracket))

    def _parse_decl_suffixes(self, decl: Any) -> Any:
        decl = super()._parse_decl_suffixes(decl)
        found = self._take_attributes(self._mark())
        while token := self._accept("ASM"):
            # `int f(void) __asm__("g");` names f in the object file.
            name = token.value[token.value.index("(") + 1 : -1]
            found.append(c_ast.Attribute("__asm__", None, name, self._tok_coord(token)))
            found += self._take_attributes(self._mark())
        if found:
            last = decl
            while not isinstance(last, c_ast.TypeDecl) and not isinstance(last.type, c_ast.TypeDecl | None):
                last = last.type
            last.attributes += found
        return decl

    def _take_attributes(self, start: int, end: int | None = None) -> list[Any]:
        """The GNU attributes before the tokens from `start` to `end` (one by default), for one node only."""
        found: list[Any] = []
        for token in self._tokens.tokens[start : start + 1 if end is None else end]:
            where = self._tok_coord(token)
            found += [c_ast.Attribute("__attribute__", None, text, where) for text in token.attributes]
            token.attributes = ()
        return found

    def _parse_struct_or_union_specifier(self) -> Any:
        start = self._mark()
        return self._with_attributes(super()._parse_struct_or_union_specifier(), start)

    def _parse_enum_specifier(self) -> Any:
        start = self._mark()
        return self._with_attributes(super()._parse_enum_specifier(), start)

    def _with_attributes(self, node: Any, start: int) -> Any:
        """A definition with its attributes, which stand behind the keyword or behind the braces."""
        if (node.values if isinstance(node, c_ast.Enum) else node.decls) is not None:
            node.attributes += self._take_attributes(start + 1) + self._take_attributes(self._mark())
        return node

    def _build_declarations(self, spec: Any, decls: Any, typedef_namespace: bool = False) -> list[Any]:
        found = super()._build_declarations(spec, decls, typedef_namespace)
        for node in found:
            node.attributes = node.attributes + spec.get("attributes", [])
        return list(found)
