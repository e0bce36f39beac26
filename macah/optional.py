"""What a program compiles without: optimisations that `--disable NAME` leaves out, to see what each is worth.

A name is that of a pass of `passes/pipeline.py`, which then is not run, or of a part of the compiler that
asks `enabled(kernel, name)`. Passes that remove what no later stage knows are not here.

A new optimisation enters its name here, and either is a pass of that name or asks.
"""

from __future__ import annotations

from macah import ir

OPTIONAL = {
    "scalarize_arrays": "arrays with constant indices become scalars or banks",
    "unroll_loops": "bodies of plain loops are copied where that saves cycles, or the user asks",
    "bank_arrays": "arrays whose memory has too few ports are spread over several",
    "complete_stores": "conditional stores over known values happen always, with the value chosen",
    "accumulate": "what an inner loop accumulates in one element of an array is kept in a variable",
    "reuse_elements": "elements that an iteration or the one before loaded or stored are not loaded again",
    "copies": "tables that are only read are in several memories, where their ports bind",
    "chosen_loads": "one load from a chosen address instead of a choice of two, where ports bind",
    "forward": "values on their way to memory are handed on to loads that would wait for them",
    "find_sites": "accesses to memory keep an order only where they can meet",
    "count_ahead": "counters and sums of nests are known an iteration ahead",
    "join_loops": "loops in sequence that run equally often do their work in the same iterations",
    "run_ahead": "what an inner loop starts with is known before the last one ends",
    "take_turns": "rare branches that would hold up all iterations take turns of their own",
    "congruence": "variables that always have the same value are one",
    "narrow": "ranges of values simplify operations, and constants are divided by with products",
    "share_sends": "sends to a stream that exclude each other are one",
    "logic": "conditions are compared as logic, and values simplified where they matter",
    "balance": "sums and other chains are combined with the carried value last",
    "shorten": "operations on recurrences are rewritten where that makes recurrences shorter",
    "muladd": "a product and the addition after it are one operation",
}
"""Each name, and what it stands for in a few words."""


def enabled(kernel: ir.Kernel, name: str) -> bool:
    """Whether an optimisation is to be done."""
    assert name in OPTIONAL, name
    return name not in kernel.without
