"""A tile of a fabric as a Verilog module: configuration memory, multiplexers, registers and units."""

from __future__ import annotations

from collections.abc import Iterator

from arch.fabric import Fabric, Kind, Resource
from arch.ops import OPS, verilog_function

from .rows import STAGE_BITS, WORD_BITS, Rows, operands
from .verilog_names import Names
from .verilog_unit import SUFFIXES, Pin, UnitText
from .verilog_values import bit_range, literal

_TAKEN = "clk running moves slot age configure row column word umulh smulh"


class TileText:
    """One tile. Tiles whose text is the same can share a module: nothing in it tells where the tile is.

    `inputs` are the resources of other tiles that it reads, `outputs` those of it that others read.
    """

    def __init__(self, rows: Rows, tile: int, outputs: list[int]) -> None:
        self.rows, self.row, self.tile = rows, rows.rows[tile], tile
        self.fabric: Fabric = rows.fabric
        self.outputs = outputs
        self.own = [r for r in self.fabric.resources if r.tile == tile and rows.wire(r.id) == r.id]
        selecting = [resource.id for resource in self.own if resource.id in self.row.selects]
        read = {source for resource in selecting for source in rows.choices(resource) if source is not None}
        self.inputs = sorted(r for r in read if self.fabric.resources[r].tile != tile)
        names = Names()
        taken = (f"{kind}_{k}" for k in range(len(self.row.words)) for kind in ("word", "row"))
        for name in (*_TAKEN.split(), *taken):
            names.new(name)
        self.names = {resource: names.new(f"in_{k}") for k, resource in enumerate(self.inputs)}
        self.names |= {resource.id: names.new(_local(resource.name)) for resource in self.own}
        self.chosen = {id: names.new(f"{self.names[id]}_from") for id in self.row.constants}
        self.units = [self._unit(unit.id, names) for unit in self.fabric.units if unit.tile == tile]
        self.ending = {resource.id: self._latencies(resource.id) for resource in self.own}
        """For each result, the operations by their latency."""
        self.stages = {
            (resource, left): names.new(f"{self.names[resource]}_{left}")
            for resource, latencies in self.ending.items()
            for left in range(max(latencies, default=1) - 1)
        }
        """The registers of results that are there in so many cycles."""

    def _unit(self, id: int, names: Names) -> UnitText:
        unit = self.fabric.units[id]
        reads = [self.names[operand] for operand in operands(unit)]
        bank_bits = 0 if unit.memory is None else self.rows.bank_bits(unit.memory)
        name, bits = names.family(_local(unit.name), SUFFIXES), self.bits(unit.operands[0])
        return UnitText(unit, self.row, name, reads, bank_bits, bits)

    def pins(self) -> list[Pin]:
        """The ports that units have."""
        return [pin for unit in self.units for pin in unit.pins()]

    def text(self, name: str) -> str:
        """The module."""
        ports = [
            ("input", 1, "clk"),
            ("input", 1, "running"),
            ("input", 1, "moves"),
            ("input", self.rows.slot_bits, "slot"),
            ("input", STAGE_BITS, "age"),
            ("input", 1, "configure"),
            ("input", self.rows.slot_bits, "row"),
            ("input", self.rows.word_bits, "column"),
            ("input", 32, "word"),
            *(("input", self.bits(resource), self.names[resource]) for resource in self.inputs),
            *(
                (f"output {self._kind(resource)}", self.bits(resource), self.names[resource])
                for resource in self.outputs
            ),
            *((pin.direction, pin.bits, pin.name) for pin in self.pins()),
        ]
        lines = [
            f"module {name} (",
            ",\n".join(f"    {way} {bit_range(bits)}{port}" for way, bits, port in ports),
            ");",
            *(f"    {line}" for line in (*self._functions(), *self._body())),
            "endmodule",
        ]
        return "\n".join(lines) + "\n"

    def _body(self) -> Iterator[str]:
        yield from self._memory()
        yield from self._declarations()
        for unit in self.units:
            for resource in operands(unit.unit):
                yield from self._operand(self.fabric.resources[resource])
            yield from unit.logic()
        yield from self._results()
        yield from self._wires()
        yield from self._clocked()

    def _functions(self) -> Iterator[str]:
        texts = (
            verilog_function(op, WORD_BITS) for op in sorted({op for unit in self.units for op in unit.ops})
        )
        if found := [text for text in texts if text]:
            yield from "\n".join(found).splitlines()
            yield "// verilator lint_off UNUSEDSIGNAL"

    def _memory(self) -> Iterator[str]:
        """The configuration: a memory for each word of a row."""
        slots = self.fabric.max_interval
        for k, bits in enumerate(self.row.words):
            if k >= self.row.once:
                yield f"reg [{bits - 1}:0] word_{k};"
                continue
            yield f"reg {bit_range(bits)}row_{k} [0:{slots - 1}];"
            yield f"wire [{bits - 1}:0] word_{k} = row_{k}[slot];"
        yield "always @(posedge clk)"
        yield "    if (configure)"
        yield "        case (column)"
        for k, bits in enumerate(self.row.words):
            name = f"row_{k}[row]" if k < self.row.once else f"word_{k}"
            yield f"            {literal(k, self.rows.word_bits)}: {name} <= word[{bits - 1}:0];"
        yield "            default: ;"
        yield "        endcase"
        for unit in self.units:
            yield from unit.reports(slots)

    def _declarations(self) -> Iterator[str]:
        for resource in self.own:
            read = resource.kind is not Kind.OPERAND or resource.id in self.row.constants
            if read and resource.id not in self.outputs:
                bits = bit_range(self.bits(resource.id))
                yield f"{self._kind(resource.id)} {bits}{self.names[resource.id]};"
        for (resource_id, _), name in self.stages.items():
            yield f"reg {bit_range(self.bits(resource_id))}{name};"

    def bits(self, resource: int) -> int:
        """The width of a resource."""
        return 1 if self.fabric.resources[resource].narrow else WORD_BITS

    def _read(self, source: int, reader: int) -> str:
        """What a resource selects of another: all of it, its low bit, or 0 or 1 as a word."""
        name, have, want = self.names[source], self.bits(source), self.bits(reader)
        if have > want:
            return f"{name}[0]"
        return f"{{{want - have}'d0, {name}}}" if have < want else name

    def _kind(self, resource: int) -> str:
        return "wire" if self.fabric.resources[resource].kind is Kind.RESULT else "reg"

    def _select(self, resource: Resource, field: str, none: str | None) -> Iterator[str]:
        """The multiplexer of a resource; `none` is what it takes if it takes nothing."""
        name, bits = self.names[resource.id], self.row.selects[resource.id].bits
        assign = "<=" if resource.kind is Kind.REGISTER else "="
        yield f"case ({field})"
        for k, source in enumerate(self.rows.choices(resource.id)):
            if source is not None:
                word = self._enters(source, 1) if source == resource.id else self._read(source, resource.id)
                yield f"    {literal(k, bits)}: {name} {assign} {word};"
        yield f"    default: {f'{name} {assign} {none}' if none else ''};"
        yield "endcase"

    def _operand(self, resource: Resource) -> Iterator[str]:
        """An operand is its constant until the stage from which on it selects a word."""
        field = self.row.selects[resource.id]
        chosen = f"age >= {self.row.since[resource.id].text} ? {field.text} : {literal(0, field.bits)}"
        yield f"wire {bit_range(field.bits)}{self.chosen[resource.id]} = {chosen};"
        yield "always @*"
        constant = self.row.constants[resource.id].text
        yield from (f"    {line}" for line in self._select(resource, self.chosen[resource.id], constant))

    def _wires(self) -> Iterator[str]:
        for resource in self.own:
            if resource.kind is Kind.WIRE:
                yield "always @*"
                field = self.row.selects[resource.id].text
                nothing = literal(0, self.bits(resource.id))
                yield from (f"    {line}" for line in self._select(resource, field, nothing))

    def _latencies(self, resource: int) -> dict[int, list[str]]:
        """For each time to a result (in a register: to where it enters) the operations that take it."""
        found: dict[int, list[str]] = {}
        for unit in self.units:
            for op in unit.ops:
                if resource in unit.unit.results[op][: OPS[op].outputs]:
                    enters = self.fabric.resources[resource].kind is Kind.REGISTER
                    found.setdefault(unit.unit.latency[op] - enters, []).append(op)
        return found

    def _maker(self, resource: int) -> tuple[UnitText, str]:
        """The unit that gives a result, and the name of what it computes."""
        for unit in self.units:
            for op in unit.ops:
                outputs = unit.unit.results[op][: OPS[op].outputs]
                if resource in outputs:
                    flag = outputs.index(resource) == 1
                    return unit, f"{{31'd0, {unit.name}_flag}}" if flag else f"{unit.name}_word"
        raise AssertionError(resource)

    def _enters(self, resource: int, latency: int) -> str:
        """What is there `latency` cycles after the operation of a result began, to be it or go on to it."""
        unit, word = self._maker(resource)
        longer = self.stages.get((resource, latency - 1))
        ops = self.ending[resource].get(latency)
        if ops is None:
            assert longer is not None
            return longer
        return f"{unit.is_op(*ops)} ? {word} : {longer}" if longer else word

    def _results(self) -> Iterator[str]:
        for resource in self.own:
            if resource.kind is Kind.RESULT:
                ends = self.ending[resource.id]
                word = self._enters(resource.id, 1) if ends else literal(0, self.bits(resource.id))
                yield f"assign {self.names[resource.id]} = {word};"

    def _clocked(self) -> Iterator[str]:
        yield "always @(posedge clk)"
        yield "    if (moves) begin"
        for resource in self.own:
            if resource.kind is Kind.REGISTER:
                lines = self._select(resource, self.row.selects[resource.id].text, None)
                yield from (f"        {line}" for line in lines)
        for (resource_id, left), name in self.stages.items():
            yield f"        {name} <= {self._enters(resource_id, left + 2)};"
        for unit in self.units:
            yield from (f"        {line}" for line in unit.clocked())
        yield "    end"


def _local(name: str) -> str:
    """A name without that of the tile."""
    return name.split(".", 1)[-1]
