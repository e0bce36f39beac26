"""What a program compiles without: optimisations that `--disable NAME` leaves out, to see what each is worth.

A name is that of a pass of `passes/pipeline.py`, which then is not run, or of a part of the compiler that
asks `enabled(kernel, name)`. Passes that remove what no later stage knows are not here.

A new optimisation enters its name here, and either is a pass of that name or asks.
"""

from __future__ import annotations

from typing import NamedTuple

from macah import ir


class Optimisation(NamedTuple):
    """What it does, in a few words, and whether it pays with operations and registers."""

    does: str
    grows: bool = False


OPTIONAL = {
    "scalarize_arrays": Optimisation("arrays with constant indices become scalars or banks"),
    "plain_tests": Optimisation(
        "tests that change a counter, or leave a loop without one, are said as those of a `for` are"
    ),
    "join_heads": Optimisation(
        "what is done with a stream before a loop and at the end of its body is done once"
    ),
    "count_trips": Optimisation(
        "loops that run a constant number of times from a start that is none count from 0"
    ),
    "keep_chosen": Optimisation(
        "elements at indices that a loop chooses are kept in variables that are chosen with these"
    ),
    "chosen_elements": Optimisation(
        "the element at a chosen index is chosen from elements that are loaded anyway"
    ),
    "unroll_loops": Optimisation(
        "bodies of plain loops are copied where that saves cycles, or the user asks"
    ),
    "roll_for": Optimisation("FOR loops beside plain ones are plain ones where that saves cycles"),
    "roll_transfers": Optimisation("sends and receives beside loops are loops where that saves cycles"),
    "partition_arrays": Optimisation(
        "small arrays are kept in variables, one for each element, where that saves cycles", grows=True
    ),
    "bank_arrays": Optimisation("arrays whose memory has too few ports are spread over several"),
    "roll_stores": Optimisation("stores of one constant to many elements, beside loops, become a loop"),
    "complete_stores": Optimisation(
        "conditional stores over known values happen always, with the value chosen"
    ),
    "accumulate": Optimisation(
        "what an inner loop accumulates in one element of an array is kept in a variable", grows=True
    ),
    "reuse_elements": Optimisation(
        "elements that an iteration or the one before loaded or stored are not loaded again", grows=True
    ),
    "copies": Optimisation(
        "arrays are in several memories, each with all stores and some loads, where their ports bind",
        grows=True,
    ),
    "share_units": Optimisation(
        "one operation for two that exclude each other, where their unit, port or stream binds"
    ),
    "chosen_terms": Optimisation("operands are chosen instead of results, where units bind"),
    "forward": Optimisation(
        "values on their way to memory are handed on to loads that would wait for them", grows=True
    ),
    "fresh_elements": Optimisation("elements that nothing was stored to yet are not loaded"),
    "find_sites": Optimisation("accesses to memory keep an order only where they can meet"),
    "count_ahead": Optimisation("counters and sums of nests are known an iteration ahead", grows=True),
    "join_loops": Optimisation(
        "loops in sequence that run equally often do their work in the same iterations", grows=True
    ),
    "flat_stages": Optimisation(
        "nests are flat loops before they are fused with others, so that no stage waits for an inner loop"
    ),
    "chain_stages": Optimisation(
        "loops in sequence whose trips are known where the first begins have one counter"
    ),
    "stack_nests": Optimisation("nests in sequence are one nest of rows, where that saves cycles"),
    "run_ahead": Optimisation("what an inner loop starts with is known before the last one ends", grows=True),
    "enter_loops": Optimisation(
        "inner loops whose first test never changes run once for nothing where it fails, if that is simpler"
    ),
    "tests_first": Optimisation(
        "loops whose data say when they end, or beside which their streams or arrays are used, test at the"
        " start of an iteration where that saves cycles"
    ),
    "pace_rows": Optimisation(
        "inner loops of any number of iterations are told ahead when they end, where that saves cycles",
        grows=True,
    ),
    "delay_rows": Optimisation(
        "what inner loops start with has iterations of its own to be computed in, where that saves cycles",
        grows=True,
    ),
    "receive_once": Optimisation(
        "kernels that receive in several places are one loop with one receive, where that saves cycles"
    ),
    "take_turns": Optimisation("rare branches that would hold up all iterations take turns of their own"),
    "congruence": Optimisation("variables that always have the same value are one"),
    "narrow": Optimisation(
        "ranges of values simplify operations, and constants are divided by with products"
    ),
    "firsts": Optimisation("what only the first iteration needs follows from what was before the loop"),
    "past_end": Optimisation("receives do not wait for the answer whether their stream has ended"),
    "share_sends": Optimisation("sends to a stream that exclude each other are one"),
    "closing_sends": Optimisation("the close behind a send is a part of it, and takes no cycle of its port"),
    "logic": Optimisation("conditions are compared as logic, and values simplified where they matter"),
    "slopes": Optimisation(
        "what recurrences of minima and maxima add in each iteration is summed up beside them", grows=True
    ),
    "held": Optimisation("tests of what is received do not ask whether the loop had ended before"),
    "balance": Optimisation("sums and other chains are combined with the carried value last"),
    "shorten": Optimisation(
        "operations on recurrences are rewritten where that makes recurrences shorter", grows=True
    ),
    "exact_orders": Optimisation(
        "accesses at indices that no data decide wait only for those that touch the same word"
    ),
    "tabulate": Optimisation(
        "control that depends on nothing but itself is read from a table where it is slow", grows=True
    ),
    "muladd": Optimisation("a product, or a shift, and the addition after it are one operation"),
}
"""Each by its name."""

GROWING = frozenset(name for name, optimisation in OPTIONAL.items() if optimisation.grows)
"""What a kernel that has become too large for the grid is compiled without."""

RESHAPING = frozenset({"join_loops"})
"""Those of them without which there are more iterations: with them, a longer interval may still be better."""


def enabled(kernel: ir.Kernel, name: str) -> bool:
    """Whether an optimisation is to be done."""
    assert name in OPTIONAL, name
    return name not in kernel.without
