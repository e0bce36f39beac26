"""Random kernels, built directly in the IR, and runs of them that can be compared.

They never read what is unspecified, so that every correct transformation leaves their results alone.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import product

from backend.dfg import Word
from backend.run_dfg import run_dfg
from macah import ir
from macah.ir import Apply, Array, Assign, Const, Load, Read, Stream, Variable
from macah.run import run_kernel

COMPARE = ("eq", "ne", "slt", "sle", "ult", "ule")
BINARY = ("add", "add", "sub", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax", "absdiff")
UNARY = ("neg", "not", "abs", "mov")
NARROW = ("sext8", "sext16", "zext8", "zext16")
SHIFTS = ("shl", "shr", "sar", "rotl")
DIVISIONS = ("sdiv", "srem", "udiv", "urem")
INTERESTING = (0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 100, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
INT = Word(0, 4, True)


def seldom_shortened(kernel: ir.Kernel, seed: int) -> ir.Kernel:
    """The kernel, of which recurrences are shortened for one seed in four: that takes most of the time."""
    return kernel if seed % 4 == 0 else replace(kernel, without=kernel.without | {"shorten"})


class Maker:
    """Makes one random kernel: `wide` with 64-bit values, `flat` in the final form."""

    def __init__(self, seed: int, *, flat: bool = False, wide: bool = False, divisions: bool = True) -> None:
        self.random = random.Random(seed)
        self.flat, self.wide, self.divisions = flat, wide, divisions
        self.shifts = not flat  # and calls
        self.captured = [Variable(f"c{i}", self.bits()) for i in range(3)]
        self.locals = [Variable(f"v{i}", self.bits()) for i in range(4)]
        self.variables = [*self.captured, *self.locals]
        self.arrays = [Array("a", (8,)), Array("b", (2, 4))]
        if wide:
            self.arrays.append(Array("w", (4,), ir.ElementType(64, True)))
        # shifted, and so never read where a shift vacated them
        self.delay = Array("d", (4,), shiftable=(True,))
        self.window = Array("e", (2, 5), shiftable=(False, True))
        self.functions: list[ir.Function] = []
        self.table = Array("t", (4,), ir.ElementType(8, False), initial=(3, 1, 4, 1))
        words = (INT, Word(8, 8, True), Word(16, 4, False)) if wide else (INT, Word(4, 4, False))
        self.streams = [Stream("s", 4, (INT,)), Stream("p", 24, words)]
        self.sinks = [Stream("o", 4, (INT,)), Stream("q", 24, words)]
        self.fixed: list[Variable] = []  # loop counters: read but not assigned by random statements
        self.labels: list[ir.Label] = []

    def bits(self) -> int:
        return self.random.choice((32, 64)) if self.wide else 32

    # --- Expressions

    def constant(self, bits: int) -> Const:
        value = self.random.choice(INTERESTING)
        if bits == 64 and self.random.random() < 0.5:
            value = self.random.choice(
                (value << 32 | self.random.choice(INTERESTING), -value & (1 << 64) - 1)
            )
        return Const(value, bits)

    def leaf(self, bits: int) -> ir.Expr:
        candidates = [v for v in (*self.variables, *self.fixed) if v.bits == bits]
        if candidates and self.random.random() < 0.75:
            return Read(self.random.choice(candidates))
        return self.constant(bits)

    def expr(self, depth: int, bits: int = 32) -> ir.Expr:
        r, below = self.random, depth - 1
        if depth == 0 or r.random() < 0.15:
            return self.leaf(bits)
        kinds = ["binary"] * 4 + ["compare", "unary", "narrow", "shift", "select", "load"]
        kinds += ["divide"] if self.divisions else []
        kinds += ["convert"] * 2 if self.wide else []
        match r.choice(kinds):
            case "binary":
                return Apply(r.choice(BINARY), (self.expr(below, bits), self.expr(below, bits)), bits)
            case "compare":
                width = self.bits()
                result = Apply(r.choice(COMPARE), (self.expr(below, width), self.expr(below, width)))
                return result if bits == 32 else Apply("zext32", (result,), 64)
            case "unary":
                return Apply(r.choice(UNARY), (self.expr(below, bits),), bits)
            case "narrow":
                return Apply(r.choice(NARROW), (self.expr(below, bits),), bits)
            case "shift":
                count = self.expr(below) if r.random() < 0.5 else Const(r.choice(INTERESTING))
                return Apply(r.choice(SHIFTS), (self.expr(below, bits), count), bits)
            case "select":
                arms = (self.expr(below, bits), self.expr(below, bits))
                return Apply("select", (self.expr(below), *arms), bits)
            case "divide":
                return Apply(r.choice(DIVISIONS), (self.expr(below, bits), self.expr(below, bits)), bits)
            case "convert" if bits == 64:
                return Apply(r.choice(("sext32", "zext32")), (self.expr(below),), 64)
            case "convert":
                return Apply("trunc", (self.expr(below, 64),))
            case _:
                array = r.choice([a for a in self.readable() if a.bits == bits] or [None])
                return Load(array, self.index(array)) if array else self.leaf(bits)

    def readable(self) -> list[Array]:
        return [*self.arrays, self.table, *([self.delay, self.window] if self.shifts else [])]

    def index(self, array: Array) -> tuple[ir.Expr, ...]:
        """In range; sometimes constant."""
        return tuple(
            Const(self.random.randrange(n))
            if self.random.random() < 0.4
            else Apply("and" if n & (n - 1) == 0 else "urem", (self.expr(1), Const(n - (n & (n - 1) == 0))))
            for n in array.shape
        )

    def guard(self) -> ir.Expr:
        if not self.flat or self.random.random() < 0.4:
            return ir.TRUE
        if self.random.random() < 0.1:
            return self.expr(1)
        return Apply(self.random.choice(COMPARE), (self.expr(1), self.expr(1)))

    # --- Statements

    def simple(self) -> ir.Stmt:
        r = self.random
        match r.choice(("assign",) * 5 + ("store",) * 2 + ("receive", "send", "ended")):
            case "assign":
                variable = r.choice(self.variables)
                return Assign(variable, self.expr(3, variable.bits))
            case "store":
                array = r.choice(self.arrays)
                return ir.Store(array, self.index(array), self.expr(2, array.bits), self.guard())
            case "receive":
                if not self.streams:
                    return self.simple()
                stream = r.choice(self.streams)
                targets = self.distinct([64 if w.size == 8 else 32 for w in stream.words])
                if targets is None:
                    return self.simple()
                worked = self.distinct([32], targets)
                return ir.Receive(stream, (), targets, worked and r.choice((worked[0], None)), self.guard())
            case "send":
                stream = r.choice(self.sinks)
                values = tuple(self.expr(2, 64 if w.size == 8 else 32) for w in stream.words)
                worked = self.distinct([32])
                return ir.Send(stream, (), values, worked and r.choice((worked[0], None)), self.guard())
            case _:
                target = self.distinct([32])
                if not self.streams or not target:
                    return self.simple()
                return ir.Ended(r.choice(self.streams), (), target[0], self.guard())

    def distinct(self, widths: list[int], without: tuple[Variable, ...] = ()) -> tuple[Variable, ...] | None:
        left = [v for v in self.variables if v not in without]
        found = []
        for width in widths:
            fitting = [v for v in left if v.bits == width]
            if not fitting:
                return None
            found.append(self.random.choice(fitting))
            left.remove(found[-1])
        return tuple(found)

    def body(self, size: int, depth: int) -> ir.Body:
        result: list[ir.Stmt] = []
        for _ in range(size):
            if self.flat or depth == 0 or self.random.random() < 0.6:
                result.append(self.simple())
            else:
                result.extend(self.structure(depth - 1))
        return tuple(result)

    def shift(self) -> ir.Body:
        """A shift by one place or by none, and what comes in."""
        r = self.random
        array = r.choice((self.delay, self.window))
        upwards = r.random() < 0.5
        amount: ir.Expr = Const(1 if upwards else 0xFFFFFFFF)
        if r.random() < 0.3:
            amount = Apply("and", (self.expr(1), Const(1)))
            amount = amount if upwards else Apply("neg", (amount,))
        place = Const(0 if upwards else array.shape[-1] - 1)
        entering = Variable("entering")
        start: list[ir.Stmt] = [Assign(entering, self.expr(1))]
        rows: list[tuple[ir.Expr, ...]] = [()]
        index: tuple[ir.Expr, ...] = ()
        if array is self.window and r.random() < 0.5:
            rows = [(Const(0),), (Const(1),)]
        elif array is self.window:
            row = Variable("row")
            start.append(Assign(row, r.choice((Const(1), Apply("and", (self.expr(1), Const(1)))))))
            index = (Read(row),)
            rows = [index]
        stores = [ir.Store(array, (*row, place), Read(entering)) for row in rows]
        return (*start, ir.Shift(array, index, amount), *stores)

    def function(self, number: int) -> ir.Function:
        """A function of an array, a stream and a value; it may return early."""
        saved = self.variables, self.captured, self.arrays, self.sinks, self.streams, self.fixed
        saved_shifted = self.delay, self.window
        p, s, x = Array("p", (4,)), Stream("s", 4, (INT,)), Variable("x", self.bits())
        own, result = Variable("own"), Variable("result", self.bits())
        self.variables, self.arrays, self.sinks, self.streams = [x, own, result], [p], [s], []
        self.fixed, back, outer = [], ir.Label("return"), self.labels
        self.labels = [back]
        start = (Assign(own, Const(0)), Assign(result, Const(0, result.bits)))
        flat, self.shifts = self.shifts, False
        body = (*start, ir.Block(back, self.body(4, 2)))
        self.shifts, self.labels = flat, outer
        self.variables, self.captured, self.arrays, self.sinks, self.streams, self.fixed = saved
        self.delay, self.window = saved_shifted
        return ir.Function(f"f{number}", (p, s, x), (result,), body)

    def call(self) -> ir.Body:
        r = self.random
        if len(self.functions) < 2:
            calls, self.shifts = self.shifts, False
            self.functions.append(self.function(len(self.functions)))
            self.shifts = calls
        function = r.choice(self.functions)
        row = self.index(self.arrays[1])[:1]
        view = r.choice(
            (
                ir.View(self.arrays[0], (Apply("and", (self.expr(1), Const(3))),)),
                ir.View(self.arrays[1], (*row, Const(0))),
                ir.View(self.delay),
            )
        )
        x = function.parameters[2]
        target = self.distinct([function.results[0].bits])
        if target is None:
            return ()
        arguments = (view, ir.StreamView(self.sinks[0]), self.expr(2, x.bits))
        return (ir.Call(function, arguments, target),)

    def structure(self, depth: int) -> ir.Body:
        r, size = self.random, 3
        kinds = ("if", "if", "while", "do", "block", "for", "leave")
        match r.choice(kinds + ("shift", "call") * self.shifts):
            case "shift":
                return self.shift()
            case "call":
                return self.call()
            case "if":
                orelse = self.body(r.randrange(3), depth)
                return (ir.If(self.expr(2), self.body(size, depth), orelse),)
            case "while":
                return self.counted(lambda c: (ir.While(self.body(1, 0), *c),), self.body(size, depth))
            case "do":
                guard = self.guarded()
                return self.counted(lambda c: (ir.DoWhile(c[1], c[0], guard),), self.body(size, depth))
            case "for":
                return (self.unrolled(depth),)
            case "leave" if self.labels:
                return (ir.If(self.expr(1), (ir.Leave(r.choice(self.labels)),)),)
            case _:
                label = ir.Label(f"l{len(self.labels)}")
                self.labels.append(label)
                body = self.body(size, depth)
                self.labels.pop()
                return (ir.Block(label, body),)

    def guarded(self) -> ir.Expr:
        return ir.TRUE if self.random.random() < 0.5 else self.expr(1)

    def counted(self, loop, body: ir.Body) -> ir.Body:
        """A loop of at most a few iterations; the counter steps first, whatever leaves the rest."""
        count = Variable("count")
        limit = Const(self.random.randrange(5))
        step = Assign(count, Apply("add", (Read(count), Const(1))))
        more = Apply("slt", (Read(count), limit))
        if self.random.random() < 0.3:
            more = Apply("and", (more, Apply("ne", (self.expr(1), self.expr(1)))))
        return (Assign(count, Const(0)), *loop((more, (step, *body))))

    def unrolled(self, depth: int) -> ir.Stmt:
        i = Variable("i")
        more = Apply("slt", (Read(i), Const(self.random.randrange(4))))
        step = (Assign(i, Apply("add", (Read(i), Const(1)))),)
        self.fixed.append(i)
        body = self.body(2, min(depth, 1))
        self.fixed.remove(i)
        return ir.UnrolledFor((Assign(i, Const(0)),), (), more, body, step)

    # --- Kernels

    def kernel(self, size: int = 8, depth: int = 3) -> ir.Kernel:
        leading = tuple(Assign(v, self.start(v)) for v in self.locals)
        if self.flat:
            body = (*leading, *self.loop(size))
        else:
            places = [(self.delay, (Const(i),)) for i in range(4)]
            fill = [ir.Store(array, place, self.expr(1)) for array, place in places]
            body = (*leading, *fill, *self.body(size, depth))
            self.arrays.append(self.window)
        arrays = [
            ir.Capture(a, a.name + "".join(f"[{{{d}}}]" for d in range(len(a.shape))), "int", True, True)
            for a in self.arrays
        ]
        scalars = [ir.Capture(v, v.name, "int", True, True) for v in self.captured]
        streams = [ir.StreamCapture(s, s.name) for s in (*self.streams, *self.sinks)]
        return ir.Kernel("random", (*scalars, *arrays), tuple(streams), body)

    def start(self, variable: Variable) -> ir.Expr:
        same = [v for v in self.captured if v.bits == variable.bits]
        if same and self.random.random() < 0.3:
            return Read(self.random.choice(same))
        return self.random.choice((Const(0, variable.bits), self.constant(variable.bits)))

    def loop(self, size: int) -> ir.Body:
        count = Variable("count")
        self.fixed.append(count)
        step = Assign(count, Apply("add", (Read(count), Const(1))))
        more = Apply("slt", (Read(count), Const(self.random.randrange(6))))
        other = Apply("ne", (self.expr(1), self.expr(1)))
        condition = self.random.choice((more, Apply("and", (more, other))))
        start = Assign(count, Const(0))
        return (start, ir.DoWhile((*self.body(size, 0), step), condition))

    def data(self) -> dict:
        """Captured values and elements of streams to run the kernel with."""
        r = self.random

        def word(bits: int) -> int:
            return r.choice((r.choice(INTERESTING), r.getrandbits(bits)))

        return {
            "scalars": {v.name: word(v.bits) for v in self.captured},
            "arrays": {a.name: [word(a.bits) for _ in range(a.size)] for a in self.arrays},
            "inputs": {
                s.name: [tuple(word(8 * w.size) for w in s.words) for _ in range(r.randrange(12))]
                for s in self.streams
            },
        }


# --- Runs


def outcome(kernel: ir.Kernel, data: dict) -> dict:
    """What a run of the kernel leaves."""
    run = run_kernel(kernel, **data)
    return {"scalars": run.scalars, "arrays": run.arrays, "outputs": run.outputs}


def outcome_after(original: ir.Kernel, kernel: ir.Kernel, data: dict) -> dict:
    """What a run of a transformed kernel leaves, in the terms of the original."""
    parts = _Parts(original, data)
    mine = [c.what for c in kernel.captured]
    run = run_kernel(
        kernel,
        {v.name: parts.get(v.name)[0] for v in mine if isinstance(v, Variable)},
        {a.name: parts.get(a.name) for a in mine if isinstance(a, Array)},
        parts.inputs(halved=all(w.size < 8 for c in kernel.streams for w in c.stream.words)),
    )
    for capture in kernel.captured:
        if capture.out:
            name = capture.what.name
            parts.put(name, [run.scalars[name]] if name in run.scalars else run.arrays[name])
    return parts.outcome(run.outputs)


def outcome_of_graph(original: ir.Kernel, dfg, data: dict) -> dict:
    """What a run of a kernel's graph leaves, in the terms of the original."""
    parts = _Parts(original, data)
    given = parts.inputs(halved=True)
    inputs = {
        i: [word for element in given.get(port.name, ()) for word in element]
        for i, port in enumerate(dfg.streams)
        if not port.sends
    }
    memories = {i: parts.get(m.name) for i, m in enumerate(dfg.memories) if m.captured_in}
    run = run_dfg(dfg, [parts.get(name)[0] for name in dfg.live_ins], inputs, memories)
    for name, value in zip(dfg.live_outs, run.live_outs, strict=True):
        parts.put(name, [value])
    for i, memory in enumerate(dfg.memories):
        if memory.captured_out:
            parts.put(memory.name, run.memories[i])
    outputs = {}
    for i, port in enumerate(dfg.streams):
        if port.sends and run.outputs[i]:
            count, words = len(port.words), run.outputs[i]
            outputs[port.name] = [tuple(words[k : k + count]) for k in range(0, len(words), count)]
    return parts.outcome(outputs)


class _Parts:
    """Captured values by the names that parts of them get: `a[1][]` of arrays, halves `x.lo`, `x.hi`."""

    def __init__(self, original: ir.Kernel, data: dict) -> None:
        self.scalars = {c.what.name: c.what for c in original.captured if isinstance(c.what, Variable)}
        self.arrays = {c.what.name: c.what for c in original.captured if isinstance(c.what, Array)}
        self.streams = {c.stream.name: c.stream for c in original.streams}
        self.values = {name: [data["scalars"].get(name, 0)] for name in self.scalars}
        self.values |= {
            n: [*data["arrays"].get(n, ()), *[0] * a.size][: a.size] for n, a in self.arrays.items()
        }
        self.elements = data["inputs"]

    def places(self, name: str) -> tuple[str, list[int], str]:
        """What a part belongs to, its elements there, and its half."""
        base, fixed, half = re.fullmatch(r"(\w+)((?:\[\d*\])*)(\.lo|\.hi)?", name).groups()
        if not fixed:
            return base, list(range(len(self.values[base]))), half or ""
        wanted = re.findall(r"\[(\d*)\]", fixed)
        ranges = [
            range(n) if w == "" else (int(w),) for w, n in zip(wanted, self.arrays[base].shape, strict=True)
        ]
        places = []
        for index in product(*ranges):
            place = 0
            for i, n in zip(index, self.arrays[base].shape, strict=True):
                place = place * n + i
            places.append(place)
        return base, places, half or ""

    def get(self, name: str) -> list[int]:
        base, places, half = self.places(name)
        values = [self.values[base][place] for place in places]
        return [v >> 32 * (half == ".hi") & 0xFFFFFFFF for v in values] if half else values

    def put(self, name: str, values: list[int]) -> None:
        base, places, half = self.places(name)
        for place, value in zip(places, values, strict=True):
            old = self.values[base][place]
            if half == ".lo":
                value |= old & ~0xFFFFFFFF
            elif half == ".hi":
                value = old & 0xFFFFFFFF | value << 32
            self.values[base][place] = value

    def inputs(self, halved: bool = False) -> dict:
        """The elements of the streams; `halved`: with two words for each of 8 bytes."""
        if not halved:
            return self.elements
        return {
            name: [self.halved(name, element) for element in elements]
            for name, elements in self.elements.items()
        }

    def halved(self, name: str, element: tuple[int, ...]) -> tuple[int, ...]:
        result: list[int] = []
        for word, value in zip(self.streams[name].words, element, strict=True):
            result += [value & 0xFFFFFFFF, value >> 32] if word.size == 8 else [value]
        return tuple(result)

    def outcome(self, outputs: dict) -> dict:
        scalars = {name: self.values[name][0] for name in self.scalars}
        return {
            "scalars": scalars,
            "arrays": {name: self.values[name] for name in self.arrays},
            "outputs": {name: self.joined(name, elements) for name, elements in outputs.items()},
        }

    def joined(self, name: str, elements: list) -> list:
        words = self.streams[name].words
        if not elements or len(elements[0]) == len(words):
            return elements
        result = []
        for element in elements:
            left = list(element)
            whole = []
            for word in words:
                low = left.pop(0)
                whole.append(low | left.pop(0) << 32 if word.size == 8 else low)
            result.append(tuple(whole))
        return result
