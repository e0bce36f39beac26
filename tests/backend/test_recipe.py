"""What attempts do: each kind has seeds of its own."""

from __future__ import annotations

from backend.recipe import (
    DEAR,
    HASTE,
    HUGE,
    LARGE,
    MANY,
    MOST,
    PATIENT,
    RECIPES,
    SPELL,
    hasty,
    patient,
    usual,
)


def test_no_two_attempts_share_a_seed() -> None:
    for nodes in (40, MANY + 1):
        some = [usual(nodes, k) for k in range(64)] + patient(nodes) + [hasty(nodes, k) for k in range(64)]
        assert len({recipe.number for recipe in some}) == len(some)


def test_usual_attempts_follow_the_recipes_in_turn() -> None:
    for nodes, recipes in ((40, RECIPES), (MANY + 1, DEAR)):
        for k in range(16):
            recipe = usual(nodes, k)
            assert (recipe.stretch, recipe.placing, recipe.routing) == recipes[k % len(recipes)]
            assert recipe.central == (k % 2 == 1)
            assert recipe.mends == (k > 0)


def test_hasty_attempts_are_never_mended_and_patient_ones_are() -> None:
    assert not any(hasty(40, k).mends for k in range(2 * SPELL))
    assert [hasty(40, SPELL * k).stretch for k in range(3)] == [HASTE[0][0], HASTE[1][0], HASTE[0][0]]
    assert hasty(MANY + 1, 0).routing == LARGE[2]
    assert [hasty(nodes, 0).placing for nodes in (MOST, MOST + 1)] == [LARGE[1], HUGE[1]]
    assert [recipe.placing for recipe in patient(40)] == [placing for _, placing, _ in PATIENT]
    assert len(patient(MANY + 1)) == 1
    assert all(recipe.mends and not recipe.hasty for recipe in patient(40))
