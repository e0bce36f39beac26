"""The grammar of GNU C's extensions, for programs that use them outside kernels.

Like the rest of C they stay in the text as they are; the tree holds what others need to know of them.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from macah.declarations import Declarations
from macah.syntax import ComputedGoto, LabelAddress, OrElse, Range

_DECIMAL = {"df": "_Decimal32", "dd": "_Decimal64", "dl": "_Decimal128"}


class GnuC(Declarations):
    """C with labels as values, nested functions, ranges and GNU's other forms of statement and operand.

    Also what pycparser leaves out of C.
    """

    def _starts_expression(self, tok: Any = None) -> bool:
        tok = tok or self._peek()
        return bool(super()._starts_expression(tok)) or (tok is not None and tok.type in {"LAND", "PART"})

    def _parse_external_declaration(self) -> list[Any]:
        if not self._at_old_function():
            return super()._parse_external_declaration()
        start = self._mark()
        declarator = self._parse_id_declarator()
        result = [c_ast.IdentifierType(["int"], declarator.coord)]
        others = ("qual", "alignment", "storage", "function", "type_attributes")
        spec: dict[str, Any] = {"type": result, **{kind: [] for kind in others}}
        return [self._spanned(self._parse_function_definition(spec, declarator), start)]

    def _parse_function_definition(self, spec: Any, decl: Any) -> Any:
        if not isinstance(decl, c_ast.FuncDecl):
            # A body behind what is no function, such as `int a[3] { … }`.
            self._unexpected("';'")
        return super()._parse_function_definition(spec, decl)

    def _at_old_function(self) -> bool:
        """Whether `f(a, b) int a, b; { … }` follows, which gives an `int` without saying so."""
        if self._peek_type() != "ID" or self._peek_type(2) != "LPAREN":
            return False
        ahead = 3
        while self._peek_type(ahead) in {"ID", "COMMA"}:
            ahead += 1
        behind = self._peek(ahead + 1)
        return self._peek_type(ahead) == "RPAREN" and behind is not None and self._starts_declaration(behind)

    def _parse_block_item(self) -> Any:
        if token := self._accept("LOCAL_LABELS"):
            self._expect("ID")
            while self._accept("COMMA"):
                self._expect("ID")
            self._expect("SEMI")
            return c_ast.EmptyStatement(self._tok_coord(token))
        return super()._parse_block_item()

    def _parse_any_declarator(
        self, allow_abstract: bool = False, typeid_paren_as_abstract: bool = False
    ) -> tuple[Any, bool]:
        # In `int (*T)(void)`, T is the parameter's name, though in `int (T)` it is the type of one.
        ahead = 1
        while self._peek_type(ahead) == "LPAREN":
            ahead += 1
        is_name = ahead > 1 and self._peek_type(ahead) == "TIMES"
        found = super()._parse_any_declarator(allow_abstract, typeid_paren_as_abstract and not is_name)
        return found[0], found[1]

    def _parse_declaration_end(self, decls: list[Any]) -> list[Any]:
        if self._peek_type() == "LBRACE" and len(decls) == 1 and len(self._scope_stack) > 1:
            [declared] = decls
            if isinstance(declared, c_ast.Decl) and isinstance(declared.type, c_ast.FuncDecl):
                return [self._parse_nested_function(declared)]
        return list(super()._parse_declaration_end(decls))

    def _parse_nested_function(self, declared: Any) -> Any:
        self._push_scope()
        for parameter in declared.type.args.params if declared.type.args else ():
            if name := getattr(parameter, "name", None):
                self._add_identifier(name, parameter.coord)
        body = self._parse_compound_statement(new_scope=False)
        self._pop_scope()
        return c_ast.FuncDef(declared, None, body, declared.coord)

    def _parse_parameter_list(self) -> Any:
        parameters = super()._parse_parameter_list()
        while self._accept("SEMI"):
            # `int n; int a[n], int n`: what stands before the semicolon only declares names for the rest.
            parameters = super()._parse_parameter_list()
        return parameters

    def _parse_labeled_statement(self) -> Any:
        first = self._advance()
        label = None
        if first.type == "CASE":
            label = self._parse_constant_expression()
            if self._accept("ELLIPSIS"):
                label = Range(label, self._parse_constant_expression(), label.coord)
        self._expect("COLON")
        where = self._tok_coord(first)
        stmt = c_ast.EmptyStatement(where)
        if self._starts_statement():
            stmt = self._parse_pragmacomp_or_statement()
        return c_ast.Case(label, [stmt], where) if label is not None else c_ast.Default([stmt], where)

    def _parse_jump_statement(self) -> Any:
        if self._peek_type() != "GOTO" or self._peek_type(2) != "TIMES":
            return super()._parse_jump_statement()
        where = self._tok_coord(self._advance())
        self._advance()
        target = self._parse_expression()
        self._expect("SEMI")
        return ComputedGoto(target, where)

    def _parse_conditional_expression(self) -> Any:
        value = self._parse_binary_expression()
        if not self._accept("CONDOP"):
            return value
        if self._accept("COLON"):
            return OrElse(value, self._parse_conditional_expression(), value.coord)
        yes = self._parse_expression()
        self._expect("COLON")
        return c_ast.TernaryOp(value, yes, self._parse_conditional_expression(), value.coord)

    def _parse_unary_expression(self) -> Any:
        if token := self._accept("LAND"):
            return LabelAddress(self._expect("ID").value, self._tok_coord(token))
        if token := self._accept("PART"):
            return c_ast.UnaryOp(token.value, self._parse_cast_expression(), self._tok_coord(token))
        return super()._parse_unary_expression()

    def _parse_constant(self) -> Any:
        token = self._peek()
        if token is None or token.type != "FLOAT_CONST" or token.value[-2:].lower() not in _DECIMAL:
            return super()._parse_constant()
        where = self._tok_coord(self._advance())
        return c_ast.Constant(_DECIMAL[token.value[-2:].lower()], token.value, where)

    def _parse_initializer_item(self) -> Any:
        if self._peek_type() in {"ID", "TYPEID"} and self._peek_type(2) == "COLON":
            member = self._parse_identifier_or_typeid()
            self._advance()
            return c_ast.NamedInitializer([member], self._parse_initializer())
        return super()._parse_initializer_item()

    def _parse_designation(self) -> list[Any]:
        designators = list(self._parse_designator_list())
        # An old form, `[0] 1`, has no `=`.
        if len(designators) > 1 or not isinstance(designators[0], c_ast.ArrayDesignator):
            self._expect("EQUALS")
        else:
            self._accept("EQUALS")
        return designators

    def _parse_designator(self) -> Any:
        if self._peek_type() != "LBRACKET":
            return super()._parse_designator()
        where = self._tok_coord(self._advance())
        index = self._parse_constant_expression()
        if self._accept("ELLIPSIS"):
            index = Range(index, self._parse_constant_expression(), index.coord)
        self._expect("RBRACKET")
        return c_ast.ArrayDesignator(index, where)
