"""What selects what: the sources of a layout's operands and registers, and the links between its tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fabric import Kind

if TYPE_CHECKING:
    from .layout import Layout


class Wiring:
    """Adds the links of a layout, and finds the sources of all that selects.

    `sources` and `static` are by resource: what it selects, and the
    number of the multiplexer that it is a setting of, if that is configured once.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.tiles, self.kind = layout, layout.tiles, layout.d.links
        self.sources: dict[int, tuple[int, ...]] = {}
        self.static: dict[int, int] = {}
        if self.kind.crossbar:
            self._crossbars()
        else:
            self._registered_links()

    def _registered_links(self) -> None:
        """Links that are registers."""
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        incoming: list[list[int]] = [[] for _ in self.tiles]
        settings = self._settings()
        for tile in self.tiles:
            made = {"out": self.layout.out[tile.id]} if self.kind.held else {}
            outgoing[tile.id] += made.values()
            for name, there in self.layout.links(tile):
                if name in self.kind.static:
                    incoming[there] += settings[tile.id, name]
                    continue
                if name not in made:
                    made[name] = self.layout.add(f"{tile.prefix}.{name}", Kind.REGISTER, tile.id)
                    outgoing[tile.id].append(made[name])
                if made[name] not in incoming[there]:
                    incoming[there].append(made[name])
        for tile in self.tiles:
            if self.kind.held:
                self._connect_held(tile.id, incoming[tile.id])
            else:
                self._connect(tile.id, outgoing[tile.id], incoming[tile.id])
            once = [found for name, _ in self.layout.links(tile) if (found := settings.get((tile.id, name)))]
            sources = [*self.layout.results(tile.id), *self.layout.registers[tile.id], *incoming[tile.id]]
            self._connect_settings(once, sources)
        if self.kind.bits is not None:
            self._plane_of_bits(self.kind.bits.apart)

    def _settings(self) -> dict[tuple[int, str], list[int]]:
        """The settings of links that are configured once, by tile and name; their sources are set later."""
        arriving = [0] * len(self.tiles)
        for tile in self.tiles:
            for _, there in self.layout.links(tile):
                arriving[there] += 1
        found: dict[tuple[int, str], list[int]] = {}
        for tile in self.tiles:
            count = (
                len(self.layout.results(tile.id)) + len(self.layout.registers[tile.id]) + arriving[tile.id]
            )
            for name, _ in self.layout.links(tile):
                if name in self.kind.static:
                    names = [f"{tile.prefix}.{name}.{k}" for k in range(count)]
                    found[tile.id, name] = [self.layout.add(one, Kind.REGISTER, tile.id) for one in names]
                    self.static |= dict.fromkeys(found[tile.id, name], len(found) - 1)
        return found

    def _connect_settings(self, links: list[list[int]], sources: list[int]) -> None:
        """Each setting of some links selects one source, or one link that comes in, in any setting."""
        choices: dict[int, tuple[int, ...]] = {}
        for source in sources:
            key = self.static.get(source, -1 - source)
            choices[key] = (*choices.get(key, ()), source)
        for settings in links:
            self.sources |= dict(zip(settings, choices.values(), strict=True))

    def _crossbars(self) -> None:
        """Links that are wires, with a wire and a register at their end."""
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        inputs: list[list[int]] = [[] for _ in self.tiles]
        for tile in self.tiles:
            for name, there in self.layout.links(tile):
                target = self.tiles[there].prefix
                link = self.layout.add(f"{tile.prefix}.{name}", Kind.WIRE, tile.id)
                kept = self.layout.add(f"{target}.{name}_kept", Kind.REGISTER, there)
                entry = self.layout.add(f"{target}.{name}_in", Kind.WIRE, there)
                self.sources[kept] = (link, kept)
                self.sources[entry] = (link, kept)
                outgoing[tile.id].append(link)
                inputs[there].append(entry)
        for tile in self.tiles:
            own = self.layout.registers[tile.id]
            results = self.layout.results(tile.id)
            for unit in self.layout.units_of[tile.id]:
                self.sources |= dict.fromkeys(unit.operands, (*inputs[tile.id], *own))
            self.sources |= {register: (*results, register) for register in own}
            self.sources |= dict.fromkeys(outgoing[tile.id], (*results, *own, *inputs[tile.id]))

    def _connect(self, tile: int, outgoing: list[int], incoming: list[int]) -> None:
        """Operands read links and registers; registers read results too, and themselves to hold."""
        results, own = self.layout.results(tile), self.layout.registers[tile]
        for unit in self.layout.units_of[tile]:
            for operand in unit.operands:
                self.sources[operand] = (*incoming, *own)
        for register in own:
            self.sources[register] = (*results, *incoming, *own)
        for link in outgoing:
            self.sources[link] = (*results, *incoming, *own, link)

    def _connect_held(self, tile: int, incoming: list[int]) -> None:
        """Operands read the output, links and registers, a move the same; registers read the output."""
        out, own = self.layout.out[tile], self.layout.registers[tile]
        for unit in self.layout.units_of[tile]:
            for operand in unit.operands:
                self.sources[operand] = (*incoming, *own, out)
        for register in own:
            self.sources[register] = (out, register)
        self.sources[out] = (*incoming, *own, out)

    def _plane_of_bits(self, apart: bool) -> None:
        """The links of bits, and what reads bits."""
        outgoing: list[list[int]] = [[] for _ in self.tiles]
        incoming: list[list[int]] = [[] for _ in self.tiles]
        for tile in self.tiles:
            made: dict[str, int] = {}
            for name, there in self.layout.bit_links(tile):
                if name not in made:
                    made[name] = self.layout.add(f"{tile.prefix}.{name}", Kind.REGISTER, tile.id, narrow=True)
                    outgoing[tile.id].append(made[name])
                if made[name] not in incoming[there]:
                    incoming[there].append(made[name])
        for tile in self.tiles:
            self._connect_bits(tile.id, outgoing[tile.id], incoming[tile.id], apart)

    def _connect_bits(self, tile: int, outgoing: list[int], incoming: list[int], apart: bool) -> None:
        """What reads bits besides words, and words as bits; words' sources are known."""
        layout = self.layout
        own, made_here = layout.bit_registers[tile], layout.results(tile, narrow=True)
        bits, results = [*incoming, *own], [*layout.results(tile), *made_here]
        for operand in (operand for unit in layout.units_of[tile] for operand in unit.operands):
            # Bits come first: of two ways of one price, a value of one bit takes that one.
            if operand in layout.narrow:
                self.sources[operand] = (*bits, *(() if apart else self.sources[operand]))
            elif operand in layout.takes_bits:
                self.sources[operand] = (*bits, *self.sources[operand])
        for register in () if apart else layout.registers[tile]:
            self.sources[register] = (*self.sources[register], *made_here, *bits)
        for register in own:
            self.sources[register] = (*results, *bits)
        for link in outgoing:
            self.sources[link] = (*results, *bits, link)
