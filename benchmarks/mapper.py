"""Measures the mapper: initiation interval against its bound, and seconds, for known and generated graphs.

    python benchmarks/mapper.py [--fabric NAME ...] [--only TEXT] [--seed N] [--seeds N] [--generated]

The graphs of published mapping tools are read from ../shared/data/dfgs when that folder is there. Their
operations are all taken as arithmetic of latency 1; graphs with more than three inputs at a node are named
and left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backend")]

import graphs  # noqa: E402

from arch.describe import load_fabric  # noqa: E402
from arch.fabric import Fabric  # noqa: E402
from backend.bound import minimum_interval  # noqa: E402
from backend.dfg import DFG, Const, Node, Operand, Order, Use  # noqa: E402
from backend.mapper import map_kernel  # noqa: E402
from backend.mapping import DoesNotFit, MapOptions  # noqa: E402

PUBLISHED = ROOT.parent / "shared" / "data" / "dfgs"
BY_INPUTS = ("mov", "mov", "add", "select")


def generated() -> list[tuple[DFG, tuple[str, ...]]]:
    """Graphs that this project makes, each with the fabrics to try it on."""
    both = ("grid4x4", "grid8x8")
    cases = [(graph, both) for graph in (graphs.fir(), graphs.matmul(), graphs.sad())]
    cases += [(graphs.layered(200, seed), ("grid4x4",)) for seed in (1, 2, 3)]
    cases += [(graphs.layered(400, seed), ("grid8x8",)) for seed in (1, 2, 3)]
    cases += [(graphs.layered(800, seed), ("grid8x8", "grid16x16")) for seed in (1,)]
    cases += [(graphs.random_graph(seed, count), both) for count in (30, 100, 200) for seed in (1, 2, 3)]
    return cases


def published() -> tuple[list[DFG], list[str]]:
    """The graphs of other tools, and the names of those left out."""
    found, left_out = [], []
    for path in sorted(PUBLISHED.glob("*.json")):
        dfg = _read(path)
        if dfg is None:
            left_out.append(path.stem)
        else:
            found.append(dfg)
    return found, left_out


def _read(path: Path) -> DFG | None:
    data = json.loads(path.read_text())
    ids = {node["id"]: k for k, node in enumerate(data["nodes"])}
    inputs: list[list[Operand]] = [[] for _ in data["nodes"]]
    orders = []
    for edge in data["edges"]:
        source, target, distance = ids[edge["src"]], ids[edge["dst"]], edge["distance"]
        if edge["kind"] == "order":
            orders.append(Order(source, target, distance))
        else:
            inputs[target].append(Use(source, distance))
    if any(len(operands) > 3 for operands in inputs):
        return None
    nodes = tuple(
        Node(k, BY_INPUTS[len(operands)], tuple(operands) or (Const(0),)) for k, operands in enumerate(inputs)
    )
    return DFG(path.stem, nodes, tuple(orders), (), (), (), ())


def measure(dfg: DFG, fabric: Fabric, seed: int) -> tuple[int, int | None, float]:
    """The bound, the interval reached (None: no mapping) and the seconds it took."""
    begun = time.process_time()
    bound = 0
    try:
        bound = minimum_interval(dfg, fabric).mii
        interval = map_kernel(dfg, fabric, MapOptions(seed=seed)).interval
    except DoesNotFit:
        return bound, None, time.process_time() - begun
    return bound, interval, time.process_time() - begun


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fabric", action="append", help="only on this fabric (may be repeated)")
    parser.add_argument("--only", default="", help="only graphs whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from --seed on")
    parser.add_argument("--generated", action="store_true", help="leave the published graphs out")
    options = parser.parse_args()
    cases = generated()
    left_out: list[str] = []
    if not options.generated:
        others, left_out = published()
        cases += [(dfg, ("grid4x4", "grid8x8")) for dfg in others]
    fabrics: dict[str, Fabric] = {}
    ratios: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    failed: dict[str, int] = {}
    print(f"{'graph':32} {'fabric':10} {'nodes':>5} {'MII':>4} {'II':>4} {'ratio':>6} {'seconds':>8}")
    for dfg, names in cases:
        if options.only not in dfg.name:
            continue
        for name in names:
            if options.fabric and name not in options.fabric:
                continue
            fabric = fabrics.setdefault(name, load_fabric(name))
            for seed in range(options.seed, options.seed + options.seeds):
                bound, interval, time_taken = measure(dfg, fabric, seed)
                seconds[name] = seconds.get(name, 0.0) + time_taken
                if interval is None:
                    failed[name] = failed.get(name, 0) + 1
                else:
                    ratios.setdefault(name, []).append(interval / bound)
                ratio = f"{interval / bound:6.2f}" if interval else "     -"
                print(
                    f"{dfg.name:32} {name:10} {len(dfg.nodes):5} {bound:4} {interval or '-':>4} {ratio} "
                    f"{time_taken:8.2f}",
                    flush=True,
                )
    for name, found in ratios.items():
        at_bound = sum(ratio == 1.0 for ratio in found)
        print(
            f"{name}: {len(found)} mapped, {failed.get(name, 0)} not; {at_bound} at the bound; "
            f"mean II/MII {sum(found) / len(found):.3f}; {seconds[name]:.1f} s"
        )
    if left_out:
        print(f"left out, a node has more than three inputs: {', '.join(left_out)}")


if __name__ == "__main__":
    main()
