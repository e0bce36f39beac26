"""One kernel block, type-checked, as kernel IR: what lowering is as a whole."""

from __future__ import annotations

from collections.abc import Mapping

from macah import ir
from macah.deep import deep_recursion
from macah.diagnostic import MacahError
from macah.lower_base import Frame, assigned_names
from macah.lower_dead import dead_after
from macah.lower_declarations import Declarations
from macah.lower_entry import Entry
from macah.lower_facts import Facts, Reconsider
from macah.lower_jumps import jumps_into
from macah.lower_scope import Scope
from macah.lower_statements import Statements
from macah.program import KernelSite, Program
from macah.renew import renewed


def lower(
    program: Program, site: KernelSite, adpc: Mapping[str, int] | None = None, alone: bool = False
) -> ir.Kernel:
    """The kernel at `site`; a `MacahError` carries all mistakes found. `adpc`: values of pseudo-constants.

    `alone`: not for its program, but for who gives its variables values of their own.
    """
    with deep_recursion(site.where):
        return _lower(program, site, adpc or {}, alone)


def _lower(program: Program, site: KernelSite, adpc: Mapping[str, int], alone: bool) -> ir.Kernel:
    types = Declarations(program.unit, adpc)
    scope = types.scope_at(site.function, site.node)
    lowering = _repeated(program, site, types, scope)
    errors = (*lowering.errors, *jumps_into(site))
    if errors:
        raise MacahError.of(errors)
    entry = None if alone else Entry(site, types)
    captured, streams, known = lowering.storage.captures(entry, dead_after(site))
    return ir.Kernel(
        site.name,
        captured,
        streams,
        renewed((*known, *lowering.body), lowering.received),
        site.where,
        site.ordered,
        lowering.storage.used_statics(),
        bubbles=site.bubbles,
        streams_end=lowering.streams_end,
    )


def _repeated(program: Program, site: KernelSite, types: Declarations, scope: Scope) -> Statements:
    """Lowers the kernel again as long as that finds something that it should have known before."""
    facts = Facts()
    while True:
        frame = Frame(site.function.decl.name, scope, assigned_names(site.node))
        lowering = Statements(program, types, frame, facts)
        lowering.enclosing = site.function
        lowering.block = site.node
        lowering.storage.begin = site.node.coord.start
        try:
            with lowering.inner_scope():
                lowering.begin_walks()
                lowering.statement(site.node.body)
        except Reconsider:
            continue
        return lowering
