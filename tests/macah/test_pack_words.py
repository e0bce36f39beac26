"""Small words of an element are sent together: the bytes of the element are the same."""

import random

import pytest

from backend.dfg import Word
from backend.run_dfg import run_dfg
from macah import ir
from macah.ir import Apply, Assign, Const, If, Read, Stream, Variable
from macah.pack_words import sent_words
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.todfg import build_dfg

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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((1, 1), 1),
        ((1, 1, 1), 1),
        ((1, 1, 2), 1),
        ((1, 2), 1),
        ((2, 1, 1, 1), 2),
        ((1, 4, 2, 2), 3),
        ((4, 4), 2),
    ],
)
def test_the_bytes_are_the_same(sizes, count, seed):
    words, size = words_of(*sizes)
    stream = Stream("out", size, words)
    made = optimize(kernel(stream, seed))
    given = [(k * 0x9E3779B1 % 2**32,) for k in range(9)]
    dfg = build_dfg(made)
    port = next(k for k, p in enumerate(dfg.streams) if p.sends)
    assert dfg.streams[port].words == sent_words(words) and len(sent_words(words)) == count
    assert sum(n.op == "send" for n in dfg.nodes) == count
    flat = run_dfg(dfg, [], {1 - port: [word for (word,) in given]}).outputs[port]
    sent = [flat[k : k + count] for k in range(0, len(flat), count)]
    wanted = run_kernel(made, inputs={"in": given}).outputs["out"]
    assert [written(sent_words(words), s, size) for s in sent] == [written(words, w, size) for w in wanted]


def test_a_kernel_that_receives_what_it_sends_cuts_elements_alike():
    words, size = words_of(1, 1)
    both = Stream("both", size, words)
    body = (ir.Send(both, (), (Read(I), Read(I))), ir.Receive(both, (), (X, Variable("y"))))
    made = ir.Kernel("k", (), (ir.StreamCapture(both, "both"),), body)
    assert [len(port.words) for port in build_dfg(optimize(made)).streams] == [2, 2]
