"""What the ports of a kernel mean: variables of the program as words, and the other way round."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from backend.dfg import DFG

from .bench import FIRST_MEMORY, LIVE_IN, LIVE_OUT
from .values import Type, decode, encode, get_bits, read_type, set_bits


@dataclass(frozen=True)
class Variable:
    """A variable of the program that the kernel captures."""

    name: str
    type: Type


@dataclass(frozen=True)
class StreamEnd:
    """A stream at port `s<number>_…`; `sends`: the kernel does. `asks_end`: it asks whether it has ended.

    `source` is the stream as the program has it; `inner`: the kernel has its other end, too, at another port.
    """

    name: str
    source: str
    number: int
    sends: bool
    element: Type
    asks_end: bool
    inner: bool


@dataclass(frozen=True)
class Part:
    """Where words are in a variable: for each index, row by row, `width` bits from a byte and bit on.

    Bytes are `strides` apart from `offset` on, or `listed` one by one.
    """

    variable: int
    offset: int
    bit: int
    width: int
    signed: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    listed: tuple[int, ...] | None = None

    def places(self) -> Iterator[int]:
        """The byte of each word."""
        if self.listed is not None:
            yield from (self.offset + place for place in self.listed)
            return
        for index in product(*map(range, self.shape)):
            yield self.offset + sum(k * stride for k, stride in zip(index, self.strides, strict=True))

    def words(self, data: bytearray) -> array[int]:
        """The words, extended to 32 bits."""
        in_a_row = self.listed is None and self.shape[1:] == () and self.strides in ((), (4,))
        if not self.bit and self.width == 32 and in_a_row:
            count = self.shape[0] if self.shape else 1
            return array("I", bytes(data[self.offset : self.offset + 4 * count]))
        found = (get_bits(data, place, self.bit, self.width) for place in self.places())
        if self.signed:
            return array("I", (w - (w >> (self.width - 1) << self.width) & 0xFFFFFFFF for w in found))
        return array("I", found)

    def store(self, data: bytearray, words: Sequence[int]) -> None:
        """Puts words back."""
        for place, word in zip(self.places(), words, strict=True):
            set_bits(data, place, self.bit, self.width, word)


@dataclass(frozen=True)
class Interface:
    """The parts that live-ins, live-outs and memories are; None if they are of no variable."""

    variables: tuple[Variable, ...]
    live_ins: tuple[Part | None, ...]
    live_outs: tuple[Part | None, ...]
    memories: tuple[Part | None, ...]
    streams: tuple[StreamEnd, ...]

    @staticmethod
    def read(table: Mapping[str, Any], dfg: DFG) -> Interface:
        """What `--emit design` says."""
        variables = (Variable(v["name"], read_type(v["type"])) for v in table["variables"])
        live_ins, live_outs, memories = (
            tuple(map(_part, table[key])) for key in ("live_ins", "live_outs", "memories")
        )
        names = [stream["name"] for stream in table["streams"]]
        streams = []
        for k, (stream, port) in enumerate(zip(table["streams"], dfg.streams, strict=True)):
            inner = names.count(stream["name"]) > 1
            name = port.name if inner else stream["name"]
            element = read_type(stream["element"])
            streams.append(StreamEnd(name, stream["name"], k, port.sends, element, stream["asks_end"], inner))
        return Interface(tuple(variables), live_ins, live_outs, memories, tuple(streams))

    def images(self, values: Mapping[str, Any]) -> list[bytearray]:
        """The bytes of all variables; those not named are 0. Errors: ValueError, TypeError."""
        images = []
        for variable in self.variables:
            data = bytes(variable.type.size)
            if variable.name in values:
                try:
                    data = encode(variable.type, values[variable.name])
                except (ValueError, TypeError) as error:
                    raise type(error)(f"'{variable.name}': {error}") from None
            images.append(bytearray(data))
        return images

    def words_in(self, images: list[bytearray], dfg: DFG) -> tuple[array[int], list[array[int] | None]]:
        """The words of live-ins, and of each memory that is filled before a run."""
        live_ins = array("I")
        for part in self.live_ins:
            live_ins.extend(part.words(images[part.variable]) if part else (0,))
        memories: list[array[int] | None] = []
        for memory, part in zip(dfg.memories, self.memories, strict=True):
            words = part.words(images[part.variable]) if part else array("I", [0] * memory.words)
            memories.append(words if memory.captured_in else None)
        return live_ins, memories

    def results(
        self,
        images: list[bytearray],
        dfg: DFG,
        live_outs: Sequence[int],
        memories: Sequence[Sequence[int] | None],
    ) -> dict[str, Any]:
        """The values of the variables that the kernel changed, of which `images` are updated."""
        changed = dict[int, None]()
        for part, word in zip(self.live_outs, live_outs, strict=True):
            if part:
                part.store(images[part.variable], [word])
                changed[part.variable] = None
        for part, words in zip(self.memories, memories, strict=True):
            if part and words is not None:
                part.store(images[part.variable], words)
                changed[part.variable] = None
        named = ((self.variables[k], images[k]) for k in sorted(changed))
        return {variable.name: decode(variable.type, bytes(data)) for variable, data in named}

    def writes(self, values: Mapping[str, Any], dfg: DFG) -> list[tuple[int, int]]:
        """Addresses {8-bit region, 24-bit offset} at the word port, and words, to write before a run."""
        live_ins, memories = self.words_in(self.images(values), dfg)
        found = [(LIVE_IN << 24 | k, word) for k, word in enumerate(live_ins)]
        for m, (memory, words) in enumerate(zip(dfg.memories, memories, strict=True)):
            if words is None and memory.initial:
                words = array("I", [*memory.initial, *[0] * (memory.words - len(memory.initial))])
            for k, word in enumerate(words or ()):
                found.append((FIRST_MEMORY + m << 24 | k, word))
        return found

    def reads(self, dfg: DFG) -> list[int]:
        """The addresses at the word port that have results after a run."""
        found = [LIVE_OUT << 24 | k for k in range(len(dfg.live_outs))]
        for m, memory in enumerate(dfg.memories):
            if memory.captured_out:
                found += [FIRST_MEMORY + m << 24 | k for k in range(memory.words)]
        return found

    def read_results(self, values: Mapping[str, Any], dfg: DFG, words: Sequence[int]) -> dict[str, Any]:
        """The results, of the words at `reads`; `values` are what variables were before."""
        at = len(dfg.live_outs)
        memories: list[Sequence[int] | None] = []
        for memory in dfg.memories:
            memories.append(words[at : at + memory.words] if memory.captured_out else None)
            at += memory.words if memory.captured_out else 0
        return self.results(self.images(values), dfg, words[: len(dfg.live_outs)], memories)


def _part(table: Mapping[str, Any] | None) -> Part | None:
    if table is None:
        return None
    shape, strides = tuple(table["shape"]), tuple(table["strides"])
    place = (table["variable"], table["offset"], table["bit"], table["width"])
    listed = tuple(table["places"]) if "places" in table else None
    return Part(*place, table["signed"], shape, strides, listed)
