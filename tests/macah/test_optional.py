"""Optimisations can be left out one by one: each makes a difference, and none is needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.dfg import DFG, show_dfg
from macah import ir
from macah.lower import lower
from macah.optional import OPTIONAL
from macah.passes.pipeline import PIPELINE, optimize, required
from macah.program import read_program
from macah.rare import with_turns
from macah.roll import rollings
from macah.tests_first import candidates
from macah.todfg import build_dfg
from macah.unrolling import loops_of

# Every optimisation changes the graph of one of these, see KERNEL_FOR: who adds one adds a kernel if need be.
KERNELS = (
    """void f(int stream in, int stream out) {
      kernel { int a[4] = {1, 2, 3, 4}, s = 0;
        for (int i = 0; i < 10; i++) {
          FOR (int k = 0; k < 4; k++) { s += a[k] * (k + 3); a[k] <? in; }
          out <! s; } } }""",
    """void f(int stream in, int stream out, int n) {
      kernel { int i = 0, j = 0;
        for (int k = 0; k < n; k++) {
          int sum = 0, x;
          for (int l = 0; l < 16; l++) { x <? in; sum += x; i++; j++; }
          out <! sum + i * j; } } }""",
    """void f(unsigned stream in, unsigned stream out, int n) {
      kernel { for (int i = 0; i < n; i++) {
          unsigned a, b;
          a <? in; b <? in;
          while (a != b) { if (a > b) a -= b; else b -= a; }
          out <! a; } } }""",
    """void f(int a[64]) {
      kernel { for (int i = 0; i < 32; i++) a[i] = a[i + 32] + 1; } }""",
    """void f(unsigned stream in, unsigned stream out, int n) {
      kernel { for (int i = 0; i < 100; i++) {
          unsigned a;
          a <? in;
          out <! a / 10 + (i & 127) % 7; } } }""",
    """void f(int a[64], int stream in, int stream out) {
      kernel { for (int i = 0; i < 32; i++) { int x; x <? in; out <! a[x] ^ a[x >> 2] ^ a[i]; } } }""",
    """void f(int a[64]) {
      kernel { for (int i = 1; i < 32; i++) { a[i] = a[i] + i; a[i + 32] = a[i] * 3; } } }""",
    """void f(int a[64], int x) {
      kernel { for (int i = 1; i < 32; i++) if (a[i] < a[i - 1]) a[i] = x; } }""",
    """void f(int a[64], int stream in) {
      kernel { for (int i = 0; i < 32; i++) { int x; x <? in; a[x] ^= 1; } } }""",
    """void f(int stream in, int stream out, int n) {
      kernel { for (int i = 0; i < n; i++) {
          int a, b = 0;
          a <? in;
          if (a < 5) b = a + 1;
          if (a < 5) out <! b; } } }""",
    """void f(int a[64], int stream out) {
      kernel { for (int i = 0; i < 32; i += 2) out <! a[i] * a[i + 1]; } }""",
    """void f(int a[8], int b[8], int stream out) {
      kernel { for (int i = 0; i < 8; i++) a[i] = b[i] * 3;
        for (int i = 0; i < 8; i++) for (int x = i * 5; x > 1; x >>= 1) out <! x; } }""",
    """void f(int a[8], int b[8]) {
      kernel { for (int i = 0; i < 8; i++) a[i] = i; for (int i = 0; i < 8; i++) b[i] = a[i]; } }""",
    """void f(int a[8], int b[64]) {
      kernel { for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) a[i] += b[j * i]; } }""",
    """void f(int stream out) {
      kernel { int x = 1;
        for (int i = 0; i < 99; i++) { if (EXPECT(x > 90, 0.02)) x = x / i; x += i; out <! x; } } }""",
    """void f(int stream in, int stream out) {
      kernel { for (int i = 0; i < 64; i++) {
          int x; x <? in;
          if (x & 1) out <! x * 3; else out <! x + i; } } }""",
    """void f(int stream out, int n, int m) {
      kernel { for (int i = 0; i < n; i++) {
          int s = 0;
          for (int j = i; j < m; j++) s += j * i;
          out <! s; } } }""",
    """void f(int stream in, int stream out) {
      kernel { int a[64]; for (int i = 0; i < 64; i++) {
          int x; x <? in; a[x & 63] = i; out <! i & 1 ? a[x >> 6 & 63] : a[x >> 12 & 63]; } } }""",
    """void f(int stream in, int stream out) {
      kernel { for (int i = 0; i < 64; i++) {
          int x, y = i; x <? in;
          FOR (int s = 0; s < 9; s++) {
            int a = x >> s, b = y >> s;
            x = y & 1 ? x - b : x + b; y = y & 1 ? y + a : y - a; }
          out <! x; } } }""",
    """void f(int a[64], int n, int stream out) {
      kernel { int x = 0; for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) x += a[j]; out <! x; } }""",
    """void f(int stream in, int stream out, int n) {
      kernel { int a[64];
        for (int i = 0; i < n; i++) a[i] <? in;
        for (int i = 0; i < n; i++) { int s = 0; for (int j = 0; j < i; j++) s += a[j]; out <! s; } } }""",
    """void f(int stream in, int stream out) {
      kernel { int x; do { x <? in; out <! x * 3; } while (x != 9); } }""",
    """void f(short stream in, int stream out) {
      kernel { int y = 0;
        for (int i = 0; i < 64; i++) { short x; x <? in; y = max(y, 0) + x; out <! y; } } }""",
    """void f(int a[16], int n, int stream out) {
      kernel { while (n-- > 0) { int i = 0, x = 0; do { x += a[i] ^ i; } while (++i < 16); out <! x; } } }""",
    """void f(int a[64], int stream out) {
      kernel { for (int y = 0; y < 64; y += 16) {
        int x = 0; for (int i = y; i < y + 12; i++) x += a[i]; out <! x; } } }""",
    """void f(int stream in, int stream out) {
      kernel { int x; for (x <? in; x != 9; x <? in) out <! x * 3; } }""",
    """void f(int n, int stream in, int stream out) {
      kernel { for (int i = 0; i < n; i++) { int x; x <? in; out <! x * 3; } pstream_close(out); } }""",
    """void f(int stream in, int stream out) {
      kernel { while (!pstream_ended(in)) { int x; x <? in; out <! x * 3; } } }""",
    """void f(int a[64], int stream out) {
      kernel { int m = 0; for (int j = 1; j < 64; j++) if (a[j] < a[m]) m = j; out <! m; } }""",
    """void f(int a[64], int stream out) {
      kernel { int h[48] = {0}; for (int i = 0; i < 64; i++) h[a[i] & 31]++; out <! h[3]; } }""",
    """void f(int n, int w, int stream in, int stream out) {
      kernel { for (int r = 0; r < n; r++) {
        int s = 0, t = 0; for (int i = 0; i < w; i++) { int x; x <? in; s += x; t ^= x; }
        FOR (int k = 0; k < 4; k++) out <! s + k;
        out <! t; } } }""",
    """void f(int n, int stream in, int stream out) {
      kernel { int t[16]; for (int b = 0; b < n; b++) {
        for (int i = 0; i < 16; i++) t[i] <? in;
        for (int d = 1; d < 8; d *= 2) for (int i = d; i < 16; i++) t[i ^ d] += t[i - d] * 3;
        for (int i = 0; i < 16; i++) out <! t[i]; } } }""",
    """void end(int stream s) { pstream_close(s); }
    void f(int stream in, int stream out, int n) {
      kernel { int a[64];
        for (int i = 0; i < n; i++) a[i] <? in;
        for (int i = 0; i < n; i++) out <! a[n - i]; } }""",
    """void f(int x[6], int r, int n, int stream out) {
      kernel { FOR (int i = 0; i < 6; i++) if (x[i]) r = r * 10 + x[i];
        for (int t = 0; t < n; t++) out <! t + r; } }""",
    """void f(int stream in, int n) {
      kernel { int c; c <? in; while (c) {
        while (c == 1) c <? in;
        while (c > 1) { n += c; c <? in; } } } }""",
    """void f(int y[64], int n, int stream out) {
      kernel { for (int i = 0; i < n; i++) {
        int k = y[i] & 31, c = y[k] < y[k + 1] ? k : k + 1;
        out <! y[c]; y[c] = i; } } }""",
)


KERNEL_FOR = {
    "scalarize_arrays": 0,
    "plain_tests": 23,
    "join_heads": 25,
    "count_trips": 24,
    "keep_chosen": 28,
    "chosen_elements": 35,
    "unroll_loops": 10,
    "roll_for": 30,
    "roll_transfers": 30,
    "chain_stages": 30,
    "stack_nests": 31,
    "partition_arrays": 31,
    "bank_arrays": 10,
    "roll_stores": 29,
    "complete_stores": 7,
    "accumulate": 13,
    "reuse_elements": 7,
    "copies": 5,
    "share_units": 17,
    "chosen_terms": 18,
    "forward": 8,
    "fresh_elements": 32,
    "find_sites": 12,
    "count_ahead": 1,
    "join_loops": 12,
    "flat_stages": 20,
    "run_ahead": 16,
    "tests_first": 2,
    "enter_loops": 30,
    "pace_rows": 19,
    "delay_rows": 19,
    "exact_orders": 31,
    "tabulate": 11,
    "receive_once": 34,
    "take_turns": 14,
    "congruence": 12,
    "narrow": 4,
    "share_sends": 15,
    "closing_sends": 26,
    "firsts": 33,
    "past_end": 27,
    "logic": 9,
    "slopes": 22,
    "held": 21,
    "balance": 4,
    "shorten": 7,
    "muladd": 4,
}


def _kernel(directory: Path, text: str) -> ir.Kernel:
    source = directory / "p.macah"
    source.write_text(text)
    program = read_program(source)
    (site,) = program.kernels
    return lower(program, site)


def _graph(kernel: ir.Kernel, *without: str) -> DFG:
    room = ir.Room(memories=32, ports=1, interval=1)
    fabric = load_fabric("grid8x8")
    kernel = optimize(with_turns(replace(kernel, without=frozenset(without), room=room), fabric))
    return build_dfg(kernel, fabric)


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optimisation_makes_a_difference(name: str, tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, KERNELS[KERNEL_FOR[name]])
    if name == "unroll_loops":  # as nobody asks for copies otherwise
        kernel = replace(kernel, unroll=tuple((place, 2) for place in loops_of(kernel)))
    if name == "tests_first":  # which is chosen where it pays
        kernel = replace(kernel, tests_first=candidates(kernel.body))
    if name == "enter_loops":
        kernel = replace(kernel, entered=True)
    if name == "receive_once":
        kernel = replace(kernel, once=True)
    if name == "pace_rows":
        kernel = replace(kernel, row=3)
    if name == "delay_rows":
        kernel = replace(kernel, delay=2)
    if name in ("roll_for", "chain_stages"):
        kernel = replace(kernel, rolled=rollings(kernel)[0], chained=True)
    if name == "stack_nests":
        kernel = replace(kernel, chained=True, stacked=True)
    if name == "roll_transfers":
        kernel = replace(kernel, by_turns=True)
    if name == "partition_arrays":
        kernel = replace(kernel, partitioned=("t",))
    others = ("tabulate", "exact_orders") if name == "take_turns" else ()  # else it does not pay there
    assert show_dfg(_graph(kernel, *others)) != show_dfg(_graph(kernel, *others, name))


def test_what_is_required_is_what_is_not_optional() -> None:
    assert set(required()).isdisjoint(OPTIONAL)
    assert {"inline_calls", "convert_ifs", "flatten_loops"} <= set(required())
    assert all(not step.removes or step.name in required() for step in PIPELINE)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("convert_ifs", "no kernel can do without 'convert_ifs'"),
        ("balance,wonder", "there is no optimisation 'wonder'"),
    ],
)
def test_a_name_that_is_none_lists_those_that_are(names: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("int main(void) { return 0; }\n")
    command = [sys.executable, "-m", "macah", "--disable", names, "--emit", "dfg", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert " ".join(OPTIONAL) in done.stderr


def test_all_optimisations_can_be_left_out(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(
        "void f(int stream s, int n) { kernel { for (int i = 0; i < n; i++) s <! i * 12 / 5; } }\n"
    )
    command = [sys.executable, "-m", "macah", "--emit", "dfg", str(source), "--disable"]
    made = [
        subprocess.run([*command, names], capture_output=True, text=True, check=True).stdout
        for names in ("all", ",".join(OPTIONAL), "balance")
    ]
    assert made[0] == made[1] != made[2]
