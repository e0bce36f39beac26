#!/usr/bin/env python3
"""Writes the inputs of the examples into examples/data: the same bytes every time."""

from __future__ import annotations

import math
import struct
import wave
from pathlib import Path

DATA = Path(__file__).parent / "data"


def chirp(path: Path, frames: int = 4000, rate: int = 16000) -> None:
    """A tone that rises from 100 Hz to 7 kHz: a low-pass filter lets its beginning through."""
    samples = []
    phase = 0.0
    for i in range(frames):
        phase += 2 * math.pi * (100 + 6900 * i / frames) / rate
        samples.append(round(20000 * math.sin(phase)))
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(struct.pack(f"<{frames}h", *samples))


def frame(path: Path, time: int, width: int = 64, height: int = 48) -> None:
    """A textured background that moves by (-1, 1) in a frame, and a disc that moves by (3, -2)."""
    rows = bytearray()
    for y in range(height):
        for x in range(width):
            u, v = x + time, y - time
            value = (
                110 + 40 * math.sin(u * 0.37 + 0.9 * math.sin(v * 0.21)) + 30 * math.cos(v * 0.29 + u * 0.11)
            )
            dx, dy = x - 20 - 3 * time, y - 26 + 2 * time
            if dx * dx + dy * dy < 120:
                value = 60 + 9 * ((dx * dx + 3 * dy) % 17)
            rows.append(max(0, min(255, round(value))))
    path.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + bytes(rows))


def main() -> None:
    DATA.mkdir(exist_ok=True)
    chirp(DATA / "chirp.wav")
    frame(DATA / "frame0.pgm", 0)
    frame(DATA / "frame1.pgm", 1)


if __name__ == "__main__":
    main()
