"""Random programs mean the same to gcc, the IR interpreter after every pass, and the graph interpreter."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from program_generator import Generator
from stage_runner import Host, converted, run_graph, run_ir

from arch.describe import load_fabric
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from macah.diagnostic import MacahError
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import LimitExceeded
from macah.todfg import build_dfg
from macah.translate import to_c
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES

COUNT = int(os.environ.get("MACAH_RANDOM_PROGRAMS", "40"))
FIRST = int(os.environ.get("MACAH_RANDOM_FIRST", "0"))


INTS = {"sent": "int", "count": "int"}


def number(text: str) -> int:
    return int(text.rstrip("uUlL"))


def host_of(made: Generator) -> Host:
    types = {**made.scalars, **{name: kind for name, (kind, _) in made.arrays.items()}, **INTS}
    shapes = {
        **dict.fromkeys(made.scalars, ()),
        **{n: s for n, (_, s) in made.arrays.items()},
        **dict.fromkeys(INTS, ()),
    }
    values = {n: [converted(number(v), types[n]) for v in given] for n, given in made.initial.items()}
    received = [converted(number(v), made.stream_types["in"]) for v in made.received]
    return Host(types, shapes, {**values, "sent": [0]}, received, made.stream_types)


def printed(host: Host, made: Generator) -> str:
    def shown(values: list[int]) -> str:
        return "".join(f"{converted(v, 'long long')} " for v in values) + "\n"

    lines = [f"{name} {converted(host.values[name][0], 'long long')}\n" for name in made.scalars]
    return "".join([*lines, *(shown(host.values[name]) for name in made.arrays), shown(host.sent)])


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The compiled runtime, once for all programs."""
    directory = tmp_path_factory.mktemp("runtime")
    objects = []
    for source in RUNTIME_SOURCES:
        objects.append(str(directory / f"{source.stem}.o"))
        subprocess.run(
            ["cc", "-O1", "-std=gnu11", *RUNTIME_FLAGS, "-c", source, "-o", objects[-1]], check=True
        )
    return objects


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_all_stages_agree(seed: int, tmp_path: Path, runtime: list[str]) -> None:
    made = Generator(seed, wide=seed % 3 == 0)
    source = tmp_path / "random.macah"
    source.write_text(made.program())
    program = read_program(source)
    host = host_of(made)

    (tmp_path / "random.c").write_text(to_c(program))
    command = ["cc", "-w", "-O1", "-std=gnu11", "-fwrapv", *RUNTIME_FLAGS, tmp_path / "random.c", *runtime]
    subprocess.run([*command, "-o", tmp_path / "random"], check=True)
    expected = subprocess.run(
        [tmp_path / "random"], capture_output=True, text=True, check=True, timeout=20
    ).stdout

    try:
        kernel = lower(program, program.kernels[0])
        assert printed(run_ir(kernel, host), made) == expected, "lower"

        def watch(name: str, after: object) -> None:
            assert printed(run_ir(after, host), made) == expected, name  # type: ignore[arg-type]

        kernel = optimize(kernel, watch)
        assert printed(run_graph(kernel, build_dfg(kernel), host), made) == expected, "graph"
    except LimitExceeded:
        # Once flattened, dozens of 64-bit divisions take the interpreter minutes.
        pytest.skip("too slow to interpret")
    except MacahError as refused:
        pytest.fail("".join(d.message for d in refused.diagnostics))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT // 4))
def test_the_mapped_design_agrees_with_the_graph(seed: int, tmp_path: Path) -> None:
    made = Generator(seed, wide=False, size=6)
    source = tmp_path / "random.macah"
    source.write_text(made.program())
    program = read_program(source)
    host = host_of(made)
    kernel = optimize(lower(program, program.kernels[0]))
    dfg = build_dfg(kernel)
    mapping = map_kernel(dfg, load_fabric("grid8x8"), MapOptions(seed=seed))
    assert printed(run_graph(kernel, dfg, host, mapping), made) == printed(run_graph(kernel, dfg, host), made)
