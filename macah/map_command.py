"""`macahc map`: maps a dataflow graph on its own, and says how far from the best that is."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from arch.describe import fabric_file
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.check import MappingError, check_mapping
from backend.core import tightened
from backend.dfg import DFG, Place
from backend.flat import Problem
from backend.foreign import ForeignGraph, GraphError, to_dfg
from backend.formats import read_graph, read_text
from backend.graph_json import write_json
from backend.mapping import EFFORTS, DoesNotFit, MapOptions, Mapping, Shortage
from backend.mapping_text import MappingFileError, read_mapping, read_old, word, write_mapping
from backend.run_dfg import GraphRunFailed
from backend.run_mapping import WrongRun, compare
from backend.staged import map_graph, staged
from backend.warm import remap
from sim.workspace import write_whole

from .diagnostic import Diagnostic, MacahError, Note
from .fabrics import fabric_of
from .map_report import Outcome, as_json, as_text
from .messages import FORMATS, MessageOptions, Messages
from .stages import Stages
from .toolchain import check_outputs

T = TypeVar("T")

USAGE = "macahc map GRAPH --arch NAME [options]"

DESCRIPTION = """Maps a dataflow graph, alone, onto an accelerator. GRAPH is JSON, or a file of
another mapper: docs/graphs.md describes the forms."""

ITERATIONS = 20
"""So many iterations of a mapping are run beside its graph."""

MOST_PLACES = 8
"""So many places are shown of the operations that something is too scarce for."""


def build_parser() -> argparse.ArgumentParser:
    """The options of `macahc map`."""
    from .cli_options import Parser, add_mapping

    parser = Parser("macahc map", usage=USAGE, description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("graph", metavar="GRAPH")
    add("--json", action="store_true", help="the result as one JSON object")
    add_mapping(parser)
    add("--prove", action="store_true", help="prove that no shorter interval is possible, or find one")
    add(
        "--slack",
        type=_cycles,
        metavar="N",
        help="--prove: schedules up to N cycles longer than the shortest",
    )
    add("-o", dest="output", metavar="MAPPING", help="write the mapping to a file")
    add("--warm", metavar="MAPPING", help="begin with the mapping of a graph that is almost this one")
    add("--check", metavar="MAPPING", help="check the mapping of a file instead, and run it beside the graph")
    add("--write-graph", metavar="FILE", help="write the graph as JSON, whatever form it came in")
    add("-v", "--verbose", action="store_true", help="say what is tried")
    add("--diagnostics-format", choices=FORMATS, default="text", help="form of errors and warnings")
    return parser


def _cycles(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of cycles")
    return int(text)


def map_command(words: Sequence[str], messages: Messages) -> int:
    """Does what the words after `macahc map` ask; the status. Errors: MacahError, OSError."""
    parser = build_parser()
    found = parser.parse_args(list(words))
    if found.ii and found.max_ii:
        parser.error("--ii and --max-ii exclude each other")
    if found.ii and found.prove:
        parser.error("--prove looks for the shortest interval: leave out --ii")
    messages.options = MessageOptions(found.diagnostics_format)
    fabric = fabric_of(found.arch)
    if found.prove and fabric.planes:
        parser.error(f"--prove does not know planes of bits, and {fabric.name} has one")
    graph = _read(Path(found.graph))
    messages.show(
        Diagnostic(text, where, severity="warning", code="graph-guess") for text, where in graph.doubtful
    )
    output = None if found.output is None else Path(found.output)
    _check_outputs(found)
    if found.write_graph is not None:
        write_whole(Path(found.write_graph), write_json(graph).encode())
    if found.check is not None:
        sys.stdout.write(_checked(Path(found.check), to_dfg(graph, fabric), fabric))
        return 0
    effort = EFFORTS[found.effort]
    options = MapOptions(found.seed, effort, found.ii, found.max_ii, found.time_limit, found.jobs)
    stages = Stages(found.verbose)
    try:
        with stages.progress():
            _refuse_huge(len(graph.nodes), fabric, options)
            dfg = to_dfg(graph, fabric)
            begin = time.perf_counter()
            warm = None if found.warm is None else _warm(Path(found.warm), graph, dfg, fabric, options)
            if warm is None and found.warm is not None:
                said = f"no mapping is near that in '{found.warm}': the graph is mapped as usual"
                messages.show([Diagnostic(said, severity="note", code="graph-guess")])
            outcome = _map(dfg, fabric, options, stages, found.prove, found.slack, warm, begin)
    except DoesNotFit as problem:
        raise _does_not_fit(problem, graph, fabric) from None
    if output is not None:
        write_whole(output, write_mapping(outcome.mapping, [node.name for node in graph.nodes]).encode())
    sys.stdout.write(as_json(outcome) if found.json else as_text(outcome))
    sys.stdout.flush()
    return 0


def _check_outputs(found: argparse.Namespace) -> None:
    """Refuses what would overwrite what is read. A mapping that is begun with may give way to the new one."""
    inputs = [Path(found.graph), fabric_file(found.arch)]
    old = [Path(name) for name in (found.warm, found.check) if name is not None]
    if found.write_graph is not None:
        check_outputs([Path(found.write_graph)], [*inputs, *old])
    names = (found.write_graph, found.output)
    check_outputs([Path(name) for name in names if name is not None], inputs)


def _read(path: Path) -> ForeignGraph:
    """The graph of a file."""
    try:
        return read_graph(path)
    except GraphError as error:
        raise MacahError(error.message, error.where, code="graph-file") from None
    except OSError as error:
        raise _cannot_read(path, error) from None


def _cannot_read(path: Path, error: OSError) -> MacahError:
    reason = (error.strerror or str(error)).lower()
    return MacahError(f"cannot read '{path}': {reason}", code="cannot-read")


def _from_file(path: Path, read: Callable[[str], T]) -> T:
    """What is read of a mapping's file."""
    try:
        return read(read_text(path))
    except (GraphError, MappingFileError) as error:
        raise MacahError(error.message, error.where, code="mapping-file") from None
    except OSError as error:
        raise _cannot_read(path, error) from None


def _checked(path: Path, dfg: DFG, fabric: Fabric) -> str:
    """What is said of the mapping of a file that is right."""
    mapping = _from_file(path, lambda text: read_mapping(text, str(path), dfg, fabric))
    said = f"the first {ITERATIONS} iterations compute what the graph does"
    words = {s: range(1, 1 + ITERATIONS * len(stream.words)) for s, stream in enumerate(dfg.streams)}
    inputs = {s: numbers for s, numbers in words.items() if not dfg.streams[s].sends}
    try:
        check_mapping(mapping)
        compare(mapping, ITERATIONS, [ITERATIONS] * len(dfg.live_ins), inputs)
    except GraphRunFailed as error:
        said = f"not run: {error}"
    except (MappingError, WrongRun) as error:
        raise MacahError(f"the mapping is wrong: {error}", Place(str(path), 1), code="mapping-file") from None
    stages = f" with {n} stages" if (n := staged(dfg, mapping)) else ""
    return (
        f"{path}: a mapping of graph {dfg.name}{stages} on {fabric.name}, initiation interval"
        f" {mapping.interval}; {said}\n"
    )


def _warm(path: Path, graph: ForeignGraph, dfg: DFG, fabric: Fabric, options: MapOptions) -> Mapping | None:
    """A mapping near that of a file, if there is one."""
    old = _from_file(path, lambda text: read_old(text, str(path), fabric))
    return remap(dfg, fabric, [word(node.name) for node in graph.nodes], old, options)


def _map(
    dfg: DFG,
    fabric: Fabric,
    options: MapOptions,
    stages: Stages,
    prove: bool,
    slack: int | None,
    warm: Mapping | None,
    begin: float,
) -> Outcome:
    """The best that is found; `warm` is a mapping that is there already."""
    bounds = minimum_interval(dfg, fabric)
    proven, horizon = False, 0
    if prove:
        # Imported here: it loads a solver, which nothing else needs.
        from backend.certify import ProveOptions, certify, minimal

        limits = ProveOptions(slack, seconds=options.time_limit or 1e9)
        if warm is None:
            certificate = certify(dfg, fabric, options, limits, stages.say)
        else:
            certificate = minimal(dfg, fabric, warm, limits, stages.say)
        assert certificate.mapping is not None
        mapping, proven, horizon = certificate.mapping, certificate.proven, certificate.horizon or 0
    else:
        mapping = warm or map_graph(dfg, fabric, options, stages.say)
    bounds = tightened(bounds, Problem(dfg, fabric), mapping.interval)
    proven = proven or mapping.interval == bounds.mii
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.perf_counter() - begin
    return Outcome(mapping, bounds, proven, horizon, seconds, peak, staged(dfg, mapping))


def _refuse_huge(nodes: int, fabric: Fabric, options: MapOptions) -> None:
    """DoesNotFit at once if there are more operations than all units can do, whatever they are."""
    limit = min(options.interval or options.max_interval or fabric.max_interval, fabric.max_interval)
    needed = -(-nodes // len(fabric.units))
    if needed > limit:
        raise DoesNotFit(
            f"{nodes} operations need an initiation interval of at least {needed} on"
            f" {len(fabric.units)} units; the limit is {limit}",
            Shortage.INTERVAL,
            needed,
            limit,
        )


def _does_not_fit(problem: DoesNotFit, graph: ForeignGraph, fabric: Fabric) -> MacahError:
    """What is scarce, and the operations that want it, with their places in the graph's file."""
    notes = []
    for n in sorted(n for n in problem.nodes if n < len(graph.nodes))[:MOST_PLACES]:
        node = graph.nodes[n]
        notes.append(Note(f"needed by node {node.name}, {node.op!r}", graph.locate("node", n)))
    message = f"graph {graph.name!r} does not fit on {fabric.name}: {problem}"
    if problem.shortage is Shortage.TIME:
        message = f"graph {graph.name!r} is not mapped on {fabric.name}: {problem}"
    else:
        message += f" ({problem.shortage.value}: {problem.needed} needed, {problem.available} available)"
    return MacahError(
        message,
        graph.locate("", 0),
        tuple(notes),
        code="does-not-fit",
    )
