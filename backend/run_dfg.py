"""The meaning of a dataflow graph: an interpreter, one iteration after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arch.ops import OPAQUE_OPS, OPS, RECEIVES
from backend.dfg import DFG, Const, LiveIn, Node, Operand, Use, evaluation_order

WIDTH = 32
EXTRA = 3  # iterations tried past the exit, to see that they are guarded off

_GUARDED = {
    "store": 2,
    "recv": 1,
    "try_recv": 1,
    "await": 1,
    "send": 1,
    "try_send": 1,
    "close": 0,
    "send_close": 1,
    "result": 1,
    "stop": 0,
    "fail": 0,
}


class GraphRunFailed(Exception):
    """The run could not be finished."""


class GraphAssertionFailed(GraphRunFailed):
    """An assertion of the program failed."""


class GraphLimitExceeded(GraphRunFailed):
    """The run took too many iterations."""


@dataclass(frozen=True, slots=True)
class DFGRun:
    """What a run left: words sent by stream index, live-outs and memories by index."""

    outputs: dict[int, list[int]]
    live_outs: list[int]
    memories: dict[int, list[int]]
    iterations: int
    closed: frozenset[int] = frozenset()


def run_dfg(
    dfg: DFG,
    live_ins: Sequence[int] = (),
    inputs: Mapping[int, Sequence[int]] | None = None,
    memories: Mapping[int, Sequence[int]] | None = None,
    limit: int = 10**6,
    late: Callable[[], bool] = lambda: False,
) -> DFGRun:
    """Run a graph; `inputs` gives the words of each receiving stream, which has ended after them.

    Sends always work, and addresses out of range read 0 and store nothing. `late` says at each `await`
    whether it would have to wait.
    """
    machine = Machine(dfg, live_ins, inputs or {}, memories or {}, late)
    iteration = 0
    while not machine.stopped:
        if iteration >= limit:
            raise GraphLimitExceeded(f"{dfg.name}: more than {limit} iterations")
        machine.iterate(iteration)
        iteration += 1
    for extra in range(EXTRA):
        machine.iterate(iteration + extra)
    return DFGRun(
        machine.outputs,
        machine.live_outs,
        dict(enumerate(machine.memories)),
        iteration,
        frozenset(machine.closed),
    )


def stand_in(node: int, operands: Sequence[int]) -> int:
    """What an opaque operation makes of its operands: a word that depends on each, and on the node."""
    word = node + 1
    for operand in operands:
        word = ((word << 5 | word >> 27) ^ operand) * 0x9E3779B1 & 0xFFFFFFFF
    return word


class Machine:
    """A run of a graph: what has been computed so far, and where its streams and memories stand.

    `past[n]` holds the results of node n in the last `depth` iterations; `late` says whether an `await` finds
    nothing yet.
    """

    def __init__(
        self,
        dfg: DFG,
        live_ins: Sequence[int],
        inputs: Mapping[int, Sequence[int]],
        memories: Mapping[int, Sequence[int]],
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        assert len(live_ins) == len(dfg.live_ins), dfg.live_ins
        self.dfg = dfg
        self.late = late
        self.live_ins = live_ins
        self.order = [dfg.nodes[node] for node in evaluation_order(dfg)]
        self.depth = 1 + max((use.distance for _, _, use in dfg.uses()), default=0)
        self.past: list[list[tuple[int, ...]]] = [[()] * self.depth for _ in dfg.nodes]
        self.inputs = {s: deque(inputs.get(s, ())) for s, p in enumerate(dfg.streams) if not p.sends}
        self.asked = {node.stream for node in dfg.nodes if node.op == "ended"}
        for stream, words in self.inputs.items():
            assert len(words) % len(dfg.streams[stream].words) == 0, dfg.streams[stream].name
        self.outputs: dict[int, list[int]] = {s: [] for s, p in enumerate(dfg.streams) if p.sends}
        self.closed: set[int] = set()
        self.memories = [[*m.initial, *[0] * (m.words - len(m.initial))] for m in dfg.memories]
        for memory, content in memories.items():
            assert len(content) <= dfg.memories[memory].words, dfg.memories[memory].name
            self.memories[memory][: len(content)] = content
        self.live_outs = [0] * len(dfg.live_outs)
        self.stopped = False
        self.over = False

    def iterate(self, iteration: int) -> None:
        self.over = self.stopped
        slot = iteration % self.depth
        for node in self.order:
            operands = [self.operand(operand, iteration) for operand in node.operands]
            self.past[node.id][slot] = self.node(node, operands)

    def operand(self, operand: Operand, iteration: int) -> int:
        """The word that an operand has in an iteration."""
        match operand:
            case Const(value):
                return value
            case LiveIn(index):
                return self.live_ins[index]
            case Use(node, distance, initial, output):
                if iteration < distance:
                    return self.operand(initial, iteration)
                return self.past[node][(iteration - distance) % self.depth][output]

    def node(self, node: Node, operands: list[int]) -> tuple[int, ...]:
        """The results of an operation, whose effects happen."""
        op = OPS[node.op]
        if op.evaluate is not None:
            return (op.evaluate(WIDTH, *operands),)
        if node.op in OPAQUE_OPS:
            return (stand_in(node.id, operands),)
        if self.over and node.op in _GUARDED and not self.has_ended(node):
            assert not operands[_GUARDED[node.op]], f"{self.dfg.name}: an effect past the exit: {node}"
        if node.stream is not None:
            return self.stream(node, node.stream, operands)
        if node.memory is not None:
            return self.memory(node.op, self.memories[node.memory], operands)
        self.control(node, operands)
        return ()

    def has_ended(self, node: Node) -> bool:
        """Whether an operation would receive, where the graph has been told that no more is to come."""
        asked = node.op in RECEIVES and node.stream in self.asked
        return asked and node.stream is not None and not self.inputs[node.stream]

    def stream(self, node: Node, stream: int, operands: list[int]) -> tuple[int, ...]:
        """The results of an operation on a stream; inputs that have run out are closed."""
        match node.op, operands:
            case "recv", [old, guard]:
                waiting = self.inputs[stream]
                return (waiting.popleft() if guard and waiting else old,)
            case "try_recv", [old, guard]:
                waiting = self.inputs[stream]
                return (waiting.popleft(), 1) if guard and waiting else (old, 0)
            case "await", [old, guard]:
                if guard and self.late():
                    return old, 0
                return (self.inputs[stream].popleft() if guard and self.inputs[stream] else old), 1
            case (("send" | "try_send"), [value, guard]):
                if guard:
                    self.outputs[stream].append(value)
                return (int(guard != 0),) if node.op == "try_send" else ()
            case "send_close", [value, what]:
                if what & 1:
                    self.outputs[stream].append(value)
                if what & 2:
                    self.closed.add(stream)
                return ()
            case "ended", [guard]:
                return (int(bool(guard) and not self.inputs[stream]),)
            case "close", [guard]:
                if guard:
                    self.closed.add(stream)
                return ()
        raise AssertionError(node)

    def memory(self, op: str, memory: list[int], operands: list[int]) -> tuple[int, ...]:
        match op, operands:
            case "load", [address]:
                return (memory[address] if address < len(memory) else 0,)
            case "store", [address, value, guard]:
                if guard and address < len(memory):
                    memory[address] = value
                return ()
        raise AssertionError(op)

    def control(self, node: Node, operands: list[int]) -> None:
        """A result, the end of the loop, or an assertion. Errors: GraphAssertionFailed."""
        match node.op, operands:
            case "result", [value, guard]:
                if guard:
                    self.live_outs[node.index] = value
            case "stop", [guard]:
                self.stopped = self.stopped or guard != 0
            case "fail", [guard]:
                if guard:
                    raise GraphAssertionFailed(f"{node.where}: {self.dfg.assertions[node.index]}")
