"""What is missing or wrong is said clearly when the image is built, or when the simulator finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sim_kernels import build, run, scale

from backend.dfg import Word
from sim.bench import bench_text
from sim.cosim import SimulatorMissing, build_image


def test_a_missing_simulator_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimulatorMissing, match=r"'vvp' was not found; install it .*apt-get install iverilog"):
        build_image([scale()], tmp_path)


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimulatorMissing, match="the C compiler 'no-such-cc' was not found"):
        build_image([scale()], tmp_path, "no-such-cc")


def test_the_bench_describes_elements_to_the_data_plane() -> None:
    text = bench_text(scale((Word(4, 2, True), Word(0, 4, False)), 8))
    assert "$macah_port(0, 0, 0, s0_tdata, s0_tvalid, s0_tready, s0_ended, 8, 4, 2, 1, 0, 4, 0);" in text
    assert "$macah_port(0, 1, 1, s1_tdata, s1_tvalid, s1_tready, s1_close, 8, 4, 2, 1, 0, 4, 0);" in text


def test_the_bench_compiles_without_warnings(tmp_path: Path) -> None:
    (tmp_path / "kernel.v").write_text(scale().text)
    (tmp_path / "bench.v").write_text(bench_text(scale()))
    command = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-o", "out", "kernel.v", "bench.v"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_what_the_simulator_says_at_its_end_is_quoted(tmp_path: Path) -> None:
    host = """int main(void) {
      macah_stream *in = CREATE(8, 4), *out = CREATE(4, 4);
      uint32_t live_in[2] = {1, 1}, live_out[1];
      macah_run_kernel(0, live_in, live_out, (macah_stream *[]){in, out}, NULL);
    }"""
    done = run(build(host, [scale()], tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "macah: the simulator of kernel 'scale' ended unexpectedly; its last words:",
        "stream 0 of the kernel has elements of 4 bytes, the program's of 8",
    ]
