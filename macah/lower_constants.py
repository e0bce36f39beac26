"""Constants and constant expressions: values that the compiler itself must know."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast

from macah import ctypes
from macah.ctypes import ArrayType, CType, Floating, Integer
from macah.diagnostic import MacahError, Place
from macah.lower_layout import member_path
from macah.lower_scope import Broken, Constant, Object, Scope, undeclared
from macah.lower_types import Types, refuse_bit_field
from macah.program import place_of
from macah.syntax import ADPC_FORM, ADPC_MISPLACED, OrElse

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlL]*)")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)
_UNIVERSAL = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U(0[0-9a-fA-F]{7})|.)", re.DOTALL)
_SIMPLE = {b"n": 10, b"t": 9, b"r": 13, b"a": 7, b"b": 8, b"f": 12, b"v": 11, b"e": 27}
_PREFIXES = {"": 1, "u8": 1, "u": 2, "U": 4, "L": 4}
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_COMPARISON: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

Number = tuple[Integer | Floating, int | float]


def adpc_value(
    name: str,
    minimum: int,
    maximum: int,
    chosen: Mapping[str, int],
    function: str = "",
    where: Place | None = None,
) -> int:
    """The value of a pseudo-constant: what was chosen under `function.name` or `name`, else the least."""
    value = chosen.get(f"{function}.{name}" if function else name, minimum)
    if not minimum <= value <= maximum:
        message = f"the value {value} chosen for '{name}' is not in its range {minimum} to {maximum}"
        raise MacahError(message, where, code="adpc")
    return value


def is_adpc(node: Any) -> bool:
    """Whether an initialiser is a pseudo-constant."""
    return isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) and node.name.name == "ADPC"


def integer_constant(text: str) -> tuple[Integer, int] | None:
    """The type and value of an integer constant as spelled; None if it is none, or too large for any type."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits, suffix = match.group(1), match.group(2).lower()
    is_decimal = digits[0] != "0" or digits == "0"
    octal = not is_decimal and digits[1] not in "xXbB"
    value = int(digits, 8 if octal else 0)
    signed: tuple[Integer, ...] = (ctypes.INT, ctypes.LONG, ctypes.LLONG)
    unsigned: tuple[Integer, ...] = (ctypes.UINT, ctypes.ULONG, ctypes.ULLONG)
    least = suffix.count("l")
    for s, u in list(zip(signed, unsigned, strict=True))[least:]:
        if "u" not in suffix and s.wrap(value) == value:
            return s, value
        if ("u" in suffix or not is_decimal) and u.wrap(value) == value:
            return u, value
    return None


def string_units(spelled: str) -> tuple[Integer, list[int]]:
    """The element type and the values, without the final 0, of a character or string constant."""
    prefix, body = re.split(r"[\"']", spelled, maxsplit=1)
    size = _PREFIXES[prefix]
    element = {1: ctypes.CHAR, 2: ctypes.USHORT, 4: ctypes.INT if prefix == "L" else ctypes.UINT}[size]
    units: list[int] = []
    raw = _UNIVERSAL.sub(_character, body[:-1]).encode()
    at = 0
    while at < len(raw):
        if match := _ESCAPE.match(raw, at):
            units.append(element.wrap(_escaped(match.group(1))))
        else:
            match = re.compile(rb"[^\\]+", re.DOTALL).match(raw, at)
            assert match is not None, spelled
            plain = match.group().decode().encode(_ENCODINGS[size])
            codes = [int.from_bytes(plain[i : i + size], "little") for i in range(0, len(plain), size)]
            units += [element.wrap(code) for code in codes]
        at = match.end()
    return element, units


def _character(escape: re.Match[str]) -> str:
    """The character that `\\u00e9` or `\\U0001f600` names; other escapes stay."""
    number = int(escape[1] or escape[2] or "0", 16)
    named = 0 < number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if named else escape[0]


def _escaped(escape: bytes) -> int:
    if escape[:1] == b"x" and len(escape) > 1:
        return int(escape[1:], 16)
    if escape[:1].isdigit():
        return int(escape, 8)
    return _SIMPLE.get(escape, escape[0])


class Constants(Types):
    """Evaluates constant expressions. `adpc` holds the values chosen for pseudo-constants."""

    def __init__(self, adpc: Mapping[str, int]) -> None:
        super().__init__()
        self.adpc = adpc

    def constant(self, node: Any, scope: Scope, name: str = "") -> int:
        if is_adpc(node) and scope.find("ADPC") is None:
            low, high = self.adpc_range(node, scope, name)
            return adpc_value(name, low, high, self.adpc, scope.function_name(), place_of(node))
        ctype, value = self.number(node, scope)
        if isinstance(ctype, Floating):
            raise MacahError("the constant must be an integer", place_of(node), code="constant-expression")
        return int(value)

    def number(self, node: Any, scope: Scope) -> Number:
        """The type and value of a constant expression; a `MacahError` if it is none."""
        match node:
            case c_ast.Constant():
                return literal(node)
            case c_ast.ID(name=name):
                return self._named_constant(name, scope, place_of(node))
            case c_ast.UnaryOp(op="sizeof" | "_Alignof" | "__alignof__"):
                return self.size(node, scope)
            case c_ast.UnaryOp(op=op, expr=inner):
                return self._unary(op, self.number(inner, scope), place_of(node))
            case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                first = bool(self.number(left, scope)[1])
                decided = first == (op == "||")
                return ctypes.INT, int(first if decided else bool(self.number(right, scope)[1]))
            case c_ast.BinaryOp(op=op, left=left, right=right):
                return self._binary(op, self.number(left, scope), self.number(right, scope), place_of(node))
            case c_ast.TernaryOp(cond=cond, iftrue=yes, iffalse=no):
                return self._choice(bool(self.number(cond, scope)[1]), yes, no, scope)
            case OrElse(value=value, otherwise=otherwise):
                return self._choice(bool(self.number(value, scope)[1]), value, otherwise, scope)
            case c_ast.Cast(to_type=to_type, expr=inner):
                ctype = self.read_type(to_type, scope)[0]
                if isinstance(ctype, Integer | Floating):
                    return converted(self.number(inner, scope), ctype)
            case c_ast.GenericSelection():
                return self.number(self.selected(node, scope), scope)
            case c_ast.FuncCall(name=c_ast.ID(name="__builtin_expect"), args=args):
                return self.number(args.exprs[0], scope)
            case c_ast.FuncCall(name=c_ast.ID(name="__builtin_offsetof"), args=args):
                return ctypes.ULONG, self._offset(
                    self.read_type(args.exprs[0], scope)[0], args.exprs[1], scope
                )[1]
            case c_ast.FuncCall() if is_adpc(node) and scope.find("ADPC") is None:
                self.adpc_range(node, scope, "")  # which says where it must stand
        raise MacahError("the expression is not constant", place_of(node), code="constant-expression")

    def _offset(self, outer: CType, node: Any, scope: Scope) -> tuple[CType, int]:
        """The type of the member that `offsetof` names, and its offset in `outer`."""
        match node:
            case c_ast.ArrayRef(name=base, subscript=subscript):
                ctype, offset = self._offset(outer, base, scope)
                if isinstance(ctype, ArrayType):
                    size = ctypes.size_of(ctype.element) or 0
                    return ctype.element, offset + size * self.constant(subscript, scope)
                raise MacahError("subscripted value is not an array", place_of(node), code="not-an-array")
            case c_ast.StructRef(name=base, field=field):
                ctype, offset = self._offset(outer, base, scope)
            case c_ast.ID() as field:
                ctype, offset = outer, 0
            case _:
                raise MacahError("'offsetof' takes a member", place_of(node), code="no-member")
        path = member_path(ctype, field.name, node)
        return path[-1].type, offset + sum(member.offset for member in path)

    def size(self, node: Any, scope: Scope) -> tuple[Integer, int]:
        """The value of `sizeof` or `_Alignof`."""
        inner = node.expr
        if isinstance(inner, c_ast.Typename):
            ctype = self.read_type(inner, scope)[0]
        else:
            ctype = self.type_of(inner, scope)
            if isinstance(inner, c_ast.ID):
                entity = scope.find(inner.name)
                if isinstance(entity, Object) and entity.decayed:
                    ctype = ctypes.decay(ctype)
        refuse_bit_field(ctype, f"apply '{node.op}' to", node)
        if node.op != "sizeof":
            return ctypes.ULONG, ctypes.align_of(ctype)
        size = ctypes.size_of(ctype)
        if size is None:
            raise MacahError(
                f"invalid application of 'sizeof' to type '{ctype}'", place_of(node), code="incomplete-type"
            )
        return ctypes.ULONG, size

    def _named_constant(self, name: str, scope: Scope, where: Place) -> Number:
        match scope.find(name):
            case Constant(ctype, value):
                return ctype, value
            case Broken(error):
                raise error
            case None:
                raise undeclared(name, scope, where)
            case Object(type=Integer() as ctype, table=table) if table is not None:
                return ctype, table.get(((), ()), 0)
        raise MacahError(f"'{name}' is not a constant", where, code="constant-expression")

    def adpc_range(self, node: Any, scope: Scope, name: str) -> tuple[int, int]:
        """The least and the greatest value of the pseudo-constant `name`."""
        bounds = node.args.exprs if node.args else []
        if len(bounds) != 2:
            raise MacahError("'ADPC' takes a least and a greatest value", place_of(node), code="adpc")
        if not name:
            raise MacahError(ADPC_MISPLACED, place_of(node), hint=ADPC_FORM, code="adpc")
        low, high = (self.constant(bound, scope) for bound in bounds)
        if low > high:
            raise MacahError(f"the range of '{name}', {low} to {high}, is empty", place_of(node), code="adpc")
        return low, high

    def _choice(self, condition: bool, yes: Any, no: Any, scope: Scope) -> Number:
        types = (self.type_of(yes, scope), self.type_of(no, scope))
        value = self.number(yes if condition else no, scope)
        return converted(value, arithmetic_type(*types))

    def _unary(self, op: str, operand: Number, where: Place) -> Number:
        ctype, value = operand
        if op == "!":
            return ctypes.INT, int(not value)
        if isinstance(ctype, Integer):
            ctype = ctypes.promote(ctype)
            if op in "+-~":
                return ctype, ctype.wrap({"+": +int(value), "-": -int(value), "~": ~int(value)}[op])
        elif op in "+-":
            return ctype, value if op == "+" else -value
        raise MacahError("the expression is not constant", where, code="constant-expression")

    def _binary(self, op: str, left: Number, right: Number, where: Place) -> Number:
        if op in {"<<", ">>"} and isinstance(left[0], Integer) and isinstance(right[0], Integer):
            ctype = ctypes.promote(left[0])
            count = int(right[1]) % (8 * ctype.size)
            x = int(left[1])
            return ctype, ctype.wrap(x << count if op == "<<" else x >> count)
        common = arithmetic_type(left[0], right[0])
        a, b = converted(left, common)[1], converted(right, common)[1]
        if op in _COMPARISON:
            return ctypes.INT, int(_COMPARISON[op](a, b))
        if op in "/%" and b == 0 and isinstance(common, Integer):
            raise MacahError("division by zero in a constant expression", where, code="constant-expression")
        if isinstance(common, Floating):
            if op not in "+-*/":
                raise MacahError(f"invalid operands to binary {op}", where, code="invalid-operands")
            quotient = a / b if op == "/" and b else float("inf")
            return common, quotient if op == "/" else _ARITHMETIC[op](a, b)
        if op in "/%":
            quotient = abs(int(a)) // abs(int(b))
            quotient = quotient if (a < 0) == (b < 0) else -quotient
            return common, common.wrap(quotient if op == "/" else int(a) - quotient * int(b))
        return common, common.wrap(_ARITHMETIC[op](a, b))


def literal(node: Any) -> Number:
    """The type and value of a number or character constant."""
    if node.type == "string":
        raise MacahError("a string is not an integer constant", place_of(node), code="constant-expression")
    if "'" in node.value:
        element, units = string_units(node.value)
        if len(units) == 1:
            return (ctypes.INT if element == ctypes.CHAR else element), units[0]
        value = 0
        for unit in units:
            value = value << 8 | unit & 0xFF
        return ctypes.INT, ctypes.INT.wrap(value)
    if found := integer_constant(node.value):
        return found
    text = node.value.rstrip("fFlL") if node.value[:2].lower() != "0x" else node.value.rstrip("lL")
    try:
        value_of_float = float.fromhex(text) if text[:2].lower() == "0x" else float(text)
    except ValueError:
        raise MacahError(
            f"constant '{node.value}' is not supported", place_of(node), code="invalid-token"
        ) from None
    single = node.value[-1] in "fF" and text != node.value
    return converted((ctypes.DOUBLE, value_of_float), ctypes.FLOAT if single else ctypes.DOUBLE)


def arithmetic_type(a: CType, b: CType) -> Integer | Floating:
    """C's usual arithmetic conversions, floating types included."""
    if isinstance(a, Floating) or isinstance(b, Floating):
        floats = [t for t in (a, b) if isinstance(t, Floating)]
        return max(floats, key=lambda t: t.size)
    if isinstance(a, Integer) and isinstance(b, Integer):
        return ctypes.common_type(a, b)
    raise MacahError("the expression is not constant", code="constant-expression")


def converted(number: Number, ctype: Integer | Floating) -> Number:
    """A constant converted to an arithmetic type."""
    value = number[1]
    if isinstance(ctype, Integer):
        return ctype, int(value != 0) if ctype.is_bool else ctype.wrap(int(value))
    if ctype == ctypes.FLOAT:
        return ctype, float(struct.unpack("f", struct.pack("f", value))[0])
    return ctype, float(value)
