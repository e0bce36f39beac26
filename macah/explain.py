"""The pages of `docs/diagnostics`, for `macahc --explain CODE`."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from .codes import CODES, Code
from .diagnostic import MacahError

_HERE = Path(__file__).parent
# Where an installed macahc has the pages, and where they are in the source tree.
_FOLDERS = (_HERE / "pages", _HERE.parent / "docs" / "diagnostics")

_KINDS = {
    "language": "Errors in every mode",
    "accelerator": "What accelerators cannot do (in --mode c only a warning, -Wnot-mappable)",
    "limit": "Limits",
    "tool": "The command, files and other programs",
    "warning": "Warnings",
}
_GROUPS = {"default": "on", "all": "-Wall", "extra": "-Wextra", "": "off"}


def explain(word: str) -> str:
    """The page of a code, or with `list` what codes there are. `-Wname` and `[name]` mean `name`."""
    name = word.strip("[]").removeprefix("-W").removeprefix("error=")
    if name == "list":
        return listing()
    if name not in CODES:
        near = get_close_matches(name, CODES, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "macahc --explain lists all codes"
        raise MacahError(f"there is no error or warning '{word}'", hint=hint, code="usage")
    return page(name)


def page(name: str) -> str:
    """The text of the page of a code."""
    for folder in _FOLDERS:
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise MacahError(f"the page of '{name}' is missing in this installation", code="cannot-read")


def listing() -> str:
    """All codes with their titles, kind by kind."""
    parts = []
    for kind, title in _KINDS.items():
        lines = [
            f"  {name:24} {code.title}{_state(code)}" for name, code in CODES.items() if code.kind == kind
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts) + "\n"


def _state(code: Code) -> str:
    return f" ({_GROUPS[code.group]})" if code.kind == "warning" else ""
