"""From a program to C: its text with only the Macah in it replaced.

`to_c` translates kernels too; in the result of `to_host_c`, their blocks run on the accelerator. Line markers
stay and are added, so that whatever reads the C points to the program's own lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from macah.parser import deep_recursion
from macah.program import Program
from macah.syntax import KernelBlock
from macah.translate_host import HostKernel as HostKernel
from macah.translate_host import kernel_call
from macah.translate_prelude import prelude
from macah.translate_text import Parts, Source, quoted
from macah.translate_walk import KernelParts, Translator


def to_c(program: Program, adpc: Mapping[str, int] | None = None) -> str:
    """The program as GNU C, kernels included; `adpc` holds the values chosen for pseudo-constants."""
    return _translated(program, adpc or {}, None)


def to_host_c(program: Program, kernels: Sequence[HostKernel], adpc: Mapping[str, int] | None = None) -> str:
    """The program as GNU C whose kernel blocks call the accelerator; `kernels[i]` is its kernel number i."""
    calls = {id(kernel.site.node): (index, kernel) for index, kernel in enumerate(kernels)}

    def parts(translator: Translator, node: KernelBlock) -> Parts:
        index, kernel = calls[id(node)]
        return (kernel_call(translator, index, kernel),)

    return _translated(program, adpc or {}, parts)


def _translated(program: Program, adpc: Mapping[str, int], kernel: KernelParts | None) -> str:
    source = Source(program)
    with deep_recursion():
        Translator(source, adpc, kernel).translate(program.unit)
        if not source.edited:
            return program.text
        text = source.result()
    return f"{prelude(text)}# 1 {quoted(str(program.path))}\n{text}"
