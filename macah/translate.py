"""From a program to C: the user's own file with only the Macah in it replaced.

`to_c` translates kernels too; in the result of `to_host_c`, their blocks run on the accelerator. Lines stay,
so that whatever reads the C points to the program's own. The result is made of the program's own file if that
preprocesses to the same C as the translated preprocessed text; if not, it is that text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from macah.deep import deep_recursion
from macah.ir import Static
from macah.program import Program
from macah.syntax import KernelBlock
from macah.toolchain import preprocessed
from macah.translate_align import source_words
from macah.translate_files import restored
from macah.translate_host import HostKernel, kernel_call
from macah.translate_prelude import DEFINED, how_to_compile, own_flags, prelude
from macah.translate_sheet import Sheet
from macah.translate_statics import refer_to_statics
from macah.translate_text import Source
from macah.translate_walk import KernelText, Translator


@dataclass(frozen=True, slots=True)
class Translation:
    """C, and the flags that compile it."""

    text: str
    flags: tuple[str, ...] = ()


def to_c(program: Program, adpc: Mapping[str, int] | None = None) -> str:
    """The program as GNU C, kernels included; `adpc` holds the values chosen for pseudo-constants."""
    return translate(program, adpc or {}).text


def to_host_c(program: Program, kernels: Sequence[HostKernel], adpc: Mapping[str, int] | None = None) -> str:
    """The program as GNU C whose kernel blocks call the accelerator; `kernels[i]` is its kernel number i."""
    return translate(program, adpc or {}, kernels).text


def translate(
    program: Program,
    adpc: Mapping[str, int],
    kernels: Sequence[HostKernel] | None = None,
    columns: bool = False,
) -> Translation:
    """The program as GNU C; `kernels`, if given, run on the accelerator.

    With `columns`, not only lines stay as they are, at the expense of how the result reads.
    """
    if kernels is None:
        return _translated(program, adpc, None, (), columns)
    calls = {id(kernel.site.node): (index, kernel) for index, kernel in enumerate(kernels)}

    def text(translator: Translator, node: KernelBlock) -> str:
        return kernel_call(translator, *calls[id(node)])

    statics = [static for kernel in kernels for static in kernel.kernel.statics]
    return _translated(program, adpc, text, statics, columns)


def _translated(
    program: Program,
    adpc: Mapping[str, int],
    kernel: KernelText | None,
    statics: Sequence[Static],
    columns: bool,
) -> Translation:
    source = Source(program)
    with deep_recursion():
        Translator(source, adpc, kernel).translate(program.unit)
        refer_to_statics(source, program.unit, statics)
    sheet, edits = source.sheet(), source.edits
    own = restored(program.text, program.path, edits) if program.command else None
    if own is None or not _same(program, own.written(DEFINED, columns), sheet):
        return Translation(sheet.written(prelude(sheet.written()), columns) if edits else program.text)
    flags = own_flags(program)
    if not edits and not columns and _same(program, own.text, sheet):
        return Translation(own.text, flags)
    head = "" if columns else how_to_compile(flags)
    return Translation(own.written(head + prelude(own.written()), columns), flags)


def _same(program: Program, own: str, wanted: Sheet) -> bool:
    """Whether a translation preprocesses to the words of the translated preprocessed text."""
    command = program.command[: program.command.index("-E") + 2]
    text = preprocessed(own, [*command, *own_flags(program)])
    return text is not None and _words(text) == _words(wanted.written())


def _words(text: str) -> list[str]:
    return [word.text for word in source_words(text)]
