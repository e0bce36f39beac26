"""Rewritings of one operation on the result of another: equal for all words."""

import random
from itertools import product

import pytest

from arch.ops import COMPARISONS, OPS, evaluate
from backend.dfg import Const, LiveIn, Use
from macah.graph import WIDTH, Draft
from macah.shorten_compare import choose_best, relate
from macah.shorten_graph import Choices
from macah.shorten_inverse import operands_for
from macah.shorten_rules import RULES, RULES_FOR, Pair
from macah.shorten_sweep import ALWAYS_LATE
from macah.shorten_time import Times

NUMBERS = (0, 1, 2, 3, 5, 25, 31, 32, 255, 0xFFFF, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1)
PURE = sorted(
    name for name, op in OPS.items() if op.pure and name not in ("mov", "sext32", "zext32", "trunc")
)
LEAVES = 4
RELATED = {
    "choose_last": [("add", "select"), ("mul", "select"), ("select", "and")],
    "rotate_choices": [("select", "select")],
    "split_predicate": [("add", "ult"), ("shl", "eq")],
    "choose_by_sign": [("shr", "sar")],
    "reassociate": [("add", "add"), ("smax", "smax")],
    "regroup_sum": [("sub", "sub"), ("sub", "add"), ("neg", "sub"), ("add", "sub")],
    "compare_earlier": [
        ("eq", "add"),
        ("ne", "sub"),
        ("eq", "xor"),
        ("eq", "mul"),
        ("ne", "muladd"),
        ("eq", "neg"),
    ],
    "compare_extremes": [("slt", "smax"), ("ule", "umin"), ("ult", "umax"), ("sle", "smin")],
    "relate": [("and", "ule"), ("or", "ult"), ("xor", "ult")],
    "distribute": [
        ("and", "xor"),
        ("shl", "add"),
        ("sar", "or"),
        ("not", "and"),
        ("sext8", "xor"),
        ("not", "xor"),
    ],
    "merge_arms": [("select", "add"), ("select", "sub"), ("select", "xor"), ("select", "shl")],
    "merge_product": [("select", "muladd")],
    "choose_factor": [("select", "mul"), ("select", "and"), ("select", "umulh"), ("select", "umin")],
    "choose_best": [("select", "select")],
    "factor": [("xor", "and"), ("add", "mul"), ("sub", "mul")],
    "choose_bits": [("or", "and"), ("xor", "and")],
    "multiply_and_add": [
        ("add", "mul"),
        ("sub", "mul"),
        ("muladd", "add"),
        ("add", "muladd"),
        ("sub", "muladd"),
    ],
}
"""Operations, and those that make an operand, which a rule rewrites."""


def value(choices, operand, words):
    """What a value is where live-ins are these words."""
    match operand:
        case Const(number):
            return number
        case LiveIn(index):
            return words[index]
        case Use(node):
            draft = choices.graph.drafts[node]
            return evaluate(draft.op, WIDTH, *[value(choices, inner, words) for inner in draft.operands])
    raise AssertionError(operand)


class Terms:
    """Random operations on few leaves, so that operands are often the same."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.choices = Choices()

    def leaf(self):
        roll = self.random.random()
        if roll < 0.2:
            return Const(self.random.choice(NUMBERS))
        return LiveIn(self.random.randrange(LEAVES))

    def predicate(self):
        return self.choices.apply("ult", LiveIn(self.random.randrange(LEAVES)), LiveIn(0))

    def operand(self, op, like):
        """A leaf, a predicate, or an operation like another one."""
        roll = self.random.random()
        if roll < 0.25:
            return self.predicate()
        if roll < 0.5:
            wanted = {"shl": "shr", "shr": "shl"}.get(like, like)
            return self.choices.apply(wanted, *[self.leaf() for _ in range(OPS[wanted].arity)])
        if roll < 0.6:
            return self.choices.apply("not", self.leaf())
        return self.leaf()

    def pair(self, op, inner):
        """An operation whose operand another operation makes; None if that was folded."""
        late = self.choices.apply(inner, *[self.operand(inner, "not") for _ in range(OPS[inner].arity)])
        operands = [self.operand(op, inner) for _ in range(OPS[op].arity)]
        operands[self.random.randrange(len(operands))] = late
        made = self.choices.apply(op, *operands)
        if not isinstance(made, Use):
            return None
        draft = self.choices.graph.drafts[made.node]
        places = [k for k, given in enumerate(draft.operands) if isinstance(given, Use)]
        if not places:
            return None
        at = self.random.choice(places)
        below = self.choices.graph.drafts[draft.operands[at].node]
        return made, Pair(
            self.choices,
            draft,
            draft.operands,
            at,
            below,
            below.operands,
            Times(self.choices, {}),
            ALWAYS_LATE,
        )


def compare(seed, op, inner, rules):
    """How many rewritings there were; each must be equal to the operation."""
    terms = Terms(seed)
    found = terms.pair(op, inner)
    if found is None:
        return 0
    made, pair = found
    count = 0
    for rule in rules:
        for new in list(rule(pair)):
            count += new != made
            for _ in range(12):
                words = [terms.random.choice((*NUMBERS, terms.random.getrandbits(32))) for _ in range(LEAVES)]
                assert value(terms.choices, new, words) == value(terms.choices, made, words), rule.__name__
    return count


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r not in (relate, choose_best)], ids=lambda rule: rule.__name__
)
def test_rewritings_are_equal(rule):
    for op, inner in RELATED[rule.__name__]:
        assert sum(compare(seed, op, inner, [rule]) for seed in range(300)), (op, inner)


def test_any_two_comparisons_of_the_same_values_are_one():
    found = 0
    for op, one, two, turned in product(("and", "or", "xor"), COMPARISONS, COMPARISONS, (False, True)):
        choices = Choices()
        a, b = LiveIn(0), LiveIn(1)
        first = choices.apply(one, a, b)
        second = choices.apply(two, b, a) if turned else choices.apply(two, a, b)
        inner = choices.graph.drafts[first.node]
        draft = Draft(op, (first, second))
        pair = Pair(choices, draft, draft.operands, 0, inner, inner.operands, Times(choices, {}), ALWAYS_LATE)
        for new in relate(pair):
            found += 1
            assert not isinstance(new, Use) or choices.graph.drafts[new.node].op in COMPARISONS
            for words in product(NUMBERS, repeat=2):
                both = [value(choices, term, words) for term in (first, second)]
                assert value(choices, new, words) == evaluate(op, WIDTH, *both), (op, one, two, turned)
    assert found == 3 * 2 * (36 - 8)  # all but those of different signs


@pytest.mark.parametrize("order", ["slt", "sle", "ult", "ule"])
@pytest.mark.parametrize("largest", [False, True])
def test_the_best_of_several_is_found_before_the_one_so_far(order: str, largest: bool) -> None:
    """Which is chosen if some are equal, too."""
    choices = Choices()
    a, b, x, y, p, q = (LiveIn(k) for k in range(6))
    turn = -1 if largest else 1
    extreme = choices.apply(order[0] + ("max" if largest else "min"), b, y)
    inner = choices.apply("select", choices.apply(order, *(y, b)[::turn]), q, a)
    made = choices.apply("select", choices.apply(order, *(x, extreme)[::turn]), p, inner)
    draft, below = (choices.graph.drafts[use.node] for use in (made, inner))
    pair = Pair(choices, draft, draft.operands, 2, below, below.operands, Times(choices, {}), ALWAYS_LATE)
    (new,) = choose_best(pair)
    for words in product(NUMBERS[::3], repeat=3):
        given = (7, *words, 8, 9)
        assert value(choices, new, given) == value(choices, made, given), words


def test_no_rule_is_left_out():
    assert all(rule in RULES_FOR[op] for rule in RULES for op, _ in RELATED[rule.__name__])
    picks = random.Random(3)
    for seed in range(600):
        found = Terms(seed).pair(picks.choice(PURE), picks.choice(PURE))
        if found is not None:
            others = [rule for rule in RULES if rule not in RULES_FOR[found[1].op]]
            assert not any(list(rule(found[1])) for rule in others)


def test_rewritings_of_any_two_operations_are_equal():
    picks = random.Random(1)
    found = sum(compare(seed, picks.choice(PURE), picks.choice(PURE), RULES) for seed in range(1500))
    assert found > 150


def test_operands_give_what_is_wanted():
    picks = random.Random(2)
    found = 0
    for _ in range(1500):
        op = picks.choice(PURE)
        result = Const(picks.choice(NUMBERS))
        fixed = tuple(
            Const(picks.choice(NUMBERS)) if picks.random() < 0.3 else None for _ in range(OPS[op].arity)
        )
        operands = operands_for(op, result, fixed, fixed)
        if operands is not None:
            found += 1
            assert all(given in (None, operand) for given, operand in zip(fixed, operands, strict=True))
            assert evaluate(op, WIDTH, *[operand.value for operand in operands]) == result.value
    assert found > 500
