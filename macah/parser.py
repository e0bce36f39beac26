"""Macah's grammar: C11 with GNU's spellings, and the constructs of the language, as a syntax tree.

The rules of C are pycparser's; each method here either adds Macah's alternative to a rule and leaves the rest
to pycparser.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast
from pycparser.c_parser import _BINARY_PRECEDENCE

from macah.deep import deep_recursion
from macah.diagnostic import MacahError
from macah.gnu import GnuC
from macah.syntax import Asm, KernelBlock, Receive, Send, UnrolledFor
from macah.tokens import MacahToken, TokenList

_BUILTIN_TYPES = ("__builtin_va_list", "__builtin_ms_va_list", "__int128_t", "__uint128_t")
_LVALUES = (c_ast.ID, c_ast.ArrayRef, c_ast.StructRef, c_ast.CompoundLiteral, c_ast.GenericSelection)
# What the names of calls that take types among their arguments begin with.
_TAKE_TYPES = ("pstream_create", "stream_create", "__builtin_")


class MacahParser(GnuC):
    """Parses one preprocessed translation unit; `span_of` then tells where each node stands in the text."""

    def __init__(self) -> None:
        super().__init__()
        # A leading operand that is already parsed, for the rule of cast-expressions to deliver; its start.
        self._ready: tuple[Any, int] | None = None
        # Where `<!` has turned out to be C's less-than and not: not to be tried again after going back.
        self._no_sends: set[int] = set()

    def parse(self, text: str, filename: str = "", debug: bool = False) -> Any:
        """The syntax tree of `text`; mistakes raise `MacahError`, all in one."""
        self._scope_stack = [dict.fromkeys(_BUILTIN_TYPES, True)]
        self._typedef_checked_token = None
        self._spans, self._no_sends = {}, set()
        self._ready, self._in_type_name = None, False
        self.forget_mistakes()
        self._tokens = TokenList(self.clex.tokens(text, filename))
        try:
            with deep_recursion():
                unit = self._parse_translation_unit_or_empty()
        except RecursionError:
            raise MacahError("the program is nested too deeply", self._here(), code="too-deep") from None
        if self.errors:
            raise MacahError.of(tuple(sorted(self.errors, key=lambda d: d.order)))
        return unit

    def _forget(self) -> None:
        self._ready, self._in_type_name = None, False

    def _parse_block_item(self) -> Any:
        self._refuse_unknown_type()
        if self._at_word("kernel", "LBRACE") or self._at_unrolled_for() or self._at_label():
            return self._parse_statement()
        return super()._parse_block_item()

    def _starts_statement(self) -> bool:
        return self._peek_type() == "ASM" or bool(super()._starts_statement())

    def _parse_statement(self) -> Any:
        start = self._mark()
        return self._spanned(self._parse_any_statement(), start)

    def _parse_any_statement(self) -> Any:
        if self._at_word("kernel", "LBRACE"):
            return self._parse_kernel(None, self._advance())
        if self._at_unrolled_for():
            return self._parse_for(UnrolledFor)
        if self._at_label():
            return self._parse_label()
        if self._peek_type() == "FOR":
            return self._parse_for(c_ast.For)
        if token := self._accept("ASM"):
            self._expect("SEMI")
            return Asm(token.value, self._tok_coord(token))
        return super()._parse_statement()

    def _at_label(self) -> bool:
        return self._peek_type() in {"ID", "TYPEID"} and self._peek_type(2) == "COLON"

    def _parse_label(self) -> Any:
        name = self._advance()
        colon = self._expect("COLON")
        if self._at_word("kernel", "LBRACE"):
            self._advance()
            return self._parse_kernel(name.value, name)
        where = self._tok_coord(name)
        if self._at_label() or self._at_unrolled_for() or self._starts_statement():
            after = self._peek()
            stmt = self._parse_pragmacomp_or_statement()
            if isinstance(stmt, Send | Receive) and stmt.worked is None and after.lineno == name.lineno:
                self._refuse_half_of_two_colons(name, colon)
            return c_ast.Label(name.value, stmt, where)
        return c_ast.Label(name.value, c_ast.EmptyStatement(where), where)

    def _refuse_half_of_two_colons(self, name: MacahToken, colon: MacahToken) -> None:
        """`w : x <? s;`: if `w` is a local variable, it is not meant for a label."""
        if any(scope.get(name.value) is False for scope in self._scope_stack[1:]):
            message = "a non-blocking send or receive has '::', not ':'"
            where = self._tok_coord(colon)
            self.note(self._error(message, where, hint="write 'w :: x <? s;'", code="transfer"))

    def _parse_kernel(self, name: str | None, first: MacahToken) -> KernelBlock:
        return KernelBlock(name, self._parse_compound_statement(), self._tok_coord(first))

    def _parse_compound_statement(self, *, new_scope: bool = True) -> Any:
        start = self._mark()
        return self._spanned(super()._parse_compound_statement(new_scope=new_scope), start)

    def _at_unrolled_for(self) -> bool:
        """Whether `FOR (` has a semicolon directly inside its parentheses, as no call has."""
        if not self._at_word("FOR", "LPAREN"):
            return False
        depth, ahead = 0, 2
        while (token := self._tokens.peek(ahead)) is not None:
            match token.type:
                case "LPAREN" | "LBRACE":
                    depth += 1
                case "RPAREN" | "RBRACE":
                    depth -= 1
                    if depth <= 0:
                        return False
                case "SEMI" if depth == 1:
                    return True
            ahead += 1
        return False

    def _parse_for(self, node: type) -> Any:
        where = self._tok_coord(self._advance())
        self._expect("LPAREN")
        self._push_scope()
        if self._peek_type() == "_STATIC_ASSERT" or self._starts_declaration():
            first = c_ast.DeclList(self._parse_declaration(), where)
        else:
            first = self._parse_head_expression("SEMI")
            self._expect("SEMI")
        condition = self._parse_expression_opt()
        self._expect("SEMI")
        step = self._parse_head_expression("RPAREN")
        self._expect("RPAREN")
        body = self._parse_pragmacomp_or_statement()
        self._pop_scope()
        return node(first, condition, step, body, where)

    def _parse_head_expression(self, end: str) -> Any:
        if not self._starts_expression():
            return None
        return self._parse_transfer_or_expression(end)

    def _parse_expression_statement(self) -> Any:
        if not self._starts_expression():
            return super()._parse_expression_statement()
        node = self._parse_transfer_or_expression("SEMI")
        self._expect("SEMI")
        return node

    # ---- transfers and expressions ---------------------------------------------------------------

    def _parse_transfer_or_expression(self, end: str) -> Any:
        """`[worked ::] target <? stream`, `[worked ::] stream <! value` or an expression, before `end`."""
        start = self._mark()
        is_cast = self._peek_type() == "LPAREN" and self._starts_declaration(self._peek(2))
        first = self._parse_cast_expression()
        is_cast = is_cast and isinstance(first, c_ast.Cast)
        if self._peek_type() == "COLONCOLON":
            self._refuse_non_lvalue(first, is_cast, "::")
            self._advance()
            node = self._parse_transfer(first, self._parse_unary_expression(), False, end)
            if node is None:
                self._unexpected("'<?' or '<!'")
        else:
            node = self._parse_transfer(None, first, is_cast, end)
        if node is not None:
            node.coord = self._tok_coord(self._tokens.tokens[start])
            return self._spanned(node, start)
        self._ready = (first, start)
        return self._spanned(self._parse_expression(), start)

    def _parse_transfer(self, worked: Any, first: Any, is_cast: bool, end: str) -> Any:
        """The transfer whose left operand `first` has just been parsed, or None if there is none."""
        if self._peek_type() == "RECEIVE":
            self._refuse_non_lvalue(first, is_cast, "<?")
            self._advance()
            return Receive(worked, first, self._parse_assignment_expression())
        if is_cast or not self._at_send():
            return None
        before = self._mark()
        self._advance()
        self._advance()
        value = self._parse_assignment_expression()
        if worked is None and self._peek_type() != end:
            # C's less-than and not, as in `a <! b, c`.
            self._no_sends.add(before)
            self._reset(before)
            return None
        return Send(worked, first, value)

    def _at_send(self) -> bool:
        less, negation = self._peek(), self._peek(2)
        return (
            less is not None
            and negation is not None
            and (less.type, negation.type) == ("LT", "LNOT")
            and less.end == negation.start
            and self._mark() not in self._no_sends
        )

    def _parse_binary_expression(self, min_prec: int = 0, lhs: Any = None, start: int = -1) -> Any:
        """As pycparser's, but each operation has a span, those inside larger ones too."""
        if start < 0:
            start = self._ready[1] if self._ready is not None else self._mark()
        if lhs is None:
            lhs = self._parse_cast_expression()
        while (precedence := self._precedence()) >= min_prec:
            operator, right = self._advance(), self._mark()
            rhs = self._parse_cast_expression()
            while (following := self._precedence()) > precedence:
                rhs = self._parse_binary_expression(following, rhs, right)
            lhs = self._spanned(c_ast.BinaryOp(operator.value, lhs, rhs, lhs.coord), start)
        return lhs

    def _precedence(self) -> int:
        """How tight the next token binds as a binary operator; -1 if it is none."""
        return int(_BINARY_PRECEDENCE.get(self._peek_type(), -1))

    def _parse_cast_expression(self) -> Any:
        if self._ready is not None:
            node, self._ready = self._ready[0], None
            return node
        start = self._mark()
        return self._spanned(super()._parse_cast_expression(), start)

    def _parse_unary_expression(self) -> Any:
        is_type = self._peek_type(2) == "LPAREN" and self._starts_declaration(self._peek(3))
        if self._peek_type() != "_ALIGNOF" or is_type:
            return super()._parse_unary_expression()
        token = self._advance()
        return c_ast.UnaryOp(token.value, self._parse_unary_expression(), self._tok_coord(token))

    def _parse_assignment_expression(self) -> Any:
        start = self._ready[1] if self._ready is not None else self._mark()
        return self._spanned(super()._parse_assignment_expression(), start)

    def _parse_argument_expression_list(self) -> Any:
        callee = self._tokens.peek(-1)
        arguments = [self._parse_argument(callee)]
        while self._accept("COMMA"):
            arguments.append(self._parse_argument(callee))
        return c_ast.ExprList(arguments, arguments[0].coord)

    def _parse_argument(self, callee: MacahToken | None) -> Any:
        if callee is not None and callee.value.startswith(_TAKE_TYPES) and self._starts_declaration():
            return self._parse_type_name()
        return self._parse_assignment_expression()

    def _parse_constant(self) -> Any:
        token = self._peek()
        if token is not None and token.type == "INT_CONST_CHAR":
            return c_ast.Constant("int", self._advance().value, self._tok_coord(token))
        constant = super()._parse_constant()
        if constant.type != "char" and set("ijIJ") & set(constant.value):
            constant.type += " _Complex"
        return constant

    def _refuse_non_lvalue(self, node: Any, is_cast: bool, operator: str) -> None:
        deref = isinstance(node, c_ast.UnaryOp) and node.op == "*"
        if is_cast or not (deref or isinstance(node, _LVALUES)):
            self._fail(f"lvalue required as left operand of '{operator}'", node.coord, code="not-an-lvalue")
