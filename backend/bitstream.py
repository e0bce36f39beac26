"""Mapping -> what its fabric is loaded with, word by word, and where the host's words are then."""

from __future__ import annotations

from arch.fabric import Kind
from arch.ops import MEMORY_OPS

from .configuration import Configuration, Issue, Selected, configure
from .dfg import Const, LiveIn
from .mapping import Mapping
from .rows import DRAIN_BITS, INDEX_BITS, OPCODES, STAGE_BITS, WORD_BITS, Field, NoHardware, Rows
from .verilog_frame import Access, FabricDesign


def bitstream(mapping: Mapping, rows: Rows, ports: tuple[str, ...]) -> Access:
    """What a mapping's fabric is loaded with, and how the kernel is reached then; `ports` as in `Access`.

    Errors: NoHardware. The same mapping gives the same words, in the order of tiles, slots and words.
    """
    return _Writer(configure(mapping), rows).access(ports)


class _Writer:
    """Fills in the rows, slot by slot."""

    def __init__(self, configuration: Configuration, rows: Rows) -> None:
        self.configuration = configuration
        self.mapping = configuration.mapping
        self.dfg = configuration.dfg
        self.fabric = self.mapping.fabric
        self.rows = rows
        self.live_ins: list[list[int]] = [[] for _ in self.dfg.live_ins]
        self.live_outs: dict[int, int] = {}
        self.words: dict[int, int] = {}
        self.last_stage = 0

    def access(self, ports: tuple[str, ...]) -> Access:
        for tile, row in enumerate(self.rows.rows):
            whole = sum(field.bits == WORD_BITS for field in row.constants.values())
            for slot in range(self.configuration.interval):
                for word in range(whole, len(row.words)):
                    self.words[self.rows.configuration(tile, slot, word)] = 0
        for slot in range(self.configuration.interval):
            for resource in self.fabric.resources:
                source = self.configuration.selects[resource.id][slot]
                if source is not None and source != resource.id:
                    self.select(resource.id, slot, source)
            for unit, issues in enumerate(self.configuration.issues):
                if (issue := issues[slot]) is not None:
                    self.issue(unit, slot, issue)
        self.control()
        assert len(self.live_outs) == len(self.dfg.live_outs), "a live-out without an operation of its own"
        places = self.mapping.placement.memory
        return Access(
            tuple(tuple(addresses) for addresses in self.live_ins),
            tuple(address for _, address in sorted(self.live_outs.items())),
            tuple(self.rows.memory(place.bank, place.base) for place in places),
            ports,
            tuple(sorted(self.words.items())),
        )

    def put(self, tile: int, slot: int, field: Field, value: int) -> None:
        assert value < 1 << field.bits, (field, value)
        self.words[self.rows.configuration(tile, slot, field.word)] |= value << field.low

    def select(self, resource: int, slot: int, source: int) -> None:
        """What an operand, register or wire takes; a register from itself: its unit's result."""
        tile = self.fabric.resources[resource].tile
        field = self.rows.rows[tile].selects[self.rows.wire(resource)]
        self.put(tile, slot, field, self.rows.number(resource, source))

    def issue(self, unit_id: int, slot: int, issue: Issue) -> None:
        """What a unit starts."""
        unit, node = self.fabric.units[unit_id], self.dfg.nodes[issue.node]
        fields = self.rows.rows[unit.tile].units[unit_id]
        self.put(unit.tile, slot, fields.op, OPCODES[issue.op])
        if fields.stage is not None:
            self.put(unit.tile, slot, fields.stage, self.stage(issue.stage))
        if issue.op in MEMORY_OPS:
            assert fields.base is not None and fields.mask is not None and node.memory is not None
            place, array = self.mapping.placement.memory[node.memory], self.dfg.memories[node.memory]
            self.put(unit.tile, slot, fields.base, place.base)
            self.put(unit.tile, slot, fields.mask, (1 << (array.words - 1).bit_length()) - 1)
        if issue.op == "fail":
            assert fields.index is not None
            self.put(unit.tile, slot, fields.index, self.fitting(node.index, INDEX_BITS, "assertions"))
        if issue.op == "result":
            assert node.index not in self.live_outs, f"two results are live-out {node.index}"
            self.live_outs[node.index] = self.rows.result(unit_id, slot)
        for operand, source in zip(unit.operands, issue.operands, strict=False):
            self.operand(unit.tile, operand, slot, issue.stage, source)
        for result in unit.results[issue.op]:
            if self.fabric.resources[result].kind is Kind.REGISTER:
                self.select(result, (slot + issue.latency - 2) % self.configuration.interval, result)

    def operand(
        self, tile: int, operand: int, slot: int, stage: int, source: Selected | Const | LiveIn
    ) -> None:
        """Where an operand comes from, and what stands for it before it does."""
        first = source
        if isinstance(source, Selected):
            self.select(operand, slot, source.resource)
            if source.distance == 0:
                return
            since = self.rows.rows[tile].since[operand]
            self.put(tile, slot, since, self.stage(stage + source.distance))
            first = source.initial
        field = self.rows.rows[tile].constants[operand]
        address = self.rows.configuration(tile, slot, field.word)
        if isinstance(first, LiveIn):
            assert field.bits == WORD_BITS, "a captured scalar for an operand of one bit"
            self.live_ins[first.index].append(address)
        elif field.bits < WORD_BITS:
            assert isinstance(first, Const)
            self.put(tile, slot, field, first.value)
        else:
            assert isinstance(first, Const)
            self.words[address] = first.value & 0xFFFFFFFF

    def stage(self, stage: int) -> int:
        self.last_stage = max(self.last_stage, stage)
        return self.fitting(stage, STAGE_BITS, "stages")

    def fitting(self, value: int, bits: int, what: str) -> int:
        """`value`; errors: NoHardware, if its field is too small."""
        if value >= 1 << bits:
            raise NoHardware(f"it has more than {(1 << bits) - 1} {what}, for which its hardware has no room")
        return value

    def control(self) -> None:
        """The last slot, how long the last iteration takes when that is known, the last stage asked for."""
        stop = next(node.id for node in self.dfg.nodes if node.op == "stop")
        drain = self.mapping.length - self.mapping.placement.schedule.start[stop] - 1
        controller = len(self.fabric.tiles)
        self.words[self.rows.configuration(controller, 0, 0)] = self.configuration.interval - 1
        self.words[self.rows.configuration(controller, 0, 1)] = self.fitting(
            drain, DRAIN_BITS, "cycles after its end is known"
        )
        self.words[self.rows.configuration(controller, 0, 2)] = self.last_stage


def show_bits(design: FabricDesign) -> str:
    """The configuration as text that $readmemh reads: addresses and words. Comments say where all else is."""
    dfg, access = design.dfg, design.access
    lines = [f"// configuration of {dfg.name} for {design.top}, {len(access.configuration)} words"]
    for name, places in zip(dfg.live_ins, access.live_ins, strict=True):
        lines.append(f"// live-in {name}:{''.join(f' {address:08x}' for address in places)}")
    for name, address in zip(dfg.live_outs, access.live_outs, strict=True):
        lines.append(f"// live-out {name}: {address:08x}")
    for memory, address in zip(dfg.memories, access.memories, strict=True):
        lines.append(f"// array {memory.name}: {address:08x}, {memory.words} words")
    for stream, port in zip(dfg.streams, access.ports, strict=True):
        lines.append(f"// stream {stream.name}: {port}")
    lines += [f"{address:08x} {word:08x}" for address, word in access.configuration]
    return "\n".join(lines) + "\n"
