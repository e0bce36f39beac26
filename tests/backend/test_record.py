"""Records that are made quickly are what the usual ones are."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from backend.dfg import LiveIn, Use
from backend.record import made_quickly


def record() -> Any:
    @dataclass(frozen=True, slots=True)
    class Record:
        name: str
        size: int = 4
        parts: tuple[int, ...] = ()
        found: int = field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            assert self.size > 0, "no size"

    return Record


Usual, Quick = record(), made_quickly(record())


def test_they_are_made_and_shown_alike() -> None:
    for given in (("a",), ("a", 2), ("a", 3, (1, 2))):
        assert repr(Quick(*given)) == repr(Usual(*given))
    assert Quick("a", parts=(1,)) == Quick(name="a", size=4, parts=(1,)) != Quick("a")
    assert hash(Quick("a", 2)) == hash(Quick("a", 2)) == hash(Usual("a", 2))
    assert str(inspect.signature(Quick)) == str(inspect.signature(Usual))


def test_they_are_frozen_and_checked() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick("a").size = 3
    with pytest.raises(AssertionError, match="no size"):
        Quick("a", 0)
    with pytest.raises(AttributeError):
        _ = Quick("a").found
    with pytest.raises(TypeError):
        Quick()


def test_they_are_copied_alike() -> None:
    made = Use(3, 1, LiveIn(2))
    assert replace(made, distance=2) == Use(3, 2, LiveIn(2)) != made
    assert copy.copy(made) == made == pickle.loads(pickle.dumps(made))
