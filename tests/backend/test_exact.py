"""The exact engine against the checker, the heuristic mapper and cases known by hand."""

from dataclasses import replace

import graphs
import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.certify import ProveOptions, certify, minimal
from backend.check import check_mapping
from backend.dfg import DFG, Node, Use
from backend.exact import Question, Status, Way, prove, solve
from backend.exact_domain import Domain, whole_domain
from backend.exact_model import ground
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping

CONFLICTS = 8_000


def mapped(dfg: DFG, fabric: Fabric) -> Mapping | None:
    try:
        return map_kernel(dfg, fabric, MapOptions(effort=0.3))
    except DoesNotFit:
        return None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["mesh:2x2", "mesh:3x3", "grid:3x3"])
def test_no_heuristic_interval_is_below_the_proven_minimum(name: str, seed: int) -> None:
    fabric, dfg = load_fabric(name), graphs.random_graph(seed, 12, streams=2, memories=1)
    certificate = minimal(dfg, fabric, options=ProveOptions(conflicts=CONFLICTS))
    found = mapped(dfg, fabric)
    assert certificate.mapping is not None or found is None
    if certificate.mapping is not None:
        check_mapping(certificate.mapping)
        if certificate.proven and found is not None:
            assert found.interval >= certificate.mapping.interval


def test_results_that_stay_in_an_output_register() -> None:
    """A chain and an unread result on 2x2 tiles whose operations overwrite each other's results."""
    fabric = load_fabric("satmapit:2x2")
    nodes = [Node(0, "alu_0", ())]
    nodes += [Node(k, "alu_1", (Use(k - 1),)) for k in range(1, 7)]
    nodes.append(Node(7, "alu_2", (Use(0), Use(6))))
    dfg = DFG("chain", tuple(nodes), (), (), (), (), ())
    certificate = minimal(dfg, fabric)
    assert certificate.mapping is not None and certificate.proven
    # Registers are written from the output alone: a word that lives for 7 cycles needs more than 2 slots.
    assert certificate.mapping.interval == 3 and certificate.horizon == 14


def test_too_many_readers_on_a_full_array_are_refuted_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 operations in 12 slots leave none for a move: a result is with its neighbours for a cycle only."""
    nodes = [Node(0, "alu_0", ()), *(Node(k, "alu_1", (Use(0),)) for k in range(1, 12))]
    dfg, fabric = DFG("star", tuple(nodes), (), (), (), (), ()), load_fabric("satmapit:2x2")
    proof = prove(dfg, fabric, 3, 3)
    assert proof.status is Status.INFEASIBLE
    monkeypatch.setattr("backend.exact_spare.MOST_SPARE", -1)
    assert prove(dfg, fabric, 3, 3, proof.conflicts + 100).status is Status.UNKNOWN
    monkeypatch.undo()
    assert prove(dfg, fabric, 4, 3).status is Status.FOUND


def test_room_in_each_slot_is_counted() -> None:
    """Results that leave no slot room for words on their way, with readers that come late."""
    nodes = [Node(0, "alu_0", ()), *(Node(k, "alu_1", (Use(0),)) for k in range(1, 11))]
    dfg, fabric = DFG("star", tuple(nodes), (), (), (), (), ()), load_fabric("satmapit:2x2")
    told, untold = (prove(dfg, fabric, 3, 4, way=way) for way in (Way.STRICT, Way.NEAR))
    assert told.status is untold.status is Status.INFEASIBLE
    assert told.conflicts < untold.conflicts
    assert prove(dfg, fabric, 4, 4, way=Way.STRICT).status is Status.FOUND


def test_symmetries_change_no_answer() -> None:
    """With places restricted from the start, what has no mapping still has none, and what has one has one."""
    arrays = (("satmapit:3x2", 3), ("satmapit:2x2", 4), ("mesh:3x3", 4), ("grid:3x3", 4))
    graphs = [(tree(leaves), load_fabric(name)) for name, leaves in arrays]
    answers = [
        [prove(*graph, interval, 3, way=way).status for graph in graphs for interval in (1, 2)] for way in Way
    ]
    assert all(some == answers[0] for some in answers)
    assert {Status.FOUND, Status.INFEASIBLE} == set(answers[0])


def late(triples: int) -> DFG:
    """Words that two operations read, one of them from the other, too: so it comes later."""
    nodes: list[Node] = []
    for k in range(0, 3 * triples, 3):
        nodes += [Node(k, "alu_0", ()), Node(k + 1, "alu_1", (Use(k),))]
        nodes.append(Node(k + 2, "alu_2", (Use(k), Use(k + 1))))
    return DFG("late", tuple(nodes), (), (), (), (), ())


def test_who_reads_late_is_at_home_or_the_word_moves() -> None:
    """At an interval of 1 nobody is at home with anybody, and a full array has no room for moves."""
    fabric = load_fabric("satmapit:3x3")
    told, untold = (prove(late(3), fabric, 1, 2, way=way) for way in (Way.NEAR, Way.USUAL))
    assert told.status is untold.status is Status.INFEASIBLE
    assert told.conflicts < untold.conflicts
    assert prove(late(1), fabric, 1, 2, way=Way.NEAR).status is Status.FOUND
    assert prove(late(3), fabric, 2, 2, way=Way.NEAR).status is Status.FOUND


@pytest.mark.parametrize("way", Way)
def test_a_word_that_has_waited_is_read_elsewhere_unless_such_mappings_are_left_out(way: Way) -> None:
    """All outputs are taken in the cycle after it is made, and its reader's slot is its own maker's: so it
    waits in a register of that tile and goes back into the output later."""
    nodes = [
        Node(0, "alu_0", ()),
        Node(1, "alu_1", (Use(0),)),
        Node(2, "alu_1", (Use(0),)),
        Node(3, "alu_2", (Use(1), Use(2))),
        Node(4, "alu_1", (Use(3),)),
        Node(5, "alu_1", (Use(4),)),
        Node(6, "alu_1", (Use(4),)),
        Node(7, "alu_2", (Use(5), Use(6))),
        Node(8, "alu_2", (Use(0), Use(7))),
    ]
    dfg, fabric = DFG("back", tuple(nodes), (), (), (), (), ()), load_fabric("satmapit:2x2")
    assert prove(dfg, fabric, 3, 0, way=way).status is (Status.INFEASIBLE if way.near else Status.FOUND)


@pytest.mark.parametrize("name", ["satmapit:2x2", "satmapit:3x2", "adres:2x2", "adres:3x2"])
@pytest.mark.parametrize("seed", range(4))
def test_what_follows_for_places_and_times_changes_no_answer(name: str, seed: int) -> None:
    fabric, dfg = load_fabric(name), graphs.random_graph(seed, 9, streams=1, memories=1)
    for interval in range(1, 6):
        answers = {prove(dfg, fabric, interval, 2, way=way).status for way in Way}
        assert len(answers) == 1 and Status.UNKNOWN not in answers


def test_a_question_that_is_asked_again_goes_on() -> None:
    dfg, fabric = late(3), load_fabric("satmapit:3x3")
    problem = Problem(dfg, fabric)
    domain = whole_domain(problem, ground(fabric), 1, 4)
    assert domain is not None
    whole = solve(problem, 1, domain, 100_000, 1e9, Way.PLAIN)
    assert whole.status is Status.INFEASIBLE and whole.conflicts > 20
    with Question(problem, 1, domain, Way.PLAIN) as question:
        first = question.ask(10)
        assert first.status is Status.UNKNOWN
        again = question.ask(100_000)
    assert again.status is Status.INFEASIBLE
    assert first.conflicts < again.conflicts < 2 * whole.conflicts


def tree(leaves: int) -> DFG:
    """Loads, and operations on two of the values before."""
    nodes = [Node(k, "access_0", ()) for k in range(leaves)]
    for k in range(leaves, 2 * leaves - 1):
        nodes.append(Node(k, "alu_2", (Use(2 * (k - leaves)), Use(2 * (k - leaves) + 1))))
    nodes.append(Node(len(nodes), "alu_2", (Use(len(nodes) - 1), Use(len(nodes), 1))))
    return DFG("tree", tuple(nodes), (), (), (), (), ())


@pytest.mark.parametrize("name", ["satmapit:2x2", "satmapit:3x3", "adres:3x3", "hycube:3x3"])
def test_models_of_published_arrays(name: str) -> None:
    """Registers that only hold, shared files, and crossbars whose wires lead back to each other."""
    certificate = minimal(tree(6), load_fabric(name))
    assert certificate.mapping is not None and certificate.proven
    assert certificate.mapping.interval == certificate.mii


@pytest.mark.parametrize("hasty", [0.1, 0.0001])
def test_a_small_graph_that_maps_at_the_bound_needs_no_search(
    monkeypatch: pytest.MonkeyPatch, hasty: float
) -> None:
    """A hasty attempt maps it; where that fails (it has hardly any moves), the solver does."""
    monkeypatch.setattr("backend.certify.HASTY", hasty)
    asked: list[int] = []
    monkeypatch.setattr("backend.certify.prove", lambda *given: asked.append(given[2]) or prove(*given))
    monkeypatch.setattr("backend.certify.map_kernel", None)
    dfg, fabric = graphs.layered(10, 1), load_fabric("satmapit:2x2")
    found = certify(dfg, fabric, MapOptions(), ProveOptions(), lambda _: None)
    assert found.proven and found.horizon is None and found.mapping is not None
    check_mapping(found.mapping)
    assert found.mapping.interval == found.mii
    assert bool(asked) == (hasty < 0.1)


@pytest.mark.parametrize("longer", [0, 1])
def test_who_interrupts_the_search_before_a_proof_waits_for_none(
    longer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dfg, fabric = graphs.layered(60, 1), load_fabric("grid4x4")
    interval = minimum_interval(dfg, fabric).mii + longer
    late = replace(map_kernel(dfg, fabric, MapOptions(interval=interval)), late=True)
    monkeypatch.setattr("backend.certify.map_kernel", lambda *_: late)
    monkeypatch.setattr("backend.certify.prove", None)
    found = certify(dfg, fabric, MapOptions(), ProveOptions(), lambda _: None)
    assert found.mapping is late and found.proven == (not longer)
    assert f"II {interval} is" in found.text()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["mesh:4x4", "grid:4x4", "grid:8x8", "torus:4x4"])
def test_every_mapping_satisfies_the_clauses(name: str, seed: int) -> None:
    """Places and times of a heuristic mapping have routes: nothing is refused that is possible."""
    fabric, dfg = load_fabric(name), graphs.random_graph(seed, 40)
    found = map_kernel(dfg, fabric, MapOptions(seed=seed + 1))
    start, site = found.placement.schedule.start, ground(fabric).site_of
    sites = tuple((site[u],) for u in found.placement.unit)
    proof = solve(Problem(dfg, fabric), found.interval, Domain(sites, start, start), CONFLICTS, 60)
    assert proof.status is Status.FOUND
