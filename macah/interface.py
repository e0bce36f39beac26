"""What a kernel's ports mean, for whoever drives its Verilog without the program: `--emit design`.

Every word that goes through the ports is a part of a variable that the kernel captures. A variable is
described by its C type, a word by where its bytes are in the variable:

    struct { short x, y; } path[6]      memory `path.y`: offset 2, one dimension of 6 with stride 4, 2 bytes
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

from backend.dfg import DFG
from backend.kernel_json import write_kernel
from backend.verilog_axi import axi_lite, axi_wrapper
from macah import ir
from macah.compile import Compiled, Simulated
from macah.ctypes import INT, ArrayType, CType, Floating, Integer, StructType, size_of, spell
from macah.names import host_names

FORMAT = "macah-design 1"
"""What tells the form, and its version."""

_UNIT = re.compile(r"\(\(struct __attribute__\(.*\{ __UINT(\d+)_TYPE__ word; \} \*\)&(.*)\)\[(.*)\]\.word")
"""What `lower_host_names.unit_source` makes."""
_INDEX = re.compile(r"\{(\d+)\}")
_STEP = re.compile(r"\[([^\[\]]*)\]|\.(\w+)")

Table = dict[str, Any]
Linear = tuple[int, ...]
"""A constant, and the factor of each index."""


def design_json(kernels: Sequence[Simulated], arch: str, mode: str) -> str:
    """The designs of kernels, with what their ports mean; `sim.load_kernel` reads it."""
    found = [_design(kernel, arch, mode) for kernel in kernels]
    return json.dumps({"format": FORMAT, "kernels": found}, indent=1, ensure_ascii=False) + "\n"


def verilog_text(kernels: Sequence[Simulated], axi_stream: bool) -> str:
    """The Verilog of kernels, with AXI ports if wanted."""
    texts = []
    for kernel in kernels:
        texts.append(kernel.design.text)
        if axi_stream:
            dfg, names = kernel.design.dfg, host_names(kernel.kernel)
            streams = (names[port.name] for port in dfg.streams)
            sources = tuple(s.source for s in streams if isinstance(s, ir.StreamCapture))
            texts.append(axi_wrapper(kernel.design.top, dfg, sources))
    own = dict.fromkeys(texts)  # kernels may share a fabric
    return "\n".join([*own, *([axi_lite()] if axi_stream and kernels else [])])


def _design(kernel: Simulated, arch: str, mode: str) -> Table:
    variables = _Variables()
    dfg, names = kernel.design.dfg, host_names(kernel.kernel)

    def parts(graph_names: Iterable[str]) -> list[Table | None]:
        return [variables.part(names.get(name), name) for name in graph_names]

    table = {
        "name": dfg.name,
        "top": kernel.design.top,
        "arch": arch,
        "mode": mode,
        "where": str(kernel.site.where),
        "interval": kernel.design.interval if isinstance(kernel, Compiled) else None,
        "length": kernel.design.length if isinstance(kernel, Compiled) else None,
        "counts_iterations": mode == "dataflow",
        "operations": len(dfg.nodes),
        "live_ins": parts(dfg.live_ins),
        "live_outs": parts(dfg.live_outs),
        "memories": parts(m.name for m in dfg.memories),
        "streams": [_stream(dfg, s, names) for s in range(len(dfg.streams))],
    }
    graph = json.loads(write_kernel(dfg))
    return {**table, "variables": variables.tables, "verilog": kernel.design.text, "graph": graph}


def _stream(dfg: DFG, s: int, names: dict[str, ir.Capture | ir.StreamCapture]) -> Table:
    """A stream: its name in the program, and the type of its elements."""
    port, capture = dfg.streams[s], names[dfg.streams[s].name]
    assert isinstance(capture, ir.StreamCapture) and capture.element is not None, port.name
    asked = any(node.stream == s and node.op == "ended" for node in dfg.nodes)
    return {"name": capture.source, "element": _type(capture.element), "asks_end": asked}


class _Variables:
    """The variables that a kernel captures, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self._owners: dict[str, int] = {}

    def part(self, capture: ir.Capture | ir.StreamCapture | None, name: str) -> Table | None:
        """Which part of which variable a captured scalar or array is; None if it is of none."""
        if not isinstance(capture, ir.Capture):
            return None
        extent, shape = capture.extent, _shape(capture)
        if extent is None:  # a pointer, as a number
            place = _Place((0,) * (len(shape) + 1), INT)
            variable = self._number(capture.source, capture.what.name, INT)
        else:
            place = _place(_at_first(capture), extent.owner, extent.type, len(shape))
            variable = self._number(extent.owner, extent.name, extent.type)
        table: Table = {"variable": variable, "shape": list(shape), "strides": place.at[1:]}
        if extent is not None and _is_listed(capture):
            found = (_place(source, extent.owner, extent.type, 0).at[0] for source in _sources(capture))
            table["places"] = [at - place.at[0] for at in found]
        width = place.width
        if capture.half is not None:
            width = 32 if capture.half == 0 else width - 32
        start = 8 * place.at[0] + place.bit + 32 * (capture.half or 0)
        signed = isinstance(place.type, Integer) and place.type.signed and capture.half != 0
        return {**table, "offset": start // 8, "bit": start % 8, "width": width, "signed": signed}

    def _number(self, owner: str, name: str, ctype: CType) -> int:
        """The number of a variable. Two of one name, as static ones may be, are told apart by a number."""
        if owner not in self._owners:
            self._owners[owner] = len(self.tables)
            taken, own, count = {table["name"] for table in self.tables}, name, 2
            while own in taken:
                own, count = f"{name}#{count}", count + 1
            self.tables.append({"name": own, "type": _type(ctype)})
        return self._owners[owner]


@dataclass(frozen=True)
class _Place:
    """A place in a variable: its first byte, the first bit behind that, and the type of what is there."""

    at: Linear
    type: CType
    bit: int = 0

    @property
    def width(self) -> int:
        """The number of bits."""
        if isinstance(self.type, Integer) and self.type.width:
            return self.type.width
        return 8 * (size_of(self.type) or 0)


def _shape(capture: ir.Capture) -> tuple[int, ...]:
    return capture.what.shape if isinstance(capture.what, ir.Array) else ()


def _is_listed(capture: ir.Capture) -> bool:
    """Whether words are not at equal distances, as in banks of several blocks of an array."""
    return "/" in capture.source.removeprefix(capture.extent.owner if capture.extent else "")


def _sources(capture: ir.Capture) -> Iterator[str]:
    """The lvalue of each element of a captured array."""
    for index in product(*map(range, _shape(capture))):
        source = capture.source
        for dimension, number in enumerate(index):
            source = source.replace(f"{{{dimension}}}", str(number))
        yield source


def _at_first(capture: ir.Capture) -> str:
    """The lvalue of any element, or of the first one if there are no strides."""
    return next(_sources(capture)) if _is_listed(capture) else capture.source


def _place(source: str, owner: str, ctype: CType, rank: int) -> _Place:
    """Where the lvalue `source`, a part of the variable that the lvalue `owner` is, lies in it."""
    if unit := _UNIT.fullmatch(source):
        bits, base, index = unit.groups()
        size = int(bits) // 8
        start = _place(base, owner, ctype, rank).at
        return _Place(_sum(start, _times(size, _linear(index, rank))), Integer("unit", size, False, 3))
    assert source.startswith(owner), (source, owner)
    place, position = _Place((0,) * (rank + 1), ctype), len(owner)
    while position < len(source):
        step = _STEP.match(source, position)
        assert step is not None, source
        position = step.end()
        place = _member(place, step[2]) if step[2] else _element(place, _linear(step[1], rank))
    return place


def _member(place: _Place, name: str) -> _Place:
    assert isinstance(place.type, StructType), name
    for member in place.type.find(name):
        # A bit-field is counted in bits from where its struct begins.
        offset = member.offset if member.bit is None else 0
        place = _Place(_sum(place.at, (offset,)), member.type, member.bit or 0)
    return place


def _element(place: _Place, index: Linear) -> _Place:
    assert isinstance(place.type, ArrayType), place
    element = place.type.element
    return _Place(_sum(place.at, _times(size_of(element) or 0, index)), element)


def _linear(text: str, rank: int) -> Linear:
    """The value of an index, in which `{0}`, `{1}`, … stand for indices of the array."""
    return _value(ast.parse(_INDEX.sub(r"i\1", text), mode="eval").body, rank)


def _value(node: ast.expr, rank: int) -> Linear:
    match node:
        case ast.Constant(int() as value):
            return (value,) + (0,) * rank
        case ast.Name(name):
            return (0,) + tuple(int(d == int(name[1:])) for d in range(rank))
        case ast.BinOp(left, ast.Add(), right):
            return _sum(_value(left, rank), _value(right, rank))
        case ast.BinOp(left, ast.Mult(), right):
            a, b = _value(left, rank), _value(right, rank)
            if any(a[1:]):
                a, b = b, a
            assert not any(a[1:]), ast.unparse(node)
            return _times(a[0], b)
        case ast.BinOp(left, ast.Div() | ast.Mod() as op, right):  # of constants
            (over,), (under,) = _value(left, 0), _value(right, 0)
            return (over // under if isinstance(op, ast.Div) else over % under,) + (0,) * rank
    raise AssertionError(ast.unparse(node))


def _sum(a: Linear, b: Linear) -> Linear:
    return tuple(x + y for x, y in zip_longest(a, b, fillvalue=0))


def _times(factor: int, a: Linear) -> Linear:
    return tuple(factor * x for x in a)


def _type(ctype: CType) -> Table:
    """A type, as far as values need it."""
    match ctype:
        case Integer(is_bool=True):
            return {"kind": "bool", "name": str(ctype), "size": 1}
        case Integer(name=name, size=size, signed=signed):
            return {"kind": "int", "name": name, "size": size, "signed": signed}
        case Floating(size=4 | 8 as size):
            return {"kind": "float", "name": str(ctype), "size": size}
        case ArrayType(element, int() as length) if length >= 0:
            return {"kind": "array", "length": length, "element": _type(element)}
        case StructType() if ctype.complete:
            members = list(_members(ctype, 0))
            return {"kind": ctype.kind, "name": str(ctype), "size": ctype.size, "members": members}
    return {"kind": "bytes", "name": spell(ctype, ""), "size": size_of(ctype) or 0}


def _members(struct: StructType, base: int) -> Iterator[Table]:
    """The members, those of anonymous ones among them, at offsets from `base`."""
    for member in struct.members:
        if member.name.startswith("@") and isinstance(member.type, StructType):
            yield from _members(member.type, base + member.offset)
        elif member.bit is None:
            yield {"name": member.name, "offset": base + member.offset, "type": _type(member.type)}
        elif member.name:
            assert isinstance(member.type, Integer)
            at, bit = divmod(8 * base + member.bit, 8)
            bits = {"bit": bit, "width": member.type.precision}
            yield {"name": member.name, "offset": at, **bits, "type": _type(member.type)}
