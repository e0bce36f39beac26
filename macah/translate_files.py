"""Carries the edits of a preprocessed text over to the files it was made from.

The result is the user's own file, with its comments, `#include`s and macros. Only what an edit reaches into
stands as the preprocessor left it: a macro that makes a send is expanded, a header with streams is pasted.
The caller checks that the result preprocesses to what was wanted, so a rare wrong guess here does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from macah.translate_align import Group, Word, align, source_words
from macah.translate_sheet import MARKER, Edit, Place, Sheet, Span, blank, quoted

_COMMENT = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|.""", re.DOTALL
)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)


@dataclass(slots=True)
class _Visit:
    """One reading of a file by the preprocessor: where its words are, and the files it includes."""

    file: str
    words: list[Word] = field(default_factory=list)
    includes: list[tuple[int, _Visit]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


def restored(text: str, path: Path, edits: list[Edit]) -> Sheet | None:
    """The sheet of the file `path`, of which `text` was made, with the edits; None if there is none."""
    main = _visits(text, quoted(str(path)))
    if main is None:
        return None
    builder = _Builder(text, edits)
    try:
        builder.paste(main)
    except (OSError, UnicodeError, LookupError):
        return None
    if len(builder.edits) < len(edits):
        return None
    return Sheet("".join(builder.out), builder.places, builder.edits)


def _visits(text: str, path: str) -> _Visit | None:
    """The visit of the program's file `path`, with those inside it."""
    main = _Visit(path)
    stack = [main]
    markers = list(MARKER.finditer(text))
    for match, end in zip(markers, [*(m.start() for m in markers[1:]), len(text)], strict=True):
        file, flags = match[2] or "", match[3].split()
        if "1" in flags:
            visit = _Visit(file)
            stack[-1].includes.append((0, visit))
            stack.append(visit)
        elif "2" in flags and len(stack) > 1:
            # The marker that leads back names the line behind the directive.
            visit = stack.pop()
            stack[-1].includes[-1] = (int(match[1]) - 1, visit)
        if stack[-1].file == file:
            stack[-1].spans.append((match.end(), end))
            stack[-1].words += _words(text, match.end(), end, int(match[1]))
    return main if main.spans else None


def _words(text: str, start: int, end: int, line: int) -> Iterator[Word]:
    for word in source_words(text[start:end]):
        yield Word(word.text, word.start + start, word.end + start, word.line - 1 + line)


@dataclass(slots=True)
class _Builder:
    """The text being put together, and where the preprocessed text's positions went."""

    pre: str
    pending: list[Edit]
    out: list[str] = field(default_factory=list)
    size: int = 0
    places: list[tuple[int, Place]] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def paste(self, visit: _Visit) -> None:
        """Add a file with its edits."""
        source = Path(_unquoted(visit.file)).read_bytes().decode()
        if "\r" in source or "??" in source:
            raise LookupError("lines and trigraphs are not as they seem")
        if self.out:
            source = _ONCE.sub(lambda match: f"// {match[0]}", source)
        groups = align(list(source_words(source)), visit.words)
        mine = [e for e in self.pending if any(start <= e.span[0] <= end for start, end in visit.spans)]
        mine = [e for e in mine if _within(e, visit)]
        groups = _expanded(groups, mine)
        self._lay(visit, source, groups, mine)

    def _lay(self, visit: _Visit, source: str, groups: list[Group], mine: list[Edit]) -> None:
        starts: dict[int, int] = {}
        ends: dict[int, int] = {}
        lines = [0, *(match.end() for match in re.finditer("\n", source))]
        # Pieces of the file that something else stands for: expansions, and headers with edits.
        pieces: list[tuple[int, int, Group | _Visit]] = [
            (lines[line - 1], lines[line], inner)
            for line, inner in visit.includes
            if 0 < line < len(lines) and any(self._reaches(edit, inner) for edit in self.pending)
        ]
        pieces += [(g.start, g.end, g) for g in groups if g.expanded]
        at = 0
        self._mark(visit.file, 1, "")
        plain = [g for g in groups if not g.expanded]
        number = 0
        for start, end, piece in sorted(pieces, key=lambda p: p[0]):
            if start < at:
                raise LookupError("pieces overlap")
            number = self._keep(source, at, start, plain, number, starts, ends)
            line, indent = source.count("\n", 0, end) + 1, blank(source[source.rfind("\n", 0, end) + 1 : end])
            if isinstance(piece, Group):
                self._mark(visit.file, source.count("\n", 0, start) + 1, None)
                for offset in range(piece.pre_start, piece.pre_end + 1):
                    starts[offset] = ends[offset] = self.size + offset - piece.pre_start
                self._add(self.pre[piece.pre_start : piece.pre_end])
            else:
                self.paste(piece)
            self._mark(visit.file, line, indent)
            at = end
        self._keep(source, at, len(source), plain, number, starts, ends)
        for edit in mine:
            start, end = edit.span
            if edit.side == "behind":
                place = ends[start]
                self.edits.append(Edit((place, place), edit.text, edit.side))
            elif edit.side:
                place = starts[start]
                self.edits.append(Edit((place, place), edit.text, edit.side))
            else:
                span = _begin(starts, ends, start), ends[end]
                self.edits.append(Edit(span, edit.text + _comments(self._slice(span))))

    def _keep(
        self,
        source: str,
        at: int,
        end: int,
        plain: list[Group],
        number: int,
        starts: dict[int, int],
        ends: dict[int, int],
    ) -> int:
        """Add a part of the file, and note where the words in it go."""
        while number < len(plain) and plain[number].start < end:
            group = plain[number]
            if group.start >= at and group.pre_end > group.pre_start:
                starts[group.pre_start] = self.size + group.start - at
                ends[group.pre_end] = self.size + group.end - at
            number += 1
        self._add(source[at:end])
        return number

    def _slice(self, span: Span) -> str:
        """A part of the text put together so far."""
        if len(self.out) > 1:
            self.out[:] = ["".join(self.out)]
        return self.out[0][span[0] : span[1]]

    def _reaches(self, edit: Edit, visit: _Visit) -> bool:
        inside = any(start <= edit.span[0] < end for start, end in visit.spans) and _within(edit, visit)
        return inside or any(self._reaches(edit, inner) for _, inner in visit.includes)

    def _mark(self, file: str, line: int, indent: str | None) -> None:
        self.places.append((self.size, Place(file, line, indent)))

    def _add(self, text: str) -> None:
        self.out.append(text)
        self.size += len(text)


def _comments(text: str) -> str:
    """The comments in a text that is going to be replaced."""
    if "/" not in text:
        return ""
    found = (match["comment"] for match in _COMMENT.finditer(text) if match["comment"])
    return "".join(f" /*{comment[2:]} */" if comment[1] == "/" else f" {comment}" for comment in found)


def _begin(starts: dict[int, int], ends: dict[int, int], position: int) -> int:
    """Where a replaced part begins: at a word, or right behind one."""
    return starts[position] if position in starts else ends[position]


def _within(edit: Edit, visit: _Visit) -> bool:
    """Whether an edit begins at or behind a word of a visit."""
    at = edit.span[0]
    if edit.side == "behind":
        return any(start < at <= end for start, end in visit.spans)
    return any(start <= at < end for start, end in visit.spans)


def _expanded(groups: list[Group], edits: list[Edit]) -> list[Group]:
    """The groups, with those joined and expanded that edits reach into."""
    bounds = {g.pre_start for g in groups}, {g.pre_end for g in groups}
    reached: list[Span] = []
    for edit in edits:
        start, end = edit.span
        whole = {
            "before": start in bounds[0],
            "behind": start in bounds[1],
            "": (start in bounds[0] or start in bounds[1]) and end in bounds[1],
        }[edit.side]
        if not whole:
            reached.append((start, end))
    joined: list[Group] = []
    for group in groups:
        hit = any(group.pre_start <= end and start <= group.pre_end for start, end in reached)
        if not hit or group.pre_start == group.pre_end:
            joined.append(group)
        elif joined and joined[-1].expanded and _spanned(joined[-1], group, reached):
            joined[-1] = joined[-1].with_(group)
        else:
            joined.append(group.with_(group, expanded=True))
    return joined


def _spanned(left: Group, right: Group, reached: list[Span]) -> bool:
    """Whether one edit reaches into both."""
    return any(start < left.pre_end and right.pre_start < end for start, end in reached)


def _unquoted(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1])
