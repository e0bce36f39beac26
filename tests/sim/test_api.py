"""Kernels compiled, driven and read from Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim import (
    CompileError,
    DeadlockError,
    Kernel,
    KernelAssertionError,
    OverrunError,
    RunOptions,
    compile_kernel,
    compile_kernels,
    load_kernel,
)

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ROOT / "tests" / "cases" / "programs"

ECHO = """\
#include <assert.h>
int echo(int stream in, int stream out, int n) {
  int x, sum = 0;
  kernel {
    for (int i = 0; i < n; i++) { x <? in; assert(x != -99); out <! x + 1; sum += x; }
  }
  return sum;
}
"""
COUNT = """\
int count(unsigned char stream in, long long stream out) {
  int n = 0;
  kernel {
    for (;;) {
      int x = -1;
      x <? in;
      if (x < 0 && pstream_ended(in)) break;
      n++;
      out <! n * 1000000000000ll - x;
    }
    pstream_close(out);
  }
  return n;
}
"""


@pytest.fixture(scope="module")
def echo() -> Iterator[Kernel]:
    with compile_kernel(text=ECHO, mode="dataflow") as kernel:
        yield kernel


@pytest.fixture(scope="module")
def count() -> Iterator[Kernel]:
    with compile_kernel(text=COUNT, mode="dataflow") as kernel:
        yield kernel


def in_c(program: str) -> str:
    """What a program prints in mode `c`."""
    command = [sys.executable, "-m", "macah", "run", "--mode", "c", str(PROGRAMS / program)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_a_kernel_says_of_itself(echo: Kernel) -> None:
    assert (echo.name, echo.top, echo.mode, echo.interval) == ("echo_kernel", "echo_kernel", "dataflow", None)
    assert {name: type.name for name, type in echo.inputs.items()} == {"in": "int"}
    assert {name: type.name for name, type in echo.outputs.items()} == {"out": "int"}
    assert {name: type.name for name, type in echo.variables.items()} == dict.fromkeys(
        ("x", "n", "sum"), "int"
    )
    assert "module echo_kernel (" in echo.verilog


def test_lists_in_and_out(echo: Kernel) -> None:
    result = echo.run({"in": [1, -2, 3, 4], "n": 3})
    assert (result["out"], result["sum"], result.left) == ([2, -1, 4], 2, {"in": 1})
    assert (result.closed, result.stalled) == (frozenset(), 0)


def test_runs_repeat_cycle_by_cycle(echo: Kernel) -> None:
    def slow() -> Iterator[int]:
        for k in range(40):
            if k == 20:
                subprocess.run(["true"], check=True)
            yield k

    runs = [echo.run({"in": slow(), "n": 40}, RunOptions(depth=2)) for _ in range(3)]
    assert runs[0]["out"] == list(range(1, 41))
    assert len({(run.cycles, run.stalled) for run in runs}) == 1


def test_waveforms(echo: Kernel, tmp_path: Path) -> None:
    wave = tmp_path / "echo.vcd"
    echo.run({"in": [1, 2], "n": 2}, RunOptions(wave=wave))
    assert "$enddefinitions" in wave.read_text()
    assert "stream in" in (tmp_path / "echo.gtkw").read_text()


@pytest.mark.slow
@pytest.mark.needs("verilator")
def test_verilator_takes_the_same_cycles(echo: Kernel) -> None:
    runs = [echo.run({"in": range(30), "n": 30}, RunOptions(simulator=s)) for s in ("icarus", "verilator")]
    assert runs[0] == runs[1] and runs[0]["sum"] == 435
    with pytest.raises(OverrunError, match="has not ended after 31 cycles"):
        echo.run({"in": range(30), "n": 30}, RunOptions(simulator="verilator", max_cycles=30))


def test_a_generator_is_asked_for_no_more_than_there_is_room_for(echo: Kernel) -> None:
    asked = []

    def endless() -> Iterator[int]:
        while True:
            asked.append(len(asked))
            yield len(asked)

    result = echo.run({"in": endless(), "n": 5}, RunOptions(depth=4))
    assert result["out"] == [2, 3, 4, 5, 6]
    assert len(asked) <= 5 + 4 + 1 and result.left == {"in": len(asked) - 5}


def test_streams_by_hand(echo: Kernel) -> None:
    with echo.start({"n": 4}) as run:
        for x in (1, 5):
            run.send("in", [x])
            assert run.receive("out") == x + 1
        run.send("in", (7, 9))
        assert run.receive("out", 1) == [8]
        result = run.finish()
    assert (result["out"], result["sum"]) == ([10], 22)


def test_a_full_stream_holds_the_kernel_up(echo: Kernel) -> None:
    with echo.start({"n": 9, "in": range(9)}, RunOptions(depths={"out": 2})) as run:
        assert run.receive("out") == 1
        result = run.finish()
    assert result["out"] == list(range(2, 10))


def test_streams_end(count: Kernel) -> None:
    result = count.run({"in": b"abc"})
    assert result["out"] == [10**12 - 97, 2 * 10**12 - 98, 3 * 10**12 - 99]
    assert (result["n"], result.closed) == (3, {"out"})
    assert count.run({"in": ()})["n"] == 0
    with count.start() as run:
        run.send("in", [3])
        assert run.receive("out") == 10**12 - 3
        run.close("in")
        assert run.receive("out", 2) == []
        with pytest.raises(EOFError, match="'out' has ended"):
            run.receive("out")
        with pytest.raises(ValueError, match="'in' is closed"):
            run.send("in", [1])


def test_mapped_runs_are_the_same_and_counted() -> None:
    with compile_kernel(text=ECHO) as kernel:
        result = kernel.run({"in": range(50), "n": 50})
        assert (result["out"], result["sum"]) == (list(range(1, 51)), 1225)
        assert (kernel.interval, result.iterations, result.stalled) == (1, 51, 0)
        assert kernel.length is not None and result.cycles == kernel.length + 50
        assert kernel.operations > 5


@pytest.mark.parametrize("options", [(), ("--overlap=4",)])
def test_iterations_of_circuits_are_counted(options: tuple[str, ...]) -> None:
    with compile_kernel(text=ECHO, mode="dataflow", options=options) as kernel:
        for n in (50, 7):
            result = kernel.run({"in": range(n), "n": n})
            assert (result["out"], result["sum"]) == (list(range(1, n + 1)), n * (n - 1) // 2)
            assert result.iterations == n + 1
        assert kernel.iterations(100) is None


@pytest.mark.parametrize("mode", [pytest.param("dataflow", marks=pytest.mark.slow), "mapped"])
def test_structs_in_streams_and_arrays(mode: str) -> None:
    items = [((i, -i * 3), i * 50, (i, i * i, 1000000 * i)) for i in range(6)]
    with compile_kernel(PROGRAMS / "structs.macah", mode=mode) as kernel:
        result = kernel.run({"in": items, "origin": {"x": 10, "y": -20}})
    pairs = [*zip(result["out"], result["path"], strict=True)]
    text = "".join(f"{p.x},{p.y} {q.x},{q.y} " for p, q in pairs)
    origin = result["origin"]
    assert f"{text}{result['total']} {origin.x},{origin.y}\n" == in_c("structs.macah")


@pytest.mark.slow
def test_arrays_of_all_shapes() -> None:
    cube = [[[(12 * i + 4 * j + k) ** 2 for k in range(4)] for j in range(3)] for i in range(2)]
    values = {"cube": cube, "sums": [100, 200, 300, 400], "bytes": b"abcdefghi\0", "wide": [1 << 40, -5, 7]}
    with compile_kernel(PROGRAMS / "arrays.macah", mode="dataflow") as kernel:
        result = kernel.run(values)
    grid = " ".join(str(x) for row in result["grid"] for x in row)
    sums = " ".join(map(str, result["sums"]))
    text = bytes(result["bytes"]).rstrip(b"\0").decode()
    wide = result["wide"]
    expected = f"{grid} | {sums} | {result['cube'][1][2][3]} | {text} | {wide[0]} {wide[1]}\n"
    assert expected == in_c("arrays.macah")


@pytest.mark.slow
def test_wide_integers() -> None:
    values = {"a": -0x123456789ABCDEF, "b": 0x7FFFFFFF1, "u": 0xFEDCBA9876543210, "v": 12345678901, "s": 37}
    with compile_kernel(PROGRAMS / "wide.macah", mode="dataflow") as kernel:
        result = kernel.run(values)
    words = " ".join(f"{x & (1 << 64) - 1:x}" for x in result["r"])
    narrow = " ".join(map(str, result["q"]))
    assert f"{words} | {narrow} {result['b']:x} {result['v']:x}\n" == in_c("wide.macah")


def test_elements_with_arrays_and_arrays_of_streams() -> None:
    packets = [{"tag": i, "v": (i, -i, i * 3), "in": [(i * 10,), (i * 100,)]} for i in range(5)]
    with compile_kernel(PROGRAMS / "packets.macah", mode="dataflow") as kernel:
        result = kernel.run({"io.in": packets, "io": {"gain": 3}})
    outs = [iter(result["io.out[0]"]), iter(result["io.out[1]"])]
    text = "".join(f"{next(outs[i & 1])} " for i in range(5))
    # A member that Python cannot name is told by its place.
    text += "".join(f"{p.tag}/{p.v[2]}/{p[2][0].id} " for p in result["keep"])
    assert f"{text}{result['s']} 0 {result['seen']}\n" == in_c("packets.macah")


def test_bit_fields_unions_and_what_pointers_point_to() -> None:
    text = """\
struct s { unsigned x : 5; int y : 7; unsigned long long z : 40; char c; };
union u { int i; short h[2]; };
void f(struct s *p, union u q[3]) {
  kernel {
    p->x += 3; p->y -= 5; p->z *= 3; p->c++;
    for (int i = 0; i < 3; i++) q[i].h[1] += q[i].h[0];
  }
}
"""
    wide = (1 << 39) + 5
    before = {"x": 30, "y": -62, "z": wide, "c": 7}
    with compile_kernel(text=text, mode="dataflow") as kernel:
        result = kernel.run({"*p": before, "q": [{"i": 0x50003}, {"h": (1, 2)}, b"\1\0\2\0"]})
        with pytest.raises(ValueError, match="32 does not fit x, which has 5 bits"):
            kernel.run({"*p": {"x": 32}})
    assert result["*p"] == (1, 61, 3 * wide & (1 << 40) - 1, 8)
    assert [u.h for u in result["q"]] == [[3, 8], [1, 3], [1, 3]]


def test_several_kernels_of_one_program() -> None:
    kernels = compile_kernels(PROGRAMS / "stream_arrays.macah", mode="dataflow")
    assert [*kernels] == ["spread_kernel", "twice_kernel"]
    with kernels["spread_kernel"] as kernel:
        result = kernel.run({"in": [*range(12), -1]})
    lanes = [result[f"lane[{k}]"] for k in range(3)]
    assert lanes == [[x + k for x in range(12) if x % (k + 1) == 0] for k in range(3)]
    assert result.closed == {"lane[0]", "lane[1]", "lane[2]"}
    with pytest.raises(KeyError, match="which kernel"):
        compile_kernel(PROGRAMS / "stream_arrays.macah", mode="dataflow")


def test_a_design_in_a_file(tmp_path: Path) -> None:
    source, file = tmp_path / "echo.macah", tmp_path / "echo.json"
    source.write_text(ECHO)
    command = [sys.executable, "-m", "macah", "--emit", "design", "--mode", "dataflow", source, "-o", file]
    subprocess.run(command, check=True)
    with load_kernel(file, "echo_kernel") as kernel:
        assert kernel.run({"in": [4], "n": 1})["out"] == [5]
    for text, problem in (
        ('{"format": "something else"}', "this is not 'macah-design 1'"),
        (file.read_text()[:2000], "line"),
        ('{"format": "macah-design 1", "kernels": [{"name": "echo"}]}', "graph"),
        ("[" * 100_000, "recursion"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=rf"echo\.json holds no kernels: .*{problem}"):
            load_kernel(file)


def test_pseudo_constants_and_options() -> None:
    text = "void f(int stream o) { const int N = ADPC(1, 9); kernel { for (int i = 0; i < N; i++) o <! M; } }"
    with compile_kernel(text=text, mode="dataflow", adpc={"N": 3}, options=["-DM=6"]) as kernel:
        assert kernel.run()["o"] == [6, 6, 6]


@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_mistakes_of_the_program(mode: str) -> None:
    with pytest.raises(
        CompileError, match=r"kernel.macah:2:10: error: 'y' undeclared \[undeclared\]"
    ) as found:
        compile_kernel(text="int main(void) {\nkernel { y = 1; }\n}", mode=mode)
    diagnostic = found.value.diagnostics[0]
    assert (diagnostic.code, diagnostic.line, diagnostic.column) == ("undeclared", 2, 10)


def test_what_does_not_fit() -> None:
    with pytest.raises(CompileError, match="does not fit on grid2x2"):
        compile_kernel(text=ECHO, arch="grid2x2", options=["--ii", "1"])


def test_a_starved_kernel_is_a_deadlock(echo: Kernel) -> None:
    with pytest.raises(DeadlockError) as found:
        echo.run({"in": [1, 2], "n": 3})
    text = str(found.value)
    assert "is in kernel 'echo_kernel', which waits in its cycle" in text
    assert "to receive from 'in' at kernel.macah:5, which is empty (0 of 16) and open" in text
    assert f"created at {__file__}:" in text
    assert "the test has sent 2 elements to 'in'; the stream is open" in text
    assert echo.run({"in": [1], "n": 1})["out"] == [2]


def test_waiting_for_what_does_not_come_is_a_deadlock(echo: Kernel) -> None:
    with echo.start({"n": 2}) as run, pytest.raises(DeadlockError, match="to receive from 'in'"):
        run.receive("out")
    with echo.start({"n": 40}) as run, pytest.raises(DeadlockError, match="'out' at .* is full"):
        run.send("in", range(40))


def test_too_many_cycles(echo: Kernel) -> None:
    with pytest.raises(OverrunError, match="'echo_kernel' has not ended after 301 cycles, of them 0 stalled"):
        echo.run({"in": range(500), "n": 500}, RunOptions(max_cycles=300))


def test_cycles_without_progress() -> None:
    text = "void f(int stream out) { volatile int n = 5; kernel { while (n) n = n * 3 | 1; out <! n; } }"
    with (
        compile_kernel(text=text, mode="dataflow") as kernel,
        pytest.raises(OverrunError, match="has moved no element in its last 50 cycles"),
    ):
        kernel.run({"n": 5}, RunOptions(stall_cycles=50))


def test_a_failed_assertion(echo: Kernel) -> None:
    with pytest.raises(KernelAssertionError, match="^kernel.macah:5: echo: Assertion `x != -99' failed"):
        echo.run({"in": [1, -99, 2], "n": 3})


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"in": [1 << 31], "n": 1}, ValueError, "2147483648 does not fit int, which holds -2147483648"),
        ({"in": ["1"], "n": 1}, TypeError, "str"),
        ({"in": [1], "n": 1.5}, TypeError, "'n': "),
        ({"n": 1}, ValueError, "what is sent to stream 'in'"),
        ({"in": (), "m": 1}, KeyError, "has no input or variable 'm', but in, "),
        ({"in": (), "out": ()}, KeyError, "has no input or variable 'out'"),
    ],
)
def test_values_that_do_not_fit(
    echo: Kernel, values: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        echo.run(values)
    assert echo.run({"in": [1], "n": 1})["out"] == [2]


def test_wrong_uses_of_a_run(echo: Kernel) -> None:
    with echo.start({"n": 1, "in": iter([1])}) as run:
        with pytest.raises(ValueError, match="is sent what an iterable has"):
            run.send("in", [1])
        with pytest.raises(KeyError, match="sends to no stream 'in', but to out"):
            run.receive("in")
        with pytest.raises(KeyError, match="receives from no stream 'out', but from in"):
            run.send("out", [1])
        assert run.finish()["out"] == [2]
        assert run.receive("out", 5) == [2]
        with pytest.raises(ValueError, match="is not negative"):
            run.receive("out", -1)
    for wrong in (
        {"time": "fast"},
        {"simulator": "vvp"},
        {"max_cycles": 0},
        {"depth": 0},
        {"depths": {"in": 0}},
    ):
        with pytest.raises(ValueError):
            RunOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="no stream 'up'"):
        echo.run({"in": (), "n": 0}, RunOptions(close=["up"]))


def test_numpy_arrays(echo: Kernel) -> None:
    numpy = pytest.importorskip("numpy")
    samples = numpy.arange(-5, 200, dtype=numpy.int64)
    result = echo.run({"in": samples, "n": 205})
    out = numpy.asarray(result["out"])
    assert out.dtype == numpy.int32
    numpy.testing.assert_array_equal(out, samples + 1)
    with pytest.raises(ValueError, match="4294967296 does not fit int"):
        echo.run({"in": numpy.array([1 << 32]), "n": 1})
    with pytest.raises(TypeError, match="made of integers, not of float64"):
        echo.run({"in": numpy.array([1.0]), "n": 1})


def test_arrays_in_banks_of_several_blocks() -> None:
    text = """int pairs(int a[24]) {
      kernel {
        for (int k = 0; k < 24; k += 8)
          for (int j = 0; j < 4; j++) { int t = a[k+j]; a[k+j] += a[k+j+4]; a[k+j+4] = t - 3; }
      }
      return 0;
    }
    """
    values = [number * 5 % 17 for number in range(24)]
    with compile_kernel(text=text, options=["--unroll", "none"]) as kernel:
        found = kernel.run({"a": values})["a"]
    pairs = [(k + j, k + j + 4) for k in range(0, 24, 8) for j in range(4)]
    for low, high in pairs:
        assert (found[low], found[high]) == (values[low] + values[high], values[low] - 3)


def test_whether_a_pointer_is_set_is_a_number_of_its_own() -> None:
    text = "void f(int *p, int n) { kernel { if (p) *p += n; } }"
    with compile_kernel(text=text, mode="dataflow") as kernel:
        assert kernel.run({"*p": 3, "p is set": 1, "n": 4})["*p"] == 7
        assert kernel.run({"*p": 3, "n": 4})["*p"] == 3
