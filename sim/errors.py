"""What can go wrong with kernels that Python runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class KernelError(Exception):
    """A kernel could not be made, or did not come to its end."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler; `line` and `column` are 0 where there is no place."""

    message: str
    severity: str = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = ""
    notes: tuple[Diagnostic, ...] = field(default=())

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        own = f"{place}{self.severity}: {self.message}" + (f" [{self.code}]" if self.code else "")
        return "\n".join([own, *map(str, self.notes)])

    @staticmethod
    def read(table: Mapping[str, Any]) -> Diagnostic:
        """A message as `--diagnostics-format=json` has it."""
        caret: Mapping[str, Any] = next((place["caret"] for place in table["locations"]), {})
        place = caret.get("file", ""), caret.get("line", 0), caret.get("column", 0)
        notes = tuple(Diagnostic.read(child) for child in table.get("children", ()))
        code = table.get("code") or table.get("option", "")
        return Diagnostic(table["message"], table["kind"], *place, code, notes)


class CompileError(KernelError):
    """The program has mistakes, or a kernel does not fit."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = tuple(diagnostics)


class DeadlockError(KernelError):
    """The kernel and its test wait for each other; the text says for what."""


class OverrunError(KernelError):
    """The kernel took more cycles than it may, or moved no element for too many."""


class KernelAssertionError(KernelError, AssertionError):
    """An assertion in the kernel failed."""


class SimulatorError(KernelError):
    """The simulator is missing, could not be built, or ended unexpectedly."""
