"""The pseudo-constants of a program: where they are, their ranges, and the values given for them.

A value is kept under the constant's name, `N`, or under `function.N` for one that a function declares. Equal
names in one function share their value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from macah.diagnostic import MacahError, Place
from macah.lower_constants import is_adpc
from macah.lower_declarations import Declarations
from macah.program import Program, place_of, walk


@dataclass(frozen=True, slots=True)
class PseudoConstant:
    """One declaration `N = ADPC(minimum, maximum)`. `function` is "" at file scope."""

    name: str
    function: str
    where: Place
    minimum: int
    maximum: int
    value: int

    @property
    def key(self) -> str:
        """The name that means this one among all."""
        return f"{self.function}.{self.name}" if self.function else self.name


def pseudo_constants(program: Program, chosen: Mapping[str, int]) -> tuple[PseudoConstant, ...]:
    """All pseudo-constants in the order of the text, with the values that `chosen` gives them."""
    if "ADPC" not in program.text:
        return ()
    declarations = Declarations(program.unit, chosen)
    found = []
    for top in program.unit.ext:
        function = top if isinstance(top, c_ast.FuncDef) else None
        for node, call in _declared(top):
            scope = declarations.scope_at(function, node) if function else declarations.file
            if scope.find("ADPC") is not None:
                continue
            name = function.decl.name if function else ""
            try:
                low, high = declarations.adpc_range(call, scope, node.name)
                value = declarations.constant(call, scope, node.name)
            except MacahError:
                # Compiling what it is in says so, among other mistakes.
                continue
            found.append(PseudoConstant(node.name, name, place_of(node), low, high, value))
    return tuple(found)


def given(program: Program, options: Sequence[str]) -> dict[str, int]:
    """The values of `--adpc NAME=VALUE`, under their keys."""
    values: dict[str, int] = {}
    for option in options:
        name, value = _parsed(option)
        # Ranges may depend on values given before.
        known = pseudo_constants(program, values)
        for key in _meant(name, known):
            values[key] = value
        for constant in known:
            if constant.key in _meant(name, known):
                _check_range(option, value, constant)
    return values


def _declared(top: Any) -> Iterator[tuple[Any, Any]]:
    """What is declared with a pseudo-constant below a node, and the call of ADPC."""
    for node in walk(top):
        match node:
            case c_ast.Decl(init=call) if is_adpc(call):
                yield node, call
            case c_ast.Enumerator(value=call) if is_adpc(call):
                yield node, call


def _parsed(option: str) -> tuple[str, int]:
    name, equals, text = option.partition("=")
    if not name or not equals:
        raise MacahError(f"--adpc {option}: expected NAME=VALUE, as in --adpc N=8", code="usage")
    try:
        return name, int(text, 0)
    except ValueError:
        raise MacahError(f"--adpc {option}: '{text}' is not an integer", code="usage") from None


def _meant(name: str, known: Sequence[PseudoConstant]) -> list[str]:
    """The keys of the constants called `name`, which must be those of one function."""
    keys = list(dict.fromkeys(c.key for c in known if name in (c.name, c.key)))
    if len(keys) == 1 or name in keys:
        return [name] if name in keys else keys
    if not keys:
        choices = ", ".join(dict.fromkeys(c.key for c in known))
        hint = (
            f"its pseudo-constants: {choices}"
            if choices
            else "it has none: write 'const int N = ADPC(min, max);'"
        )
        raise MacahError(f"--adpc: the program has no pseudo-constant '{name}'", hint=hint, code="usage")
    hint = f"say which: {', '.join(keys)}"
    raise MacahError(f"--adpc: several pseudo-constants are called '{name}'", hint=hint, code="usage")


def _check_range(option: str, value: int, constant: PseudoConstant) -> None:
    low, high = constant.minimum, constant.maximum
    if not low <= value <= high:
        message = f"--adpc {option}: {value} is not in the range of '{constant.key}', {low} to {high}"
        raise MacahError(message, constant.where, code="adpc")
