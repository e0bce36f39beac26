"""Functions of the C library that a kernel may call: what they do, in C.

Characters are those of the "C" locale. Where the library of the system tells classes by the bits of a table,
as glibc does, a class is such a bit, as in the host: programs may add up what `isdigit` says.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from pycparser import CParser, c_ast
from pycparser.c_parser import Coord

from macah.diagnostic import Place
from macah.lower_scope import FunctionName, Scope

_TABLE = "__ctype_b_loc"
"""The function of glibc that tells where the table is."""

_DIGIT, _LETTER = "(unsigned)c - 48 < 10", "((unsigned)c | 32) - 97 < 26"
_GRAPH = "(unsigned)c - 33 < 94"
_CLASSES = {
    "isupper": (0x100, "(unsigned)c - 65 < 26"),
    "islower": (0x200, "(unsigned)c - 97 < 26"),
    "isalpha": (0x400, _LETTER),
    "isdigit": (0x800, _DIGIT),
    "isxdigit": (0x1000, f"{_DIGIT} || ((unsigned)c | 32) - 97 < 6"),
    "isspace": (0x2000, "c == 32 || (unsigned)c - 9 < 5"),
    "isprint": (0x4000, "(unsigned)c - 32 < 95"),
    "isgraph": (0x8000, _GRAPH),
    "isblank": (0x1, "c == 32 || c == 9"),
    "iscntrl": (0x2, "(unsigned)c < 32 || c == 127"),
    "ispunct": (0x4, f"{_GRAPH} && !({_DIGIT} || {_LETTER})"),
    "isalnum": (0x8, f"{_DIGIT} || {_LETTER}"),
}
"""Glibc's bit of each class, and what is in it."""

_DIFFERENCE = "(unsigned char)a[i] - (unsigned char)b[i]"
_FUNCTIONS = {
    "atoi": """int atoi(const char *s) {
        int number = 0, sign = 1, begun = 0;
        for (unsigned i = 0;; i++) {
            int c = s[i];
            if ((unsigned)c - 48 < 10) { number = 10 * number + c - 48; begun = 1; }
            else if (begun || !(c == 32 || (unsigned)c - 9 < 5 || c == 43 || c == 45)) break;
            else if (c == 43 || c == 45) { sign = 44 - c; begun = 1; }
        }
        return sign * number; }""",
    "tolower": "int tolower(int c) { return (unsigned)c - 65 < 26 ? c + 32 : c; }",
    "toupper": "int toupper(int c) { return (unsigned)c - 97 < 26 ? c - 32 : c; }",
    "strlen": "unsigned long strlen(const char *s) { unsigned n = 0; while (s[n]) n++; return n; }",
    "strnlen": """unsigned long strnlen(const char *s, unsigned long most)
        { unsigned n = 0; while (n < most && s[n]) n++; return n; }""",
    "strcmp": f"""int strcmp(const char *a, const char *b)
        {{ unsigned i = 0; while (a[i] && a[i] == b[i]) i++; return {_DIFFERENCE}; }}""",
    "strncmp": f"""int strncmp(const char *a, const char *b, unsigned long n)
        {{ unsigned i = 0; while (i < n && a[i] && a[i] == b[i]) i++; return i < n ? {_DIFFERENCE} : 0; }}""",
    "strchr": """char *strchr(const char *s, int c) {
        unsigned i = 0;
        while (s[i] != (char)c && s[i]) i++;
        return s[i] == (char)c ? (char *)s + i : 0; }""",
    "strrchr": """char *strrchr(const char *s, int c) {
        int last = -1;
        for (unsigned i = 0;; i++) { if (s[i] == (char)c) last = i; if (!s[i]) break; }
        return last < 0 ? 0 : (char *)s + last; }""",
    "strspn": """unsigned long strspn(const char *s, const char *some) {
        unsigned n = 0;
        for (;; n++) { unsigned i = 0; while (some[i] && some[i] != s[n]) i++; if (!some[i]) return n; } }""",
    "strcspn": """unsigned long strcspn(const char *s, const char *some) {
        unsigned n = 0;
        for (; s[n]; n++) { unsigned i = 0; while (some[i] && some[i] != s[n]) i++; if (some[i]) break; }
        return n; }""",
    "strcat": """char *strcat(char *to, const char *from) {
        unsigned n = 0, i = 0;
        while (to[n]) n++;
        while ((to[n + i] = from[i])) i++;
        return to; }""",
    "strcpy": """char *strcpy(char *to, const char *from)
        { unsigned i = 0; while ((to[i] = from[i])) i++; return to; }""",
    "strncpy": """char *strncpy(char *to, const char *from, unsigned long n)
        { int end = 0; for (unsigned i = 0; i < n; i++) end |= !(to[i] = end ? 0 : from[i]); return to; }""",
}


def library_function(name: str, scope: Scope) -> FunctionName | None:
    """A function of the C library that the program has declared, with a body; None if there is none here."""
    function = scope.find(name)
    if not isinstance(function, FunctionName) or function.where is None:
        return None
    bits = scope.find(_TABLE) is not None
    definition = _definition(name, bits, function.where)
    alike = definition and _arity(definition) == len(function.type.parameters or ())
    return replace(function, definition=definition, library=True) if alike else None


def character_class(node: c_ast.BinaryOp) -> tuple[c_ast.Node, c_ast.Node] | None:
    """The character and the class that glibc's macros ask for: `(*__ctype_b_loc())[c] & class`."""
    match node:
        case c_ast.BinaryOp(
            op="&",
            left=c_ast.ArrayRef(
                name=c_ast.UnaryOp(op="*", expr=c_ast.FuncCall(name=c_ast.ID(name=name))), subscript=subscript
            ),
            right=bits,
        ) if name == _TABLE:
            return subscript, bits
    return None


def class_function(bits: int) -> str:
    """The function that asks for a class of characters; '' if there is none."""
    return next((name for name, (bit, _) in _CLASSES.items() if bit == bits), "")


@lru_cache
def _definition(name: str, bits: bool, where: Place) -> c_ast.FuncDef | None:
    """A function as if it were where it is declared, one and the same each time."""
    text = _FUNCTIONS.get(name)
    if name in _CLASSES:
        bit, condition = _CLASSES[name]
        text = f"int {name}(int c) {{ return {condition} ? {bit if bits else 1} : 0; }}"
    if text is None:
        return None
    (definition,) = CParser().parse(text).ext
    waiting, loops = [definition], 0
    while waiting:
        node = waiting.pop()
        # Loops are told apart by where they are.
        loops += isinstance(node, c_ast.While | c_ast.For)
        node.coord = Coord(where.file, where.line, where.column + loops)
        waiting += list(node)[::-1]
    return definition


def _arity(definition: c_ast.FuncDef) -> int:
    return len(definition.decl.type.args.params)
