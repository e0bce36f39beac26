"""One design run once on given words, without a host program: for tests and tools.

The bench is plain Verilog. With `jitter`, a seed, streams are ready only at random moments.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .access import DesignLike, access_of
from .bench import BENCH, declarations, instance, stream_ports
from .icarus import compile_verilog
from .simulator import find_tool


class SimulationError(Exception):
    """A run that did not end, or that gave a value with unknown bits."""


@dataclass(frozen=True)
class SimRun:
    """What a run did. `consumed` counts words received, by stream; `failed` is an assertion's index."""

    outputs: dict[int, tuple[int, ...]]
    live_outs: tuple[int, ...]
    memories: dict[int, tuple[int, ...]]
    consumed: dict[int, int]
    closed: frozenset[int]
    failed: int | None
    cycles: int
    stalls: int


def simulate(
    design: DesignLike,
    live_ins: Sequence[int] = (),
    inputs: Mapping[int, Sequence[int]] | None = None,
    memories: Mapping[int, Sequence[int]] | None = None,
    *,
    closed: Collection[int] = (),
    jitter: int | None = None,
    prompt: Collection[int] = (),
    limit: int = 200_000,
) -> SimRun:
    """Runs a design on Icarus Verilog. Errors: SimulationError, SimulatorMissing.

    `inputs` holds the words of receiving streams, of which those in `closed` end after them; `memories` the
    first words of memories (their rest, and a table without an entry, as in the graph). Streams in `prompt`
    are ready in spite of `jitter`. `limit` is in cycles.
    """
    with tempfile.TemporaryDirectory(prefix="macah-simulate-") as name:
        directory = Path(name)
        job = _Job(design, directory, dict(inputs or {}), frozenset(closed), jitter, frozenset(prompt), limit)
        (directory / "design.v").write_text(design.text)
        (directory / "bench.v").write_text(job.bench(live_ins, dict(memories or {})))
        compiled = directory / "design.vvp"
        compile_verilog([directory / "design.v", directory / "bench.v"], BENCH, compiled)
        done = subprocess.run(
            [find_tool("vvp", "iverilog"), "-n", str(compiled)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    return _read(design, done.stdout, done.stderr)


@dataclass(frozen=True)
class _Job:
    """What the bench is written from."""

    design: DesignLike
    directory: Path
    inputs: dict[int, Sequence[int]]
    closed: frozenset[int]
    jitter: int | None
    prompt: frozenset[int]
    limit: int

    def table(self, name: str, words: Sequence[int]) -> str:
        """Declares `name` as an array that holds words (and one more, as an array cannot be empty)."""
        path = self.directory / f"{name}.hex"
        path.write_text("".join(f"{w & 0xFFFFFFFF:08x}\n" for w in [*words, 0]))
        return f'reg [31:0] {name} [0:{len(words)}]; initial $readmemh("{path}", {name});'

    def bench(self, live_ins: Sequence[int], memories: dict[int, Sequence[int]]) -> str:
        """The text of the bench."""
        dfg, access = self.design.dfg, access_of(self.design)
        assert len(live_ins) == len(dfg.live_ins), (live_ins, dfg.live_ins)
        filled = {}
        for m, memory in enumerate(dfg.memories):
            words = list(memories.get(m, memory.initial))
            filled[m] = words + [0] * (memory.words - len(words))
        lines = [
            "`timescale 1ns/1ns",
            f"module {BENCH};",
            *declarations(dfg, stream_ports(self.design)),
            f"integer i, cycles = 0, stalls = 0, seed = {self.jitter or 0};",
            *instance(self.design),
            self.table("live_in", live_ins),
            *(self.table(f"memory{m}", words) for m, words in filled.items()),
            *self.streams(),
            "task tick; begin #1 clk = 1; #1 clk = 0; end endtask",
            "initial begin",
            "#1 rst = 1; tick; rst = 0; ctl_write = 1;",
            *(
                f"  ctl_address = 32'd{at}; ctl_wdata = 32'd{word}; tick;"
                for at, word in access.configuration
            ),
            *(line for k, places in enumerate(access.live_ins) for at in places for line in _put(k, at)),
            *(
                line
                for m, words in filled.items()
                for line in _store(f"memory{m}", access.memories[m], len(words))
            ),
            "ctl_write = 0; start = 1; tick; start = 0;",
            f"while (!done && !fail && cycles + stalls < {self.limit}) begin",
            *(f"  drive{s};" for s in range(len(dfg.streams))),
            "  #1 if (stalled) stalls = stalls + 1; else cycles = cycles + 1;",
            *(f"  commit{s};" for s in range(len(dfg.streams))),
            "  clk = 1; #1 clk = 0;",
            "end",
            '$display("end %d %d %b %d", cycles, stalls, fail, fail_index);',
            f'if (!done && !fail) $display("limit {self.limit}");',
            *(line for at in access.live_outs for line in _fetch("live_out", at, 1)),
            *(
                line
                for m, memory in enumerate(dfg.memories)
                for line in _fetch(f"memory {m}", access.memories[m], memory.words)
            ),
            "end",
            "endmodule",
        ]
        return "\n".join(lines) + "\n"

    def streams(self) -> Iterator[str]:
        """For each stream, a task that shows its state and one that makes its transfer."""
        ports = access_of(self.design).ports
        for s, (stream, p) in enumerate(zip(self.design.dfg.streams, ports, strict=True)):
            late = self.jitter is not None and s not in self.prompt
            open_now = "($random(seed) & 3) != 0" if late else "1'b1"
            if stream.sends:
                yield f"task drive{s}; {p}_tready = {open_now}; endtask"
                yield f"task commit{s}; begin"
                yield f'if ({p}_tvalid && {p}_tready) $display("sent {s} %h", {p}_tdata);'
                yield f'if ({p}_close) $display("closed {s}");'
            else:
                words = self.inputs.get(s, ())
                yield self.table(f"input{s}", words)
                yield f"integer place{s} = 0;"
                yield f"task drive{s}; begin"
                yield f"{p}_tvalid = place{s} < {len(words)} && {open_now}; {p}_tdata = input{s}[place{s}];"
                yield f"{p}_ended = place{s} == {len(words)} && {int(s in self.closed)}; end endtask"
                yield f"task commit{s}; begin"
                yield f"if ({p}_tvalid && {p}_tready) begin"
                yield f'place{s} = place{s} + 1; $display("received {s}"); end'
            yield "end endtask"


def _put(k: int, address: int) -> Iterator[str]:
    yield f"  ctl_address = 32'd{address}; ctl_wdata = live_in[{k}]; tick;"


def _store(table: str, address: int, count: int) -> Iterator[str]:
    if count:
        yield f"for (i = 0; i < {count}; i = i + 1) begin"
        yield f"  ctl_address = 32'd{address} + i; ctl_wdata = {table}[i]; tick; end"


def _fetch(label: str, address: int, count: int) -> Iterator[str]:
    if count:
        yield f"for (i = 0; i < {count}; i = i + 1) begin"
        yield f'  ctl_address = 32\'d{address} + i; #1 $display("{label} %h", ctl_rdata); end'


def _word(text: str, what: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise SimulationError(f"{what} has unknown bits: {text}") from None


def _read(design: DesignLike, output: str, errors: str) -> SimRun:
    """Makes sense of what the bench printed."""
    dfg = design.dfg
    sent: dict[int, list[int]] = {s: [] for s, stream in enumerate(dfg.streams) if stream.sends}
    consumed = {s: 0 for s, stream in enumerate(dfg.streams) if not stream.sends}
    memories: dict[int, list[int]] = {m: [] for m in range(len(dfg.memories))}
    live_outs: list[str] = []
    closed: set[int] = set()
    end: tuple[int, int, int | None] | None = None
    for line in output.splitlines():
        match line.split():
            case ["sent", s, word]:
                sent[int(s)].append(_word(word, f"a word sent to {dfg.streams[int(s)].name}"))
            case ["received", s]:
                consumed[int(s)] += 1
            case ["closed", s]:
                closed.add(int(s))
            case ["memory", m, word]:
                memory = memories[int(m)]
                known = dfg.memories[int(m)].captured_out or "x" not in word.lower()
                memory.append(_word(word, f"{dfg.memories[int(m)].name}[{len(memory)}]") if known else 0)
            case ["live_out", word]:
                live_outs.append(word)
            case ["end", cycles, stalls, failed, index]:
                end = int(cycles), int(stalls), int(index) if failed == "1" else None
            case ["limit", cycles]:
                raise SimulationError(f"{design.top} did not end in {cycles} cycles")
            case _:
                raise SimulationError(f"{design.top}: the simulator said: {line}")
    if end is None:
        raise SimulationError(f"{design.top}: the simulator ended without a result: {errors}{output}")
    cycles_run, stalls_run, failed_index = end
    return SimRun(
        outputs={s: tuple(words) for s, words in sent.items()},
        live_outs=() if failed_index is not None else tuple(_word(w, "a live-out") for w in live_outs),
        memories={m: tuple(words) for m, words in memories.items()},
        consumed=consumed,
        closed=frozenset(closed),
        failed=failed_index,
        cycles=cycles_run,
        stalls=stalls_run,
    )
