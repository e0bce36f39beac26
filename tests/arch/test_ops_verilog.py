"""Every pure operation means the same in Verilog as in the table."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from arch.ops import OPS, WIDE_OPS, evaluate, verilog_expression, verilog_function

CORNERS = (0, 1, 2, 7, 8, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x10000, 0x7FFFFFFF, 0x80000000)
CORNERS += (0x80000001, 0xFFFFFFFE, 0xFFFFFFFF)
PURE = [op for op in OPS.values() if op.pure and op.name not in WIDE_OPS]


def operand_lists(arity: int) -> list[tuple[int, ...]]:
    rng = random.Random(arity)
    if arity < 3:
        lists = [(a, b)[:arity] for a in CORNERS for b in CORNERS]
    else:
        lists = [(rng.choice(CORNERS), rng.choice(CORNERS), rng.choice(CORNERS)) for _ in range(300)]
    random_words = [tuple(rng.getrandbits(rng.choice((4, 16, 32))) for _ in range(arity)) for _ in range(200)]
    return sorted({*lists, *random_words})


def test_verilog_and_table_agree_on_corner_and_random_operands(tmp_path: Path) -> None:
    lines = ["module bench;", "reg [31:0] a, b, c;"]
    lines += [text for op in PURE if (text := verilog_function(op.name, 32))]
    for op in PURE:
        lines.append(f"wire [31:0] {op.name}_ = {verilog_expression(op.name, 32, *'abc'[: op.arity])};")
    lines.append("initial begin")
    expected = []
    for op in PURE:
        for operands in operand_lists(op.arity):
            sets = " ".join(f"{name} = 32'd{v};" for name, v in zip("abc", operands, strict=False))
            lines.append(f'{sets} #1 $display("%h", {op.name}_);')
            expected.append(f"{op.name}{operands} = {evaluate(op.name, 32, *operands):08x}")
    source, image = tmp_path / "bench.v", tmp_path / "bench.vvp"
    source.write_text("\n".join([*lines, "end", "endmodule", ""]))
    subprocess.run(["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-o", image, source], check=True)
    output = subprocess.run(["vvp", "-n", image], capture_output=True, text=True, check=True).stdout.split()
    calls = [line.rsplit(" = ", 1)[0] for line in expected]
    assert [f"{call} = {word}" for call, word in zip(calls, output, strict=True)] == expected


def test_every_operation_that_a_fabric_can_do_has_verilog() -> None:
    assert {op.name for op in PURE} == {op.name for op in OPS.values() if op.verilog}
