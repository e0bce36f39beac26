"""Variables that are always the same: which one stands for the others does not differ from run to run."""

from macah import ir
from macah.graph import Before
from macah.ir import Apply, Assign, Const, Read, Variable
from macah.symbolic import Symbolic


def test_the_first_that_is_assigned_stands_for_those_that_are_the_same():
    alike = [Variable(f"v{number}") for number in range(12)]
    order = alike[5:] + alike[:5]
    grown = [Assign(v, Apply("add", (Read(v), Const(3)))) for v in order]
    loop = ir.DoWhile(tuple(grown), Apply("slt", (Read(alike[0]), Const(50))))
    leading = tuple(Assign(v, Const(1)) for v in alike)
    kernel = ir.Kernel("k", (), (), (*leading, loop))
    found = Symbolic(kernel, leading, loop, Variable("alive"), frozenset(), {}).run()
    assert found == {v: Before(order[0]) for v in order[1:]}
