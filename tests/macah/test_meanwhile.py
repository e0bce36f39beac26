"""Work of other processes: choices are the same whatever happens to those, and no process is left."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from children import no_children

from arch.describe import load_fabric
from macah import ir, meanwhile, trials
from macah.lower import lower
from macah.meanwhile import Meanwhile
from macah.program import parse_program
from macah.show import show_kernel
from macah.spread import spread

FABRIC = load_fabric("grid8x8")
BODIES = {
    "copies": "for (int i = 0; i < 9; i++) c[i] = a[i] + b[i];",
    "short loops": "for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) c[i] += a[j] ^ b[i + j];",
    "sequence": "for (int i = 0; i < n; i++) { while (x > 3) x -= a[i]; while (x < a[i]) x += b[i]; }",
}


def chosen(name: str, jobs: int) -> tuple[object, ...]:
    """What is chosen: a kernel in its final form, its graph, and what to expect of that."""
    kernel = f"int x = n; {BODIES[name]} c[0] += x;"
    text = f"void f(int a[64], int b[64], int c[64], int n) {{ kernel {{ {kernel} }} }}"
    program = parse_program(text, Path("t.macah"))
    choice = spread(lower(program, program.kernels[0]), FABRIC, jobs=jobs)
    assert choice is not None
    return show_kernel(choice.final), choice.dfg, choice.bounds, choice.interval, choice.cycles


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ir.Kernel]:
    """The kernels of which this process makes graphs."""
    kernels, build = list[ir.Kernel](), trials.build_dfg

    def spied(kernel: ir.Kernel, *words: object, **limits: object) -> object:
        kernels.append(kernel)
        return build(kernel, *words, **limits)  # type: ignore[arg-type]

    monkeypatch.setattr(trials, "build_dfg", spied)
    return kernels


@pytest.mark.quick(3)
@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("name", BODIES)
def test_processes_choose_what_one_chooses(name: str, jobs: int, made: list[ir.Kernel]) -> None:
    alone = chosen(name, 1)
    all_made = len(made)
    assert chosen(name, jobs) == alone
    assert all_made > 1 and len(made) - all_made < all_made
    assert no_children()


@pytest.mark.parametrize("failure", ["dies", "raises", "cannot begin"])
def test_what_a_worker_cannot_do_is_done_without_it(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, parent, build = chosen("copies", 1), os.getpid(), trials.build_dfg

    def broken(*words: object, **limits: object) -> object:
        if os.getpid() != parent and failure == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.getpid() != parent:
            raise MemoryError
        return build(*words, **limits)  # type: ignore[arg-type]

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(trials, "build_dfg", broken)
    if failure == "cannot begin":
        monkeypatch.setattr(os, "fork", refused)
    assert chosen("copies", 2) == alone
    assert no_children()


def found(known: dict[object, int], key: int) -> int:
    known.setdefault(key, os.getpid())
    return known[key]


def test_what_comes_from_others_is_what_was_not_known() -> None:
    known = {7: 1} | dict[object, int]()
    with Meanwhile(known, 2).expected([partial(found, known, key) for key in (7, 8, 9)]) as later:
        time.sleep(0.2)
        assert later[2].done() == os.getpid()  # nobody has begun it
        assert later[0].done() == 1
        assert later[1].done() != os.getpid()
    assert set(known) == {7, 8, 9} and no_children()


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_not_wanted_is_dropped(interrupted: bool) -> None:
    asked = Meanwhile({}, 3)

    def use() -> None:
        with asked.expected([partial(time.sleep, 600)] * 3):
            assert len(asked.begun) == 2
            if interrupted:
                raise KeyboardInterrupt

    begin = time.monotonic()
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            use()
    else:
        use()
    assert not asked.begun and not asked.coming and no_children() and time.monotonic() - begin < 60


def test_one_process_lets_nobody_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "Worker", None)
    assert chosen("copies", 1)
