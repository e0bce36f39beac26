"""The C compiler's messages as text, in the words of the program before translation, which it did not see."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COLOR = re.compile(r"\x1b\[[\d;]*[mK]")
# The first line of a message with a place.
_HEAD = re.compile(r"(?P<file>[^\s:][^:]*):(?:\d+:)*(?:\d+:)? (?P<kind>fatal error|error|warning|note): ")
_TRANSLATED = re.compile(r"/macahc-[^/\s]+/program\.[co]\b")
_RUNTIME = re.compile(r"/sim/runtime/\w+\.h$")
_HANDLE = re.compile(r"(\w[\w *]*?) ?\(\*\*\)\(macah_stream \*\)")
_SPAWNED = re.compile(r"(argument )(\d+)( of \S*?)macah_(reader|writer)_of_\w+")
POINTERS = "-Wincompatible-pointer-types"
_BUILT_IN = re.compile(r"\bmacah_stream_(create|free|close|ended)\b")
_UNDECLARED = re.compile(
    "[\N{LEFT SINGLE QUOTATION MARK}']macah_\\w+[\N{RIGHT SINGLE QUOTATION MARK}'] undeclared"
)


def tidy(output: str, source: str = "") -> str:
    """Messages without what speaks of the translation alone, and without repetitions."""
    seen: set[str] = set()
    kept = []
    for message in _messages(output.splitlines(keepends=True)):
        text = "".join(part for part in message if not _is_internal(part))
        if _COLOR.sub("", text) in seen and _HEAD.match(_COLOR.sub("", text)):
            continue
        seen.add(_COLOR.sub("", text))
        kept.append(text)
    text = in_macah("".join(kept))
    return _linked(text, source) if source else text


def in_macah(message: str) -> str:
    """A message with stream types and built-in functions as the language writes them."""
    message = _SPAWNED.sub(_spawned, message)
    return _BUILT_IN.sub(r"pstream_\1", _HANDLE.sub(r"\1 stream", message))


def mixes_streams(output: str) -> bool:
    """Whether the C compiler only warns of a stream where one of another type is needed."""
    return any(map(is_mixed, map("".join, _messages(_COLOR.sub("", output).splitlines(keepends=True)))))


def is_mixed(message: str) -> bool:
    """The same of one message with its notes."""
    return POINTERS in message and _HANDLE.search(message) is not None


def _spawned(match: re.Match[str]) -> str:
    # The function stands in the place of the file, the line and the depth.
    return f"{match[1]}{int(match[2]) - 2}{match[3]}mem_{match[4]}_spawn"


def is_internal(message: str, file: str = "") -> bool:
    """Whether a message is about a name or a file of the translation alone."""
    return bool(_UNDECLARED.search(message) or _RUNTIME.search(file) or file.startswith("<"))


def _messages(lines: list[str]) -> Iterator[list[str]]:
    """Each error or warning with the notes behind it; each part is a line and the excerpt below that."""
    message: list[str] = []
    for line in lines:
        plain = _COLOR.sub("", line)
        head = _HEAD.match(plain)
        if plain.startswith("      |"):
            # Carets of an expansion are as wide as the macro's text.
            line = line.rstrip() + "\n"
        if head is None and plain[:1] == " " and message:
            message[-1] += line
        elif head is not None and head["kind"] == "note" and message:
            message.append(line)
        else:
            if message:
                yield message
            message = [line]
    if message:
        yield message


def _is_internal(part: str) -> bool:
    first = _COLOR.sub("", part.splitlines()[0])
    head = _HEAD.match(first)
    if head is not None:
        return is_internal(first, head["file"])
    return first.startswith("In file included from") and bool(_TRANSLATED.search(part))


def _linked(text: str, source: str) -> str:
    """The linker's messages with the program's own name in place of the translation's."""
    text = re.sub(r"\S*/macahc-[^/\s]+/program\.o\b", lambda _: source, text)
    return re.sub(r"^(\S*: )?program\.c:\(", lambda m: f"{m[1] or ''}{source}:(", text, flags=re.MULTILINE)
