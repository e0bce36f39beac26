"""Which warnings the command line asks for, with the meaning that gcc's `-W` options have.

Names of our own are in `codes.CODES`; all others are the C compiler's to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .codes import CODES
from .diagnostic import Diagnostic

_GROUPS = {"all": ("all",), "extra": ("extra",)}


@dataclass(frozen=True, slots=True)
class WarningOptions:
    """The `-W` options in order, each without `-W`; `quiet` is `-w`."""

    names: tuple[str, ...] = ()
    quiet: bool = False

    def apply(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Diagnostics without the warnings that are off; those that are to be errors are."""
        found = []
        for diagnostic in diagnostics:
            if diagnostic.severity != "warning" or diagnostic.option:  # of the C compiler, which was told
                found.append(diagnostic)
            elif not self.is_on(diagnostic.code):
                continue
            elif self.is_error(diagnostic.code):
                option = f"-Werror={diagnostic.code}"
                found.append(replace(diagnostic, severity="error", option=option))
            else:
                found.append(replace(diagnostic, option=f"-W{diagnostic.code}"))
        return found

    def is_on(self, code: str) -> bool:
        """Whether a warning is wanted. An option that names it counts for more than one for a group."""
        if self.quiet:
            return False
        on = CODES[code].group == "default"
        for name in self.names:
            if CODES[code].group in _GROUPS.get(name.removeprefix("no-"), ()):
                on = not name.startswith("no-")
        for name in self.names:
            if name in (code, f"error={code}"):
                on = True
            elif name == f"no-{code}":
                on = False
        return on

    def is_error(self, code: str) -> bool:
        """Whether a warning that is on is an error."""
        error = False
        for name in self.names:
            if name in ("error", "no-error"):
                error = name == "error"
        for name in self.names:
            if name in (f"error={code}", f"no-error={code}"):
                error = name == f"error={code}"
        return error

    def for_compiler(self) -> tuple[str, ...]:
        """The options for the C compiler: all but those that name a warning of our own."""
        words = tuple(f"-W{name}" for name in self.names if not _is_own(name))
        return (*words, "-w") if self.quiet else words


def _is_own(name: str) -> bool:
    for prefix in ("no-error=", "error=", "no-"):
        name = name.removeprefix(prefix)
    return name in CODES and CODES[name].kind == "warning"
