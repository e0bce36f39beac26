"""What a run of `macahc` says on standard error, in the form that is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from . import gcc_json, gcc_text
from .diagnostic import Diagnostic, MacahError
from .render import render
from .render_json import json_text, sarif_text
from .warn import WarningOptions

Format = Literal["text", "json", "sarif"]
MAX_ERRORS = 20
"""So many errors are shown if the command line does not say."""

FORMATS: tuple[Format, ...] = ("text", "json", "sarif")


@dataclass(frozen=True, slots=True)
class MessageOptions:
    """Form, colour (`auto`, `always`, `never`), wanted warnings, and how many errors are shown at most."""

    format: Format = "text"
    color: str = "auto"
    warnings: WarningOptions = field(default_factory=WarningOptions)
    max_errors: int = MAX_ERRORS

    def colored(self) -> bool:
        """Whether text is to be in colour."""
        if self.color != "auto":
            return self.color == "always"
        return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()

    def compiler_flags(self) -> tuple[str, ...]:
        """The options that make the C compiler's messages look like ours."""
        if self.format != "text":
            return ("-fdiagnostics-format=json",) if gcc_json.supported() else ()
        return ("-fdiagnostics-color=always",) if self.colored() else ()


class Stopped(Exception):
    """Errors have been shown, and there is nothing left to do."""


class Messages:
    """Shows text at once; the other forms are one document each, written by `close`."""

    def __init__(self, options: MessageOptions) -> None:
        self.options = options
        self.errors = 0
        self.source = ""  # the program's name, for what the linker says
        self._kept: list[Diagnostic] = []
        self._closed = False

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Shows diagnostics in the order of their places, without the warnings that are off."""
        limit = self.options.max_errors
        for diagnostic in sorted(self.options.warnings.apply(diagnostics), key=lambda d: d.order):
            if limit and self.errors >= limit:
                return
            self.errors += diagnostic.severity == "error"
            self._put(diagnostic)
            if limit and self.errors >= limit and self.options.format == "text":
                sys.stderr.write(f"compilation terminated due to -fmax-errors={limit}.\n")

    def fail(self, error: MacahError) -> None:
        """Shows what ended the compilation."""
        self.compiler(error.output)
        self.show(error.diagnostics)

    def compiler(self, output: str) -> None:
        """Passes on what the C compiler said."""
        if self.options.format == "text":
            sys.stderr.write(gcc_text.tidy(output, self.source))
        else:
            self._kept += gcc_json.read(output)

    def mixes_streams(self, output: str) -> bool:
        """Whether the C compiler only warns of a stream where one of another type is needed."""
        if self.options.format == "text":
            return gcc_text.mixes_streams(output)
        return gcc_json.mixes_streams(output)

    def close(self) -> None:
        """Writes what was kept; nothing can be shown after it."""
        if self.options.format != "text" and not self._closed:
            write = json_text if self.options.format == "json" else sarif_text
            sys.stderr.write(write(self._kept))
        self._closed = True

    def _put(self, diagnostic: Diagnostic) -> None:
        if self.options.format == "text":
            sys.stderr.write(render(diagnostic, color=self.options.colored()))
        else:
            self._kept.append(diagnostic)


def format_in(words: Iterable[str]) -> Format:
    """The form that a command line asks for, before it is known to be right."""
    found: Format = "text"
    for word in words:
        for name in FORMATS:
            if word == f"--diagnostics-format={name}":
                found = name
    return found
