"""What tests of passes that flatten nests share."""

from contextlib import suppress
from pathlib import Path
from random import Random

from control_kernels import IN, OUT
from kernels import seldom_shortened
from nest_kernels import SIZE

from backend.run_dfg import run_dfg
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import PIPELINE, optimize
from macah.program import read_program
from macah.run import KernelRun, LimitExceeded, run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg


def lowered(body: str, tmp_path: Path) -> ir.Kernel:
    source = tmp_path / "p.macah"
    source.write_text(
        f"static int a[64], b[64], y[64]; int f(int n, int x) {{ kernel {{ {body} }} return x + y[0]; }}\n"
    )
    program = read_program(source)
    return lower(program, program.kernels[0])


def differs(made: ir.Kernel, name: str) -> bool:
    """True if the pass does something."""
    stages: dict[str, ir.Kernel] = {}
    optimize(made, lambda step, after: stages.update({step: after}))
    names = [step.name for step in PIPELINE]
    return show_kernel(stages[name]) != show_kernel(stages[names[names.index(name) - 1]])


def given(seed: int) -> tuple[dict[str, int], dict[str, list[int]], dict[str, list[tuple[int, ...]]]]:
    source = Random(seed)
    scalars = {"n": source.randint(-1, 7), "x": source.randint(0, 5), "y": source.randint(0, 3), "sum": 1}
    table = [source.choice((0, 1, 2, 3, 5, 9, (1 << 32) - 1)) for _ in range(SIZE)]
    arrays = {"table": table, "data": [source.randint(0, 9) for _ in range(SIZE)]}
    return scalars, arrays, {"in": [(source.randint(0, 99),) for _ in range(30)]}


def agrees(made: ir.Kernel, seed: int) -> bool:
    """Whether a random nest of the seed runs at all, in its final form and as a graph as it does itself."""
    runs: list[tuple[int, KernelRun]] = []
    for number in range(3 * seed, 3 * seed + 3):
        with suppress(LimitExceeded):
            runs.append((number, run_kernel(made, *given(number), limit=4000)))
    final = optimize(seldom_shortened(made, seed))
    dfg = build_dfg(final)
    out = [c.what.name for c in made.captured if c.out]
    for number, expected in runs:
        scalars, arrays, inputs = given(number)
        got = run_kernel(final, scalars, arrays, inputs)
        assert (got.outputs, got.closed) == (expected.outputs, expected.closed)
        for name in out:
            assert got.scalars.get(name) == expected.scalars.get(name), name
            assert got.arrays.get(name) == expected.arrays.get(name), name
        words = {s: [w for (w,) in inputs[IN.name]] for s, port in enumerate(dfg.streams) if not port.sends}
        memories = {m: arrays[memory.name] for m, memory in enumerate(dfg.memories) if memory.captured_in}
        ran = run_dfg(dfg, [scalars.get(v, 0) % (1 << 32) for v in dfg.live_ins], words, memories)
        assert ran.live_outs == [expected.scalars[name] for name in dfg.live_outs]
        for m, memory in enumerate(dfg.memories):
            if memory.captured_out:
                assert list(ran.memories[m])[: memory.words] == expected.arrays[memory.name]
        sent = [w for s, port in enumerate(dfg.streams) if port.sends for w in ran.outputs.get(s, ())]
        assert sent == [w for (w,) in expected.outputs.get(OUT.name, ())]
    return bool(runs)
