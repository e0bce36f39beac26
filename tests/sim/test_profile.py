"""Profiles account for every cycle, and put stalls where they belong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int stream from, to, pairs;
enum { LONG = 500000 }; /* microseconds; shorter sleeps count as computing */
int work(int n, int seed)
{
  int a[8] = {0}, total = 0;
  shared: kernel {
    for (int i = 0; i < n; i++) { a[i % 8] += i * seed; total += a[(i + 1) % 8]; }
  }
  return total;
}
void *enter(void *result)
{
  for (int k = 0; k < 3; k++) *(int *)result += work(10 + k, k);
  return result;
}
void *serve(void *count)
{
  for (int i = 0; i < 20; i++) {
    int x;
    if (i % 10 == 0) usleep(LONG);
    x <? to;
    *(int *)count += x;
  }
  for (int i = 0; i < 10; i++) {
    pairs <! i;
    if (i % 5 == 0) usleep(LONG);
    pairs <! -i;
  }
  return count;
}
int main(void)
{
  int sums[2] = {0}, count = 0, total = 0;
  pthread_t threads[2], server;
  to = pstream_create(int, 2);
  pairs = pstream_create(int, 2);
  pthread_create(&server, NULL, serve, &count);
  for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, enter, &sums[k]);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  full: kernel {
    for (int i = 0; i < 20; i++)
      to <! i;
  }
  empty: kernel {
    for (int i = 0; i < 10; i++) {
      int x, y;
      x <? pairs;
      y <? pairs;
      total += x * y;
    }
  }
  pthread_join(server, NULL);
  printf("%d %d %d %d\\n", sums[0], sums[1], count, total);
  return 3;
}
"""


def line_of(text: str, program: str = PROGRAM) -> int:
    return next(n for n, line in enumerate(program.splitlines(), 1) if text in line)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "macah", "run", "-w", *map(str, words)]


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=600, env=variables)


class Run:
    """A profiled run with all that it wrote."""

    def __init__(self, directory: Path, mode: str, simulator: str) -> None:
        # What HTML, XML and stacks give a meaning to.
        self.source = directory / 'a <b> & "c";d.macah'
        self.source.write_text(PROGRAM)
        self.directory = directory / "made"
        how = ("--mode", mode, "--simulator", simulator, "--no-bubbles", "--unroll=none")
        words = (*how, "--profile", f"--profile={self.directory}", self.source)
        self.done = run(*words, MACAH_STATS="1", MACAH_TIME="lockstep")
        assert self.done.returncode == 3, self.done.stderr
        self.found = json.loads(self.text("profile.json"))
        self.kernels = {kernel["name"]: kernel for kernel in self.found["kernels"]}

    def text(self, name: str) -> str:
        return (self.directory / name).read_text()


VERILATOR = (
    pytest.mark.slow,
    pytest.mark.needs("verilator"),
)


@pytest.fixture(
    scope="module",
    params=[
        ("mapped", "icarus"),
        ("dataflow", "icarus"),
        pytest.param(("mapped", "verilator"), marks=VERILATOR),
        pytest.param(("dataflow", "verilator"), marks=VERILATOR),
    ],
)
def profiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("profile"), *request.param)


def test_every_cycle_is_accounted_for(profiled: Run) -> None:
    for kernel in profiled.found["kernels"]:
        cycles = kernel["cycles"]
        assert cycles["total"] == cycles["active"] + cycles["stalled"]
        assert cycles["stalled"] == sum(stall["cycles"] for stall in kernel["stalls"])
        # The runtime's own counts, made elsewhere.
        row = re.search(rf"^{kernel['name']} +(\d+) +(\d+) +(\d+)$", profiled.done.stderr, re.MULTILINE)
        assert row is not None
        assert [int(n) for n in row.groups()] == [
            kernel["executions"]["finished"],
            cycles["active"],
            cycles["stalled"],
        ]


def test_iterations_are_those_of_the_loop(profiled: Run) -> None:
    complete = {name: kernel["iterations"]["complete"] for name, kernel in profiled.kernels.items()}
    # Where the trip count is not known, an iteration more finds that there is none.
    assert complete == {"shared": 2 * (11 + 12 + 13), "full": 20, "empty": 10}
    useful = {name: kernel["iterations"]["useful"] for name, kernel in profiled.kernels.items()}
    assert useful == {"shared": 2 * (10 + 11 + 12), "full": 20, "empty": 10}
    for kernel in profiled.found["kernels"]:
        assert kernel["iterations"]["started"] >= kernel["iterations"]["complete"]
        (loop,) = kernel["loops"]
        assert loop["bodies"] == loop["iterations"] == kernel["iterations"]["useful"]


def test_stalls_are_put_to_the_stream_and_line_that_waited(profiled: Run) -> None:
    full, empty, shared = (profiled.kernels[name] for name in ("full", "empty", "shared"))
    assert shared["cycles"]["stalled"] == 0 == len(shared["stalls"])
    (stream,) = full["streams"]
    assert (stream["name"], stream["direction"], stream["waits_while"]) == ("to", "out", "full")
    assert stream["words"] == 20 and stream["stalled"] == full["cycles"]["stalled"] > 0
    assert [line["line"] for line in full["lines"]] == [line_of("to <! i;")]
    assert stream["seconds_stalled"] > 0
    (stream,) = empty["streams"]
    assert (stream["direction"], stream["waits_while"], stream["words"]) == ("in", "empty", 20)
    by_line: Counter[int] = Counter()
    for stall in empty["stalls"]:
        (waiting,) = stall["waiting"]
        by_line[waiting["line"]] += stall["cycles"]
        assert stall["seconds"] > 0
    first, second = line_of("x <? pairs;"), line_of("y <? pairs;")
    assert set(by_line) <= {first, second}
    # Time passes while the host sleeps between the two of a pair, and not while it sends the next pair.
    assert by_line[second] >= max(1, by_line[first])


def test_entries_threads_and_transfers_add_up(profiled: Run) -> None:
    shared = profiled.kernels["shared"]
    assert shared["executions"] == {"begun": 6, "finished": 6}
    assert shared["transfers"]["in"]["words"] == 6 * (2 * 8 + 2)  # two memories have the array
    assert shared["transfers"]["out"]["words"] == 6
    assert shared["transfers"]["configuration"] == {"words": 0, "seconds": 0.0}
    threads = profiled.found["threads"]
    entered = [wait for t in threads for wait in t["waits"] if wait["for"] == "kernel"]
    assert sorted((w["of"], w["count"]) for w in entered) == [
        ("empty", 1), ("full", 1), ("shared", 3), ("shared", 3),
    ]  # fmt: skip
    in_kernels = sum(thread["seconds_in_kernels"] for thread in threads)
    assert in_kernels == pytest.approx(sum(k["seconds"]["host"] for k in profiled.found["kernels"]))
    for kernel in profiled.found["kernels"]:
        assert kernel["seconds"]["run"] <= kernel["seconds"]["host"]


def test_the_trace_nests_on_one_axis_of_time(profiled: Run) -> None:
    trace = json.loads(profiled.text("profile.trace.json"))
    shown = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [e["ts"] for e in shown] == sorted(e["ts"] for e in shown) and shown[0]["ts"] >= 0
    rows = defaultdict(list)
    for event in shown:
        rows[event["pid"], event["tid"]].append(event)
    for events in rows.values():
        around: list[int] = []  # the ends of the boxes that this one is in, in nanoseconds
        for event in events:
            begin = round(1000 * event["ts"])
            end = begin + round(1000 * event["dur"])
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1], event
            around.append(end)
    runs = [e for e in shown if e["name"] == "run"]
    assert len(runs) == 8
    stalls = {e["name"].split(" (")[0] for e in shown if e["cat"] == "stall"}
    assert stalls == {"stalled: send to full to", "stalled: receive from empty pairs"}
    assert {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"} >= {
        "thread 1 (main)",
        "kernels",
    }


def test_the_flame_graph_has_all_cycles_and_harmless_names(profiled: Run) -> None:
    counts: Counter[str] = Counter()
    for line in profiled.text("flame.folded").splitlines():
        frames, count = line.rsplit(" ", 1)
        kernel, kind, *_ = frames.split(";")
        assert kind in ("active", "stalled"), line
        counts[kernel.split()[1]] += int(count)
    assert counts == {name: kernel["cycles"]["total"] for name, kernel in profiled.kernels.items()}
    picture = ElementTree.fromstring(profiled.text("flame.svg"))
    texts = "".join(picture.itertext())
    assert f"{profiled.source}: cycles of its kernels" in texts
    page = profiled.text("profile.html")
    assert "<b>" not in page and "&lt;b&gt; &amp; " in page


def test_the_table_is_on_standard_error(profiled: Run) -> None:
    assert profiled.done.stdout.count("\n") == 1
    assert profiled.text("profile.txt") in profiled.done.stderr
    assert re.search(
        r"^kernel full \(.*\)\n  executions  1\n  cycles +\d+: \d+ active", profiled.done.stderr, re.M
    )
