"""Where each bit of a fabric's configuration is: rows of words, one row for each tile and slot.

A row begins with a whole word for the constant of each operand that reads words; then come the fields of
multiplexers and units, and constants of one bit, packed into words in the order of the fabric's resources and
units. docs/configuration.md has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from arch.fabric import Fabric, Kind, Unit
from arch.ops import CONTROL_OPS, MEMORY_OPS, OPAQUE_OPS, OPS, STREAM_OPS, WIDE_OPS

WORD_BITS = 32
"""The width of a word of configuration, and of the words that are computed with."""
STAGE_BITS = 12
"""The width of the count of intervals since the start, which stops where it decides nothing more."""
INDEX_BITS = 16
"""The width of an assertion's number."""
DRAIN_BITS = 16
"""The width of the count of cycles in which the last iteration ends."""

OPCODES = {op: k for k, op in enumerate((op for op in OPS if op not in WIDE_OPS | OPAQUE_OPS), start=1)}
"""What a unit is told to do; 0 is nothing."""
OPCODE_BITS = len(OPCODES).bit_length()

RESULTS, MEMORIES, CONFIGURATION = 0, 1, 2
"""What the two upper bits of an address select."""
OFFSET_BITS = 30

_GUARDED = STREAM_OPS | CONTROL_OPS | {"store"}


class NoHardware(Exception):
    """A fabric, or a kernel on it, that has no form that is loaded with its configuration; says why."""


@dataclass(frozen=True, slots=True)
class Field:
    """`bits` bits of word `word`, from bit `low` on."""

    word: int
    low: int
    bits: int

    @property
    def text(self) -> str:
        """As a part of the word in Verilog."""
        if self.bits == WORD_BITS:
            return f"word_{self.word}"
        return f"word_{self.word}[{self.low + self.bits - 1}:{self.low}]"


@dataclass(frozen=True, slots=True)
class UnitFields:
    """What a unit is told: operation; stage, if it has effects; where arrays are; the assertion's number."""

    op: Field
    stage: Field | None
    base: Field | None
    mask: Field | None
    index: Field | None


@dataclass(frozen=True)
class Row:
    """The configuration of a tile in a slot: the bits of its words, and what they mean.

    By resource: `constants` are those of operands, of words first, each in a word of its own; `selects` the
    fields of operands, registers and wires, and `since` of operands the stage from which on they select
    anything. `units` is by unit. From word `once` on, words are of all slots: they hold what is configured
    once.
    """

    words: tuple[int, ...]
    once: int
    constants: dict[int, Field]
    selects: dict[int, Field]
    since: dict[int, Field]
    units: dict[int, UnitFields]


def unit_ops(unit: Unit) -> tuple[str, ...]:
    """What a unit of hardware does, by opcode; what operations of foreign graphs do is not known."""
    return tuple(op for op in OPCODES if op in unit.latency)


def operands(unit: Unit) -> tuple[int, ...]:
    """The operands that some operation reads."""
    return unit.operands[: max((OPS[op].arity for op in unit_ops(unit)), default=0)]


def does(unit: Unit, ops: Iterable[str]) -> bool:
    """Whether a unit does one of these."""
    return any(op in unit.latency for op in ops)


@dataclass(frozen=True)
class Rows:
    """The configuration of a fabric, and the addresses of all that its word port reaches."""

    fabric: Fabric

    @cached_property
    def held(self) -> dict[int, int]:
        """The units whose results are registers, by register."""
        found = {}
        for unit in self.fabric.units:
            for op in unit_ops(unit):
                for resource in unit.results[op]:
                    if self.fabric.resources[resource].kind is Kind.REGISTER:
                        found[resource] = unit.id
        return found

    def choices(self, resource: int) -> tuple[int | None, ...]:
        """What a multiplexer selects, by number. None is a constant, what a register holds, or no word.

        The last choice of a register in which operations end is their result: the register stands for it.
        """
        static = self.fabric.resources[resource].static
        if static is not None:
            first = [self.fabric.resources[setting].sources[0] for setting in self.fabric.settings[static]]
            return (None, *map(self.wire, first))
        sources = dict.fromkeys(
            self.wire(s) for s in self.fabric.resources[resource].sources if s != resource
        )
        return (None, *sources, *([resource] if resource in self.held else []))

    def wire(self, resource: int) -> int:
        """The resource that stands for all settings of what is configured once; any other for itself."""
        static = self.fabric.resources[resource].static
        return resource if static is None else self.fabric.settings[static][0]

    def number(self, resource: int, source: int) -> int:
        """The choice of a source."""
        static = self.fabric.resources[resource].static
        if static is not None:
            return 1 + self.fabric.settings[static].index(resource)
        return self.choices(resource).index(self.wire(source), 1)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all tiles."""
        units: list[list[Unit]] = [[] for _ in self.fabric.tiles]
        for unit in self.fabric.units:
            units[unit.tile].append(unit)
        resources: list[list[int]] = [[] for _ in self.fabric.tiles]
        read = {operand for unit in self.fabric.units for operand in operands(unit)}
        for resource in self.fabric.resources:
            chooses = resource.kind in (Kind.REGISTER, Kind.WIRE) or resource.id in read
            if chooses and self.wire(resource.id) == resource.id:
                resources[resource.tile].append(resource.id)
        return tuple(self._row(r, u) for r, u in zip(resources, units, strict=True))

    def _row(self, resources: list[int], units: list[Unit]) -> Row:
        read = [operand for unit in units for operand in operands(unit)]
        whole = [operand for operand in read if not self.fabric.resources[operand].narrow]
        constants = {operand: Field(k, 0, WORD_BITS) for k, operand in enumerate(whole)}
        words = [WORD_BITS] * len(whole)

        def take(bits: int) -> Field:
            if len(words) == len(whole) or words[-1] + bits > WORD_BITS:
                words.append(0)
            words[-1] += bits
            return Field(len(words) - 1, words[-1] - bits, bits)

        selects, since = {}, {}
        static = [resource for resource in resources if self.fabric.resources[resource].static is not None]
        for resource in resources:
            if resource not in static:
                selects[resource] = take(self._choice_bits(resource))
            if resource in read:
                since[resource] = take(STAGE_BITS)
                if resource not in constants:
                    constants[resource] = take(1)
        found = {}
        for unit in units:
            bank = take_bits = None
            if unit.memory is not None and does(unit, MEMORY_OPS):
                bank, take_bits = unit.memory, self.bank_bits(unit.memory)
            found[unit.id] = UnitFields(
                take(OPCODE_BITS),
                take(STAGE_BITS) if does(unit, _GUARDED) else None,
                take(take_bits) if bank is not None and take_bits else None,
                take(take_bits) if bank is not None and take_bits else None,
                take(INDEX_BITS) if "fail" in unit.latency else None,
            )
        once = len(words)
        if static:
            words.append(0)
        for resource in static:
            selects[resource] = take(self._choice_bits(resource))
        return Row(tuple(words), once, constants, selects, since, found)

    def _choice_bits(self, resource: int) -> int:
        return max(1, (len(self.choices(resource)) - 1).bit_length())

    def bank_bits(self, bank: int) -> int:
        """The bits of an address in a memory, which is as large as a power of two."""
        return _bits(self.fabric.memories[bank].words)

    @property
    def slot_bits(self) -> int:
        return _bits(self.fabric.max_interval)

    @cached_property
    def word_bits(self) -> int:
        return _bits(max(3, *(len(row.words) for row in self.rows)))

    @property
    def tile_bits(self) -> int:
        return _bits(len(self.fabric.tiles) + 1)

    @property
    def bank_offset_bits(self) -> int:
        """The bits of an address in the largest memory."""
        return max((self.bank_bits(bank.id) for bank in self.fabric.memories), default=1)

    @cached_property
    def reporters(self) -> tuple[int, ...]:
        """The units that give live-outs."""
        return tuple(unit.id for unit in self.fabric.units if "result" in unit.latency)

    def configuration(self, tile: int, slot: int, word: int) -> int:
        """The address of a word of configuration; the tile after the last is the controller."""
        if tile < len(self.rows) and word >= self.rows[tile].once:
            slot = 0
        row = tile << self.slot_bits | slot
        return CONFIGURATION << OFFSET_BITS | row << self.word_bits | word

    def memory(self, bank: int, word: int) -> int:
        """The address of a word of a memory."""
        return MEMORIES << OFFSET_BITS | bank << self.bank_offset_bits | word

    def result(self, unit: int, slot: int) -> int:
        """The address of what a unit has given as a live-out in a slot."""
        return RESULTS << OFFSET_BITS | self.reporters.index(unit) << self.slot_bits | slot

    def check(self) -> None:
        """Errors: NoHardware, if the port cannot reach all words."""
        spaces = {
            "configuration": self.tile_bits + self.slot_bits + self.word_bits,
            "memories": _bits(max(2, len(self.fabric.memories))) + self.bank_offset_bits,
            "results": _bits(max(2, len(self.reporters))) + self.slot_bits,
        }
        for what, bits in spaces.items():
            if bits > OFFSET_BITS:
                limits = f"need {bits} bits of address; the port has {OFFSET_BITS}"
                raise NoHardware(f"the {what} of {self.fabric.name} {limits}")


def _bits(count: int) -> int:
    """The bits of a number below `count`, at least one."""
    return max(1, (count - 1).bit_length())
