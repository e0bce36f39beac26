"""Diagnostics as gcc prints them: place, severity, message, source line, caret, notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from backend.dfg import Place as Place


@dataclass(frozen=True, slots=True)
class Note:
    """A further message that belongs to a diagnostic, with or without a place of its own."""

    message: str
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning. `hint` says what to do instead; `code` is one of `codes.CODES`."""

    message: str
    where: Place | None = None
    notes: tuple[Note, ...] = ()
    hint: str = ""
    severity: str = "error"
    code: str = ""


class MacahError(Exception):
    """The user's mistake, or a limit that the user ran into; carries one or more diagnostics."""

    def __init__(
        self,
        message: str,
        where: Place | None = None,
        notes: tuple[Note, ...] = (),
        hint: str = "",
        *,
        code: str,
    ) -> None:
        super().__init__(message)
        self.diagnostics: tuple[Diagnostic, ...] = (Diagnostic(message, where, notes, hint, code=code),)

    @classmethod
    def of(cls, diagnostics: tuple[Diagnostic, ...]) -> MacahError:
        """One exception that carries all of `diagnostics` (at least one)."""
        error = cls(diagnostics[0].message, diagnostics[0].where, code=diagnostics[0].code)
        error.diagnostics = diagnostics
        return error


def render(diagnostic: Diagnostic, read_line: Callable[[Place], str | None] | None = None) -> str:
    """The text of a diagnostic, ending in a newline.

    `read_line` gives the source line of a place or None; by default it is read from the file.
    """
    source = read_line or source_line
    message = f"{diagnostic.message} [{diagnostic.code}]"
    lines = [_head(diagnostic.severity, message, diagnostic.where)]
    lines += _excerpt(diagnostic.where, source)
    for note in diagnostic.notes:
        lines.append(_head("note", note.message, note.where))
        lines += _excerpt(note.where, source)
    if diagnostic.hint:
        lines.append(_head("note", diagnostic.hint, None))
    return "\n".join(lines) + "\n"


def _head(severity: str, message: str, where: Place | None) -> str:
    return f"{where or 'macahc'}: {severity}: {message}"


def _excerpt(where: Place | None, source: Callable[[Place], str | None]) -> list[str]:
    text = source(where) if where else None
    if where is None or text is None:
        return []
    lines = [f"{where.line:5d} | {text}"]
    if where.column:
        # A tab stays a tab in the padding, so that the caret stands below its character.
        padding = "".join("\t" if c == "\t" else " " for c in text[: where.column - 1])
        lines.append(f"      | {padding}^")
    return lines


def source_line(where: Place) -> str | None:
    """The line of its file that a place is in, without its end; None if that cannot be read."""
    try:
        lines = Path(where.file).read_text(errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    return lines[where.line - 1] if 0 < where.line <= len(lines) else None
