"""Jumps of the host into a kernel block, which has no entry but its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from macah.diagnostic import Diagnostic, MacahError, Note
from macah.program import KernelSite, place_of, walk
from macah.syntax import LabelAddress


def jumps_into(site: KernelSite) -> Iterator[Diagnostic]:
    """An error for each `goto label` and `&&label` outside of the kernel at `site` whose label is in it."""
    inside = list(walk(site.node))
    labels = {node.name: node for node in inside if isinstance(node, c_ast.Label)}
    if not labels:
        return
    own = {id(node) for node in inside}
    for node in walk(site.function):
        if isinstance(node, c_ast.Goto | LabelAddress) and node.name in labels and id(node) not in own:
            yield from _refused(node, labels[node.name]).diagnostics


def _refused(jump: Any, label: Any) -> MacahError:
    return MacahError(
        f"label '{label.name}' cannot be jumped to from outside its kernel block",
        place_of(jump),
        (Note("the label stands here", place_of(label)),),
        hint="enter the kernel block at its beginning, and use 'if' or 'switch' there",
        code="goto",
    )
