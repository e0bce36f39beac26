"""Non-blocking operations whose outcome nobody looks at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic
from macah.lint_live import Liveness
from macah.lint_names import Names
from macah.program import Program, place_of, walk
from macah.syntax import Asm, Receive, Send


def unchecked_transfers(program: Program, names: Names) -> Iterator[Diagnostic]:
    """`w :: s <! e` and `w :: x <? s` where `w` is never read before it is overwritten or gone."""
    for function in program.unit.ext:
        if isinstance(function, c_ast.FuncDef):
            nodes = list(walk(function.body))
            transfers = [n for n in nodes if isinstance(n, Send | Receive) and isinstance(n.worked, c_ast.ID)]
            if transfers and not any(isinstance(n, c_ast.Goto | Asm) for n in nodes):
                yield from _in_function(function, nodes, transfers, names)


def _in_function(function: Any, nodes: list[Any], transfers: list[Any], names: Names) -> Iterator[Diagnostic]:
    addressed = {
        id(d) for n in nodes if isinstance(n, c_ast.UnaryOp) and n.op == "&" for d in names.mentioned(n)
    }
    live = Liveness(names, function.body).after
    for node in transfers:
        worked = names.declaration(node.worked)
        if worked is None or id(worked) not in names.locals - addressed:
            continue
        # What `after` does not know cannot be reached.
        if id(worked) not in live.get(id(node), {id(worked)}):
            yield _warning(node, live[id(node)], names)


def _warning(node: Any, live: frozenset[int], names: Names) -> Diagnostic:
    worked = node.worked.name
    if isinstance(node, Receive) and id(names.declaration(node.target)) in live:
        message = f"'{node.target.name}' is used, but nobody looks at '{worked}': maybe nothing was received"
    else:
        what = "send" if isinstance(node, Send) else "receive"
        message = f"nobody looks at '{worked}': this {what} may not have happened"
    hint = f"test '{worked}' behind it; if it does not matter, say so with '(void){worked};'"
    return Diagnostic(message, place_of(node), (), hint, code="unchecked-transfer")
