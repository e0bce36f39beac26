"""What a loop around another one starts with that can be computed in all iterations, without a choice.

    do {                                        flat: in each iteration
      a = i * w;  b <? in;                        a = i * w;  if (start) b <? in;
      do B while (c);                             B;
      i = i + 1;                                  if (!c) i = i + 1;
    } while (i < n);

`i` changes nowhere but at a row's end, so that `a` comes out the same in all iterations of a row.
"""

from __future__ import annotations

from collections.abc import Set

from macah.ir import Assign, Body, Stmt, Variable
from macah.walk import loads_in, read, targets, variables_in, written


def steady(before: Body, inside: Set[Variable], behind: Set[Variable]) -> tuple[Body, Body]:
    """What is `before` an inner loop that comes out the same all through it, which may stand first; the rest.

    The loop writes what is `inside`; what is `behind` is written where it is over, or before all.
    """
    changing, made, rest = set(inside), list[Stmt](), list[Stmt]()
    touched = set[Variable]()
    for place, stmt in enumerate(before):
        match stmt:
            case Assign(variable, value) if (
                changing.isdisjoint(variables_in(value))
                and variable not in variables_in(value)
                and not any(loads_in(value))
                and variable not in inside
                and variable not in behind
                and variable not in touched
                and written(before[place + 1 :]).isdisjoint((variable, *variables_in(value)))
            ):
                made.append(stmt)
                touched.add(variable)
            case _:
                rest.append(stmt)
                changing.update(targets(stmt))
                touched |= read((stmt,))
                touched |= written((stmt,))
    return tuple(made), tuple(rest)


def computed_from(invariant: Set[Variable], body: Body) -> set[Variable]:
    """The variables that a steady body computes from others that never change."""
    found = set[Variable]()
    for stmt in body:
        if isinstance(stmt, Assign) and all(v in invariant or v in found for v in variables_in(stmt.value)):
            found.add(stmt.variable)
    return found
