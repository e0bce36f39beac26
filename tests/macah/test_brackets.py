"""Broken programs of any length: finding where to go on takes time in proportion to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah.brackets import OpenBrackets
from macah.diagnostic import MacahError
from macah.program import parse_program

# Minutes for what takes a step for each pair of these.
MANY = 30_000


def test_parentheses_do_not_reach_into_a_block() -> None:
    brackets = OpenBrackets()
    for kind in "(", "{", "for", "{", "(", "(":
        brackets.push(kind)
    brackets.keep_braces()
    assert brackets.hold_semicolons()
    brackets.pop()
    brackets.pop()
    assert not brackets
    brackets.pop()
    brackets.push("(")
    assert brackets and not brackets.hold_semicolons()
    brackets.push("for")
    assert brackets.hold_semicolons()


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("{" * MANY, 1),
        ("f() {" + "{;" * MANY, 1),
        ("@\n" * MANY, MANY),
        ("typedef ?;\n" * (MANY // 20), MANY // 20),
    ],
)
def test_any_number_of_mistakes_is_found(text: str, errors: int) -> None:
    with pytest.raises(MacahError) as caught:
        parse_program(text, Path("t.macah"))
    assert len(caught.value.diagnostics) == errors
