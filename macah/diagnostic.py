"""Errors and warnings: what they say, where, and by which name they are known. `render.py` prints them."""

from __future__ import annotations

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
    """One error or warning; `code` is one of `codes.CODES`, of a warning what stands behind `-W`.

    `hint` says what to do instead. `option` is the option that turned a warning on or into an error, and
    `included` says where the file of `where` is included from, innermost first.
    """

    message: str
    where: Place | None = None
    notes: tuple[Note, ...] = ()
    hint: str = ""
    severity: str = "error"
    code: str = ""
    option: str = ""
    included: tuple[Place, ...] = ()

    @property
    def order(self) -> tuple[str, int, int]:
        """Diagnostics are shown in this order: by place, those without one first."""
        return (self.where.file, self.where.line, self.where.column) if self.where else ("", 0, 0)


class MacahError(Exception):
    """The user's mistake, or a limit that the user ran into; carries one or more diagnostics.

    `output` is what another program, such as the C compiler, has already said about it.
    """

    def __init__(
        self,
        message: str,
        where: Place | None = None,
        notes: tuple[Note, ...] = (),
        hint: str = "",
        *,
        code: str,
        output: str = "",
    ) -> None:
        super().__init__(message)
        self.diagnostics: tuple[Diagnostic, ...] = (Diagnostic(message, where, notes, hint, code=code),)
        self.output = output

    @classmethod
    def of(cls, diagnostics: tuple[Diagnostic, ...]) -> MacahError:
        """One exception that carries all of `diagnostics` (at least one)."""
        error = cls(diagnostics[0].message, diagnostics[0].where, code=diagnostics[0].code)
        error.diagnostics = diagnostics
        return error


def source_lines(where: Place) -> list[str]:
    """The lines of the file that a place is in, without their ends; none if that cannot be read again.

    A pipe that was read is empty or waits for another writer, and a device may have no end.
    """
    path = Path(where.file)
    try:
        return path.read_text(errors="replace").splitlines() if path.is_file() else []
    except (OSError, ValueError):
        return []


def source_line(where: Place) -> str | None:
    """The line of its file that a place is in, without its end; None if that cannot be read."""
    lines = source_lines(where)
    return lines[where.line - 1] if 0 < where.line <= len(lines) else None
