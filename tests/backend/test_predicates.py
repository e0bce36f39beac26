"""Which values fit one bit."""

from backend.dfg import DFG, Const, LiveIn, Node, Operand, Use
from backend.predicates import predicates


def graph(*nodes: tuple[str, tuple[Operand, ...]]) -> DFG:
    made = tuple(Node(n, op, operands) for n, (op, operands) in enumerate(nodes))
    return DFG("g", made, (), (), (), ("x",), ())


def test_logic_on_comparisons_fits_one_bit() -> None:
    dfg = graph(("slt", (LiveIn(0), Const(3))), ("xor", (Use(0), Const(1))), ("and", (Use(1), LiveIn(0))))
    assert predicates(dfg) == {(0, 0), (1, 0), (2, 0)}


def test_arithmetic_does_not() -> None:
    assert predicates(graph(("add", (LiveIn(0), Const(1))), ("or", (Use(0), Const(1))))) == frozenset()


def test_a_recurrence_of_bits_fits_one_bit() -> None:
    assert predicates(graph(("and", (Use(0, 1, Const(1)), Const(1))))) == {(0, 0)}


def test_a_value_whose_initial_value_is_a_word_does_not_fit() -> None:
    assert predicates(graph(("and", (Use(0, 1, LiveIn(0)), Const(1))))) == frozenset()
    assert predicates(graph(("and", (Use(0, 1, Const(6)), Const(1))))) == frozenset()
