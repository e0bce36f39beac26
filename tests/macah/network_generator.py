"""Random programs of several threads and kernels that talk through streams, with one possible result.

Each process, a thread in host code or in a kernel, has one function; a stream has one sender and one
receiver. Either the streams make a tree, where no depth and no order of operations on different streams can
lead to a deadlock, or each holds all that is ever sent through it. Non-blocking operations are repeated until
they work, so what they give does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from program_generator import Generator, create, spelled
from program_generator_types import Scalar, Seeded, Struct, Type, Var

DEPTHS = (1, 2, 3, 16, 1, 4, 7)
ALL = 5000
"""More than goes through any stream."""
MARKED = 16
"""Bits of elements that an `int` can hold beside a value that is none."""
RESULTS = 24


@dataclass
class Link:
    """A stream between two processes; `count` is how many elements go through, unless data decide."""

    name: str
    type: Type
    depth: int
    sender: int
    receiver: int
    count: int | None = None
    spawned: str = ""  # the call that creates it, if that is not pstream_create


@dataclass
class Process:
    number: int
    kernel: bool
    inputs: list[Link] = field(default_factory=list)
    outputs: list[Link] = field(default_factory=list)


class Network(Generator):
    """Makes one program; `size` is about the number of statements of each process."""

    def __init__(self, seed: int, size: int = 3) -> None:
        super().__init__(Seeded(seed), wide=False, size=size)
        self.links: list[Link] = []
        self.text: list[str] = []
        self.threads: list[str] = []  # calls, each for a thread of its own
        self.joined: list[str] = []  # what main does when they have ended
        self.shown = 0

    def program(self) -> str:
        head = ["#include <assert.h>", "#include <pthread.h>", "#include <stdio.h>"]
        head.append("enum tint { RED = 0, GREEN = 5, BLUE = 6, DARK = -3 };")
        for _ in range(self.choices.integer(0, 2)):
            head += self.struct()
        functions = [line for _ in range(self.choices.integer(0, 2)) for line in self.function({})]
        for process in self.graph():
            self.process(process)
        streams = [f"static {spelled(k.type)} stream {k.name};" for k in self.links]
        results = [f"static long long shown[{max(self.shown, 1)}][{RESULTS}];"]
        return "\n".join([*head, *functions, *streams, *results, *self.text, *self.main()]) + "\n"

    # Shape

    def graph(self) -> list[Process]:
        """Processes in an order in which senders stand before receivers."""
        count = self.choices.integer(2, 5)
        processes = [Process(k, self.chance(60)) for k in range(count)]
        for k in range(1, count):
            other = self.choices.integer(0, k - 1)
            self.link(processes, *((k, other) if self.chance(40) else (other, k)))
        order = _sorted(processes)
        if self.chance(35):
            for _ in range(self.choices.integer(1, 2)):
                a, b = sorted(self.choices.integer(0, count - 1) for _ in "ab")
                if a < b:
                    self.link(processes, order[a].number, order[b].number)
            for link in self.links:
                link.depth = ALL
        if not any(p.kernel for p in processes):
            processes[0].kernel = True
        return order

    def link(self, processes: list[Process], sender: int, receiver: int) -> None:
        made = Link(self.name("s"), self.any_type(), self.pick(DEPTHS), sender, receiver)
        self.links.append(made)
        processes[sender].outputs.append(made)
        processes[receiver].inputs.append(made)

    # Processes

    def process(self, p: Process) -> None:
        if not p.inputs and len(p.outputs) == 1 and not p.kernel and self.chance(60):
            self.reader(p.outputs[0])
        elif not p.outputs and len(p.inputs) == 1 and not p.kernel and self.chance(60):
            self.writer(p.inputs[0])
        else:
            self.worker(p)

    def worker(self, p: Process) -> None:
        """A function of streams and counts, which a thread runs, or two of them in a chain."""
        ends = [
            (link, f"{'i' if link in p.inputs else 'o'}{k}") for k, link in enumerate([*p.inputs, *p.outputs])
        ]
        heads = [f"{spelled(link.type)} stream {name}" for link, name in ends]
        heads += [f"int n{k}" for k in range(len(p.inputs))] + ["long long *shown"]
        self.scope = {}
        state = self.state([link.type for link, _ in ends])
        body = _Body(p, {link.name: name for link, name in ends}, self.known(p))
        before = len(self.threads)
        server = self.server(p, body) if not p.kernel and self.chance(25) else []
        lines = [*state, *body.declared, *self.work(body), *server]
        results = [f"shown[{k}] = {v};" for k, v in enumerate(self.leaves()[:RESULTS])]
        name = f"p{p.number}"
        self.text += [f"static void {name}({', '.join(heads)}) {{", *_indented([*lines, *results]), "}"]
        self.threads[before:before] = self.calls_of(p, name, not server)

    def calls_of(self, p: Process, name: str, alone: bool) -> list[str]:
        """The function's call; of one that gives what it gets, perhaps two, one behind the other."""
        counts = [str(link.count if link.count is not None else -1) for link in p.inputs]

        def call(ends: list[str]) -> str:
            self.shown += 1
            return f"{name}({', '.join([*ends, *counts, f'shown[{self.shown - 1}]'])});"

        ends = [link.name for link in [*p.inputs, *p.outputs]]
        if len(p.inputs) == len(p.outputs) == 1 and alone and self.chance(50):
            one, other = p.inputs[0], p.outputs[0]
            if one.type == other.type and one.count == other.count and one.depth < ALL:
                between = replace(one, name=self.name("s"), depth=self.pick(DEPTHS), spawned="")
                self.links.append(between)
                return [call([one.name, between.name]), call([between.name, other.name])]
        return [call(ends)]

    def known(self, p: Process) -> bool:
        return all(link.count is not None for link in p.inputs)

    def state(self, types: list[Type]) -> list[str]:
        """Variables of a process, one at least of each type that it sends or receives."""
        lines = []
        wanted = [*dict.fromkeys(types), *[self.any_type() for _ in range(self.choices.integer(0, 2))]]
        for kind in wanted:
            name = self.name("v")
            self.scope[name] = Var(name, kind)
            lines.append(f"{spelled(kind)} {name} = {self.initializer(kind, ())};")
        if self.chance(30):
            name, kind = self.name("a"), self.scalar_type()
            self.scope[name] = Var(name, kind, (4,))
            lines.append(f"{kind.name} {name}[4] = {self.initializer(kind, (4,))};")
        return lines

    def leaves(self) -> list[str]:
        """All scalars in scope, as C."""
        found: list[str] = []
        for var in self.scope.values():
            found += _leaves(var.name, var.type, var.shape)
        return found

    def work(self, body: _Body) -> list[str]:
        """The loops of a process, in a kernel or not, and the ends of its streams."""
        p = body.process
        shuts = [f"pstream_close({body.name_of(link)});" for link in p.outputs]
        inside = self.chance(50)
        rounds = (
            self.choices.integer(2, 3)
            if p.kernel and body.known and len(p.inputs) == 1 and self.chance(30)
            else 1
        )
        lines = self.loops_of(body, rounds)
        if not p.kernel:
            return [*lines, *shuts]
        self.kernels += 1
        if inside and rounds == 1:
            lines, shuts = [*lines, *shuts], []
        kernel = [f"k{self.kernels}: kernel {{", *_indented(lines), "}"]
        if rounds > 1:
            kernel = [f"for (int r = 0; r < {rounds}; r++) {{", *_indented(kernel), "}"]
        return [*kernel, *shuts]

    def loops_of(self, body: _Body, rounds: int) -> list[str]:
        p = body.process
        if not p.inputs:
            count = self.choices.integer(1, 10)
            return [f"for (int i = 0; i < {count}; i++) {{", *_indented(self.turn(body, [], count)), "}"]
        if rounds > 1:
            link = p.inputs[0]
            head = f"for (int i = r; i < n0; i += {rounds}) {{"
            return [head, *_indented(self.turn(body, self.taken(body, link), link.count or 0)), "}"]
        if body.known and self.chance(60):
            return self.counted(body)
        return [line for link in p.inputs for line in self.until_ended(body, link)]

    def counted(self, body: _Body) -> list[str]:
        """One loop that receives as many elements as there will be."""
        inputs = body.process.inputs
        counts = [link.count or 0 for link in inputs]
        if len(set(counts)) == 1 and self.chance(60):
            takes = [line for link in inputs for line in self.taken(body, link)]
            return ["for (int i = 0; i < n0; i++) {", *_indented(self.turn(body, takes, counts[0])), "}"]
        left = [f"int left{k} = n{k};" for k in range(len(inputs))]
        takes = []
        for k, link in enumerate(inputs):
            others = " + ".join(f"left{j}" for j in range(k + 1, len(inputs)))
            last = k == len(inputs) - 1
            condition = f"left{k} > 0" + ("" if last else f" && ({others} == 0 || ({self.pure(1).text}))")
            takes += self.branch(f"if ({condition})", [f"left{k}--;", *self.taken(body, link)], k > 0)
        total = " + ".join(f"left{k}" for k in range(len(inputs)))
        turn = [*takes, *self.turn(body, [], sum(counts))]  # each takes one element
        return [*left, f"while ({total} > 0) {{", *_indented(turn), "}"]

    def branch(self, head: str, lines: list[str], follows: bool) -> list[str]:
        return [("else " if follows else "") + head + " {", *_indented(lines), "}"]

    def until_ended(self, body: _Body, link: Link) -> list[str]:
        """A loop that does something for each element that there is."""
        end = body.name_of(link)
        count = link.count
        if isinstance(link.type, Scalar) and link.type.bits <= MARKED and self.chance(50):
            mark, y = "100000", self.name("y")
            target = self.target(link.type)
            turn = self.turn(body, [f"{target} = {y};"], count)
            first = [f"int {y} = {mark};", f"{y} <? {end};", f"if ({y} == {mark}) break;"]
            return ["for (;;) {", *_indented([*first, *turn]), "}"]
        w = self.name("w")
        turn = self.turn(body, [], count)
        taken = [f"int {w} = 0;", f"{w} :: {self.target(link.type)} <? {end};"]
        inner = [*taken, f"if ({w}) {{", *_indented(turn), "}"]
        return [f"while (!pstream_ended({end})) {{", *_indented(inner), "}"]

    def target(self, kind: Type) -> str:
        """The variable of a process that takes elements of a type."""
        return next(v.name for v in self.scope.values() if v.type == kind and not v.shape)

    def taken(self, body: _Body, link: Link) -> list[str]:
        end, target = body.name_of(link), self.target(link.type)
        if self.chance(80):
            return [f"{target} <? {end};"]
        w = self.name("w")
        return [f"int {w} = 0;", f"while (!{w}) {w} :: {target} <? {end};"]

    def turn(self, body: _Body, takes: list[str], count: int | None) -> list[str]:
        """What is done with each element, `count` times in all."""
        before = dict(self.scope)
        self.budget, self.calls = self.size, 2
        lines = [line for _ in range(self.choices.integer(0, 2)) for line in self.statement(1)]
        for link in body.process.outputs:
            lines += self.sent(body, link, count)
        if body.server is not None:
            lines += body.server
        self.scope = before
        return [*takes, *lines]

    def sent(self, body: _Body, link: Link, count: int | None) -> list[str]:
        kind, end = link.type, body.name_of(link)
        form = self.weighted({"plain": 6, "if": 3, "twice": 1, "tried": 2})
        if isinstance(kind, Struct):
            value = self.whole(kind)
            assert value is not None
        else:
            value = self.pure(2) if form == "tried" else self.expression(2)
        sends = {"plain": 1, "tried": 1, "twice": 2}.get(form)
        body.add(link, None if sends is None or count is None else sends * count)
        line = f"{end} <! {value.text};"
        match form:
            case "if":
                return [f"if ({self.pure(2).text}) {line}"]
            case "twice":
                return [line, line]
            case "tried":
                w = self.name("w")
                return [f"int {w} = 0;", f"while (!{w}) {w} :: {line}"]
        return [line]

    # Others

    def server(self, p: Process, body: _Body) -> list[str]:
        """A kernel that answers each element of a host's process; what the host does when it has ended."""
        asked, answered = self.scalar_type(), self.scalar_type()
        ask, answer = (Link(self.name("s"), kind, self.pick(DEPTHS), -1, -1) for kind in (asked, answered))
        self.links += [ask, answer]
        outer, self.scope = self.scope, {}
        state = self.state([asked, answered])
        got, w = self.target(asked), self.name("w")
        self.budget, self.calls = 2, 1
        before = dict(self.scope)
        lines = self.statement(1)
        reply = [*lines, f"out <! {self.expression(2).text};"]
        self.scope = before
        self.kernels += 1
        loop = [f"int {w} = 0;", f"{w} :: {got} <? in;", f"if ({w}) {{", *_indented(reply), "}"]
        text = [*state, f"k{self.kernels}: kernel {{", "  while (!pstream_ended(in)) {"]
        text += [*_indented(_indented(loop)), "  }", "}"]
        name = f"serve{p.number}"
        head = f"static void {name}({asked.name} stream in, {answered.name} stream out)"
        self.text += [f"{head} {{", *_indented(text), "}"]
        self.threads.append(f"{name}({ask.name}, {answer.name});")
        self.scope = outer
        result = self.name("v")
        self.scope[result] = Var(result, answered)
        body.server = [f"{ask.name} <! {self.pure(1).text};", f"{result} <? {answer.name};"]
        body.declared = [f"{answered.name} {result} = 0;"]
        return [f"pstream_close({ask.name});"]

    def reader(self, link: Link) -> None:
        """A source that is a memory accessor."""
        count, name, kind = self.choices.integer(1, 8), self.name("read"), spelled(link.type)
        data = [f"{kind} data_{name}[8] = {self.initializer(link.type, (8,))};"]
        step = self.pick((1, 3, 5))
        body = [f"for (int i = 0; i < n; i++) s <! m[i * {step} & 7];", "pstream_close(s);"]
        head = f"static void {name}({kind} stream s, const {kind} *m, int n)"
        self.text += [*(f"static {line}" for line in data), f"{head} {{", *_indented(body), "}"]
        link.count = count
        link.spawned = f"mem_reader_spawn_depth({link.depth}, {name}, data_{name}, {count})"
        self.joined.append(f"mem_reader_join({link.name});")

    def writer(self, link: Link) -> None:
        """A sink that is a memory accessor; what it wrote is shown."""
        name, kind = self.name("write"), spelled(link.type)
        w = self.name("w")
        body = ["int at = 0;", "while (!pstream_ended(s)) {", f"  int {w} = 0;", f"  {w} :: m[at & 7] <? s;"]
        body += [f"  at += {w};", "}"]
        head = f"static void {name}({kind} stream s, {kind} *m)"
        self.text += [f"static {kind} data_{name}[8];", f"{head} {{", *_indented(body), "}"]
        link.spawned = f"mem_writer_spawn_depth({link.depth}, {name}, data_{name})"
        self.joined.append(f"mem_writer_join({link.name});")
        self.joined += self.printed(Var(f"data_{name}", link.type, (8,)))

    def main(self) -> list[str]:
        threads = self.threads
        mine = threads.pop(self.choices.integer(0, len(threads) - 1)) if threads else ""
        lines = ['static void show(long long x) { printf("%lld ", x); }']
        for k, call in enumerate(threads):
            lines += [f"static void *thread{k}(void *unused) {{", f"  {call}", "  return unused;", "}"]
        lines += ["int main(void) {", f"  pthread_t thread[{max(len(threads), 1)}];"]
        for link in self.links:
            made = link.spawned or create(link.type).replace("5000", str(link.depth))
            lines.append(f"  {link.name} = {made};")
        lines += [f"  pthread_create(&thread[{k}], NULL, thread{k}, NULL);" for k in range(len(threads))]
        lines += [f"  {mine}"] if mine else []
        lines += [f"  pthread_join(thread[{k}], NULL);" for k in range(len(threads))]
        lines += _indented(self.joined)
        lines += [
            f"  for (int p = 0; p < {max(self.shown, 1)}; p++)",
            f"    for (int k = 0; k < {RESULTS}; k++) show(shown[p][k]);",
        ]
        lines += [f"  pstream_free({link.name});" for link in self.links if not link.spawned]
        return [*lines, "  return 0;", "}"]


@dataclass
class _Body:
    """A process's function while it is made: its streams' names in it, and what goes through them."""

    process: Process
    names: dict[str, str]
    known: bool
    server: list[str] | None = None
    declared: list[str] = field(default_factory=list)
    sums: dict[str, int | None] = field(default_factory=dict)

    def name_of(self, link: Link) -> str:
        return self.names[link.name]

    def add(self, link: Link, count: int | None) -> None:
        before = self.sums.get(link.name, 0)
        self.sums[link.name] = None if before is None or count is None else before + count
        link.count = self.sums[link.name]


def _sorted(processes: list[Process]) -> list[Process]:
    order: list[Process] = []
    while len(order) < len(processes):
        done = {p.number for p in order}
        order += [
            p for p in processes if p.number not in done and all(link.sender in done for link in p.inputs)
        ][:1]
    return order


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


def _leaves(text: str, kind: Type, shape: tuple[int, ...]) -> Iterator[str]:
    if shape:
        for k in range(shape[0]):
            yield from _leaves(f"{text}[{k}]", kind, shape[1:])
    elif isinstance(kind, Scalar):
        yield text
    else:
        for name, member, inner in kind.members:
            yield from _leaves(f"{text}.{name}", member, inner)
