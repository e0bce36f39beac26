"""Runs a kernel at any stage of compilation on what gcc's program recorded when it entered and left it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

from out_of_order import run_out_of_order

from backend.dfg import DFG, Word
from backend.run_dfg import DFGRun, run_dfg
from backend.verilog_frame import Design
from macah import ir
from macah.names import host_names
from macah.run import run_kernel
from sim.simulate import SimRun, simulate

MOST_EXECUTIONS = 6
MOST_SHUFFLED = 100_000  # operations
FLOATS = ("float", "double")
_BANKED = re.compile(
    r"\((?:(?P<place>\d+)(?: \* (?P<count>\d+))?"
    r"|(?P<block>\d+) / (?P<size>\d+) \* (?P<stride>\d+) \+ (?P<rest>\d+) % \d+) \+ (?P<first>\d+)\)"
)


@dataclass(frozen=True)
class Queue:
    """A stream's elements as they are in memory, all that were ever sent; `head` is the next to receive."""

    closed: bool
    head: int
    elements: tuple[bytes, ...]


@dataclass
class State:
    """What a kernel sees, by the C lvalues of its captures."""

    values: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)


@dataclass(frozen=True)
class Execution:
    """One execution of a kernel: before and after."""

    kernel: str
    before: State
    after: State


class Differs(AssertionError):
    """A stage leaves something else than gcc's program."""


# Recording


def recorder(kernels: Sequence[ir.Kernel]) -> str:
    """C macros `RECORD_name(when)` that print what a lowered kernel captures."""
    return "".join(f"#define RECORD_{kernel.name}(when) {_record(kernel)}\n" for kernel in kernels)


def _record(kernel: ir.Kernel) -> str:
    parts = [f'fprintf(stderr, "K %d {kernel.name}\\n", when);']
    for capture in kernel.captured:
        shape = capture.what.shape if isinstance(capture.what, ir.Array) else ()
        loops, place = _loops(capture.source, shape)
        value = f"({place})"
        if capture.base is not None:
            value = f"({place}) - ({capture.base})"
        elif capture.type in FLOATS:
            value = f"({{ {capture.type} f_ = {place}; long long u_ = 0; memcpy(&u_, &f_, sizeof f_); u_; }})"
        show = f'{loops} fprintf(stderr, " %lld", (long long)({value}));'
        parts.append(f'fprintf(stderr, "V {_size(capture)}"); {show} fputc(10, stderr);')
    for stream in kernel.streams:
        loops, place = _loops(stream.source, stream.stream.shape)
        parts.append(f"{loops} fifo_record({place});")
    return "{ " + " ".join(parts) + " }"


def _size(capture: ir.Capture) -> int:
    """The bytes of a captured value that count."""
    if capture.base is not None:
        return 4
    words = capture.type.split()
    narrow = 1 if "char" in words or "_Bool" in words else 2 if "short" in words else 4
    return 8 if "long" in words or "double" in words else narrow


def at(source: str, index: Sequence[object]) -> str:
    """A capture's lvalue at an index."""
    for number, place in enumerate(index):
        source = source.replace(f"{{{number}}}", str(place))
    found = _BANKED.search(source)
    while found:  # an element of a bank is one of the array
        numbers = {name: int(number) for name, number in found.groupdict().items() if number is not None}
        source = source.replace(found[0], str(_element(**numbers)))
        found = _BANKED.search(source)
    return source


def _element(
    first: int, place: int = 0, count: int = 1, block: int = 0, size: int = 1, stride: int = 0, rest: int = 0
) -> int:
    return place * count + block // size * stride + rest % size + first


def _loops(source: str, shape: tuple[int, ...]) -> tuple[str, str]:
    names = [f"at_{d}" for d in range(len(shape))]
    heads = [f"for (int {name} = 0; {name} < {n}; {name}++)" for name, n in zip(names, shape, strict=True)]
    return " ".join(heads), at(source, names)


def executions(recorded: str, kernels: Sequence[ir.Kernel]) -> list[Execution]:
    """The executions that a program recorded, at most the first few of each kernel."""
    found: dict[str, list[Execution]] = {kernel.name: [] for kernel in kernels}
    by_name = {kernel.name: kernel for kernel in kernels}
    lines = iter(recorded.splitlines())
    entered: dict[str, State] = {}
    for line in lines:
        _, when, name = line.split()
        state = _state(by_name[name], lines)
        if when == "0":
            entered[name] = state
        elif len(found[name]) < MOST_EXECUTIONS:
            found[name].append(Execution(name, entered[name], state))
    return [execution for group in found.values() for execution in group]


def _state(kernel: ir.Kernel, lines: Iterator[str]) -> State:
    state = State()
    for capture in kernel.captured:
        _, size, *values = next(lines).split()
        for place, value in zip(places(capture), values, strict=True):
            state.values[place], state.sizes[place] = int(value), int(size)
    for stream in kernel.streams:
        for index in product(*map(range, stream.stream.shape)):
            _, closed, head, _, *elements = next(lines).split()
            queue = Queue(closed == "1", int(head), tuple(bytes.fromhex(e) for e in elements))
            state.queues[at(stream.source, index)] = queue
    return state


def places(capture: ir.Capture) -> list[str]:
    """The lvalues of a capture, in the order of its words."""
    shape = capture.what.shape if isinstance(capture.what, ir.Array) else ()
    return [at(capture.source, index) for index in product(*map(range, shape))]


# Replaying


def words_before(capture: ir.Capture, execution: Execution) -> list[int]:
    """A capture's words at entry."""
    values = [execution.before.values[place] >> 32 * (capture.half or 0) for place in places(capture)]
    return [value & ((1 << capture.what.bits) - 1) for value in values]


def compare(capture: ir.Capture, words: Sequence[int], execution: Execution) -> None:
    """Holds a capture's words at exit to the record."""
    if not capture.out:
        return
    for place, word in zip(places(capture), words, strict=True):
        mask = (1 << min(8 * execution.after.sizes[place], capture.what.bits)) - 1
        expected = (execution.after.values[place] >> 32 * (capture.half or 0)) & mask
        if word & mask != expected:
            raise Differs(f"{place} is {word & mask:#x} instead of {expected:#x}")


def cut(element: bytes, words: Sequence[Word]) -> tuple[int, ...]:
    """An element's words."""
    pieces = [(element[w.offset : w.offset + w.size], w) for w in words]
    return tuple(
        int.from_bytes(b, "little", signed=w.signed) & ((1 << max(32, 8 * w.size)) - 1) for b, w in pieces
    )


def waiting(execution: Execution, source: str, words: Sequence[Word]) -> list[tuple[int, ...]]:
    """The elements in a stream at entry."""
    queue = execution.before.queues[source]
    return [cut(element, words) for element in queue.elements[queue.head :]]


def compare_sent(
    source: str, sent: Sequence[tuple[int, ...]], words: Sequence[Word], execution: Execution
) -> None:
    """Holds what a stage sent to the record."""
    old = len(execution.before.queues[source].elements)
    expected = [cut(element, words) for element in execution.after.queues[source].elements[old:]]
    masks = [(1 << 8 * w.size) - 1 for w in words]
    for position, (element, right) in enumerate(zip(sent, expected, strict=False)):
        if any((a ^ b) & mask for a, b, mask in zip(element, right, masks, strict=True)):
            raise Differs(f"element {position} of {source} is {element} instead of {right}")
    if len(sent) != len(expected):
        raise Differs(f"{len(sent)} elements are sent to {source} instead of {len(expected)}")


def compare_closed(source: str, closed: bool, execution: Execution) -> None:
    """Holds whether a stage closed a stream to the record."""
    before, after = execution.before.queues[source], execution.after.queues[source]
    if closed != (after.closed and not before.closed) and not before.closed:
        raise Differs(f"{source} is {'' if closed else 'not '}closed")


def _lateness(kernel: ir.Kernel) -> Callable[[], bool]:
    """Streams of kernels whose receives are bubbles are empty at random moments."""
    chance = Random(kernel.name)
    return lambda: kernel.bubbles and chance.random() < 0.4


def check_ir(kernel: ir.Kernel, execution: Execution, limit: int = 2_000_000) -> None:
    """Runs the kernel in the IR interpreter. Errors: Differs, LimitExceeded."""
    names = [capture.what.name for capture in kernel.captured]
    assert len(set(names)) == len(names), names
    scalars, arrays = {}, {}
    for capture in kernel.captured:
        words = words_before(capture, execution)
        if isinstance(capture.what, ir.Array):
            arrays[capture.what.name] = words
        else:
            scalars[capture.what.name] = words[0]
    ends = {}
    for stream in kernel.streams:
        for index in product(*map(range, stream.stream.shape)):
            name = stream.stream.name + "".join(f"[{i}]" for i in index)
            ends[name] = (at(stream.source, index), stream.stream.words)
    inputs = {name: waiting(execution, source, words) for name, (source, words) in ends.items()}
    ran = run_kernel(kernel, scalars, arrays, inputs, limit, _lateness(kernel))
    for capture in kernel.captured:
        name = capture.what.name
        compare(
            capture,
            ran.arrays[name] if isinstance(capture.what, ir.Array) else [ran.scalars[name]],
            execution,
        )
    for name, (source, words) in ends.items():
        compare_sent(source, ran.outputs.get(name, []), words, execution)
        compare_closed(source, name in ran.closed, execution)


def check_graph(
    kernel: ir.Kernel,
    dfg: DFG,
    execution: Execution,
    design: Design | None = None,
    shuffled: bool = False,
) -> None:
    """Runs the graph in its interpreter, or a design made of it. Errors: Differs, GraphLimitExceeded.

    `shuffled`: its operations are executed in another order that its orders allow.
    """
    names = host_names(kernel)

    def capture(name: str) -> ir.Capture:
        found = names[name]
        assert isinstance(found, ir.Capture)
        return found

    def source(name: str) -> str:
        found = names[name]
        assert isinstance(found, ir.StreamCapture)
        return found.source

    live_ins = [words_before(capture(name), execution)[0] for name in dfg.live_ins]
    memories = {
        m: words_before(capture(memory.name), execution)
        for m, memory in enumerate(dfg.memories)
        if memory.captured_in
    }
    inputs = {
        s: [word for element in waiting(execution, source(port.name), port.words) for word in element]
        for s, port in enumerate(dfg.streams)
        if not port.sends
    }
    ran: DFGRun | SimRun
    if shuffled:
        ran = run_out_of_order(dfg, 0, live_ins, inputs, memories, MOST_SHUFFLED // len(dfg.nodes))
    elif design is None:
        ran = run_dfg(dfg, live_ins, inputs, memories, late=_lateness(kernel))
    else:
        closed = [s for s in inputs if execution.before.queues[source(dfg.streams[s].name)].closed]
        # Whether non-blocking operations succeed depends on when their streams are ready.
        prompt = {n.stream for n in dfg.nodes if n.op in ("try_recv", "try_send") and n.stream is not None}
        jitter = 1 if kernel.bubbles else None
        ran = simulate(
            design, live_ins, inputs, memories, closed=closed, jitter=jitter, prompt=prompt, limit=2_000_000
        )
    for index, name in enumerate(dfg.live_outs):
        compare(capture(name), [ran.live_outs[index]], execution)
    for m, memory in enumerate(dfg.memories):
        if memory.captured_out:
            compare(capture(memory.name), list(ran.memories[m])[: memory.words], execution)
    for s, port in enumerate(dfg.streams):
        if port.sends:
            flat, k = list(ran.outputs.get(s, [])), len(port.words)
            sent = [tuple(flat[i : i + k]) for i in range(0, len(flat), k)]
            compare_sent(source(port.name), sent, port.words, execution)
            compare_closed(source(port.name), s in ran.closed, execution)
        elif isinstance(ran, SimRun):
            _compare_consumed(source(port.name), ran.consumed.get(s, 0), len(port.words), execution)


def _compare_consumed(source: str, words: int, words_each: int, execution: Execution) -> None:
    expected = execution.after.queues[source].head - execution.before.queues[source].head
    if re.search(r"\W", source) is None and words != expected * words_each:
        raise Differs(f"{words} words are consumed from {source} instead of {expected * words_each}")
