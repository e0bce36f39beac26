"""Flame graphs as SVG: a box for each common beginning of stacks, as wide as its share."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

Stack = tuple[tuple[str, ...], int]
"""Frames from the outermost on, and a count."""

_WIDTH, _ROW, _TOP, _CHARACTER = 1200, 18, 30, 7.0


@dataclass
class _Box:
    name: str
    count: int = 0
    inner: dict[str, _Box] = field(default_factory=dict)

    def depth(self) -> int:
        return 1 + max((box.depth() for box in self.inner.values()), default=0)


def flame(title: str, stacks: Sequence[Stack]) -> str:
    """A picture that stands alone; what does not fit in a box is in its tooltip."""
    root = _Box("all")
    for frames, count in stacks:
        root.count += count
        box = root
        for frame in frames:
            box = box.inner.setdefault(frame, _Box(frame))
            box.count += count
    height = _TOP + _ROW * root.depth() + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" font-family="monospace" font-size="12">',
        f'<text x="{_WIDTH / 2:g}" y="18" text-anchor="middle">{_text(title)}</text>',
        *(_boxes(root, 0.0, 0, root.count) if root.count else ()),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Text for XML, which some characters are not allowed in whatever they are written as."""
    return escape("".join(c if c.isprintable() else "?" for c in text))


def _boxes(box: _Box, left: float, level: int, total: int) -> Iterator[str]:
    """A box and those above it, of which the picture has the outermost first."""
    width = _WIDTH * box.count / total
    top = _TOP + _ROW * level
    note = f"{box.name}: {box.count} ({box.count / total:.1%})"
    room = int((width - 6) / _CHARACTER)
    shown = box.name if len(box.name) <= room else box.name[: max(0, room - 2)] + ".."
    yield f"<g><title>{_text(note)}</title>"
    yield (
        f'<rect x="{left:.2f}" y="{top}" width="{max(width - 0.5, 0.1):.2f}" height="{_ROW - 1}"'
        f' fill="{_colour(box.name)}" rx="2"/>'
    )
    if room > 2:
        yield f'<text x="{left + 3:.2f}" y="{top + 13}">{_text(shown)}</text>'
    yield "</g>"
    for inner in sorted(box.inner.values(), key=lambda inner: (-inner.count, inner.name)):
        yield from _boxes(inner, left, level + 1, total)
        left += _WIDTH * inner.count / total


def _colour(name: str) -> str:
    """Warm, and the same for the same name."""
    digest = zlib.crc32(name.encode(errors="surrogateescape"))
    return f"rgb({205 + digest % 50},{110 + digest // 50 % 110},{60 + digest // 5500 % 60})"
