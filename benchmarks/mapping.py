#!/usr/bin/env python3
"""Measures the mapper: interval, bound and its cause, proof, seconds and memory, over graphs and fabrics.

    .venv/bin/python benchmarks/mapping.py [--set NAME ...] [--only TEXT] [--seeds N] [--prove] [--effort E]

The sets: `kernels`, small graphs with which mapping is usually shown; `sources`, what the compiler makes of
some of benchmarks/kernels, without copies of loops; `layered`, random graphs from 200 to 1600 operations that
fill arrays; `mixed`, such graphs with multiplications and accesses to memory, with edges that reach far, and
where nearly every unit is busy in every cycle; `random`, random kernels with memories, streams and
recurrences; `large`, 3200 and 6400 operations; `growth`, 400 to 6400 operations on one array, to see how
seconds grow; `satmapit`, the seven graphs of SAT-MapIt's comparison on 2x2 to 5x5; `morpher`, Morpher's
graphs on its HyCUBE, beside what Morpher itself takes, where that is known; `published`, all graphs of
../shared/data/dfgs on 4x4 (these three only when that folder is there).

Seconds are of processor time, in a process of its own for each row, from the graph to the checked mapping,
with what is computed once for a fabric; megabytes are the peak of that process. `proof`: `bound` means that
no interval below is possible whatever the schedule, `horizon N` within schedules of N cycles (--prove).
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backend")]

import graphs  # noqa: E402

from arch.describe import load_fabric  # noqa: E402
from arch.fabric import Fabric  # noqa: E402
from backend.bound import minimum_interval  # noqa: E402
from backend.core import tightened  # noqa: E402
from backend.dfg import DFG  # noqa: E402
from backend.flat import Problem  # noqa: E402
from backend.foreign import to_dfg  # noqa: E402
from backend.graph_json import read_json  # noqa: E402
from backend.mapper import map_kernel  # noqa: E402
from backend.mapping import EFFORTS, DoesNotFit, MapOptions  # noqa: E402

PUBLISHED = ROOT.parent / "shared" / "data" / "dfgs"

KERNELS = ("fir16", "matmul32", "sad16", "dct8", "crc_bits", "sha256", "smith_waterman", "fft")

MORPHER: dict[str, tuple[int, float]] = {
    "16bit_manual_xmls_and_arch_arr_array_add_LN1_PartPred_DFG": (4, 1.4),
    "polybench_2mm": (4, 1.4),
    "polybench_atax": (4, 1.4),
    "polybench_bicg": (4, 1.4),
    "polybench_2mm_unroll4": (6, 169),
    "polybench_atax_unroll4": (7, 104),
    "polybench_bicg_unroll3": (0, 50),
}
"""Of Morpher on its own graphs and its HyCUBE: the interval (0: none found) and the fewest seconds."""

WIDTHS = (28, 5, 12, 5, 4, 10, 7, 6)


@dataclass(frozen=True)
class Case:
    """A graph, made when it is needed, and a fabric."""

    fabric: str
    graph: Callable[[Fabric], DFG]
    name: str


@dataclass(frozen=True)
class Row:
    """What came of a case; `ii` 0: no mapping."""

    name: str
    ops: int
    fabric: str
    mii: int
    ii: int
    proof: str
    seconds: float
    megabytes: int
    cause: str

    def __str__(self) -> str:
        cells = (self.name, self.ops, self.fabric, self.mii, self.ii or "-", self.proof)
        return _line(*cells, f"{self.seconds:.2f}", self.megabytes, self.cause + self._beside())

    def _beside(self) -> str:
        """What Morpher takes for this graph, on its array."""
        interval, seconds = MORPHER.get(self.name.removeprefix("morpher_"), (0, 0.0))
        if not seconds or not self.fabric.startswith("hycube"):
            return ""
        return f"; Morpher: {interval or 'none'} in {seconds:g} s, {seconds / self.seconds:.0f} times ours"


@dataclass
class Total:
    """Sums over the rows of a fabric."""

    rows: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        mapped = [row for row in self.rows if row.ii]
        least = sum(row.ii == row.mii for row in mapped)
        mean = sum(row.ii / row.mii for row in mapped) / max(1, len(mapped))
        return (
            f"{self.rows[0].fabric}: {len(mapped)} of {len(self.rows)} mapped, {least} at the bound,"
            f" mean II/MII {mean:.3f}, {sum(row.seconds for row in self.rows):.1f} s"
        )


def _line(*cells: object) -> str:
    *columns, last = cells
    first, *rest = (f"{cell!s:{width}}" for cell, width in zip(columns, WIDTHS, strict=True))
    return " ".join([first, *(cell.strip().rjust(len(cell)) for cell in rest), f" {last}"])


def _made(dfg: DFG, *fabrics: str) -> list[Case]:
    return [Case(fabric, lambda _: dfg, dfg.name) for fabric in fabrics]


def _kernels() -> list[Case]:
    made = (graphs.fir(), graphs.matmul(), graphs.sad())
    return [case for dfg in made for case in _made(dfg, "grid4x4", "grid8x8")]


def _sources() -> list[Case]:
    return [_compiled(name, fabric) for name in KERNELS for fabric in ("grid4x4", "grid8x8")]


def _compiled(name: str, fabric: str) -> Case:
    def graph(_: Fabric) -> DFG:
        from macah.compile import fronts
        from macah.options import Options
        from macah.program import read_program
        from macah.stages import Stages

        source = ROOT / "benchmarks" / "kernels" / f"{name}.macah"
        return fronts(read_program(source), {}, Options(source, arch=fabric, unroll=("none",)), Stages())[
            0
        ].dfg

    return Case(fabric, graph, name)


def _layered() -> list[Case]:
    sizes = ((200, "grid4x4"), (400, "grid8x8"), (800, "grid8x8"), (800, "grid16x16"), (1600, "grid16x16"))
    return [
        case
        for count, fabric in sizes
        for seed in (1, 2, 3)
        for case in _made(graphs.layered(count, seed), fabric)
    ]


def _mixed() -> list[Case]:
    found = [
        case
        for seed in (1, 2, 3)
        for count, fabric in ((400, "grid8x8"), (800, "grid8x8"), (800, "grid16x16"), (1600, "grid16x16"))
        for case in _made(graphs.mixed(count, seed, accesses=0.12), fabric)
    ]
    for seed in (1, 2, 3):
        found += _made(graphs.mixed(1000, seed, accesses=0.08, far=0.08, ring=5), "grid16x16")
    for count, fabric in ((200, "grid4x4"), (400, "grid4x4"), (1000, "grid16x16"), (1750, "grid16x16")):
        found += _made(graphs.mixed(count, 1), fabric)
    return found


def _random() -> list[Case]:
    made = [graphs.random_graph(seed, count) for count in (30, 100, 200) for seed in (1, 2, 3)]
    return [case for dfg in made for case in _made(dfg, "grid4x4", "grid8x8")]


def _large() -> list[Case]:
    return [
        case for count in (3200, 6400) for case in _made(graphs.layered(count, 1), "grid16x16", "grid32x32")
    ]


def _growth() -> list[Case]:
    return [
        case
        for count in (400, 800, 1600, 3200, 6400)
        for case in _made(graphs.layered(count, 1), "grid32x32")
    ]


def _read(path: Path, fabric: str) -> Case:
    graph = read_json(path.read_text(), path.name, path.stem)
    return Case(fabric, lambda there: to_dfg(graph, there), path.stem)


def _satmapit() -> list[Case]:
    sizes = ("2x2", "3x3", "4x4", "5x5")
    found = sorted(PUBLISHED.glob("satmapit_*.json"))
    return [_read(path, f"satmapit:{size}") for path in found for size in sizes]


def _morpher() -> list[Case]:
    return [_read(path, "hycube:4x4") for path in sorted(PUBLISHED.glob("morpher_*.json"))]


def _published() -> list[Case]:
    fabrics = ("grid4x4", "mesh4x4", "satmapit:4x4")
    return [_read(path, fabric) for fabric in fabrics for path in sorted(PUBLISHED.glob("*.json"))]


SETS = {
    "kernels": _kernels,
    "sources": _sources,
    "layered": _layered,
    "mixed": _mixed,
    "random": _random,
    "large": _large,
    "growth": _growth,
    "satmapit": _satmapit,
    "morpher": _morpher,
    "published": _published,
}


def measure(case: Case, options: MapOptions, prove: bool) -> Row:
    """Maps a case in this process."""
    begun = time.process_time()
    fabric = load_fabric(case.fabric)
    loaded = time.process_time()
    dfg = case.graph(fabric)
    begun += time.process_time() - loaded
    bounds, ii, proof = None, 0, ""
    try:
        bounds = minimum_interval(dfg, fabric)
        if prove:
            from backend.certify import ProveOptions, certify

            certificate = certify(dfg, fabric, options, ProveOptions(), lambda _: None)
            ii = certificate.mapping.interval if certificate.mapping else 0
            proof = f"horizon {certificate.horizon}" if certificate.proven and certificate.horizon else ""
        else:
            ii = map_kernel(dfg, fabric, options).interval
        bounds = tightened(bounds, Problem(dfg, fabric), ii)
        proof = "bound" if ii == bounds.mii else proof
    except DoesNotFit as problem:
        proof = problem.shortage.value
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    mii, cause = (bounds.mii, bounds.binding) if bounds else (0, "")
    return Row(case.name, len(dfg.nodes), fabric.name, mii, ii, proof, seconds, peak, cause)


def _apart(case: Case, options: MapOptions, prove: bool) -> Row:
    """Maps a case in a process of its own, so that memory is counted for it alone."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)

    def work(answer: Connection) -> None:
        answer.send(measure(case, options, prove))

    process = context.Process(target=work, args=(there,))
    process.start()
    there.close()
    row: Row = here.recv()
    process.join()
    return row


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", choices=[*SETS], help="only these graphs (may be repeated)")
    parser.add_argument("--fabric", action="append", help="only on this fabric (may be repeated)")
    parser.add_argument("--only", default="", help="only graphs whose name contains this")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 on")
    parser.add_argument("--effort", choices=[*EFFORTS], default="normal")
    parser.add_argument("--prove", action="store_true", help="ask the exact engine too")
    found = parser.parse_args()
    print(_line("graph", "ops", "fabric", "MII", "II", "proof", "seconds", "MB", "cause"))
    totals: dict[str, Total] = {}
    for name in found.set or SETS:
        for case in SETS[name]():
            if found.only not in case.name or (found.fabric and case.fabric not in found.fabric):
                continue
            for seed in range(1, 1 + found.seeds):
                row = _apart(case, MapOptions(seed=seed, effort=EFFORTS[found.effort]), found.prove)
                totals.setdefault(row.fabric, Total()).rows.append(row)
                print(row, flush=True)
    print(*totals.values(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
