"""Kernel blocks in host code: pack what the kernel captures into words, run it, unpack what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from backend.dfg import DFG
from macah import ir
from macah.names import host_names
from macah.program import KernelSite, walk
from macah.syntax import KernelBlock
from macah.translate_overlap import exposed_names, overlap_check
from macah.translate_statics import static_declarations

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_WORD = "unsigned"
_WIDE = "unsigned long long"
# Types whose bits are the value, and the integers of their sizes.
_FLOATS = {"float": _WORD, "double": _WIDE}


@dataclass(frozen=True)
class HostKernel:
    """A kernel as the host sees it: where it stands, what it captures, and the graph that runs."""

    site: KernelSite
    kernel: ir.Kernel
    dfg: DFG


def kernel_call(translator: Translator, index: int, kernel: HostKernel) -> str:
    """The block that runs kernel number `index` in place of its source."""
    start = translator.place(kernel.site.node)[0]
    unit = translator.source.program.unit
    exposed = exposed_names(unit)
    lines = [
        *_mentions(translator, kernel.site.node),
        *_indeterminate(kernel, unit),
        *_call(index, kernel, exposed),
    ]
    marker = translator.source.marker(start)
    body = "".join(f"  {line}\n" for line in lines)
    return f"{marker}/* kernel {kernel.site.name} */ {{\n{body}}}"


def _mentions(translator: Translator, node: KernelBlock) -> Iterator[str]:
    """Mentions whatever the kernel does, so that the compiler does not call it unused."""
    used = {n.name for n in walk(node) if isinstance(n, c_ast.ID)}
    known = [name for name in sorted(used) if translator.scopes.is_object(name)]
    if known:
        yield " ".join(f"(void){name};" for name in known)


def _indeterminate(kernel: HostKernel, unit: c_ast.FileAST) -> Iterator[str]:
    """Keeps the compiler from knowing that a variable has no value yet: copying it is no mistake here."""
    names = host_names(kernel.kernel)
    written = {names[name].source for name in kernel.dfg.live_outs}
    copied = {names[name].source for name in kernel.dfg.live_ins}
    registers = {n.name for n in walk(unit) if isinstance(n, c_ast.Decl) and "register" in n.storage}
    for source in sorted(written & copied - registers):
        if source.isidentifier():
            yield f'__asm__("" : "+m"({source}));'


def _call(index: int, kernel: HostKernel, exposed: frozenset[str]) -> Iterator[str]:
    dfg = kernel.dfg
    names = host_names(kernel.kernel)
    yield from static_declarations(kernel.kernel)
    yield from overlap_check(kernel.kernel, dfg, exposed)

    def captured(name: str) -> ir.Capture:
        capture = names[name]
        assert isinstance(capture, ir.Capture), name
        return capture

    live_ins = [_packed(captured(name), ()) for name in dfg.live_ins]
    yield from _array(f"const {_WORD} macah_in", live_ins)
    if dfg.live_outs:
        yield f"{_WORD} macah_out[{len(dfg.live_outs)}];"
    handles = []
    for port in dfg.streams:
        stream = names[port.name]
        assert isinstance(stream, ir.StreamCapture), port.name
        handles.append(f"(macah_stream *)({stream.source})")
        # The kernel cuts elements into words, as it thinks that the compiler lays them out.
        same = f"sizeof(MACAH_ELEMENT({stream.source})) == {stream.stream.size}"
        yield f'_Static_assert({same}, "this layout of elements is not supported in a kernel");'
    yield from _array("macah_stream *const macah_streams", handles)
    buffers = []
    for m, memory in enumerate(dfg.memories):
        used = memory.captured_in or memory.captured_out
        buffers.append(f"macah_m{m}" if used else "0")
        if used:
            yield f"{_WORD} macah_m{m}[{memory.words}];"
        if memory.captured_in:
            capture = captured(memory.name)
            yield _for_each(capture, f"macah_m{m}[macah_k] = {_packed(capture, _indices(capture))};")
    yield from _array(f"{_WORD} *const macah_memories", buffers)
    given = {"in": live_ins, "out": dfg.live_outs, "streams": handles, "memories": buffers}
    arguments = [f"macah_{name}" if values else "0" for name, values in given.items()]
    yield f"macah_run_kernel({index}, {', '.join(arguments)});"
    for position, name in enumerate(dfg.live_outs):
        yield _unpacked(captured(name), (), f"macah_out[{position}]")
    for m, memory in enumerate(dfg.memories):
        if memory.captured_out:
            capture = captured(memory.name)
            yield _for_each(capture, _unpacked(capture, _indices(capture), f"macah_m{m}[macah_k]"))


def _array(declaration: str, values: list[str]) -> Iterator[str]:
    if values:
        yield f"{declaration}[{len(values)}] = {{{', '.join(values)}}};"


def _indices(capture: ir.Capture) -> tuple[str, ...]:
    assert isinstance(capture.what, ir.Array)
    return tuple(f"macah_i{d}" for d in range(len(capture.what.shape)))


def _for_each(capture: ir.Capture, statement: str) -> str:
    """Loops over an array's elements in row-major order; `macah_k` counts them."""
    assert isinstance(capture.what, ir.Array)
    loops = "".join(
        f"for ({_WORD} macah_i{d} = 0; macah_i{d} < {extent}; macah_i{d}++) "
        for d, extent in enumerate(capture.what.shape)
    )
    return f"{{ {_WORD} macah_k = 0; {loops}{{ {statement} macah_k++; }} }}"


def _lvalue(capture: ir.Capture, indices: tuple[str, ...]) -> str:
    source = capture.source
    for number, index in enumerate(indices):
        source = source.replace(f"{{{number}}}", index)
    return source


def _packed(capture: ir.Capture, indices: tuple[str, ...]) -> str:
    """The word that stands for a captured value, or 0 where there is none."""
    word = _word_of(capture, indices)
    return f"({capture.guard} ? {word} : 0)" if capture.guard else word


def _word_of(capture: ir.Capture, indices: tuple[str, ...]) -> str:
    """The word of what is there; C's conversions extend narrower types as words want it."""
    value = f"({_lvalue(capture, indices)})"
    if capture.base is not None:
        return f"({_WORD})({value} - ({capture.base}))"
    if capture.type in _FLOATS:
        value = f"((union {{ {capture.type} f; {_FLOATS[capture.type]} u; }}){{{value}}}).u"
    if capture.half is None:
        return f"({_WORD}){value}"
    return f"({_WORD})(({_WIDE}){value} >> {32 * capture.half})"


def _unpacked(capture: ir.Capture, indices: tuple[str, ...], word: str) -> str:
    """The assignment of a word to what was captured, if that is there."""
    guard = f"if ({capture.guard}) " if capture.guard else ""
    return guard + _assignment(capture, indices, word)


def _assignment(capture: ir.Capture, indices: tuple[str, ...], word: str) -> str:
    target, value, half = _lvalue(capture, indices), word, capture.half
    if capture.base is not None:
        return f"{target} = ({capture.base}) + ({capture.type}){value};"
    if half is not None:
        old = _word_of(replace(capture, half=1 - half), indices)
        value = f"(({_WIDE}){word} << {32 * half} | ({_WIDE}){old} << {32 * (1 - half)})"
    if capture.type in _FLOATS:
        value = f"((union {{ {_FLOATS[capture.type]} u; {capture.type} f; }}){{{value}}}).f"
    return f"{target} = ({capture.type}){value};"
