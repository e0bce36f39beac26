"""What the mapper made of each kernel, and what limits it, for people and for programs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from .adpc import PseudoConstant
from .rare import rare_text
from .refusals import refusal_text
from .report_facts import Account, facts
from .why_text import recurrence_text, resource_text


def report_json(kernels: Sequence[Account], constants: Sequence[PseudoConstant] = ()) -> str:
    """The report as one JSON object."""
    found = {
        "kernels": [facts(account) for account in kernels],
        "pseudo_constants": [
            {
                "name": c.name,
                "function": c.function or None,
                "file": c.where.file,
                "line": c.where.line,
                "value": c.value,
                "minimum": c.minimum,
                "maximum": c.maximum,
            }
            for c in constants
        ],
    }
    return json.dumps(found, indent=2) + "\n"


def report_text(kernels: Sequence[Account], constants: Sequence[PseudoConstant] = ()) -> str:
    """The report for people."""
    texts = [_kernel_text(account) for account in kernels] or ["no kernels\n"]
    if constants:
        texts.append("".join(f"{_constant_text(c)}\n" for c in constants))
    return "\n".join(texts)


def _constant_text(c: PseudoConstant) -> str:
    return (
        f"pseudo-constant {c.key} ({c.where.file}:{c.where.line}) is {c.value}, of {c.minimum} to {c.maximum}"
    )


def _kernel_text(account: Account) -> str:
    f, where, mapping = facts(account), account.where, account.mapping
    lines = [
        f"kernel {f['name']} ({where.file}:{where.line}) on {mapping.fabric.name}",
        f"  operations           {f['operations']}, of them {f['selects']} selects,"
        f" {f['predicates']} predicates",
        f"  initiation interval  {f['ii']}, lower bound {f['mii']}"
        f" (resources {f['resource_mii']}, recurrences {f['recurrence_mii']}),"
        f" of the source {f['source_bound']}{' without copies' * bool(f['at_once'])}",
        f"  bound by             {_binding(account)}",
    ]
    if account.lowered.unroll:
        copies = (
            f"{n or 'all'} of the loop at {place.file}:{place.line}" for place, n in account.lowered.unroll
        )
        lines.append(_wrapped("copies of bodies", ", ".join(copies)))
    if account.lowered.partitioned:
        names = ", ".join(f"array '{name}'" for name in account.lowered.partitioned)
        text = "an element each, as memory would be waited for (--disable partition_arrays)"
        lines.append(_wrapped("in variables", f"{names}: {text}"))
    if account.lowered.rolled:
        plain = ", ".join(f"the FOR loop at {place.file}:{place.line}" for place in account.lowered.rolled)
        why = "as plain loops they take fewer cycles, or fit only so"
        lines.append(_wrapped("not unrolled", f"{plain}: {why}"))
    if account.lowered.by_turns:
        text = "what several statements beside loops send, or receive, in an iteration each"
        lines.append(_wrapped("by turns", text))
    if tables := f["control_tables"]:
        count = "a table" if len(tables) == 1 else f"{len(tables)} tables"
        text = f"what runs next is read from {count} of {tables[0]['words']} words: no data decide it"
        lines.append(_wrapped("control", text))
    for once in f["at_once"]:
        count, each = once["iterations"], f["ii"] / once["iterations"]
        text = f"{count} iterations of the loop at {once['file']}:{once['line']}: {each:.3g} cycles for each"
        lines.append(_wrapped("at once", text))
    lines += [_wrapped("between rows", text) for text in _rows(account)]
    if account.advice is not None:
        lines.append(_wrapped("what would help", account.advice.text))
    lines += [
        f"  schedule length      {f['schedule_length']} cycles",
        f"  units                {f['units_used']} of {f['units']}",
        f"  links and registers  {f['registers_used']} of {f['registers']}"
        + (f" words, {f['bit_registers_used']} of {f['bit_registers']} bits" if f["bit_registers"] else ""),
        f"  memories             {f['memories_used']} of {f['memories']}, {f['memory_words']} words",
        f"  streams              {f['streams']}",
        *(f"  rare branch          {rare_text(branch)}" for branch in account.lowered.rare),
    ]
    for title, refusal in zip(chain(("not converted",), repeat("")), account.refusals, strict=False):
        lines.append(_wrapped(title, refusal_text(refusal)))
    if account.lowered.once:
        text = "one of each stream in an iteration, and the next goes on from there (--disable receive_once)"
        lines.append(_wrapped("receives", text))
    if account.lowered.bubbles:
        lines.append("  receives             as bubbles: iterations that would wait hold up no others")
    return "\n".join(lines) + "\n"


def _wrapped(title: str, text: str) -> str:
    return f"  {title:21}" + f"\n{'':23}".join(textwrap.wrap(text, 84))


def _rows(account: Account) -> Iterator[str]:
    """What iterations do nothing, so that rows of nests may start sooner."""
    if empty := account.lowered.delay:
        count = "an iteration is" if empty == 1 else f"{empty} iterations are"
        yield (
            f"{count} left empty, in which the next one's start is computed; where rows are short, a longer"
            " interval without may take fewer cycles (--disable delay_rows)"
        )
    if least := account.lowered.row:
        yield f"rows take {least} iterations at least, so that their ends are known ahead"


def _binding(account: Account) -> str:
    """What sets the interval, and for a recurrence its operations with their source lines."""
    interval, mii = account.mapping.interval, account.bounds.mii
    texts = [resource_text(resource) for resource in account.why.resources]
    recurrences = Counter("\n".join(recurrence_text(recurrence)) for recurrence in account.why.recurrences)
    texts += [text + f"\n    and {n - 1} more of the same" * (n > 1) for text, n in recurrences.items()]
    if account.bounds.crowded:
        texts = [_crowd(account)]
    if interval > mii:
        texts.append(f"placement and routing, {interval - mii} above the lower bound")
    return f"\n{'':23}".join(texts) or "nothing: an iteration begins in every cycle"


def _crowd(account: Account) -> str:
    """A recurrence that has no places, and the lines of its operations; or what else has none."""
    places = [account.mapping.dfg.nodes[n].where for n in account.bounds.cycle]
    lines = sorted({place.line for place in places if place is not None})
    if not account.bounds.cycle:
        return account.bounds.binding
    return f"{account.bounds.binding}: {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"
