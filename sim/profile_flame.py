"""A profile as a flame graph of cycles by source line: folded stacks, and a picture of them."""

from __future__ import annotations

from collections.abc import Iterator

from .flame import Stack, flame
from .profile import KernelProfile, Profile, Waiting


def flame_folded(profile: Profile) -> str:
    """A line for each stack, `frame;frame;frame cycles`, as flamegraph.pl and speedscope read them."""
    return "".join(f"{';'.join(map(_plain, frames))} {cycles}\n" for frames, cycles in _stacks(profile))


def flame_svg(profile: Profile) -> str:
    """The flame graph as a picture."""
    return flame(f"{profile.program}: cycles of its kernels", list(_stacks(profile)))


def _plain(frame: str) -> str:
    """A frame without what separates frames and stacks."""
    return " ".join(frame.replace(";", ",").split())


def _stacks(profile: Profile) -> Iterator[Stack]:
    for kernel in profile.kernels:
        base = (f"kernel {kernel.name} ({kernel.about.where.file}:{kernel.about.where.line})",)
        rest = kernel.active
        for part in kernel.work:
            loops = " and ".join(f"{place.file}:{place.line}" for place in part.loops)
            cycles = min(part.cycles, rest)
            rest -= cycles
            if cycles:
                yield (*base, "active", f"loop {loops}" if loops else "no loop's body"), cycles
        if rest:
            yield (*base, "active", "filling and draining" if kernel.work else "all loops"), rest
        yield from _stalls(kernel, base)


def _stalls(kernel: KernelProfile, base: tuple[str, ...]) -> Iterator[Stack]:
    for stall in kernel.stalls:
        yield (*base, "stalled", " and ".join(map(_line, stall.waiting)) or "unknown"), stall.cycles


def _line(waiting: Waiting) -> str:
    return f"{waiting.where.file}:{waiting.where.line} {waiting.text}"
