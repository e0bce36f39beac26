"""The index of straight-line code: places are found where a variable is renamed, once, and in order."""

from macah.ir import Apply, Assign, Const, Read, Variable
from macah.passes.code import Code, Node, code_of

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
READS_OLD = Assign(Z, Read(X))
SETS = Assign(X, Apply("add", (Read(X), Const(1))))
READS_NEW = Assign(Y, Read(X))


def taken(code: Code, *variables: Variable) -> list[object]:
    return [node.stmt for node in code.taken(variables)]


def test_only_what_follows_the_first_assignment_is_taken() -> None:
    assert taken(code_of((READS_OLD, SETS, READS_NEW)), X) == [SETS, READS_NEW]


def test_a_place_is_taken_once_for_several_variables() -> None:
    assert taken(code_of((SETS, READS_NEW)), Y, X) == [SETS, READS_NEW]


def test_places_are_not_taken_again() -> None:
    code = code_of((READS_OLD, SETS, READS_NEW))
    code.taken([X])
    code.add(Node(3, SETS))
    assert taken(code, X) == [SETS]


def test_joined_code_is_in_order_whichever_part_is_larger() -> None:
    for cut in range(4):
        body = (READS_OLD, SETS, READS_NEW)
        nodes = [Node(place, stmt) for place, stmt in enumerate(body)]
        left, right = Code(), Code()
        for node in nodes[:cut]:
            left.add(node)
        for node in reversed(nodes[cut:]):
            right.add(node, first=True)
        right.preceded_by(left)
        assert right.body() == body
        assert taken(right, X) == [SETS, READS_NEW]
