"""Variables that are always the same: which one stands for the others does not differ from run to run."""

from backend.dfg import Const
from macah import ir
from macah.congruence import congruent
from macah.graph import Before, Graph
from macah.ir import Apply, Assign, Read, Variable
from macah.receive_packing import Packing
from macah.symbolic import Symbolic


def test_the_first_that_is_assigned_stands_for_those_that_are_the_same():
    alike = [Variable(f"v{number}") for number in range(12)]
    order = alike[5:] + alike[:5]
    grown = [Assign(v, Apply("add", (Read(v), ir.Const(3)))) for v in order]
    loop = ir.DoWhile(tuple(grown), Apply("slt", (Read(alike[0]), ir.Const(50))))
    leading = tuple(Assign(v, ir.Const(1)) for v in alike)
    kernel = ir.Kernel("k", (), (), (*leading, loop))
    packing = Packing(frozenset(), {}, {})
    found = Symbolic(kernel, leading, loop, Variable("alive"), frozenset(), {}, packing).run()
    assert found == {v: Before(order[0]) for v in order[1:]}


def test_a_chain_falls_apart_one_by_one_in_little_time():
    """Each round tells one more variable from the others: with all looked at again it would take a minute."""
    chain = [Variable(f"v{number}") for number in range(5000)]
    graph = Graph()
    final = {
        v: graph.pure("add", Before(after), Const(3))
        for v, after in zip(chain, (*chain[1:], chain[-1]), strict=True)
    }
    alike = [Variable("a"), Variable("b")]
    final |= {v: graph.pure("add", Before(v), Before(chain[0])) for v in alike}
    initial = {**dict.fromkeys(chain[:-1], Const(0)), chain[-1]: Const(1)}
    assert congruent(graph, initial | dict.fromkeys(alike, Const(2)), final) == {alike[1]: alike[0]}
