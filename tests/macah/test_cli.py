"""The command line: what users, scripts and checks rely on."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from macah.cli import _perform
from macah.cli_options import UsageError
from macah.cli_parse import parse

PLAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) printf("[%s]\\n", argv[i]);
  int c, n = 0;
  while ((c = getchar()) != EOF) n++;
  printf("%d bytes\\n", n);
  fprintf(stderr, "bye\\n");
  return STATUS;
}
"""

SUM = """
#include <stdio.h>
int main(void) {
  int n = 10, sum = 0;
  total: kernel { for (int i = 1; i <= n; i++) sum += i; }
  printf("%d\\n", sum);
  return sum == 55 ? 7 : 1;
}
"""

TOO_LARGE = """
int main(void) {
  static int big[1000000];
  int s = 0;
  kernel { for (int i = 0; i < 1000000; i++) { big[i] = i; s += big[i ^ 1]; } }
  return s;
}
"""


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "macah", *map(str, words)]


def macahc(
    *words: object, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words),
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=600,
        env={**os.environ, **environment},
    )


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.macah"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def total(tmp_path: Path) -> Path:
    path = tmp_path / "total.macah"
    path.write_text(SUM)
    return path


def test_version_and_help() -> None:
    assert macahc("--version").stdout.startswith("macahc ")
    assert "--arch" in macahc("--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--no-such-option", "x.macah"],
        ["--mode", "fast", "x.macah"],
        ["--json", "x.macah"],
        ["run"],
        ["run", "-o", "y", "x.macah"],
        ["--seed", "many", "x.macah"],
    ],
)
def test_wrong_usage_exits_2_with_a_message(words: list[str]) -> None:
    done = macahc(*words)
    assert done.returncode == 2
    assert "macahc: error:" in done.stderr
    assert done.stdout == ""


def test_run_passes_arguments_input_output_and_status_through(plain: Path) -> None:
    done = macahc("run", "-DSTATUS=42", plain, "-v", "--mode", "a b", "", stdin="12345")
    assert done.stdout == "[-v]\n[--mode]\n[a b]\n[]\n5 bytes\n"
    assert done.stderr == "bye\n"
    assert done.returncode == 42


def test_the_output_is_an_executable_that_can_be_moved(total: Path, tmp_path: Path) -> None:
    assert macahc(total, cwd=tmp_path).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "a.out").rename(elsewhere / "moved")
    done = subprocess.run([elsewhere / "moved"], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr, done.returncode) == ("55\n", "", 7)


@pytest.mark.parametrize("mode", ["c", "mapped"])
def test_both_modes_give_the_same(total: Path, mode: str) -> None:
    done = macahc("run", "--mode", mode, total)
    assert (done.stdout, done.stderr, done.returncode) == ("55\n", "", 7)


def test_report_as_json(total: Path) -> None:
    kernels = json.loads(macahc("--report", "--json", total).stdout)["kernels"]
    assert [kernel["name"] for kernel in kernels] == ["total"]
    figures = {"file", "line", "operations", "ii", "mii", "resource_mii", "recurrence_mii", "binding"}
    figures |= {"schedule_length", "selects", "predicates", "units_used", "units"}
    assert figures <= set(kernels[0])
    assert kernels[0]["line"] == 5
    assert kernels[0]["ii"] >= kernels[0]["mii"] >= 1


def test_report_for_people_names_the_kernel_and_its_interval(total: Path) -> None:
    text = macahc("--report", total).stdout
    assert "kernel total" in text
    assert "initiation interval" in text


@pytest.mark.quick(2)
@pytest.mark.parametrize("what", ["c", "host-c", "ir", "dfg", "map", "verilog"])
def test_each_stage_can_be_written(total: Path, tmp_path: Path, what: str) -> None:
    shown = macahc("--emit", what, total)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout
    assert macahc("--emit", what, "-o", tmp_path / "out", total).stdout == ""
    assert (tmp_path / "out").read_text() == shown.stdout


def test_the_same_input_gives_the_same_bytes(total: Path) -> None:
    assert macahc("--emit", "verilog", total).stdout == macahc("--emit", "verilog", total).stdout


VERILATOR = ("--simulator", "verilator", "-g")


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "options",
    [
        ("--mode", "c"),
        ("-g",),
        pytest.param(("--netlist", "generic"), marks=pytest.mark.slow),
        pytest.param(VERILATOR, marks=[pytest.mark.slow, pytest.mark.needs("verilator")]),
    ],
    ids=" ".join,
)
def test_the_same_program_is_the_same_bytes(total: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    made = [tmp_path / "once", tmp_path / "again"]
    for output in made:
        assert macahc(*options, "-o", output, total).returncode == 0
    assert made[0].read_bytes() == made[1].read_bytes()


def test_dump_after_prints_the_kernel_on_standard_error(total: Path) -> None:
    done = macahc("--emit", "dfg", "--dump-after", "all", total)
    assert "; after lower" in done.stderr
    assert "; after" not in done.stdout
    assert macahc("--dump-after", "nothing", total).returncode == 2


def test_time_lists_the_stages(total: Path) -> None:
    assert "map total" in macahc("--emit", "map", "--time", total).stderr


BAD = {
    "missing file": (None, (), "no such file or directory"),
    "syntax": ("int main(void) { return 0 }\n", (), "bad.macah:1:"),
    "preprocessor": ('#include "nowhere.h"\nint main(void) { return 0; }\n', (), "nowhere.h"),
    "type": ("int f(void) { kernel { x = 1; } return 0; }\n", (), "bad.macah:1:24: error: 'x' undeclared"),
    "unsupported": ("int f(float y) { kernel { y = y * 2; } return 0; }\n", (), "floating point"),
    "architecture": ("int main(void) { return 0; }\n", ("--arch", "torus9"), "no such architecture"),
    "too large": (TOO_LARGE, (), "does not fit"),
    "host code": ("int main(void) { return nothing; }\n", (), "nothing"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_one_message_and_no_file(name: str, tmp_path: Path) -> None:
    text, options, message = BAD[name]
    path = tmp_path / "bad.macah"
    if text is not None:
        path.write_text(text)
    # The architecture of a program without kernels does not matter, so give it one.
    if name == "architecture":
        path.write_text(SUM)
    done = macahc(*options, "-o", tmp_path / "out", path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tool", ["cc", "iverilog"])
def test_a_missing_tool_is_named_with_what_to_install(tool: str, total: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in os.environ["PATH"].split(":"):
        for file in Path(directory).glob("*") if Path(directory).is_dir() else ():
            if file.name not in (tool, "iverilog", "vvp") or file.name != tool and tool == "cc":
                link = tools / file.name
                if not link.is_symlink():
                    link.symlink_to(file)
    done = macahc(total, cwd=tmp_path, PATH=str(tools))
    assert done.returncode == 1
    assert tool in done.stderr
    assert "install" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_gets_no_traceback(total: Path) -> None:
    with subprocess.Popen(
        command("--emit", "verilog", total), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout and child.stderr
        child.stdout.read(1)
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()


def processes_of(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in environment:
                found.append(entry.name)
    return found


def simulators(marker: str) -> list[str]:
    return [p for p in processes_of(marker) if name_of(p) == "vvp"]


def name_of(process: str) -> str:
    try:
        return Path(f"/proc/{process}/exe").readlink().name
    except OSError:  # it has ended
        return ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_leaves_no_process_and_no_file(how: signal.Signals, tmp_path: Path) -> None:
    source = tmp_path / "endless.macah"
    # The second thread is why this is no deadlock, which would be reported.
    source.write_text("""#include <pthread.h>
        #include <unistd.h>
        static void *idle(void *unused) { for (;;) pause(); return unused; }
        int main(void) {
          pthread_t thread;
          int stream s = pstream_create(int);
          int x = 0;
          pthread_create(&thread, NULL, idle, NULL);
          kernel { x <? s; }
          return x;
        }""")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    marker = f"MACAH_TEST_MARKER={tmp_path}"
    environment = {**os.environ, "TMPDIR": str(scratch), "MACAH_TEST_MARKER": str(tmp_path)}
    with subprocess.Popen(command("run", source), env=environment, start_new_session=True) as child:
        deadline = time.monotonic() + 300
        # macahc asks `vvp` for its version, too, before it becomes the program.
        compiler = name_of(str(child.pid))
        while time.monotonic() < deadline:
            if simulators(marker) and name_of(str(child.pid)) != compiler:
                break
            time.sleep(0.1)
        time.sleep(0.5)
        child.send_signal(how)
        assert child.wait(timeout=600) == -how
    deadline = time.monotonic() + 300
    while (processes_of(marker) or list(scratch.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(marker) == []
    assert list(scratch.iterdir()) == []


def test_an_output_that_cannot_be_written_is_named(total: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for output, why in (
        (tmp_path / "missing" / "x", "no directory"),
        (tmp_path / "folder", "is a directory"),
    ):
        done = macahc("--mode", "c", total, "-o", output)
        assert done.returncode == 1
        assert f"macahc: error: cannot write '{output}': " in done.stderr
        assert why in done.stderr


@pytest.mark.parametrize("option", ["--save-report", "--wave"])
def test_what_is_written_besides_is_checked_before_the_work(option: str, total: Path, tmp_path: Path) -> None:
    output = tmp_path / "no" / "x.vcd"
    done = macahc("run", option, output, total)
    assert done.returncode == 1 and not done.stdout
    assert f"macahc: error: cannot write '{output}': there is no directory" in done.stderr


def test_definitions_keep_their_order(tmp_path: Path) -> None:
    source = tmp_path / "order.macah"
    source.write_text("#include <stdio.h>\n#ifdef Y\n#error\n#endif\nint main(void) { return X; }\n")
    words = ("run", "--mode", "c", "-D", "X=1", "-UX", "-DX=9", "-DY", "-U", "Y")
    done = macahc(*words, source)
    assert (done.stderr, done.returncode) == ("", 9)


def test_the_linker_gets_its_options(tmp_path: Path) -> None:
    source = tmp_path / "wrapped.macah"
    source.write_text(
        "int hook(void); int __wrap_hook(void) { return 5; }\nint main(void) { return hook(); }\n"
    )
    assert macahc("run", "--mode", "c", "-Wl,--wrap=hook", "-Wall", source).returncode == 5


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["a b.macah", "-dash.macah", 'q"\\uote.macah', "$x'%s?.macah", "ünï", "x.c"])
@pytest.mark.parametrize("mode", ["c", "mapped"])
def test_any_name_of_a_file_will_do(name: str, mode: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(SUM)
    done = macahc("run", "--mode", mode, "--", name, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("55\n", "", 7)


def test_odd_files_are_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "loop", "missing", "folder/missing"):
        done = macahc(name, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"macahc: error: cannot read '{name}': ")
        assert done.stderr.count("\n") == 1
    (tmp_path / "p.macah").write_text(SUM)
    assert "symbolic links" in macahc("--mode", "c", "-o", "loop", "p.macah", cwd=tmp_path).stderr


def test_messages_of_the_c_compiler_point_to_their_column(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("int main(void) { int s = 0; kernel { s = 1; } return nothing; }\n")
    assert "p.macah:1:54: error: 'nothing'" in macahc(source, cwd=tmp_path).stderr
    done = macahc("--mode", "c", source, cwd=tmp_path, LC_ALL="C.UTF-8")
    assert "p.macah:1:54: error: \u2018nothing\u2019" in done.stderr


@pytest.mark.parametrize(
    ("closing", "words", "status"),
    [
        ("2>&-", ("run", "--mode", "c"), 7),
        (">&- <&-", ("run", "--mode", "c"), 7),
        ("2>&-", ("-v", "--mode", "c", "-o", "out"), 0),
        (">&-", ("--emit", "c"), 1),
        (">/dev/full", ("--emit", "c"), 1),
        (">/dev/full", ("--report",), 1),
    ],
)
def test_closed_and_full_files_make_no_traceback(
    closing: str, words: tuple[str, ...], status: int, total: Path, tmp_path: Path
) -> None:
    shell = ["sh", "-c", f'"$@" {closing}', "sh", *command(*words, total)]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr


@pytest.mark.quick(2)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("delay", [0.8, 1.1])
def test_a_killed_compilation_leaves_nothing(
    how: signal.Signals, delay: float, total: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        command(total, "-o", tmp_path / "out"),
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        time.sleep(delay)
        child.send_signal(how)
        assert child.stderr
        said = child.stderr.read()
    assert "Traceback" not in said
    # Until macahc is loaded, the signal ends it as it ends any program.
    assert child.returncode in (0, 128 + how, -how)
    assert list(scratch.iterdir()) == []


def on_a_terminal(*words: object) -> tuple[str, str]:
    """What a command writes to a pipe as standard output, and to a terminal as standard error."""
    terminal, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=other, env=environment) as child:
        os.close(other)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal's end shows
            while data := os.read(terminal, 4096):
                shown += data
        assert child.stdout
        written = child.stdout.read()
    os.close(terminal)
    return written.decode(), shown.decode()


def test_progress_on_a_terminal_comes_late_goes_away_and_takes_no_output() -> None:
    example = Path(__file__).parents[2] / "examples" / "sad.macah"
    written, shown = on_a_terminal("--report", example)
    assert written.startswith("kernel search_kernel")
    assert "kernel search_kernel" not in shown
    # Shown at all if it took long enough, with its line erased and the cursor back at the end.
    assert not shown or shown.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


def test_a_fast_compilation_shows_no_progress(total: Path) -> None:
    assert on_a_terminal("--emit", "c", total)[1] == ""


def test_what_the_mapper_is_told() -> None:
    words = ["--effort", "high", "--time-limit", "2.5", "--max-ii", "7", "--seed", "3"]
    told = parse(["run", *words, "a.macah"]).mapping()
    assert (told.seed, told.effort, told.interval, told.max_interval, told.time_limit) == (3, 4.0, 0, 7, 2.5)
    assert parse(["--ii", "4", "a.macah"]).mapping().interval == 4


def test_processes_for_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MACAH_JOBS", "5")
    assert parse(["a.macah"]).mapping().jobs == 5
    assert parse(["run", "--jobs", "3", "a.macah"]).mapping().jobs == 3
    monkeypatch.delenv("MACAH_JOBS")
    assert parse(["a.macah"]).mapping().jobs in (1, 2)
    monkeypatch.setenv("MACAH_JOBS", "many")
    with pytest.raises(UsageError, match="MACAH_JOBS"):
        parse(["a.macah"])


@pytest.mark.parametrize(
    "words",
    [
        ["--ii", "0"],
        ["--ii=-1"],
        ["--max-ii", "x"],
        ["--time-limit", "0"],
        ["--jobs", "0"],
        ["--ii=2", "--max-ii=3"],
    ],
)
def test_nonsense_about_intervals_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse([*words, "a.macah"])


def test_an_internal_error_is_told_in_a_few_words(
    total: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("x" * 100_000)

    monkeypatch.setattr("macah.driver.perform", fail)
    assert _perform([str(total)]) == 1
    message = capsys.readouterr().err
    assert "macahc: error: internal error: AssertionError: xxx" in message and "-v shows where" in message
    assert len(message) < 1000
