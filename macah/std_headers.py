"""Names of C's headers that programs forget to include: which header has them."""

from __future__ import annotations

_SIZES = (8, 16, 32, 64)
_WIDTHS = tuple(f"{u}int{n}" for u in ("", "u") for n in _SIZES)
_INTEGERS = ("CHAR", "SCHAR", "SHRT", "INT", "LONG", "LLONG")
_UNSIGNED = ("UCHAR", "USHRT", "UINT", "ULONG", "ULLONG")
_OF_MEMORY = ("cpy", "move", "set", "cmp")
_OF_STRINGS = ("len", "cmp", "ncmp", "cpy", "ncpy", "chr")
_NAMES = {
    "limits.h": [
        "CHAR_BIT",
        *(f"{name}_MAX" for name in (*_INTEGERS, *_UNSIGNED)),
        *(f"{name}_MIN" for name in _INTEGERS),
    ],
    "stdint.h": [
        *(f"{width}_t" for width in (*_WIDTHS, "intptr", "uintptr", "intmax", "uintmax")),
        *(f"{width.upper()}_MAX" for width in (*_WIDTHS, "size", "intptr", "uintptr")),
        *(f"INT{n}_MIN" for n in _SIZES),
    ],
    "stdbool.h": ["bool", "true", "false"],
    "stddef.h": ["size_t", "ptrdiff_t", "NULL", "offsetof"],
    "stdio.h": ["FILE", "stdin", "stdout", "stderr", "EOF"],
    "string.h": [*(f"mem{name}" for name in _OF_MEMORY), *(f"str{name}" for name in _OF_STRINGS)],
    "stdlib.h": ["labs", "llabs", "RAND_MAX", "EXIT_SUCCESS", "EXIT_FAILURE"],
    "assert.h": ["assert", "static_assert"],
    "pthread.h": ["pthread_t", *(f"pthread_{name}_t" for name in ("mutex", "cond", "barrier", "attr"))],
}
_HEADERS = {name: header for header, names in _NAMES.items() for name in names}


def header_hint(name: str) -> str:
    """What to include for a name that is not declared; '' if no header is known to have it."""
    header = _HEADERS.get(name)
    return f"'{name}' is defined in header '<{header}>': write '#include <{header}>'" if header else ""
