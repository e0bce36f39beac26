"""What is said about a mistake in the syntax, and the looks at tokens by which it is recognised."""

from __future__ import annotations

from dataclasses import dataclass

from macah.tokens import MacahToken


@dataclass(frozen=True, slots=True)
class Mistake:
    """What to say; `token` is where the mistake is, if not at the next token."""

    message: str
    hint: str = ""
    code: str = "syntax"
    token: MacahToken | None = None


def describe(token: MacahToken) -> str:
    """A token as messages name it."""
    if token.type.endswith("STRING_LITERAL"):
        return "string constant"
    if "CONST_" in token.type or token.type.endswith("_CONST"):
        return "constant"
    if token.type in {"PPPRAGMA", "PPPRAGMASTR"}:
        return "'#pragma'"
    return f"'{token.value}'"


def type_of(token: MacahToken | None) -> str:
    """The type of a token, '' for none."""
    return token.type if token is not None else ""


def value_of(token: MacahToken | None) -> str:
    """The text of a token, '' for none."""
    return token.value if token is not None else ""
