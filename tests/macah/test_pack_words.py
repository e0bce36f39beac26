"""Small words of an element move together: the bytes of the element are the same."""

import random

import pytest

from backend.dfg import Word
from backend.run_dfg import run_dfg
from macah import ir
from macah.capacity import GRID
from macah.ir import Apply, Assign, Const, If, Read, Stream, Variable
from macah.pack_words import moved_words
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.todfg import _held, build_dfg

I, X = Variable("i"), Variable("x")
IN = Stream("in", 4, (Word(0, 4, True),))


def words_of(*sizes):
    """Words one after the other, each where its size allows."""
    words, offset = [], 0
    for k, size in enumerate(sizes):
        offset += -offset % size
        words.append(Word(offset, size, k % 2 == 0))
        offset += size
    return tuple(words), offset


def kernel(stream, seed):
    """Sends what is made of what is received, sometimes in one of two branches."""
    chosen = random.Random(seed)

    def send():
        ops = ("add", "xor", "shl", "sub", "zext8", "sext16")
        values = [
            Apply(op, (Read(X),) if "ext" in op else (Read(X), Const(chosen.randrange(9))))
            for op in (chosen.choice(ops) for _ in stream.words)
        ]
        return ir.Send(stream, (), tuple(values))

    body = send() if seed % 2 else If(Apply("slt", (Read(X), Const(0))), (send(),), (send(),))
    step = Assign(I, Apply("add", (Read(I), Const(1))))
    loop = ir.DoWhile((ir.Receive(IN, (), (X,)), body, step), Apply("slt", (Read(I), Const(9))))
    streams = (ir.StreamCapture(IN, "in"), ir.StreamCapture(stream, "out"))
    return ir.Kernel("k", (), streams, (Assign(I, Const(0)), loop))


def written(words, values, size):
    """The bytes of an element."""
    element = bytearray(size)
    for word, value in zip(words, values, strict=True):
        element[word.offset : word.offset + word.size] = (value % 2 ** (8 * word.size)).to_bytes(
            word.size, "little"
        )
    return bytes(element)


SIZES = [
    ((1, 1), 1),
    ((1, 1, 1), 1),
    ((1, 1, 2), 1),
    ((1, 2), 1),
    ((2, 1, 1, 1), 2),
    ((1, 4, 2, 2), 3),
    ((4, 4), 2),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("sizes", "count"), SIZES)
def test_the_bytes_are_the_same(sizes, count, seed):
    words, size = words_of(*sizes)
    stream = Stream("out", size, words)
    made = optimize(kernel(stream, seed))
    given = [(k * 0x9E3779B1 % 2**32,) for k in range(9)]
    dfg = build_dfg(made)
    port = next(k for k, p in enumerate(dfg.streams) if p.sends)
    assert dfg.streams[port].words == moved_words(words) and len(moved_words(words)) == count
    assert sum(n.op == "send" for n in dfg.nodes) == count
    flat = run_dfg(dfg, [], {1 - port: [word for (word,) in given]}).outputs[port]
    sent = [flat[k : k + count] for k in range(0, len(flat), count)]
    wanted = run_kernel(made, inputs={"in": given}).outputs["out"]
    assert [written(moved_words(words), s, size) for s in sent] == [written(words, w, size) for w in wanted]


def receiver(stream, seed):
    """Sends what it has of an element, of which some iterations receive a new one, in one way or another."""
    chosen = random.Random(seed)
    fields = tuple(Variable(f"w{k}") for k in range(len(stream.words)))
    ends = {1: "zext8", 2: "zext16"}, {1: "sext8", 2: "sext16"}
    loose = [Apply("add", (Read(I), Const(chosen.randrange(200)))) for _ in fields]
    starts = tuple(
        Assign(field, Apply(name, (value,)) if (name := ends[word.signed].get(word.size)) else value)
        for field, word, value in zip(fields, stream.words, loose, strict=True)
    )
    test = Apply("slt", (Apply("and", (Read(I), Const(3))), Const(chosen.randrange(5))))
    worked = Variable("worked") if seed % 3 == 2 else None
    receive = ir.Receive(stream, (), fields, worked)
    body = (If(test, (receive,), ()), *(ir.Send(IN, (), (Read(field),)) for field in fields))
    again = (*(starts if seed % 2 else ()), *body, Assign(I, Apply("add", (Read(I), Const(1)))))
    loop = ir.DoWhile(again, Apply("slt", (Read(I), Const(9))))
    streams = (ir.StreamCapture(stream, "in"), ir.StreamCapture(IN, "out"))
    return ir.Kernel("k", (), streams, (Assign(I, Const(0)), *starts, loop))


def values_of(words, element):
    """An element's values, with their signs."""
    parts = [element[word.offset : word.offset + word.size] for word in words]
    return tuple(
        int.from_bytes(part, "little", signed=word.signed) % 2**32
        for part, word in zip(parts, words, strict=True)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("sizes", "count"), SIZES)
def test_an_element_that_came_is_the_same_and_what_none_came_for_is_kept(sizes, count, seed):
    words, size = words_of(*sizes)
    made = optimize(receiver(Stream("elements", size, words), seed))
    elements = [random.Random(k).randbytes(size) for k in range(5)]  # fewer than are asked for
    dfg = build_dfg(made)
    port = next(k for k, p in enumerate(dfg.streams) if not p.sends)
    moved = dfg.streams[port].words
    assert moved == moved_words(words) or (seed % 2 and moved == words)  # where members change otherwise, too
    assert sum("recv" in n.op for n in dfg.nodes) == len(moved) and len(moved_words(words)) == count
    given = [value for element in elements for value in values_of(moved, element)]
    flat = run_dfg(dfg, [], {port: given}).outputs[1 - port]
    inputs = {"elements": [values_of(words, element) for element in elements]}
    wanted = run_kernel(made, inputs=inputs).outputs["in"]
    assert [(word,) for word in flat] == wanted


def assorted(seed):
    """Receives from two streams into two structs, which may change in other ways, too; and what is packed."""
    chosen = random.Random(seed)
    streams = [Stream(name, size, words) for name in "ab" for words, size in (words_of(1, 2, 1),)]
    structs = [tuple(Variable(f"{name}{k}") for k in range(3)) for name in "pq"]
    variables = (*structs[0], *structs[1])
    body = []
    for _ in range(chosen.randrange(2, 6)):
        test = Apply("eq", (Apply("and", (Read(I), Const(chosen.randrange(4)))), Const(chosen.randrange(3))))
        what = chosen.randrange(12)
        target = chosen.choice(structs)
        if what < 10:
            made = ir.Receive(chosen.choice(streams), (), target)
        elif what == 10:
            made = Assign(chosen.choice(target), Const(chosen.randrange(100)))
        else:
            made = Assign(target[1], Apply("zext16", (Apply("add", (Read(target[1]), Read(I))),)))
        body.append(If(test, (made,), ()) if chosen.randrange(2) else made)
        body += [ir.Send(IN, (), (Read(v),)) for v in chosen.sample(variables, 2)]
    body.append(Assign(I, Apply("add", (Read(I), Const(1)))))
    inner = [stmt.then[0] if isinstance(stmt, If) else stmt for stmt in body]
    used = [s for s in streams if any(isinstance(k, ir.Receive) and k.stream is s for k in inner)]
    captures = tuple(ir.StreamCapture(stream, stream.name) for stream in (*used, IN))
    loop = ir.DoWhile(tuple(body), Apply("slt", (Read(I), Const(7))))
    starts = [Assign(v, Const(chosen.randrange(100))) for v in (I, *variables)]
    return ir.Kernel("k", (), captures, (*starts, Assign(I, Const(0)), loop)), used


@pytest.mark.parametrize("again", [False, True])
def test_elements_that_arrive_in_one_way_or_the_other_are_the_same(again):
    kinds = {False: 0, True: 0}
    for seed in range(200):
        made, used = assorted(seed)
        elements = {s.name: [random.Random(k).randbytes(s.size) for k in range(6)] for s in used}
        made = optimize(made)
        dfg, _ = _held(made, GRID, again)
        given = {}
        for k, port in enumerate(dfg.streams):
            if not port.sends:
                given[k] = [v for e in elements[port.name] for v in values_of(port.words, e)]
                kinds[len(port.words) == 3] += 1
        (out,) = (k for k, port in enumerate(dfg.streams) if port.sends)
        inputs = {s.name: [values_of(s.words, e) for e in elements[s.name]] for s in used}
        flat = run_dfg(dfg, [], given).outputs[out]
        assert [(word,) for word in flat] == run_kernel(made, inputs=inputs).outputs["in"], seed
    assert kinds[False] > 40 and (kinds[True] == 0 if again else kinds[True] > 40), kinds


def test_a_kernel_that_receives_what_it_sends_cuts_elements_alike():
    words, size = words_of(1, 1)
    both = Stream("both", size, words)
    body = (ir.Send(both, (), (Read(I), Read(I))), ir.Receive(both, (), (X, Variable("y"))))
    made = ir.Kernel("k", (), (ir.StreamCapture(both, "both"),), body)
    assert [len(port.words) for port in build_dfg(optimize(made)).streams] == [1, 1]
