"""A profile as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.dfg import Place

from .profile import KernelProfile, Profile, ThreadProfile
from .watching import Phase

_MOST_LINES = 10


def profile_text(profile: Profile) -> str:
    """The tables."""
    end = f"by {profile.signal}" if profile.signal else f"with status {profile.status}"
    lines = [f"profile of {profile.program}, mode {profile.mode}: {profile.seconds:.3f} s, ended {end}"]
    for kernel in profile.kernels:
        lines += ["", *_kernel(kernel)]
    if profile.threads:
        lines += ["", *_threads(profile)]
    return "\n".join(lines) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _place(place: Place) -> str:
    return f"{place.file}:{place.line}" if place.line else "?"


def _count(number: int | None) -> str:
    return "not counted" if number is None else f"{number}"


def _kernel(kernel: KernelProfile) -> Iterator[str]:
    design, iterations = kernel.about.design, kernel.iterations
    yield f"kernel {kernel.name} ({_place(kernel.about.where)})"
    unfinished = kernel.begun - kernel.finished
    note = f", {unfinished} of them not finished" if unfinished else ""
    pool = f" on {kernel.simulators} simulators" if kernel.simulators > 1 else ""
    yield f"  executions  {kernel.begun}{note}{pool}"
    if not kernel.begun:
        return
    yield (
        f"  cycles      {kernel.cycles}: {kernel.active} active ({_share(kernel.active, kernel.cycles)}),"
        f" {kernel.stalled} stalled ({_share(kernel.stalled, kernel.cycles)})"
    )
    pace = "" if kernel.about.window else f", one every {design.interval} cycles"
    useful = "" if iterations.useful is None else f", {iterations.useful} useful"
    yield (
        f"  iterations  {_count(iterations.started)} started, {iterations.complete} complete{useful}{pace}"
    )
    yield from _loops(kernel)
    yield from _streams(kernel)
    yield from _lines(kernel)
    yield from _transfers(kernel)


def _loops(kernel: KernelProfile) -> Iterator[str]:
    if kernel.uncounted:
        yield f"    loops are not counted: {kernel.uncounted}"
    if not kernel.loops:
        return
    rows = [
        (
            f"{_place(loop.where)}{'' if loop.innermost else ', around others'}",
            f"{loop.bodies}",
            f"{loop.iterations}",
        )
        for loop in kernel.loops
    ]
    yield from _table(("loop", "bodies", "iterations"), rows)
    rows = [
        (" and ".join(map(_place, part.loops)) or "none", f"{part.iterations}", f"{part.cycles}")
        for part in kernel.work
    ]
    yield from _table(("at work", "iterations", "active cycles"), rows)


def _streams(kernel: KernelProfile) -> Iterator[str]:
    rows = [
        (
            f"{'to' if s.sends else 'from'} {s.name}",
            f"{s.words}",
            f"{s.stalled}",
            _share(s.stalled, kernel.cycles),
            "full" if s.sends else "empty",
            _seconds(s.seconds),
            f"{s.in_vain}",
        )
        for s in kernel.streams
    ]
    if rows:
        yield from _table(("stream", "words", "stalled", "", "while", "seconds", "in vain"), rows)


def _lines(kernel: KernelProfile) -> Iterator[str]:
    if not kernel.stalls:
        return
    rows = []
    for stall in kernel.stalls[:_MOST_LINES]:
        what = " and ".join(f"{_place(w.where)}: {w.text}" for w in stall.waiting) or "unknown"
        rows.append((f"{stall.cycles}", _share(stall.cycles, kernel.cycles), _seconds(stall.seconds), what))
    yield from _table(("stalled", "", "seconds", "by"), rows)
    rest = kernel.stalls[_MOST_LINES:]
    if rest:
        yield f"    {sum(stall.cycles for stall in rest)} in {len(rest)} other ways"


def _transfers(kernel: KernelProfile) -> Iterator[str]:
    def part(title: str, phase: Phase) -> tuple[str, str, str]:
        return title, f"{kernel.words[phase]}", _seconds(kernel.seconds[phase])

    rows = [
        ("start of the simulator", "", _seconds(kernel.seconds[Phase.STARTS])),
        part("configuration", Phase.CONFIGURES),
        part("scalars and arrays in", Phase.FILLS),
        ("run", "", _seconds(kernel.seconds[Phase.RUNS])),
        *([("asleep in it, not stalled", "", _seconds(kernel.asleep))] if kernel.asleep else []),
        part("scalars and arrays out", Phase.FETCHES),
        ("threads in the kernel", "", _seconds(kernel.host)),
    ]
    yield from _table(("time", "words", "seconds"), rows)


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}"


def _threads(profile: Profile) -> Iterator[str]:
    yield "threads of the program"
    rows = [
        (
            thread.title,
            _seconds(thread.seconds),
            _seconds(thread.waited("kernel")),
            _seconds(thread.waited("send", "receive")),
        )
        for thread in profile.threads
    ]
    yield from _table(("thread", "seconds", "in kernels", "waiting"), rows)
    waits = [row for thread in profile.threads for row in _waits(thread)]
    if waits:
        yield from _table(("waits", "seconds", "thread", "for", "at"), waits)
    if profile.unlogged_threads:
        yield f"  {profile.unlogged_threads} more threads were not looked at"


def _waits(thread: ThreadProfile) -> Iterator[tuple[str, ...]]:
    for wait in sorted(thread.waits, key=lambda wait: -wait.seconds)[:_MOST_LINES]:
        if wait.purpose in ("send", "receive"):
            way = "to" if wait.purpose == "send" else "from"
            what = f"{wait.purpose} {way} {wait.text}, created at {_place(wait.created)}"
            yield f"{wait.count}", _seconds(wait.seconds), f"{thread.number}", what, _place(wait.where)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns side by side; those of numbers are on the right."""
    everything = [head, *rows]
    widths = [max(len(row[k]) for row in everything) for k in range(len(head))]
    numeric = [all(row[k][:1].isdigit() or row[k] in ("", "-") for row in rows) for k in range(len(head))]
    for row in everything:
        cells = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        yield f"    {'  '.join(cells)}".rstrip()
